"""The kinds of events that the history can be filtered by, under the words people use for them."""

from __future__ import annotations

KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("", "Everything", ()),
    ("grants", "Grants and revocations", ("grant.added", "grant.removed")),
    ("denials", "Denials", ("denial.added", "denial.removed")),
    ("roles", "Roles", ("role.created", "role.deleted", "role.assigned", "role.unassigned")),
    (
        "people",
        "Groups and members",
        ("group.made", "group.joined", "group.left", "member.added", "member.removed"),
    ),
    ("owners", "Owners", ("owner.set", "owner.ended")),
    (
        "objects",
        "Objects",
        (
            *("object.registered", "object.renamed", "object.dropped", "object.left"),
            *("object.altered", "object.switched", "mark.put", "mark.taken", "run.started"),
        ),
    ),
    ("duties", "Duties", ("duty.given", "duty.taken")),
    ("files", "Policy files", ("policy.applied",)),
    ("modes", "Authorization switched on or off", ("realm.mode", "realm.mode.ended")),
    (
        "requests",
        "Requests",
        (
            *("request.asked", "request.asked_back", "request.answered", "request.approved"),
            *("request.approved_less", "request.refused", "request.withdrawn", "request.lapsed"),
            *("request.escalated", "request.given", "request.reopened", "request.proved", "request.stuck"),
            *("request.rule", "substitute.named", "substitute.ended"),
        ),
    ),
    (
        "reviews",
        "Reviews",
        (
            *("review.started", "review.opened", "review.decided", "review.taken_back", "review.again"),
            *("review.passed", "review.stage", "review.reseated", "review.extended", "review.ended"),
            *("review.cancelled", "review.carried", "review.missed", "review.all_carried"),
            *("review.proved", "review.closed", "review.repeated"),
        ),
    ),
    ("emergencies", "Emergencies", ("emergency.opened", "emergency.ended", "emergency.closed")),
    (
        "separation",
        "Rules of separation",
        ("separation.made", "separation.ended", "exception.made", "exception.ended"),
    ),
    (
        "backends",
        "Backends and what they differ in",
        (
            *("backend.connected", "backend.paused", "backend.resumed", "backend.policy", "backend.rate"),
            *("backend.moved", "backend.shared", "backend.agreed"),
            *("backend.confirmed", "backend.retried", "backend.read_nightly", "backend.share"),
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
        "Accounts and tokens",
        (
            *("account.made", "account.bound", "account.unbound", "account.closed", "account.opened"),
            *("account.joined", "account.parted", "account.factor_added", "account.factor_removed"),
            *("account.link", "account.password", "keeper.set", "keeper.ended", "person.erased"),
            *("token.created", "token.revoked"),
            *("directory.person", "directory.left", "directory.group", "directory.group_ended"),
        ),
    ),
    (
        "site",
        "Realms and the record",
        (
            "realm.created",
            "realm.set",
            "realm.repaired",
            "realm.retention",
            "history.archived",
            "record.restored",
            "facts.sealed",
            "facts.names",
            "facts.set_right",
        ),
    ),
    ("hints", "Hints", ("hint.dismissed", "hint.brought_back")),
)
"""Code, label, and kinds of events; every kind of event stands in one row."""


def kinds_in(text: str) -> tuple[str, tuple[str, ...]]:
    """The code as it is known, and its kinds; of an unknown one neither."""
    kinds = next((codes for code, _, codes in KINDS if code == text), ())
    return (text if kinds else ""), kinds
