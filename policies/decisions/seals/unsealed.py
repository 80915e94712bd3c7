"""Rows that were written past the console: finding them, keeping what is known of them, telling site admins.

Nothing is decided on such a row.  Who wrote it the database does not say; it has the number of the
transaction, and its time where the server keeps those (`track_commit_timestamp`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

from accounts import directory
from accounts.fact_content import content, fact_values, plain
from accounts.models import DirectoryMember, Membership, Principal
from accounts.record import Fact, fact_columns
from accounts.seals import is_fact_sealed, is_sealed
from catalog.models import Mode, Placement, Realm
from policies import notices
from policies.decisions.cache_versions import principal_key, realm_key, touched_by
from policies.decisions.seals import duty_seals, opened_again
from policies.decisions.seals.sealed_rows import MODELS, SealedRow, key_of_row
from policies.models import Assignment, Grant, GroupDuty, Ownership, RealmMember, UnsealedFact, UserDuty
from policies.sentences import say, sentence

log = logging.getLogger(__name__)
FOUND = notices.kind("facts.unsealed", "rights that were written into the database outside the console")
PAST = sentence(
    "facts.past",
    "{many} row of rights was written into the database outside the console. It is not used for "
    "decisions. Find out who could write there.",
    "{many} rows of rights were written into the database outside the console. They are not used for "
    "decisions. Find out who could write there.",
)
PAGE = "/history/integrity"
CHUNK = 2000
NO_REALM = 0
"""Of what stands in the way of no realm's backends."""
Doubted = tuple[str, int, str]
"""A row without a good seal: the name of its model, its number, whose answers it could change."""


def fact_models() -> list[type[Fact]]:
    """Every kind of fact, by its name."""
    models = (model for model in apps.get_models() if issubclass(model, Fact))
    return sorted(models, key=lambda model: str(model._meta.model_name))


SealedModel = Fact | Principal | Realm | DirectoryMember | UserDuty | GroupDuty


def sealed_models() -> list[type[SealedModel]]:
    """The same, principals, whose names facts follow, and what is no fact and yet gives something."""
    return [*fact_models(), Principal, Realm, DirectoryMember, UserDuty, GroupDuty]


def is_row_sealed(row: SealedModel) -> bool:
    """Whether a row is as the writer left it."""
    match row:
        case Principal() | Realm():
            return row.is_sealed
        case DirectoryMember():
            return directory.is_sealed(row)
        case UserDuty() | GroupDuty():
            return duty_seals.is_row_sealed(row)
    return is_fact_sealed(row)


def note(rows: Sequence[SealedRow], realm: int) -> None:
    """Keep what a decision came upon."""
    keep([(MODELS[row.kind], row.pk, key_of_row(row)) for row in rows], realm)


def sweep(realm: int | None = None) -> int:
    """Hold every open fact, and the names in them, against their seals, of a realm or of the site; how many
    have no good one.

    Streams: what it takes does not grow with what there is.
    """
    take_seals_of_ended(realm)
    count = 0
    for model in fact_models():
        doubted = [(str(model._meta.model_name), pk) for pk in _unsealed_of(_open(model, realm))]
        rows = model._default_manager.in_bulk([pk for _, pk in doubted])
        keep([(name, pk, key_of(rows[pk])) for name, pk in doubted if pk in rows], realm)
        count += len(doubted)
    return count + _sweep_names(realm) + _sweep_realms(realm)


def take_seals_of_ended(realm: int | None = None, *, since: int | None = None) -> int:
    """Take the seal of every open fact that has ended by the record, and keep it as one of those without.

    With `since`, of those alone that this transaction or a later one wrote.

    The seal is a former one, good for what the row then said.  Without it the fact is no more to anybody who
    decides than one that was never sealed.
    """
    count = 0
    for model in fact_models():
        unsealed = _open(model, realm).filter(seal__isnull=False)
        if since is not None:
            unsealed = opened_again.written_since(unsealed, since)
        rows = list(opened_again.among(unsealed))
        _keep_by_realm(rows)
        if rows:
            model.objects.open().filter(pk__in=[row.pk for row in rows]).update(seal=None)
        count += len(rows)
    return count


def hold_late(since: int | None) -> int:
    """Hold the facts against their seals that this transaction or a later one wrote, closed ones too, which
    nobody meets who decides; all that are open, if it is None.  How many have no good one."""
    count = 0
    for model in fact_models():
        rows = model.objects.order_by()
        late = rows.open() if since is None else opened_again.written_since(rows, since)
        doubted = [row for row in late.iterator(chunk_size=CHUNK) if not is_fact_sealed(row)]
        _keep_by_realm(row for row in doubted if row.closed is None)
        hold_closed(row for row in doubted if row.closed is not None)
        count += len(doubted)
    return count


def hold_closed(rows: Iterable[Fact]) -> int:
    """Keep those of some closed facts that bear no good seal, whatever was kept of them before; how many."""
    doubted = [row for row in rows if not is_fact_sealed(row)]
    findings = (_finding(str(row._meta.model_name), row.pk, key_of(row), _realm_of(row)) for row in doubted)
    keep_found(row for row in findings if row is not None)
    return len(doubted)


def _keep_by_realm(rows: Iterable[Fact]) -> None:
    by_realm: dict[int | None, list[Doubted]] = {}
    for row in rows:
        doubted = (str(row._meta.model_name), row.pk, key_of(row))
        by_realm.setdefault(_realm_of(row), []).append(doubted)
    for realm, some in by_realm.items():
        keep(some, realm)


def key_of(row: Fact) -> str:
    """Whose answers a fact could change that was written outside the console."""
    return next(iter(touched_by(row)), "")


def _realm_of(row: Fact) -> int | None:
    """The realm that a fact is of; None of what concerns every realm."""
    columns = _OF_REALM.get(type(row))
    values = type(row).objects.filter(pk=row.pk).values_list(*columns).first() if columns else None
    return next((realm for realm in values or () if realm is not None), None)


def _sweep_names(realm: int | None) -> int:
    """The same of the names of people, groups and services: those of whom the realm's facts speak, or all."""
    rows = Principal.objects.order_by()
    if realm is not None:
        # whom the open facts of a realm lead to: by themselves, or because they are in a group
        holders: dict[type[Fact], str] = {
            RealmMember: "principal",
            Assignment: "holder",
            Grant: "holder",
            Ownership: "owner",
        }
        chosen = [Q(pk__in=_open(model, realm).values(holder)) for model, holder in holders.items()]
        direct = Q(*chosen, _connector=Q.OR)
        groups = Principal.objects.filter(direct, kind=Principal.Kind.GROUP).values("pk")
        spoken = direct | Q(pk__in=Membership.objects.open().filter(group__in=groups).values("member"))
        rows = rows.filter(spoken)
    doubted = [row.pk for row in rows.iterator(chunk_size=CHUNK) if not row.is_sealed]
    keep([("principal", pk, principal_key(pk)) for pk in doubted], None)
    return len(doubted)


def _sweep_realms(realm: int | None) -> int:
    """The same of the settings of a realm, or of all."""
    rows = Realm.objects.order_by("pk") if realm is None else Realm.objects.filter(pk=realm)
    doubted = [row.pk for row in rows if not row.is_sealed]
    for pk in doubted:
        keep([("realm", pk, realm_key(pk))], pk)
    return len(doubted)


def standing(realm: int | None = None) -> QuerySet[UnsealedFact]:
    """What was found and not yet set right; of a realm, with what concerns every realm."""
    rows = UnsealedFact.objects.order_by("pk")
    return rows if realm is None else rows.filter(Q(realm=realm) | Q(realm=None))


def _unsealed_of(rows: QuerySet[Fact]) -> Iterator[int]:
    name, columns = str(rows.model._meta.model_name), fact_columns(rows.model)
    for pk, opened, closed, seal, *values in rows.values_list(
        "pk", "opened", "closed", "seal", *columns
    ).iterator(chunk_size=CHUNK):
        if not is_sealed(content(name, pk, opened, closed, *map(plain, values)), seal):
            yield pk


_OF_REALM: dict[type[Model], tuple[str, ...]] = {
    Assignment: ("role__realm",),
    Grant: ("role__realm", "securable__realm", "realm"),
    Membership: (),
    Mode: ("realm",),
    Ownership: ("securable__realm",),
    Placement: ("securable__realm",),
    RealmMember: ("realm",),
}
"""The facts that are asked in a realm, and by which columns they are of it; groups are the site's."""


def _open(model: type[Fact], realm: int | None) -> QuerySet[Fact]:
    rows: QuerySet[Fact] = model.objects.open().order_by()
    if realm is None:
        return rows
    if model not in _OF_REALM:
        return rows.none()
    return rows.filter(Q(*((column, realm) for column in _OF_REALM[model]), _connector=Q.OR))


def keep(doubted: Iterable[Doubted], realm: int | None) -> None:
    """Write down those that are not known yet, with all that the database knows of who wrote them."""
    new = {(name, pk): key for name, pk, key in doubted}
    earlier = (
        UnsealedFact.objects.filter(row__in={pk for _, pk in new}) if new else UnsealedFact.objects.none()
    )
    for name, pk in earlier.values_list("model", "row"):
        new.pop((name, pk), None)
    if not new:
        return
    log.error(
        "%s facts were written outside the console: %s", len(new), ", ".join(f"{n}:{pk}" for n, pk in new)
    )
    try:
        with transaction.atomic():
            made = [_finding(name, pk, key, realm) for (name, pk), key in new.items()]
            UnsealedFact.objects.bulk_create(
                [item for item in made if item is not None], ignore_conflicts=True, batch_size=1000
            )
            _tell(realm, len(new))
    except DatabaseError:  # a reader that may not write has still decided nothing on them
        log.exception("rows that were written outside the console could not be kept")


def _finding(name: str, pk: int, key: str, realm: int | None) -> UnsealedFact | None:
    model = next(item for item in sealed_models() if item._meta.model_name == name)
    row = model._default_manager.filter(pk=pk).first()
    if row is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT xmin::text, CASE WHEN current_setting('track_commit_timestamp')::boolean"  # noqa: S608
            f" THEN pg_xact_commit_timestamp(xmin) END FROM {model._meta.db_table} WHERE id = %s",
            [pk],
        )
        writer, written = cursor.fetchone()
    return UnsealedFact(
        model=name,
        row=pk,
        key=key,
        realm=None if name in ("membership", "principal") else realm,
        content=_state(row),
        writer=writer,
        written=written,
        found=timezone.now(),
    )


def keep_gone(facts: Iterable[Fact], realms: Mapping[Fact, int]) -> None:
    """Tell of facts that are not there any more, each as the record says it was.

    Where an object stood says which denials reached it, so of its realm nobody's are known.
    """
    keep_found(
        UnsealedFact(
            model=str(fact._meta.model_name),
            row=fact.pk,
            key=realm_key(realms.get(fact, NO_REALM)) if isinstance(fact, Placement) else key_of(fact),
            realm=realms.get(fact),
            content=fact_values(fact) | {"opened": fact.opened},
            found=timezone.now(),
        )
        for fact in facts
    )


def finding(name: str, number: int, rows: QuerySet[Any]) -> UnsealedFact:
    """What is to be told of a row that is no fact, as it is before it is set right; one that is gone, too."""
    table = rows.model._meta.db_table
    state = rows.annotate(writer=RawSQL(f"{table}.xmin::text", [])).values().first() or {}  # noqa: S611
    writer = state.pop("writer", "")
    content = {key: plain(value) for key, value in state.items() if not isinstance(value, bytes | memoryview)}
    return UnsealedFact(
        model=name, row=number, realm=NO_REALM, content=content, writer=writer, found=timezone.now()
    )


def keep_found(found: Iterable[UnsealedFact]) -> None:
    """Write down what is not known yet of what was found, and tell; it stands until it is set right, or an
    operator has looked at what is set right already.

    What is known otherwise is not believed: who took a fact away could write that, too.
    """
    earlier = {(row.model, row.row): row for row in UnsealedFact.objects.all()}
    new = [row for row in found if not row.says_the_same(earlier.get((row.model, row.row)))]
    if new:
        others = (earlier.get((row.model, row.row)) for row in new)
        UnsealedFact.objects.filter(pk__in=[row.pk for row in others if row is not None]).delete()
        UnsealedFact.objects.bulk_create(new, ignore_conflicts=True, batch_size=1000)
        log.error("%s rows were written outside the console: %s", len(new), ", ".join(map(str, new[:100])))
        _tell(None, len(new))


def _state(row: SealedModel) -> dict[str, object]:
    """What a row says; of principals no name, since names stand in the one map alone."""
    match row:
        case Principal():
            return {"kind": row.kind, "pseudonym": row.pseudonym}
        case Realm():
            return {"kind": row.kind, "settings": row.settings}
        case DirectoryMember():
            return {"group": row.group.pseudonym, "member": row.member.pseudonym}
        case UserDuty():
            return {"account": row.user_id, "duty": row.permission.codename, "on": row.content_object_id}
        case GroupDuty():
            return {"group": row.group_id, "duty": row.permission.codename, "on": row.content_object_id}
    return {**fact_values(row), "opened": row.opened, "closed": row.closed}


def _tell(realm: int | None, many: int) -> None:
    admins = Principal.objects.filter(kind="user", name__in=settings.LAKEWARDEN_SERVICE_ADMINS)
    notices.tell(
        list(admins),
        FOUND,
        say(PAST, many=many),
        key=f"{FOUND}:{realm or 0}:{timezone.now().isoformat()}",
        link=PAGE,
        urgent=True,
    )
