"""Every kind of event: a stable code and the sentence it reads as.  A code registered twice is an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SENTENCES: dict[str, str] = {}


def event(code: str, sentence: str) -> str:
    if code in SENTENCES:
        raise ValueError(f"event `{code}` is registered twice")
    SENTENCES[code] = sentence
    return code


REALM_CREATED = event("realm.created", "created {kind} realm {object}")
REALM_SET = event("realm.set", "set {setting} of {object} to {value}")
RETENTION_SET = event("realm.retention", "set the history of {object} to stay live {value}")
HISTORY_ARCHIVED = event(
    "history.archived",
    "moved {events} events and {facts} ended facts of {object} up to revision {upto} to the archive",
)
RECORD_RESTORED = event(
    "record.restored",
    "confirmed that entries {first} to {last} of the audit log were lost when its database was restored "
    "from a backup",
)
TABLES_SEALED = event("record.sealed", "recorded that the rows of these tables have seals: {tables}")
FACTS_SEALED = event("facts.sealed", "sealed {many} without a valid seal, as in the audit log: {facts}")
FACTS_FOUND = event("facts.found", "found {many} written outside the console: {facts}")
DETAILS_CONFIRMED = event(
    "facts.details", "accounted for {many} about objects, written outside the console: {facts}"
)
NAMES_CONFIRMED = event("facts.names", "accounted for {many} written outside the console: {facts}")
FACTS_SET_RIGHT = event("facts.set_right", "corrected {many} that were written outside the console: {facts}")
MODE_SET = event("realm.mode", "set authorization of {object} to {mode}")
MODE_ENDED = event("realm.mode.ended", "ended authorization mode {mode} of {object}")
MEMBER_ADDED = event("member.added", "admitted {person} to {object}")
MEMBER_REMOVED = event("member.removed", "removed {person} from {object}")
GROUP_MADE = event("group.made", "created group {group}")
GROUP_JOINED = event("group.joined", "added {person} to group {group}")
GROUP_LEFT = event("group.left", "removed {person} from group {group}")
OBJECT_REGISTERED = event("object.registered", "registered {type} {object}")
OBJECT_RENAMED = event("object.renamed", "renamed {type} {before} to {object}")
OBJECT_MOVED_FROM = event("object.left", "ended the name {object}")
OBJECT_DROPPED = event("object.dropped", "dropped {type} {object}")
OBJECT_ALTERED = event("object.altered", "altered {what} of {type} {object}")
OBJECT_SWITCHED = event("object.switched", "{how} {type} {object}")
MARK_PUT = event("mark.put", "attached {type} {mark} to {object}")
MARK_TAKEN = event("mark.taken", "removed {type} {mark} from {object}")
ROLE_CREATED = event("role.created", "created role {role}")
ROLE_DELETED = event("role.deleted", "deleted role {role}")
ROLE_ASSIGNED = event("role.assigned", "assigned role {role} to {person}")
ROLE_UNASSIGNED = event("role.unassigned", "revoked role {role} from {person}")
GRANT_ADDED = event("grant.added", "granted {privilege} on {object} to {holder}")
GRANT_REMOVED = event("grant.removed", "revoked {privilege} on {object} from {holder}")
DENIAL_ADDED = event("denial.added", "denied {privilege} on {object} to {holder}")
DENIAL_REMOVED = event("denial.removed", "lifted the denial of {privilege} on {object} for {holder}")
OWNER_SET = event("owner.set", "made {person} the owner of {object}")
OWNER_ENDED = event("owner.ended", "ended the ownership of {object} by {person}")
DUTY_GIVEN = event("duty.given", "assigned the duty {duty} on {object} to {person}")
DUTY_TAKEN = event("duty.taken", "revoked the duty {duty} on {object} from {person}")
BACKEND_CONNECTED = event("backend.connected", "connected {object} to {backend}")
BACKEND_MOVED = event("backend.moved", "found that {backend} of {object} is another system than before")
BACKEND_FOUND = event("backend.found", "identified the system behind {backend} of {object}")
BACKEND_SHARED = event("backend.shared", "found that another connection governs {backend} of {object} too")
BACKEND_AGREED = event("backend.agreed", "agreed that {object} is governed at {backend}")
BACKEND_PAUSED = event("backend.paused", "paused the sync of {object}")
BACKEND_RESUMED = event("backend.resumed", "resumed the sync of {object}")
BACKEND_POLICY = event("backend.policy", "set the sync of {object} to {policy}")
BACKEND_RATE = event("backend.rate", "set how fast the sync of {object} makes changes: {rate}")
BACKEND_SHARE = event(
    "backend.share", "set how many people a plan for {object} may affect without a review: {share}"
)
BACKEND_READ_NIGHTLY = event("backend.read_nightly", "set when the contents of {object} are read: {when}")
BACKEND_CONFIRMED = event("backend.confirmed", "released a held plan for {object}; it removes {removes}")
BACKEND_DONE = event("backend.done", "confirmed in {backend} what was ordered for {object}")
BACKEND_RETRIED = event("backend.retried", "retried the sync of {object}")
BACKEND_LEFT = event("backend.left", "left {what} of {object} as it is in {backend} until {until}")
FOREIGN_ADOPTED = event("foreign.adopted", "adopted {rights} on {object} that {holder} had in {backend}")
FOREIGN_REVOKED = event("foreign.revoked", "had {rights} on {object} revoked from {holder} in {backend}")
FOREIGN_DROPPED = event("foreign.dropped", "left {rights} on {object} to {holder} in {backend} as it was")
FOREIGN_ACCEPTED = event(
    "foreign.accepted", "accepted until {until} that {holder} has {rights} on {object} in {backend}"
)
FOREIGN_REOPENED = event(
    "foreign.reopened", "no longer accepts {rights} of {holder} on {object} in {backend}"
)
REVIEW_STARTED = event("review.started", "started review {review} of {object}")
REVIEW_OPENED = event("review.opened", "opened review {review} over {rows} rows")
REVIEW_DECIDED = event("review.decided", "decided row {row} of review {review}: {choice}")
REVIEW_TAKEN_BACK = event("review.taken_back", "withdrew the decision on row {row} of review {review}")
REVIEW_AGAIN = event("review.again", "sent {rows} quick decisions of review {review} to a second check")
REVIEW_PASSED = event("review.passed", "reassigned {rows} rows of review {review} to {person}")
REVIEW_STAGE = event("review.stage", "moved review {review} to stage {stage}")
REVIEW_ASKED_ON = event("review.asked_on", "asked others about {rows} rows of review {review}")
REVIEW_RESEATED = event(
    "review.reseated", "reassigned {rows} rows of review {review}, since their reviewer cannot sign in"
)
REVIEW_EXTENDED = event("review.extended", "extended review {review} until {until}")
REVIEW_ENDED = event("review.ended", "ended deciding in review {review}")
REVIEW_CANCELLED = event("review.cancelled", "cancelled review {review}")
REVIEW_CARRIED = event("review.carried", "carried out row {row} of review {review}: {choice}")
REVIEW_MISSED = event("review.missed", "did not carry out row {row} of review {review}: {why}")
REVIEW_ALL_CARRIED = event("review.all_carried", "carried out the decisions of review {review}")
REVIEW_PROVED = event(
    "review.proved", "confirmed {rows} rows of review {review} in {backend} at revision {read}"
)
REVIEW_CLOSED = event("review.closed", "closed review {review}")
REVIEW_REPEATED = event("review.repeated", "{how} the series of review {review}")
RUN_STARTED = event("run.started", "started {object} to run as {person}")
ACCOUNT_MADE = event("account.made", "created an account for {person}")
ACCOUNT_BOUND = event("account.bound", "linked an account to {person}")
ACCOUNT_UNBOUND = event("account.unbound", "unlinked the account of {person}")
ACCOUNT_NAMED = event("account.named", "updated the displayed name of {person}")
ACCOUNT_CLOSED = event("account.closed", "disabled the account of {person}")
ACCOUNT_OPENED = event("account.opened", "enabled the account of {person}")
ACCOUNT_JOINED = event("account.joined", "allowed {person} to sign in with {provider}")
ACCOUNT_PARTED = event("account.parted", "stopped {person} from signing in with {provider}")
DIRECTORY_PERSON = event("directory.person", "updated {person} from the directory")
DIRECTORY_LEFT = event("directory.left", "ended all access of {person}, who left the directory")
DIRECTORY_GROUP = event("directory.group", "updated group {group} from the directory")
DIRECTORY_GROUP_ENDED = event("directory.group_ended", "ended group {group}, which left the directory")
FACTOR_ADDED = event("account.factor_added", "added {factor} as a second factor of {person}")
FACTOR_REMOVED = event("account.factor_removed", "removed {factor} from the second factors of {person}")
PASSWORD_LINK = event("account.link", "created a password link for {person}")
PASSWORD_SET = event("account.password", "set the password of {person}")
KEEPER_SET = event("keeper.set", "made {person} responsible for service account {service}")
KEEPER_ENDED = event("keeper.ended", "ended the responsibility of {person} for service account {service}")
REALM_REPAIRED = event("realm.repaired", "repaired {object}, whose owner could not sign in")
PERSON_ERASED = event("person.erased", "erased {person}")
EMERGENCY_OPENED = event("emergency.opened", "opened {object} for themselves in an emergency, until {until}")
EMERGENCY_ENDED = event("emergency.ended", "ended the emergency of {person} on {object}")
EMERGENCY_CLOSED = event(
    "emergency.closed", "closed the review of the emergency of {person} on {object}: {words}"
)
SEPARATION_MADE = event(
    "separation.made", "created the rule {rule} for {object}: {one} and {other} are kept apart"
)
SEPARATION_ENDED = event("separation.ended", "ended the rule {rule} for {object}")
EXCEPTION_MADE = event("exception.made", "granted {person} an exception from the rule {rule} until {until}")
EXCEPTION_ENDED = event("exception.ended", "ended the exception of {person} from the rule {rule}")
TOKEN_CREATED = event("token.created", "created a token for {person}")
TOKEN_ROTATED = event("token.rotated", "replaced a token of {person}, which no longer works after {until}")
TOKEN_REVOKED = event("token.revoked", "revoked a token of {person}")
POLICY_APPLIED = event(
    "policy.applied", "applied a policy file to {object}: {adds} added, {changes} changed, {removals} removed"
)
POLICY_LET_GO = event("policy.let_go", "stopped comparing {object} with the policy file that owns {parts}")
HINT_DISMISSED = event("hint.dismissed", "dismissed the hint `{hint}` about {object}")
HINT_BROUGHT_BACK = event("hint.brought_back", "brought back the hint `{hint}` about {object}")


@dataclass(frozen=True)
class EventDraft:
    """One event before it is numbered: what happened, to which object, which people it concerns."""

    kind: str
    object_type: str = ""
    object_name: str = ""
    lineage: tuple[int, ...] = ()
    people: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in SENTENCES:
            raise ValueError(f"event `{self.kind}` is not registered")
