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
                "One governed area with its own rules: a metalake, a Herd or a CDAP instance. "
                "Access in one does not apply in another.",
            ),
            ("metalake", "Metalake", "A realm of catalogs, schemas, tables, topics, filesets and models."),
            ("herd", "Herd", "A realm of flat namespaces; data owners give permissions in each."),
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
            (
                "owner",
                "Owner",
                "May do everything with an object and everything inside, and give access to it.",
            ),
            ("direct", "Direct", "Given to this person alone."),
            (
                "role",
                "Role",
                "Access that several people need, granted once to the role and so to all its members.",
            ),
            (
                "group",
                "Group",
                "Several people, as the site or the identity provider lists them.",
            ),
            ("from", "From", "Granted on a parent object, so it is changed there."),
            (
                "can-count",
                "Can read, can write, can use",
                "How many people and service accounts can do it now, decided one by one: those in groups are "
                "counted, and those who are denied are not. The same on every page.",
            ),
            (
                "reads-count",
                "Can read, of a person",
                "How many tables, views and other objects with data they can read now, of those whose access "
                "you may know. The overview counts the same for the whole realm.",
            ),
            (
                "rights-on",
                "Has rights on",
                "The objects that a rule, a role or a group of theirs names, catalogs and schemas too. One "
                "schema may let them read many tables, so it is less than what they can read.",
            ),
            (
                "denied",
                "Denied",
                "A rule says no. It wins over every grant, at every level; only its author can lift it.",
            ),
            ("missing-right", "Missing", "Not granted yet. It can be granted; nothing denies it."),
            (
                "not-usable",
                "Granted, not yet usable",
                "The right is granted, but something it needs on the way to the object is missing.",
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
                "One right on one object, allowed or denied, with its holder or role. Everything else "
                "on a page follows from the rules, the owners and the groups.",
            ),
            (
                "why",
                "Why",
                "Whether somebody may do something, with every step of the answer. Jobs and backends get the "
                "same answer.",
            ),
            ("rests-on", "Rests on", "The facts that the access depends on: if one ends, the access ends."),
        ),
    ),
    (
        "In a Herd",
        (
            (
                "data-owner",
                "Data owner",
                "Holds the role DATA_OWNER, and Grant and Read on a namespace: decides access in it.",
            ),
            (
                "administrator",
                "Administrator",
                "The owner of the Herd. Passes every check, assigns the roles and the first Grant.",
            ),
            (
                "wildcard",
                "Wildcard user",
                "A user id that begins with *: everybody whose user id ends with the rest, in any case.",
            ),
            ("entry", "Entry", "What one user id was given on one namespace."),
        ),
    ),
    (
        "In the backend",
        (
            ("backend", "Backend", "The system behind a catalog, in which decisions are applied."),
            ("in-sync", "In sync", "The backend was read back and matches the decisions here."),
            ("behind", "Behind", "A change is on its way. Nobody gains anything before it has arrived."),
            (
                "silent",
                "Not answering",
                "It accepts calls but does not answer. Decisions wait until it does.",
            ),
            ("missing", "Missing in a backend", "Decided here, not yet there."),
            ("extra", "Extra", "There, but no longer decided here."),
            (
                "foreign",
                "Granted outside Lakewarden",
                "Foreign for short: found in a backend, not granted here. Left alone until somebody decides.",
            ),
            ("unknown", "Unknown", "Not readable for our account, so unknown."),
            ("bypass", "Bypass", "Rights that no grant here can limit, such as a superuser's."),
            ("report", "Only report", "Differences are shown, and nothing is changed in the backend."),
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
                "Another person decides requests in your place for a time. Each decision names both.",
            ),
            (
                "given",
                "Given, applied, proved",
                "Three steps: decided here; written into the backend; read back there and found equal.",
            ),
            (
                "review",
                "Review",
                "Access is checked again, row by row: keep, remove, end on a date, or not sure. "
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
                "Your notices: requests, expirations, reviews, emergencies. You choose which are mailed too.",
            ),
            (
                "emergency",
                "Emergency access",
                "Holders of this duty open data for themselves for some hours, with a reason. Its owners "
                "are notified at once, and somebody else reviews it afterwards.",
            ),
            (
                "separation",
                "Separation of duties",
                "Two duties that nobody may hold together, such as paying and packing. A change that would "
                "give both is stopped; an exception has an end and somebody who answers for it.",
            ),
            (
                "leaver",
                "Leaving",
                "Everything a leaver has, in one plan: handed over, removed, or ended.",
            ),
            (
                "same",
                "Same as a colleague",
                "Access that a colleague has and this person lacks, to select from. High-risk access is not "
                "preselected.",
            ),
        ),
    ),
    (
        "The record",
        (
            (
                "past",
                "Past",
                "Who had access on a day or at a revision: the facts of that time, by the rules of today.",
            ),
            (
                "integrity",
                "Whole",
                "Every change carries the digest of the one before, and the digests are signed. Changing "
                "one line breaks all that follow.",
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
                "Makes realms and accounts and repairs lock-outs. This gives no access to data.",
            ),
            (
                "service",
                "Service account",
                "A program with its own account; a keeper answers for it.",
            ),
            (
                "token",
                "Token",
                "A secret with which a program acts as a principal. Its scopes can only narrow that.",
            ),
            (
                "pipeline",
                "Pipeline",
                "A job over a whole realm at one revision, run each night or when somebody starts it. "
                "When it fails, the last good result stays.",
            ),
            (
                "measure",
                "Overview",
                "How much each person can access, counted by a pipeline at a revision; not live.",
            ),
            (
                "hint",
                "Hint",
                "Access that may no longer be needed, with the reason. Nothing changes until somebody "
                "acts, or dismisses it with a reason.",
            ),
            ("revision", "Revision", "The number of a change. The same everywhere, without gaps."),
        ),
    ),
)

_MORE: tuple[tuple[str, str, str], ...] = (
    ("principal", "Principal", "What access can be given to: a person, a group, a service account."),
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
    "backend": "external system, target",
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

GERMAN = {
    "access": "Zugriff",
    "adopt": "übernehmen",
    "approver": "Genehmiger",
    "archive": "Archiv",
    "audit-log": "Audit-Protokoll",
    "authorization": "Autorisierung",
    "backend": "Backend",
    "data-owner": "Datenverantwortliche",
    "decision": "Entscheidung",
    "denied": "verboten",
    "drift": "Abweichung",
    "duty": "Zuständigkeit",
    "emergency": "Notfallzugriff",
    "expiration": "Ablauf",
    "fact": "Tatsache",
    "foreign": "außerhalb von Lakewarden gewährt",
    "grant": "Berechtigung; gewähren",
    "hint": "Hinweis",
    "inherited": "geerbt",
    "member": "Mitglied",
    "metalake": "Metalake",
    "notice": "Posteingang; Benachrichtigung",
    "object": "Objekt",
    "owner": "Eigentümer",
    "pipeline": "Pipeline",
    "plan": "Plan",
    "privilege": "Recht",
    "realm": "Bereich",
    "request": "Antrag; beantragen",
    "review": "Überprüfung; überprüfen",
    "reviewer": "Prüfer",
    "revision": "Revision",
    "revoke": "entziehen; widerrufen (ein Token)",
    "role": "Rolle",
    "rule": "Regel",
    "scheduled-grant": "geplante Berechtigung",
    "separation": "Funktionstrennung",
    "service": "Dienstkonto",
    "service-admin": "Site-Admin",
    "snapshot": "Snapshot",
    "sync": "Abgleich",
    "token": "Token",
    "usage": "Nutzung",
    "verify": "prüfen",
    "wildcard": "Platzhalter",
}
"""By code, what German pages say; people are "Sie"."""

_ALL = (*_GROUPS, ("Grants and what becomes of them", _MORE))
GROUPS = tuple((heading, tuple(Word(*item) for item in some)) for heading, some in _ALL)
WORDS = {item.code: item for _, some in GROUPS for item in some}
