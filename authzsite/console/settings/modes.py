"""Whether a realm's law is enforced, and the banner that every page of one says it with that is not."""

from __future__ import annotations

from threading import Lock

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from authzsite.console.kit.display.parts import Note, State
from catalog.models import Mode, Placement

MEANS = {
    "on": gettext_lazy("Its rules decide. Access that is not granted is refused."),
    "off": gettext_lazy(
        "Every member may do everything with its data, regardless of the rules. The rules are kept, and "
        "nobody can change them meanwhile."
    ),
    "pass-through": gettext_lazy(
        "The rules are not checked: every member may do everything, including changing the rules."
    ),
}
WORDS = {
    "on": pgettext_lazy("authorization", "On"),
    "off": pgettext_lazy("authorization", "Off"),
    "pass-through": pgettext_lazy("authorization", "Pass-through"),
}
INSIDE = {
    "on": pgettext_lazy("authorization, within a sentence", "on"),
    "off": pgettext_lazy("authorization, within a sentence", "off"),
    "pass-through": pgettext_lazy("authorization, within a sentence", "pass-through"),
}
"""What authorization is set to, alone and within a sentence."""
_TEXTS = {
    "off": gettext_lazy("Every member may do everything with its data, regardless of the rules."),
    "pass-through": gettext_lazy("Its rules are kept but not applied: every member may do everything."),
}


def banner(realm: str, mode: str) -> Note | None:
    """A realm whose law is not enforced says so on every page about it."""
    if mode == "on":
        return None
    return Note(
        "bad",
        _("Authorization is %(mode)s in %(realm)s.") % {"mode": INSIDE.get(mode, mode), "realm": realm},
        str(_TEXTS.get(mode, "")),
    )


def banner_then(realm: str, mode: Mode | None) -> Note | None:
    """The same of a moment of the past."""
    if mode is None or mode.mode == Mode.Choice.ON:
        return None
    return Note(
        "bad",
        _("Authorization was %(mode)s in %(realm)s.")
        % {"mode": INSIDE.get(mode.mode, mode.mode), "realm": realm},
        _("Its rules were not applied to members."),
    )


def state(mode: str) -> State:
    return State("ok" if mode == "on" else "failed", str(WORDS.get(mode, mode)))


class _Modes:
    """The realms that are not on, as of one revision; read again when a page speaks of another."""

    def __init__(self) -> None:
        self.lock, self.revision = Lock(), -1
        self.by_name: dict[str, str] = {}

    def of(self, realm: str, revision: int) -> str:
        with self.lock:
            if revision != self.revision:
                self.by_name, self.revision = _not_on(), revision
            return self.by_name.get(realm, "on")

    def forget(self) -> None:
        with self.lock:
            self.revision = -1


modes = _Modes()


def _not_on() -> dict[str, str]:
    off = dict(Mode.objects.open().exclude(mode=Mode.Choice.ON).values_list("realm", "mode"))
    if not off:
        return {}
    roots = Placement.objects.open().filter(parent__isnull=True, securable__realm__in=off)
    return {name: off[realm] for name, realm in roots.values_list("name", "securable__realm")}


def banner_of(realm: str, revision: int | None) -> Note | None:
    """The banner for a page about a realm at a revision.  No query when nothing changed since the last."""
    return banner(realm, modes.of(realm, revision)) if realm and revision is not None else None
