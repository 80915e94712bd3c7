"""What a hint can say: each kind's ground as a sentence, and the change that mends it."""

from __future__ import annotations

from dataclasses import dataclass

REMOVE, OWN, LEAVE, MERGE, NARROW = "remove", "own", "leave", "merge", "narrow"
"""What mends a hint: end the one grant, name an owner, take everything from somebody, make one role of two,
give less.  Only the first needs no choice, so a hint can do it by itself."""


@dataclass(frozen=True)
class Kind:
    """One kind of hint.  `ground` and `mends` are filled with the hint's data."""

    code: str
    label: str
    ground: str
    mends: str
    deed: str


KINDS = {
    item.code: item
    for item in (
        Kind(
            "unused_grant",
            "Nobody uses it",
            "Not used in {days} days; it gives {privilege} to {people}. Usage data covers {reported} "
            "of {objects} here{given}.",
            "Revoke {privilege}",
            REMOVE,
        ),
        Kind(
            "redundant_grant",
            "Granted twice",
            "All its holders have {privilege} here anyway, by {others}.",
            "Revoke {privilege}; nobody loses access",
            REMOVE,
        ),
        Kind(
            "wide_grant",
            "Wider than used",
            "{privilege} reaches {objects} here; in {days} days its holders used {used} of them{given}.",
            "Grant it on the used objects and revoke it here",
            NARROW,
        ),
        Kind(
            "idle_deny",
            "Denies nothing",
            "It denies {privilege} to {people}; none of them would have it here or below anyway{others}.",
            "Lift the denial; nobody gains access",
            REMOVE,
        ),
        Kind(
            "dormant_person",
            "Dormant access",
            "{why}, and still holds {holds} in this realm.",
            "Revoke the access",
            LEAVE,
        ),
        Kind(
            "dormant_service",
            "Dormant service account",
            "{why}, and still holds {holds} in this realm.",
            "Revoke the access",
            LEAVE,
        ),
        Kind(
            "ownerless",
            "Nobody owns it",
            "{why}; this concerns {objects}.",
            "Set an owner",
            OWN,
        ),
        Kind(
            "near_roles",
            "Two similar roles",
            "{shared} of the {rules} rules of the two are the same; {only} are only in this one.",
            "Merge the two roles",
            MERGE,
        ),
    )
}
