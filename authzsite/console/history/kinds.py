"""The kinds of events that the history can be filtered by, under the words people use for them."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from authzsite.console.kit.display.parts import StrOrPromise

KINDS: tuple[tuple[str, StrOrPromise, tuple[str, ...]], ...] = (
    ("", gettext_lazy("Everything"), ()),
    ("grants", gettext_lazy("Grants and revocations"), ("grant.added", "grant.removed")),
    ("denials", gettext_lazy("Denials"), ("denial.added", "denial.removed")),
    ("roles", gettext_lazy("Roles"), ("role.created", "role.deleted", "role.assigned", "role.unassigned")),
    (
        "people",
        gettext_lazy("Groups and members"),
        ("group.made", "group.joined", "group.left", "member.added", "member.removed"),
    ),
    ("owners", gettext_lazy("Owners"), ("owner.set", "owner.ended")),
    (
        "objects",
        gettext_lazy("Objects"),
        (
            *("object.registered", "object.renamed", "object.dropped", "object.left"),
            *("object.altered", "object.switched", "mark.put", "mark.taken", "run.started"),
        ),
    ),
    ("duties", gettext_lazy("Duties"), ("duty.given", "duty.taken")),
    ("files", gettext_lazy("Policy files"), ("policy.applied", "policy.let_go")),
    ("modes", gettext_lazy("Authorization switched on or off"), ("realm.mode", "realm.mode.ended")),
    (
        "requests",
        gettext_lazy("Requests"),
        (
            *("request.asked", "request.asked_back", "request.answered", "request.approved"),
            *("request.approved_less", "request.refused", "request.withdrawn", "request.lapsed"),
            *(
                "request.escalated",
                "request.given",
                "request.applied",
                "request.reopened",
                "request.proved",
                "request.stuck",
            ),
            *("request.rule", "substitute.named", "substitute.ended"),
        ),
    ),
    (
        "reviews",
        gettext_lazy("Reviews"),
        (
            *("review.started", "review.opened", "review.decided", "review.taken_back", "review.again"),
            *(
                "review.passed",
                "review.stage",
                "review.asked_on",
                "review.reseated",
                "review.extended",
                "review.ended",
            ),
            *("review.cancelled", "review.carried", "review.missed", "review.all_carried"),
            *("review.proved", "review.closed", "review.repeated"),
        ),
    ),
    ("emergencies", gettext_lazy("Emergencies"), ("emergency.opened", "emergency.ended", "emergency.closed")),
    (
        "separation",
        gettext_lazy("Rules of separation"),
        ("separation.made", "separation.ended", "exception.made", "exception.ended"),
    ),
    (
        "backends",
        gettext_lazy("Backends and drift"),
        (
            *("backend.connected", "backend.paused", "backend.resumed", "backend.policy", "backend.rate"),
            *("backend.found", "backend.moved", "backend.shared", "backend.agreed", "backend.done"),
            *(
                "backend.confirmed",
                "backend.retried",
                "backend.left",
                "backend.read_nightly",
                "backend.share",
            ),
            *(
                "foreign.adopted",
                "foreign.revoked",
                "foreign.accepted",
                "foreign.reopened",
                "foreign.dropped",
            ),
        ),
    ),
    (
        "accounts",
        gettext_lazy("Accounts and tokens"),
        (
            *("account.made", "account.bound", "account.unbound", "account.closed", "account.opened"),
            *(
                "account.joined",
                "account.parted",
                "account.named",
                "account.factor_added",
                "account.factor_removed",
            ),
            *("account.link", "account.password", "keeper.set", "keeper.ended", "person.erased"),
            *("token.created", "token.rotated", "token.revoked"),
            *("directory.person", "directory.left", "directory.group", "directory.group_ended"),
        ),
    ),
    (
        "site",
        gettext_lazy("Realms and the audit log"),
        (
            "realm.created",
            "realm.set",
            "realm.repaired",
            "realm.retention",
            "history.archived",
            "record.restored",
            "record.sealed",
            "facts.sealed",
            "facts.found",
            "facts.details",
            "facts.names",
            "facts.set_right",
        ),
    ),
    ("hints", gettext_lazy("Hints"), ("hint.dismissed", "hint.brought_back")),
)
"""Code, label, and kinds of events; every kind of event stands in one row."""


def kinds_in(text: str) -> tuple[str, tuple[str, ...]]:
    """The code as it is known, and its kinds; of an unknown one neither."""
    kinds = next((codes for code, _, codes in KINDS if code == text), ())
    return (text if kinds else ""), kinds
