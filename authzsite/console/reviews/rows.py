"""A row of a review in words and chips: who, can what, how, what we suggest and on what ground."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy

from authzsite.console.kit.display import terms, words
from authzsite.console.kit.display.parts import Chip, Face, Path, Who
from authzsite.console.sync.backend_state import rights_in_words
from lakewarden.law import dialects
from lakewarden.law.facts import OWNER, Rule
from policies.decisions.personal_role_names import is_personal
from policies.models import Backend, Change, Review, ReviewRow
from policies.reviews.advice import GROUNDS
from policies.reviews.consequences import Consequence

Kind, Choice = ReviewRow.Kind, ReviewRow.Choice
LABELS = {
    Choice.KEEP: gettext_lazy("Keep"),
    Choice.REMOVE: gettext_lazy("Remove"),
    Choice.END: gettext_lazy("End on…"),
    Choice.UNSURE: gettext_lazy("Not sure"),
    Choice.REDUCE: gettext_lazy("Reduce…"),
}
SAID = {
    "keep": gettext_lazy("keep"),
    "remove": gettext_lazy("remove"),
    "reduce": gettext_lazy("reduce"),
    "end": gettext_lazy("end on a date"),
    "unsure": gettext_lazy("not sure"),
}
CHANGED = {
    "new": gettext_lazy("New since the last review"),
    "more": gettext_lazy("Gives more than at the last review"),
    "less": gettext_lazy("Gives less than at the last review"),
    "other": gettext_lazy("Gives other access than at the last review"),
}
ACTS = {
    "use": pgettext_lazy("an act", "use"),
    "read": pgettext_lazy("an act", "read"),
    "write": pgettext_lazy("an act", "write"),
    "grant": pgettext_lazy("an act", "grant"),
    "set_owner": pgettext_lazy("an act", "set owner"),
    "alter": pgettext_lazy("an act", "alter"),
    "drop": pgettext_lazy("an act", "drop"),
}
"""What people lose and keep; other actions go by their codes."""
NAMED = 3
ORDER = ("use", "read", "write", "create", "manage")


@dataclass(frozen=True)
class Suggestion:
    """What is suggested, in one word, and the ground of it."""

    word: str
    ground: str


@dataclass(frozen=True)
class RowWording:
    """A page's rows, and what must be looked up to say them.  Two queries."""

    review: Review
    rows: Sequence[ReviewRow]

    @cached_property
    def law(self) -> str:
        return self.review.realm.law

    @cached_property
    def moments(self) -> Mapping[int, datetime]:
        wanted = {row.since for row in self.rows if row.since}
        return dict(Change.objects.filter(revision__in=wanted).values_list("revision", "at"))

    @cached_property
    def backends(self) -> Mapping[int, str]:
        wanted = {row.outside.get("backend") for row in self.rows if row.outside} - {None}
        rows = Backend.objects.filter(pk__in=wanted) if wanted else ()
        return {row.pk: row.get_kind_display() for row in rows}

    # Who

    def who(self, row: ReviewRow, url: str = "") -> Who:
        if row.kind == Kind.RULE:
            return Who(row.role_name, Face("thing", "role"), gettext("role, for all its members"), url)
        if row.kind == Kind.FOREIGN:
            where = self.backends.get(row.outside.get("backend", 0), "")
            name = str(row.outside.get("holder", ""))
            return Who(
                name,
                Face("foreign"),
                gettext("in %(where)s") % {"where": where} if where else gettext("in a backend"),
                url,
            )
        if row.holder is None:
            return Who(gettext("Nobody"), Face("person", "?"), "", url)
        return terms.who(row.holder, self._note(row), url)

    def _note(self, row: ReviewRow) -> str:
        if row.holder is None:
            return ""
        if row.holder.kind == "group":
            return words.count(row.people, "person", "people")
        note = gettext("service") if row.holder.kind == "service" else ""
        return gettext("cannot sign in") if "closed" in row.risks else note

    # Can

    def can(self, row: ReviewRow) -> str:
        """Read orders; Use schema sales; Read tables in sales; Everything in sales."""
        if row.kind == Kind.OWNER:
            return gettext("Everything in %(row)s") % {"row": self.short(row)}
        if row.kind in (Kind.ROLE, Kind.MEMBER):
            return self._given(row)
        rights = self.rights(row.privileges, row.type, row.kind)
        if row.effect == "deny":
            return gettext("Denied: %(told)s %(row)s") % {"told": terms.lower(rights), "row": self._on(row)}
        return f"{rights} {self._on(row)}"

    def short(self, row: ReviewRow) -> str:
        """The last part of its name, as people say it."""
        return row.pattern or row.what.rpartition(".")[2] or row.what

    def _on(self, row: ReviewRow) -> str:
        if row.pattern:
            return gettext("on %(pattern)s") % {"pattern": row.pattern}
        uses = all(code == "USAGE" or self._category(code) == "use" for code in row.privileges)
        plain = row.type not in terms.CONTAINERS or uses
        return self.short(row) if plain else gettext("in %(row)s") % {"row": self.short(row)}

    def _category(self, code: str) -> str:
        privilege = dialects.get(self.law).privilege(code)
        return privilege.category if privilege else ""

    def rights(self, codes: Sequence[str], type_: str, kind: str = "") -> str:
        """Read, write: what privileges let somebody do, also those that a backend calls by its own codes."""
        if kind == Kind.FOREIGN:
            return terms.sentence_list(list(rights_in_words(codes, type_))) or gettext("Something")
        labels = [terms.right(code, type_, self.law) for code in sorted(codes, key=self._place)]
        return terms.sentence_list(list(dict.fromkeys(labels))) or gettext("Nothing")

    def _place(self, code: str) -> tuple[int, str]:
        """Use before read before write, as people say it."""
        category = self._category(code)
        return (ORDER.index(category) if category in ORDER else len(ORDER)), code

    def _given(self, row: ReviewRow) -> str:
        if not row.gives:
            return gettext("What the group has") if row.kind == Kind.MEMBER else gettext("Nothing yet")
        labels = []
        for _, name, codes, effect in row.gives[:NAMED]:
            rights = self.rights(codes, "")
            short = str(name).rpartition(".")[2] or name
            text = f"{terms.lower(rights)} {short}"
            labels.append(gettext("denied: %(text)s") % {"text": text} if effect == "deny" else text)
        text, more = "; ".join(labels), len(row.gives) - NAMED
        if more > 0:
            text = gettext("%(first)s and %(more)s more") % {"first": text, "more": words.number(more)}
        return text[:1].upper() + text[1:]

    # How

    def how(self, row: ReviewRow) -> Path:
        return Path(tuple(self._chips(row)))

    def _chips(self, row: ReviewRow) -> Iterable[Chip]:
        match row.kind:
            case Kind.ROLE:
                yield Chip("role", gettext("Role %(role_name)s") % {"role_name": row.role_name})
            case Kind.MEMBER:
                yield Chip(
                    "group", gettext("Group %(label)s") % {"label": row.group.label if row.group else ""}
                )
            case Kind.OWNER:
                yield Chip("owner", gettext("Owner of %(row)s") % {"row": self.short(row)})
            case Kind.FOREIGN:
                yield Chip("foreign", gettext("Granted outside"))
            case Kind.RULE:
                yield (
                    Chip("denied", gettext("Denied by role"))
                    if row.effect == "deny"
                    else Chip("role", gettext("Granted by role"))
                )
            case _:
                yield (
                    Chip("denied", gettext("Denied"))
                    if row.effect == "deny"
                    else Chip("direct", gettext("Direct"))
                )
        ends = terms.ends_chip(row.valid_until)
        if ends is not None:
            yield ends

    # What we suggest

    def suggests(self, row: ReviewRow) -> Suggestion:
        word = str(LABELS.get(Choice(row.advice), "")) if row.advice else gettext("No suggestion")
        if row.kind == Kind.FOREIGN and row.advice == Choice.REMOVE:
            word = gettext("Adopt or remove")
        if row.advice == Choice.REDUCE and row.advised:
            word = gettext("Remove %(advised)s") % {
                "advised": terms.lower(self.rights(row.advised, row.type))
            }
        reasons = [self._ground(row)]
        if row.peers_of and row.ground not in ("rare", "common"):
            reasons.append(
                gettext("%(peers_have)s of %(peers_of)s similar people have it")
                % {"peers_have": words.number(row.peers_have), "peers_of": words.number(row.peers_of)}
            )
        if row.change in CHANGED:
            reasons.append(terms.lower(str(CHANGED[row.change])))
        return Suggestion(word.rstrip("…"), "; ".join(reasons))

    def _ground(self, row: ReviewRow) -> str:
        sentence = gettext(GROUNDS[row.ground]) if row.ground in GROUNDS else ""
        used = words.ago(row.last_used) if row.last_used else gettext("never")
        since = self.moments.get(row.since or 0)
        return sentence.format(
            who=row.holder.label if row.holder else gettext("who has it"),
            until=words.day(row.valid_until) if row.valid_until else gettext("a date"),
            used=used,
            since=words.ago(since) if since else gettext("long ago"),
            have=words.number(row.peers_have),
            of=words.number(row.peers_of),
        )

    def decided(self, row: ReviewRow) -> str:
        """Remove (Ben Bauer, today, 09:14): no longer in sales."""
        if not row.choice:
            return ""
        text = str(SAID[row.choice])
        if row.choice == Choice.END and row.until:
            text = gettext("end on %(until)s") % {"until": words.moment(row.until, within=True)}
        if row.choice == Choice.REDUCE:
            text = gettext("remove %(takes)s") % {"takes": terms.lower(self.rights(row.takes, row.type))}
        by = gettext("nobody answered") if row.default else row.decided_by.label if row.decided_by else ""
        when = f", {words.moment(row.decided_at, within=True)}" if row.decided_at else ""
        reason = f": {row.reason}" if row.reason else ""
        return f"{text[:1].upper()}{text[1:]} ({by}{when}){reason}"


def used_words(row: ReviewRow) -> str:
    """When it was last used; never; or that nobody reports uses."""
    if row.last_used:
        return words.ago(row.last_used)
    return gettext("Never") if row.uses_told else gettext("No usage data")


def effect(row: ReviewRow, consequence: Consequence | None, choice: str) -> str:
    """What taking it away really does, in one or two sentences."""
    if consequence is None or choice not in (Choice.REMOVE, Choice.REDUCE, Choice.END):
        return ""
    if consequence.gone:
        return gettext("It ended already. No decision is needed.")
    if row.kind == Kind.FOREIGN:
        return foreign_effect(row)
    sentences = [*_losses(row, consequence), *_keeps(row, consequence), *_gains(consequence)]
    if consequence.unseen:
        sentences.append(
            gettext("%(unseen)s more people are not shown.") % {"unseen": words.number(consequence.unseen)}
        )
    return " ".join(sentences) or gettext("No one loses access.")


def foreign_effect(row: ReviewRow) -> str:
    """What taking a right away does that others gave: its holder loses it, but for what roles there give."""
    rights = rights_in_words(row.privileges, row.type)
    holder = str(row.outside.get("holder", ""))
    lost = words.listed([terms.lower(right) for right in rights])
    values = {"holder": holder, "lost": lost, "what": row.what}
    if grantor := row.outside.get("grantor"):
        return gettext(
            "%(holder)s loses %(lost)s on %(what)s. Granted by %(grantor)s. Access from roles and other "
            "grantors there stays."
        ) % {**values, "grantor": grantor}
    return (
        gettext("%(holder)s loses %(lost)s on %(what)s. Access from roles and other grantors there stays.")
        % values
    )


def _losses(row: ReviewRow, it: Consequence) -> Iterable[str]:
    if it.loses:
        people = list(dict.fromkeys(item.person.label for item in it.loses))
        acts = acts_of(row, [act for item in it.loses for act in item.actions])
        places = list(dict.fromkeys(item.object for item in it.loses))
        yield ngettext(
            "%(people)s loses %(acts)s on %(places)s.", "%(people)s lose %(acts)s on %(places)s.", len(people)
        ) % {
            "people": _people(people),
            "acts": words.listed(acts[:4]),
            "places": words.listed(places, 2),
        }


def _keeps(row: ReviewRow, it: Consequence) -> Iterable[str]:
    if it.keeps:
        people = list(dict.fromkeys(keep.person.label for keep in it.keeps))
        acts = acts_of(row, [act for keep in it.keeps for act in keep.actions])
        ways = list(dict.fromkeys(way(path) for keep in it.keeps for path in keep.paths))
        yield ngettext(
            "%(people)s keeps %(acts)s, through %(ways)s.",
            "%(people)s keep %(acts)s, through %(ways)s.",
            len(people),
        ) % {
            "people": _people(people),
            "acts": words.listed(acts[:3]),
            "ways": words.listed(ways, 2),
        }


def acts_of(row: ReviewRow, actions: Sequence[str]) -> list[str]:
    """What actions are called: to read a schema is to use it."""
    inside = row.type in terms.CONTAINERS
    codes = ("use" if inside and action == "read" else action for action in actions)
    return [str(ACTS.get(code, code.replace("_", " "))) for code in dict.fromkeys(codes)]


def _gains(it: Consequence) -> Iterable[str]:
    if it.gains:
        people = list(dict.fromkeys(gain.person.label for gain in it.gains))
        yield ngettext("%(people)s gains what it denies.", "%(people)s gain what it denies.", len(people)) % {
            "people": _people(people)
        }


def way(rule: Rule) -> str:
    """The first station of a path, by which people know it."""
    names = [item.name for item in rule.via if item.kind in ("group", "role") and not is_personal(item.name)]
    if names:
        return names[0]
    return gettext("ownership") if rule.privilege == OWNER else gettext("a direct grant")


def _people(names: list[str]) -> str:
    return words.listed(names, 2) if len(names) < 4 else words.count(len(names), "person", "people")
