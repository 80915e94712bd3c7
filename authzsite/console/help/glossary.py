"""What the words of the console mean: the one place where they are explained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    code: str
    word: str
    text: str


_GROUPS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "The world",
        (
            (
                "realm",
                "Realm",
                "One governed world with its own law: a metalake, a Herd or a CDAP instance. "
                "Nothing given in one counts in another.",
            ),
            ("metalake", "Metalake", "A realm of catalogs, schemas, tables and what else data is kept in."),
            ("herd", "Herd", "A realm of flat namespaces, in each of which data owners give permissions."),
            (
                "cdap",
                "CDAP instance",
                "A realm where privileges are given on the names of entities, also by wildcard, "
                "before or after they exist.",
            ),
            (
                "authorization",
                "Authorization on, off, pass-through",
                "On: the rules decide. Off: members may do everything with the data, and the rules rest. "
                "Pass-through: nothing is asked at all. Every page of a realm that is not on says so.",
            ),
            (
                "member",
                "Member",
                "Somebody a realm has admitted. Membership opens nothing by itself; it lets things be given.",
            ),
        ),
    ),
    (
        "How access comes about",
        (
            ("owner", "Owner", "May do everything with an object and all below it, and give access to it."),
            ("direct", "Direct", "Given to this person alone."),
            ("role", "Role", "What several people need, given once and to all who hold it."),
            (
                "group",
                "Group",
                "People together, as the site or the identity provider says.",
            ),
            ("from", "From", "Given on something above, so it is changed there."),
            (
                "denied",
                "Denied",
                "A rule says no. It wins over every grant, at every level; only who denies can lift it.",
            ),
            ("missing-right", "Missing", "Nobody gave it yet. It can be given; nothing denies it."),
            (
                "not-usable",
                "Granted, not yet usable",
                "The right is there, and something on the way to the object is not.",
            ),
            (
                "how",
                "How",
                "The way from the person to the object, left to right: group, role, the object above that it "
                "was given on. The nearest way comes first. Solid decides, dashed comes from above, barred "
                "is denied.",
            ),
            (
                "rule",
                "Rule",
                "One right on one object, allowed or denied, and who or which role has it. Everything else "
                "on a page follows from the rules, the owners and the groups.",
            ),
            (
                "why",
                "Why",
                "The question whether somebody may do something, and its answer with every step. It is the "
                "answer that jobs and backends get.",
            ),
            ("rests-on", "Rests on", "The facts that, if one of them ended, would end the access."),
        ),
    ),
    (
        "In a Herd",
        (
            (
                "data-owner",
                "Data owner",
                "Holds the role DATA_OWNER, and Grant and Read on a namespace: says who may do what in it.",
            ),
            (
                "administrator",
                "Administrator",
                "The owner of the Herd. Passes every check, assigns the roles and the first Grant.",
            ),
            (
                "wildcard",
                "Wildcard user",
                "A user id that begins with *: everybody whose user id ends like its rest, in any case.",
            ),
            ("entry", "Entry", "What one user id was given on one namespace."),
        ),
    ),
    (
        "In the backend",
        (
            ("backend", "Backend", "The system behind a catalog, in which decisions are made true."),
            ("in-sync", "In sync", "What was decided here was read back there and found equal."),
            ("behind", "Behind", "A change is on its way. Nobody gains anything before it has arrived."),
            (
                "silent",
                "Not answering",
                "It takes calls and gives no answer. What is decided waits until it does.",
            ),
            ("missing", "Missing in a backend", "Decided here, not yet there."),
            ("extra", "Extra", "There, and no longer decided here."),
            (
                "foreign",
                "Granted outside Lakewarden",
                "Foreign for short: found in a backend, not made here. Left alone until somebody decides.",
            ),
            ("unknown", "Unknown", "Not readable for our account. It is not a no."),
            ("bypass", "Bypass", "Power that no grant of ours can limit, such as a superuser's."),
            ("report", "Only report", "What differs is shown, and nothing is changed in the backend."),
        ),
    ),
    (
        "Asking and deciding",
        (
            (
                "request",
                "Request",
                "Somebody asks for access they lack. Its owner or another approver decides; a yes gives "
                "just what was asked for, or less. Nobody decides about their own access alone.",
            ),
            (
                "lapses",
                "Lapses",
                "A request that nobody decided ends by itself. Nothing is given, and it can be asked again.",
            ),
            (
                "substitute",
                "While away",
                "Somebody else decides what waits for a person, for a time. Each decision says for whom.",
            ),
            (
                "given",
                "Given, applied, proved",
                "Three steps: decided here; written into the backend; read back there and found equal.",
            ),
            (
                "review",
                "Review",
                "What was given is looked at again, row by row: keep, remove, end on a date, or not sure. "
                "Nothing is removed before the review ends.",
            ),
            (
                "far",
                "Reaches far",
                "A row of a review with write, many objects, or an exception from a denial.",
            ),
            (
                "notice",
                "Inbox",
                "What the console told you: requests, ends, reviews, emergencies. You choose which of it is "
                "mailed too.",
            ),
            (
                "emergency",
                "Emergency access",
                "Holders of this duty open data for themselves for some hours, with a reason. Its owners "
                "are told at once, and somebody else reviews it afterwards.",
            ),
            (
                "separation",
                "Separation of duties",
                "Two things that nobody may have both of, such as paying and packing. A change that would "
                "give both is stopped; an exception has an end and somebody who answers for it.",
            ),
            (
                "leaver",
                "Leaving",
                "All that somebody has, dealt with in one plan: handed over, removed, or ended.",
            ),
            (
                "same",
                "Same as a colleague",
                "What a colleague was given and this person lacks, to be ticked. What reaches far is not "
                "ticked.",
            ),
        ),
    ),
    (
        "The record",
        (
            (
                "past",
                "Past",
                "Who had access at a day or a revision, answered from the facts of that time by the law "
                "of today.",
            ),
            (
                "integrity",
                "Whole",
                "Every change carries the digest of the one before, and the digests are signed. Whoever "
                "rewrites one line breaks all that follow.",
            ),
            (
                "look",
                "Refusals and looks",
                "Who was refused, and who looked at the access of others. Kept beside the changes.",
            ),
            (
                "archive",
                "Archive",
                "Changes older than a realm keeps live, in sealed files that can still be searched.",
            ),
        ),
    ),
    (
        "Running it",
        (
            ("duty", "Duty", "A task of the console's own, such as reading the history. It opens no data."),
            (
                "service-admin",
                "Site admin",
                "Makes realms and accounts and repairs a lock-out. Has no access to data by it.",
            ),
            (
                "service",
                "Service account",
                "A program with a name of its own; somebody answers for it.",
            ),
            ("token", "Token", "What a program shows to act as somebody. Its scopes can only narrow that."),
            (
                "pipeline",
                "Pipeline",
                "Work over a whole realm at one revision, done each night or when somebody starts it. "
                "When it fails, the last good result stays.",
            ),
            (
                "measure",
                "Overview",
                "Who reaches how much, as a pipeline counted it at a revision; not what is true this minute.",
            ),
            (
                "hint",
                "Hint",
                "Access that may no longer be needed, with the reason. Nothing changes until somebody "
                "mends it, or dismisses it with a reason.",
            ),
            ("revision", "Revision", "The number of a change. The same everywhere, without gaps."),
        ),
    ),
)

_MORE: tuple[tuple[str, str, str], ...] = (
    ("principal", "Principal", "Whoever can be given access: a person, a group, a service account."),
    ("object", "Object", "What access is given on: a catalog, a schema, a table, a namespace, an entity."),
    ("privilege", "Privilege", "One thing that the law of a realm lets be given, such as reading a table."),
    (
        "grant",
        "Grant",
        "One privilege on one object for one principal or role, from its beginning to its end.",
    ),
    ("revoke", "Revoke", "To end a grant. It stays in the history."),
    ("access", "Access", "What somebody can do with an object, by all that gives or denies it."),
    ("inherited", "Inherited", "Given on something above, and so in force on all below."),
    ("entitlement", "Entitlement", "What somebody has: a grant, a role, a membership, a duty, an ownership."),
    ("scheduled-grant", "Scheduled grant", "A grant that begins on a later date. Nothing is open before."),
    ("expiration", "Expiration", "The date on which a grant ends by itself."),
    ("approver", "Approver", "Who may decide a request: the owner, or who holds the duty for it."),
    ("decision", "Decision", "A yes or no about a request, or about whether somebody may, with its reasons."),
    ("reviewer", "Reviewer", "Who says in a review which access is still needed."),
    (
        "usage",
        "Usage",
        "What was read or written with an access, and when last, as jobs and backends report it.",
    ),
    ("audit-log", "Audit log", "The changes and the looks, in order, as auditors take them away."),
    ("verify", "Verify", "To read the record again and hold it against its digests, signatures and tables."),
    ("sync", "Sync", "Making a backend equal to what was decided, and reading that it is."),
    ("drift", "Drift", "Where a backend differs from what was decided."),
    ("adopt", "Adopt", "To make a grant that was found in a backend one of ours."),
    ("joiner", "Joiner", "Somebody who comes, and is to have what a colleague has."),
)
"""Words that the page and the code share."""

IN_CODE = (
    Word("finding", "Finding", "One right or membership in a backend that differs from what was decided."),
    Word("observation", "Observation", "All that was read from a backend in one consistent look."),
    Word("plan", "Plan", "The steps that make a backend equal, in an order that is safe to stop anywhere."),
    Word(
        "snapshot", "Snapshot", "All facts of a realm at a revision, to decide by without asking each time."
    ),
    Word("leaver-person", "Leaver", "Somebody who goes, and whose entitlements are dealt with in one plan."),
    Word("fact", "Fact", "A row that access rests on; it begins and ends, and is never updated."),
    Word("lineage", "Lineage", "An object with all that it lies in, from the root of the realm down."),
    Word("dialect", "Dialect", "A law as data: types, privileges, operations, and what each of them takes."),
    Word("duty-seal", "Seal", "What the writer puts on each fact, so that one written past it is seen."),
)
"""Words of the code that no page needs."""

AVOIDED = {
    "access": "reach, sight, what one can",
    "adopt": "take over, make ours",
    "approver": "decider",
    "archive": "cold history",
    "audit-log": "trail, journal",
    "backend": "system out there, target",
    "decision": "verdict, answer",
    "drift": "deviation, what is otherwise",
    "emergency": "break-glass, fire alarm",
    "entitlement": "holding, what is held",
    "expiration": "ending, end date, validity",
    "finding": "discrepancy, difference",
    "foreign": "foreign grant, alien, stranger's right",
    "grant": "gift, wish, giving",
    "inherited": "from above, handed down",
    "joiner": "newcomer, same as",
    "leaver-person": "who goes",
    "member": "admitted, insider",
    "object": "securable (only as the name of the table), thing, place, node on pages",
    "observation": "look, glance, reading",
    "owner": "keeper, master",
    "plan": "to-do, deeds",
    "principal": "subject (only in AuthZEN), asker, who",
    "privilege": "permission on pages of a metalake (Herd says permission), code",
    "realm": "tenant, world, workspace",
    "request": "wish, petition, ask",
    "review": "campaign, certification, attestation",
    "reviewer": "judge, certifier",
    "revision": "version, number",
    "revoke": "take away, take back, remove",
    "role": "profile, bundle",
    "scheduled-grant": "beginning, future grant, coming",
    "separation": "toxic combination, two sides, clash",
    "snapshot": "dump, copy",
    "sync": "mirroring, carrying",
    "usage": "touches, what was done",
    "verify": "prove, check whether it is whole",
}
"""By code, what we do not write for a word."""

_ALL = (*_GROUPS, ("Grants and what becomes of them", _MORE))
GROUPS = tuple((heading, tuple(Word(*one) for one in some)) for heading, some in _ALL)
WORDS = {one.code: one for _, some in GROUPS for one in some}
