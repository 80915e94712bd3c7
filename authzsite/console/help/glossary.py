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
        "The basics",
        (
            (
                "realm",
                "Realm",
                "One governed area with its own rules: a metalake, a Herd or a CDAP instance. "
                "Access in one does not apply in another.",
            ),
            ("metalake", "Metalake", "A realm of catalogs, schemas, tables, topics, filesets and models."),
            ("herd", "Herd", "A realm of flat namespaces; data owners grant permissions in each."),
            (
                "cdap",
                "CDAP instance",
                "A realm where privileges are granted on the names of entities, also by wildcard, before "
                "or after they exist.",
            ),
            (
                "authorization",
                "Authorization on, off, pass-through",
                "On: the rules decide. Off: the rules are kept but not applied, and members may do "
                "everything with the data. Pass-through: no rules are checked. Pages show when a realm "
                "is not on.",
            ),
            (
                "member",
                "Member",
                "A person, group or service account that a realm has admitted. Membership gives no "
                "access by itself; it makes grants possible.",
            ),
        ),
    ),
    (
        "How access comes about",
        (
            (
                "owner",
                "Owner",
                "May do everything with an object and everything inside, and grant access to it.",
            ),
            ("direct", "Direct", "Granted to this person, not through a group or role."),
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
                "How many people and service accounts can do it now. Members of groups are counted; "
                "people who are denied are not. The same on every page.",
            ),
            (
                "reads-count",
                "Can read, of a person",
                "How many tables, views and other objects with data they can read now, as far as you may "
                "see their access. The overview counts the same for the whole realm.",
            ),
            (
                "rights-on",
                "Has rights on",
                "The objects named by a rule, role or group of this person, including catalogs and "
                "schemas. One schema can open many tables, so this is less than what they can read.",
            ),
            (
                "denied",
                "Denied",
                "A rule forbids it. It overrides every grant, at every level; only its author can lift it.",
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
                "The path from the person to the object, left to right: group, role, parent object. The "
                "nearest path comes first. Solid decides, dashed is inherited, crossed out is denied.",
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
                "Whether someone may do something, with every step of the answer. Jobs and backends get "
                "the same answer.",
            ),
            ("rests-on", "Depends on", "The facts that the access depends on: if one ends, the access ends."),
        ),
    ),
    (
        "In a Herd",
        (
            (
                "data-owner",
                "Data owner",
                "Has the role DATA_OWNER plus Grant and Read on a namespace, and decides access in it.",
            ),
            (
                "administrator",
                "Administrator",
                "The owner of the Herd. Passes every check, assigns the roles and the first Grant.",
            ),
            (
                "wildcard",
                "Wildcard user",
                "A user id that begins with *: everyone whose user id ends with the rest, in any case.",
            ),
            ("entry", "Entry", "The permissions of one user id on one namespace."),
        ),
    ),
    (
        "In the backend",
        (
            ("backend", "Backend", "The system behind a catalog, in which decisions are applied."),
            ("in-sync", "In sync", "The backend was read back and matches the decisions here."),
            (
                "behind",
                "Behind",
                "A change is still on its way to the backend. It takes effect when it arrives there.",
            ),
            (
                "silent",
                "Not answering",
                "The backend accepts calls but does not answer. Decisions wait until it does.",
            ),
            ("missing", "Missing in a backend", "Decided here, not yet in the backend."),
            ("extra", "Extra", "In the backend, but no longer decided here."),
            (
                "foreign",
                "Granted outside Lakewarden",
                "Also called foreign: found in a backend, not granted here. It stays until an owner decides.",
            ),
            ("unknown", "Unknown", "Lakewarden’s account cannot read it, so it is unknown."),
            ("bypass", "Bypass", "Rights that no grant here can limit, such as a superuser's."),
            ("report", "Only report", "Differences are shown, and nothing is changed in the backend."),
        ),
    ),
    (
        "Requesting and deciding",
        (
            (
                "request",
                "Request",
                "Someone asks for access they lack. The owner or another approver decides and grants "
                "exactly that, or less. Nobody decides alone about their own access.",
            ),
            (
                "lapses",
                "Lapses",
                "A request without a decision ends by itself. Nothing is granted, and it can be made again.",
            ),
            (
                "substitute",
                "While away",
                "Another person decides requests in your place for a time. Each decision names both.",
            ),
            (
                "given",
                "Granted, applied, proved",
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
                "High risk",
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
                "Holders of this duty open data for themselves for some hours, with a reason. The owners "
                "are notified at once, and another person reviews it afterwards.",
            ),
            (
                "separation",
                "Separation of duties",
                "Two duties that nobody may hold together, such as paying and packing. A change that "
                "would give both is stopped; an exception has an end and someone who is responsible for "
                "it.",
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
        "The audit log",
        (
            (
                "past",
                "Past",
                "Who had access on a day or at a revision: the facts of that time, by the rules of today.",
            ),
            (
                "integrity",
                "Intact",
                "Every change carries the digest of the one before, and the digests are signed. Changing "
                "one line breaks all that follow.",
            ),
            (
                "look",
                "Refusals and views",
                "Who was refused, and who viewed the access of others. Kept along with the changes.",
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
            (
                "duty",
                "Duty",
                "A task in the console, such as reading the history. It gives no access to data.",
            ),
            (
                "service-admin",
                "Site admin",
                "Makes realms and accounts and repairs lock-outs. This gives no access to data.",
            ),
            (
                "service",
                "Service account",
                "A program with its own account; a keeper is responsible for it.",
            ),
            (
                "token",
                "Token",
                "A secret with which a program acts as a principal. Its scopes can only narrow that.",
            ),
            (
                "pipeline",
                "Pipeline",
                "A job over a whole realm at one revision, run each night or when someone starts it. "
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
                "Access that may no longer be needed, with the reason. Nothing changes until someone "
                "acts, or dismisses it with a reason.",
            ),
            ("revision", "Revision", "The number of a change. The same everywhere, without gaps."),
        ),
    ),
)

_MORE: tuple[tuple[str, str, str], ...] = (
    ("principal", "Principal", "What access can be given to: a person, a group, a service account."),
    ("object", "Object", "What access is given on: a catalog, a schema, a table, a namespace, an entity."),
    (
        "privilege",
        "Privilege",
        "A single right that the rules of a realm allow to be granted, such as reading a table.",
    ),
    (
        "grant",
        "Grant",
        "One privilege on one object for one principal or role, from its beginning to its end.",
    ),
    ("revoke", "Revoke", "To end a grant. It stays in the history."),
    ("access", "Access", "What a person can do with an object, after all grants and denials."),
    ("inherited", "Inherited", "Granted on a parent object, so it applies to everything inside."),
    (
        "entitlement",
        "Entitlement",
        "Anything a person has: a grant, a role, a membership, a duty or ownership.",
    ),
    ("scheduled-grant", "Scheduled grant", "A grant that begins on a later date. It gives no access before."),
    ("expiration", "Expiration", "The date on which a grant ends by itself."),
    ("approver", "Approver", "A person who may decide a request: the owner, or a holder of that duty."),
    ("decision", "Decision", "A yes or no to a request or to a question about access, with its reasons."),
    ("reviewer", "Reviewer", "A person who decides in a review which access is still needed."),
    (
        "usage",
        "Usage",
        "What was read or written with this access and when last, as reported by jobs and backends.",
    ),
    ("audit-log", "Audit log", "All changes and views in order, as auditors export them."),
    (
        "verify",
        "Verify",
        "To read the audit log again and compare it with its digests, signatures and tables.",
    ),
    ("sync", "Sync", "Makes a backend match the decisions, and reads it back to check."),
    ("drift", "Drift", "Where a backend differs from what was decided."),
    ("adopt", "Adopt", "To turn a grant found in a backend into a Lakewarden grant."),
    ("joiner", "Joiner", "A new person who needs the same access as a colleague."),
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

_ALL = (*_GROUPS, ("The life of a grant", _MORE))
GROUPS = tuple((heading, tuple(Word(*item) for item in some)) for heading, some in _ALL)
WORDS = {item.code: item for _, some in GROUPS for item in some}
