"""The rows of everything that is decided, asked, reviewed, mirrored and recorded."""

from policies.models.applied_files import AppliedFile
from policies.models.applied_rights import Peer, Written
from policies.models.archives import Archive
from policies.models.calculations import Calculation
from policies.models.checkpoints import AccessCounter, Checkpoint, Verification
from policies.models.discoveries import Discovery
from policies.models.duties import GroupDuty, UserDuty
from policies.models.emergencies import Emergency
from policies.models.feeds import Feed
from policies.models.grants import Assignment, Grant, Ownership, RealmMember
from policies.models.notices import Letter, Notice, NoticeChoice
from policies.models.pipelines import Figure, Hint, PipelineRun
from policies.models.record import AccessRecord, AccessRepeat, Change, Counter, Event, RealmTouch, Touch
from policies.models.requests import (
    AccessRequest,
    PlannedFile,
    RequestFollow,
    RequestPart,
    RequestRule,
    RequestStep,
    RequestWant,
    Substitute,
)
from policies.models.reviews import Review, ReviewDecision, ReviewDesk, ReviewRow, ReviewSeat
from policies.models.separation import SeparationException, SeparationRule
from policies.models.sync import (
    Backend,
    BackendFinding,
    BackendLogins,
    DatabaseIdentity,
    ForeignOrder,
    FoundOwner,
    Heartbeat,
    OutboxEntry,
    SyncItem,
    SyncRun,
)
from policies.models.unsealed import UnsealedFact
from policies.models.uses import Use

__all__ = [
    "AccessCounter",
    "AccessRecord",
    "AccessRepeat",
    "AccessRequest",
    "AppliedFile",
    "Archive",
    "Assignment",
    "Backend",
    "BackendFinding",
    "BackendLogins",
    "Calculation",
    "Change",
    "Checkpoint",
    "Counter",
    "DatabaseIdentity",
    "Discovery",
    "Emergency",
    "Event",
    "Feed",
    "Figure",
    "ForeignOrder",
    "FoundOwner",
    "Grant",
    "GroupDuty",
    "Heartbeat",
    "Hint",
    "Letter",
    "Notice",
    "NoticeChoice",
    "OutboxEntry",
    "Ownership",
    "Peer",
    "PipelineRun",
    "PlannedFile",
    "RealmMember",
    "RealmTouch",
    "RequestFollow",
    "RequestPart",
    "RequestRule",
    "RequestStep",
    "RequestWant",
    "Review",
    "ReviewDecision",
    "ReviewDesk",
    "ReviewRow",
    "ReviewSeat",
    "SeparationException",
    "SeparationRule",
    "Substitute",
    "SyncItem",
    "SyncRun",
    "Touch",
    "UnsealedFact",
    "Use",
    "UserDuty",
    "Verification",
    "Written",
]
