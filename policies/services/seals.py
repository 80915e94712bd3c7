"""Facts held against the record: sealing those it bears out, and setting right those it does not.

For a site that comes from before there were seals, for new keys, and for what somebody wrote past the
console.  What the record says of facts is put beside them in a table of this session, so that it takes little
room however much there is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import connection, transaction
from django.db.models import Model

from accounts import directory
from accounts.fact_content import fact_code, fact_values, values_told
from accounts.models import DirectoryMember, Principal
from accounts.record import Fact, fact_columns
from accounts.seals import is_fact_sealed, is_newest, seal_fact
from catalog.models import Detail, Placement, Realm, Securable
from policies import authority
from policies.authority import OPERATOR
from policies.decisions import personal_role_names
from policies.decisions.cache_versions import principal_key, realm_key, touched_by
from policies.decisions.seals import duty_seals
from policies.decisions.seals.unsealed import fact_models, is_row_sealed, sealed_models
from policies.errors import NotFound
from policies.events import DETAILS_CONFIRMED, FACTS_SEALED, FACTS_SET_RIGHT, NAMES_CONFIRMED
from policies.models import (
    AppliedFile,
    Backend,
    Counter,
    ForeignOrder,
    GroupDuty,
    RequestPart,
    Review,
    ReviewDesk,
    ReviewSeat,
    Substitute,
    UnsealedFact,
    UserDuty,
    approval_seals,
    review_seals,
)
from policies.record import newest_editions, rows_put_back
from policies.record.archive import reading, retention
from policies.record.change import change
from policies.record.event_drafts import make_event
from policies.record.replay.settings import KeptReplay, given_duties

CHUNK = 2000
NAMED = 100
"""So many facts that were set right are named in the record."""
_TOLD = """
CREATE TEMP TABLE IF NOT EXISTS told_facts (fact text, revision bigint, begun boolean, state text);
TRUNCATE told_facts
"""


@dataclass
class Findings:
    """How many facts were sealed, and in words what the record does not bear out.

    `unsealed` are those among the sealed that bore no good seal of any key.
    """

    sealed: int = 0
    wrong: list[str] = field(default_factory=list)
    unsealed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class RecordedFact:
    """What the record says of one fact: what it states, from which revision, until which."""

    opened: int
    closed: int | None
    values: dict[str, Any]


def seal_what_is_told() -> Findings:
    """Seal with the newest key each fact that is as the record says; what is not is listed.

    Proves nothing by itself: who calls has read the record and found it whole.  What bore no good seal is
    named in the record, but for the first sealing of all.  Raises ArchiveBroken.
    """
    findings, first = Findings(), is_new()
    with transaction.atomic():
        last = _read_the_record()
        for model in fact_models():
            rows = model.objects.exclude(closed__gt=last).filter(opened__lte=last)  # the rest comes sealed
            for facts in _in_parts(rows.order_by("pk").iterator(chunk_size=CHUNK)):
                _seal(facts, findings)
        _seal_duties(last, findings)
        _seal_names(findings)
        _seal_details(findings)
        _seal_connections(findings)
        _seal_reviews(findings)
        _seal_directory(findings)
        _seal_approvals(findings)
    if findings.unsealed and not first:
        _record_sealed(findings.unsealed)
    _forget_mended()
    return findings


def set_right() -> list[str]:
    """Put the open facts to what the record says: remove what it does not know, restore what is missing.

    One recorded change.  Raises ArchiveBroken.
    """
    with change(FACTS_SET_RIGHT, realm=None, by=OPERATOR) as current:
        _read_the_record()
        with _past_the_door():
            done = [words for model in fact_models() for words in _set_right(model, current.touch)]
        # no duty that the record does not tell of; those it tells of are sealed
        vanished = []
        for row, is_told in _duties(current.revision):
            if is_told:
                duty_seals.seal_row(row)
            else:
                vanished.append(f"{row._meta.model_name}:{row.pk} (no change gave it)")
                row.delete()
        done += vanished
        orders = list(ForeignOrder.objects.order_by("pk"))
        ours = {row.pk for row in newest_editions.among(row for row in orders if row.is_sealed)}
        forged = [row for row in orders if row.pk not in ours]
        ForeignOrder.objects.filter(pk__in=[row.pk for row in forged]).delete()
        done += [f"foreignorder:{row.pk} (nobody decided it here)" for row in forged]
        done += _remove_directory_rows()
        done += _set_realms(current.touch)
        done += _take_back_editions()
        if done:
            named = ", ".join(done[:NAMED])
            draft = make_event(FACTS_SET_RIGHT, None, many=f"{len(done)} facts", facts=named)
            current.say(draft, by=authority.of_operator(OPERATOR))
    _forget_mended()
    return done


def _remove_directory_rows() -> list[str]:
    """What the directory did not say, or says no more."""
    wrong = rows_put_back.not_said_by_directory()
    directory.remove(DirectoryMember.objects.filter(pk__in=wrong))
    return [f"directorymember:{pk} (the directory did not say so)" for pk in wrong]


def _set_realms(touch: Callable[[str], None]) -> list[str]:
    """Kind and settings of realms as the record tells them, where their seal is not that of the newest."""
    rows = list(Realm.objects.order_by("pk"))
    ours = {row.pk for row in newest_editions.among(row for row in rows if row.is_sealed)}
    forged = [row for row in rows if row.pk not in ours]
    if not forged:
        return []
    replayed = KeptReplay()
    for event in reading.all_events(Counter.objects.get().revision):
        replayed.take(event)
    roots = dict(Securable.objects.filter(pk__in=replayed.realms).values_list("realm", "pk"))
    realms = [row for row in forged if row.pk in roots]
    for row in realms:
        root = roots[row.pk]
        kept = {name: value for name, value in row.settings.items() if name == retention.SETTING}
        settings = {name: value for (of, name), (value, _) in replayed.settings.items() if of == root}
        row.kind, row.settings = replayed.realms[root], {**kept, **settings}
        Realm._base_manager.filter(pk=row.pk).update(kind=row.kind, settings=row.settings)
        touch(realm_key(row.pk))
    newest_editions.answer_for(realms)
    return [f"realm:{row.pk} (its settings)" for row in realms]


def _take_back_editions() -> list[str]:
    """An edition of a part of a request that nothing told, which nobody could approve any more."""
    parts = list(RequestPart.objects.filter(edition__gt=0).order_by("pk"))
    newest = newest_editions.told_of(parts)
    wrong = [part for part in parts if part.edition > newest[part.pk]]
    for part in wrong:
        part.edition, part.seal = newest[part.pk], None
        part.save(update_fields=["edition", "seal"])
    return [f"requestpart:{part.pk} (no change told its edition)" for part in wrong]


def is_new() -> bool:
    """Whether nothing was ever sealed here: a site that comes from before there were seals."""
    return not any(model._default_manager.filter(seal__isnull=False).exists() for model in fact_models())


def _record_sealed(codes: list[str]) -> None:
    """Say what is decided on again from now on: nobody can tell why it bore no good seal."""
    with change(FACTS_SEALED, realm=None, by=OPERATOR) as current:
        draft = make_event(FACTS_SEALED, None, many=f"{len(codes)} facts", facts=", ".join(codes[:NAMED]))
        current.say(draft, by=authority.of_operator(OPERATOR))


def _read_the_record() -> int:
    """Every event that names a fact, beside the facts; up to which revision.  Raises ArchiveBroken."""
    last = Counter.objects.get().revision
    with connection.cursor() as cursor:
        cursor.execute(_TOLD)
        events = (event for event in reading.all_events(last) if "fact" in event.data)
        for part in _in_parts(events):
            cursor.executemany(
                "INSERT INTO told_facts VALUES (%s, %s, %s, %s)",
                [
                    (
                        item.data["fact"],
                        item.change_id,
                        "state" in item.data,
                        json.dumps(item.data.get("state")),
                    )
                    for item in part
                ],
            )
        cursor.execute("CREATE INDEX IF NOT EXISTS told_by_fact ON told_facts (fact)")
        cursor.execute("ANALYZE told_facts")
    return last


def _in_parts(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while part := list(islice(rows, CHUNK)):
        yield part


def _recorded_facts(model: type[Model], codes: list[str]) -> dict[str, RecordedFact]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT fact, max(revision) FILTER (WHERE begun), max(state) FILTER (WHERE begun),"
            " max(revision) FILTER (WHERE NOT begun) FROM told_facts WHERE fact = ANY(%s) GROUP BY fact",
            [codes],
        )
        rows = cursor.fetchall()
    return {
        fact: RecordedFact(opened, closed, _named(model, values_told(model, json.loads(state))))
        for fact, opened, state, closed in rows
        if opened is not None
    }


def _named(model: type[Model], values: dict[str, Any]) -> dict[str, Any]:
    """The record tells a personal role by its person's pseudonym; the fact bears the name."""
    if model is Placement and values["type"] == "role" and personal_role_names.is_personal(values["name"]):
        person = Principal.objects.filter(
            pseudonym=values["name"].removeprefix(personal_role_names.MARK)
        ).first()
        if person is not None and not person.erased:
            values["name"] = personal_role_names.name_for(person)
    return values


def _problem(fact: Fact, recorded: RecordedFact | None) -> str:
    if recorded is None:
        return "no change made it"
    if (fact.opened, fact.closed) != (recorded.opened, recorded.closed):
        span = f"from revision {recorded.opened}" + (f" to {recorded.closed}" if recorded.closed else "")
        return f"it was true {span}, the record says"
    held = fact_values(fact)
    other = [name for name in fact_columns(type(fact)) if held[name] != recorded.values[name]]
    return f"the record says otherwise of {', '.join(other)}" if other else ""


def _seal(facts: list[Fact], findings: Findings) -> None:
    recorded = _recorded_facts(type(facts[0]), [fact_code(fact) for fact in facts])
    good = []
    for fact in facts:
        if problem := _problem(fact, recorded.get(fact_code(fact))):
            findings.wrong.append(f"{fact_code(fact)}: {problem}")
        elif not (is_newest(fact.seal) and is_fact_sealed(fact)):
            if not is_fact_sealed(fact):
                findings.unsealed.append(fact_code(fact))
            seal_fact(fact)
            good.append(fact)
    if good:
        with connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE {good[0]._meta.db_table} t SET seal = n.seal"  # noqa: S608 - ours
                " FROM unnest(%s::bigint[], %s::bigint[], %s::bytea[]) n(id, closed, seal)"
                " WHERE t.id = n.id AND t.closed IS NOT DISTINCT FROM n.closed",
                [[fact.pk for fact in good], [fact.closed for fact in good], [fact.seal for fact in good]],
            )
        findings.sealed += len(good)


def _seal_duties(last: int, findings: Findings) -> None:
    for row, is_told in _duties(last):
        if not is_told:
            findings.wrong.append(f"{row._meta.model_name}:{row.pk}: no change gave it")
        elif not (is_newest(row.seal) and duty_seals.is_row_sealed(row)):
            if not duty_seals.is_row_sealed(row):
                findings.unsealed.append(f"{row._meta.model_name}:{row.pk}")
            duty_seals.seal_row(row)
            findings.sealed += 1


def _seal_names(findings: Findings) -> None:
    """Those with a good seal get one of the newest key; for a name without one an operator answers."""
    for row in Principal.objects.order_by("pk").iterator(chunk_size=CHUNK):
        if not row.is_sealed:
            findings.wrong.append(f"principal:{row.pk}: it was written outside the console")
        elif not row.has_newest_seal:
            row.put_seal()
            findings.sealed += 1


def confirm_names(names: Sequence[tuple[str, str]]) -> int:
    """The operator's word for names that bear no good seal, of these principals or without any of all.

    They stand from now on as they are; answers how many.  Raises NotFound.
    """
    with change(NAMES_CONFIRMED, realm=None, by=OPERATOR) as current:
        rows = [_named_so(*name) for name in names] or list(Principal.objects.order_by("pk"))
        ours = {row.pk for row in newest_editions.among(row for row in rows if row.is_sealed)}
        forged = [row for row in rows if row.pk not in ours]
        newest_editions.answer_for(forged)
        for row in forged:
            current.touch(principal_key(row.pk))
        confirmed = ", ".join(f"principal:{row.pk}" for row in forged[:NAMED])
        if forged:
            draft = make_event(NAMES_CONFIRMED, None, many=f"{len(forged)} names", facts=confirmed)
            current.say(draft, by=authority.of_operator(OPERATOR))
    _forget_mended()
    return len(forged)


def _named_so(kind: str, name: str) -> Principal:
    row = Principal.objects.filter(kind=kind, name=name).first()
    if row is None:
        raise NotFound(f"there is no {kind} {name}")
    return row


def _seal_details(findings: Findings) -> None:
    """Those with a good seal get one of the newest key; for one without an operator answers."""
    for row in Detail.objects.defer("comment", "columns").order_by("pk").iterator(chunk_size=CHUNK):
        if not row.is_sealed:
            findings.wrong.append(f"detail:{row.pk}: it was written outside the console")
        elif not row.has_newest_seal:
            row.put_seal()
            findings.sealed += 1


def confirm_details(numbers: Sequence[int]) -> int:
    """The operator's word for where data lies, and whom programs run as, where that bears no good seal.

    Of these objects or, without any, of all; it stands from now on as it is; answers how many.
    """
    with change(DETAILS_CONFIRMED, realm=None, by=OPERATOR) as current:
        rows = Detail.objects.defer("comment", "columns").order_by("pk")
        held = list(rows.filter(pk__in=numbers) if numbers else rows)
        ours = {row.pk for row in newest_editions.among(row for row in held if row.is_sealed)}
        forged = [row for row in held if row.pk not in ours]
        newest_editions.answer_for(forged)
        confirmed = ", ".join(f"detail:{row.pk}" for row in forged[:NAMED])
        if forged:
            draft = make_event(DETAILS_CONFIRMED, None, many=f"{len(forged)} rows", facts=confirmed)
            current.say(draft, by=authority.of_operator(OPERATOR))
    return len(forged)


def _seal_connections(findings: Findings) -> None:
    """Those with a good seal get one of the newest key; for a connection without one an operator answers.

    So it is with who is asked in reviews, and who decides for others: these are named anew in the console.
    """
    for model in (AppliedFile, Backend, ForeignOrder, Realm, ReviewDesk, ReviewSeat, Substitute):
        for row in model.objects.order_by("pk"):
            if not row.is_sealed:
                findings.wrong.append(f"{row._meta.model_name}:{row.pk}: it was written outside the console")
            elif not row.has_newest_seal:
                row.put_seal()
                findings.sealed += 1


def _seal_reviews(findings: Findings) -> None:
    """Those with a good seal get one of the newest key; nobody can answer for a row without one."""
    for review in Review.objects.exclude(state__in=review_seals.OVER).order_by("pk"):
        if not review.is_sealed:
            findings.wrong.append(f"review:{review.pk}: it was written outside the console")
        elif not review.has_newest_seal:
            review.put_seal()
            findings.sealed += 1
    for row in review_seals.unfinished():
        if not review_seals.is_row_sealed(row):
            findings.wrong.append(f"reviewrow:{row.pk}: it was written outside the console")
        else:
            findings.sealed += review_seals.seal_anew(row)


def _seal_directory(findings: Findings) -> None:
    """Those with a good seal get one of the newest key; of others the directory speaks anew."""
    for row in DirectoryMember.objects.order_by("pk").iterator(chunk_size=CHUNK):
        if not directory.is_sealed(row):
            findings.wrong.append(f"directorymember:{row.pk}: it was written outside the console")
        else:
            findings.sealed += directory.seal_anew(row)


def _seal_approvals(findings: Findings) -> None:
    """Those with a good seal get one of the newest key; without one it has to be decided again."""
    for part in approval_seals.sealed_parts():
        if not approval_seals.is_part_sealed(part.request, part):
            findings.wrong.append(f"requestpart:{part.pk}: it was not approved in this console")
        else:
            findings.sealed += approval_seals.seal_anew(part)


def _duties(last: int) -> list[tuple[duty_seals.Duty, bool]]:
    """Every duty there is, and whether the record tells of it."""
    replayed = KeptReplay()
    for event in reading.all_events(last):
        replayed.take(event)
    models: dict[str, Any] = {"userduty": UserDuty, "groupduty": GroupDuty}
    duties: list[tuple[duty_seals.Duty, bool]] = []
    for key, code, _ in given_duties():
        name, pk = code.split()
        row = models[name].objects.select_related("permission").get(pk=int(pk))
        duties.append((row, key in replayed.duties))
    return duties


def _set_right(model: type[Fact], touch: Callable[[str], None]) -> Iterator[str]:
    """Each fact as the record tells it, and none that it does not; what was done, in words."""
    for facts in _in_parts(model.objects.order_by("pk").iterator(chunk_size=CHUNK)):
        recorded = _recorded_facts(model, [fact_code(fact) for fact in facts])
        findings = Findings()
        _seal(facts, findings)
        yield from (f"{code} (it bore no good seal)" for code in findings.unsealed)
        for fact in facts:
            code = fact_code(fact)
            if problem := _problem(fact, recorded.get(code)):
                _touch(fact, touch)
                model.objects.filter(pk=fact.pk).delete()
                if code in recorded:
                    _put_back(model, code, recorded[code], touch)
                yield f"{code} ({problem})"
    for code, told_ in _missing(model).items():
        _put_back(model, code, told_, touch)
        yield f"{code} (it was gone)"


def _touch(fact: Fact, touch: Callable[[str], None]) -> None:
    for key in touched_by(fact):
        touch(key)


def _put_back(model: type[Fact], code: str, recorded: RecordedFact, touch: Callable[[str], None]) -> None:
    values = {
        key: datetime.fromisoformat(value) if key in ("valid_from", "valid_until") and value else value
        for key, value in recorded.values.items()
    }
    fact = model(opened=recorded.opened, closed=recorded.closed, **values)
    fact.pk = int(code.partition(":")[2])
    seal_fact(fact)
    model.objects.bulk_create([fact])
    _touch(fact, touch)


def _missing(model: type[Fact]) -> dict[str, RecordedFact]:
    """The facts that are open by the record and not there."""
    name = str(model._meta.model_name)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT fact FROM told_facts t WHERE starts_with(fact, %s) AND NOT EXISTS"  # noqa: S608 - ours
            f" (SELECT FROM {model._meta.db_table} f WHERE f.id = substr(t.fact, %s)::bigint)"
            " GROUP BY fact HAVING bool_and(begun)",
            [f"{name}:", len(name) + 2],
        )
        return _recorded_facts(model, [code for (code,) in cursor.fetchall()])


@contextmanager
def _past_the_door() -> Iterator[None]:
    """The triggers of facts are off in this transaction; only who owns the tables may do that."""
    tables = [model._meta.db_table for model in fact_models()]
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with checks still due cannot be altered
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def _forget_mended() -> None:
    """What was found before and is as it should be is told of no more."""
    models = {str(model._meta.model_name): model for model in sealed_models()}
    for row in UnsealedFact.objects.all():
        held = models[row.model]._default_manager.filter(pk=row.row).first() if row.model in models else None
        # of a row that is gone nobody wrote it last
        is_gone = row.model in models and held is None and not row.writer
        if not is_gone and (held is None or is_row_sealed(held)):
            row.delete()
