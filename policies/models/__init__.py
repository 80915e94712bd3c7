from policies.models.duties import GroupDuty, UserDuty
from policies.models.grants import Assignment, Grant, Ownership, RealmMember
from policies.models.record import AccessRecord, AccessRepeat, Change, Counter, Event, Touch
from policies.models.sync import Backend, BackendFinding, OutboxEntry, SyncRun

__all__ = [
    "AccessRecord",
    "AccessRepeat",
    "Assignment",
    "Backend",
    "BackendFinding",
    "Change",
    "Counter",
    "Event",
    "Grant",
    "GroupDuty",
    "OutboxEntry",
    "Ownership",
    "RealmMember",
    "SyncRun",
    "Touch",
    "UserDuty",
]
