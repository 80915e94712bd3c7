"""The calls about access reviews, as programs read about them."""

from __future__ import annotations

from authzsite.api.v1.calls_told import (
    FLAG,
    MOMENT,
    NULL,
    PAGED,
    PRINCIPAL,
    TEXT,
    WHOLE,
    Schema,
    Told,
    either,
    listed,
    page,
    record,
    ref,
)

COUNTS: Schema = {"type": "object", "additionalProperties": WHOLE}

SCHEMAS: dict[str, Schema] = {
    "Stage": record(("by",), by=TEXT, people=listed(PRINCIPAL), days=WHOLE, until=MOMENT, escalated=FLAG),
    "NewReview": record(
        ("title",),
        title=TEXT,
        purpose=TEXT,
        resources=listed(TEXT),
        people=listed(PRINCIPAL),
        roles=listed(TEXT),
        services=FLAG,
        risks=listed(TEXT),
        stages=listed(ref("Stage")),
        silence=TEXT,
        reasons=TEXT,
        fallback=PRINCIPAL,
        bulk=WHOLE,
        pace=WHOLE,
        sample=WHOLE,
        every=either(WHOLE, NULL),
        reason=TEXT,
    ),
    "Review": record(
        ("id", "title", "realm", "state", "revision", "started", "due", "rows"),
        id=WHOLE,
        title=TEXT,
        purpose=TEXT,
        realm=TEXT,
        state=TEXT,
        starter=PRINCIPAL,
        revision=WHOLE,
        started=MOMENT,
        due=MOMENT,
        ended=either(MOMENT, NULL),
        closed=either(MOMENT, NULL),
        stage=WHOLE,
        stages=listed(ref("Stage")),
        silence=TEXT,
        reasons=TEXT,
        every=either(WHOLE, NULL),
        digest=TEXT,
        rows=WHOLE,
        counts=COUNTS,
        error=TEXT,
    ),
    "ReviewRow": record(
        ("number", "version", "kind", "what", "state", "choices"),
        number=WHOLE,
        version=WHOLE,
        kind=TEXT,
        holder=either(PRINCIPAL, NULL),
        group=either(PRINCIPAL, NULL),
        role=TEXT,
        type=TEXT,
        what=TEXT,
        privileges=listed(TEXT),
        effect=TEXT,
        gives=listed({"type": "array"}),
        valid_until=either(MOMENT, NULL),
        people=WHOLE,
        risks=listed(TEXT),
        far=FLAG,
        change=TEXT,
        last_used=either(MOMENT, NULL),
        uses_told=FLAG,
        peers=record(("have", "of"), have=WHOLE, of=WHOLE),
        advice=record(("choice", "ground", "takes"), choice=TEXT, ground=TEXT, takes=listed(TEXT)),
        state=TEXT,
        choices=listed(TEXT),
        choice=TEXT,
        takes=listed(TEXT),
        until=either(MOMENT, NULL),
        reason=TEXT,
        decided_by=either(PRINCIPAL, NULL),
        decided_at=either(MOMENT, NULL),
        outcome=TEXT,
        carried_revision=either(WHOLE, NULL),
        proved_at=either(MOMENT, NULL),
        proof={"type": "object"},
    ),
    "Verdict": record(
        ("row", "version", "choice"),
        row=WHOLE,
        version=WHOLE,
        choice=TEXT,
        takes=listed(TEXT),
        until=either(MOMENT, NULL),
        reason=TEXT,
    ),
    "Effect": record(
        ("loses", "keeps", "gains", "rows", "unseen"),
        loses=listed(ref("Loss")),
        gains=listed(ref("Loss")),
        keeps=listed(ref("Loss")),
        rows=listed(WHOLE),
        unseen=WHOLE,
    ),
    "Loss": record(
        ("principal", "object", "actions"), principal=PRINCIPAL, object=TEXT, actions=listed(TEXT)
    ),
    "Exception": record(("row", "why", "owner", "until"), row=WHOLE, why=TEXT, owner=PRINCIPAL, until=MOMENT),
    "Pace": record(
        ("reviewer", "decided"),
        reviewer=PRINCIPAL,
        decided=WHOLE,
        seconds=either({"type": "number"}, NULL),
        quick=WHOLE,
        kept=WHOLE,
        kept_far=WHOLE,
        together=WHOLE,
    ),
}

_LATE = {404: "there is none that you may see", 409: "somebody was faster, or it is over"}
_NONE = {404: "there is none that you may see"}
_ONE = "reviews/{id}"

CALLS = (
    Told("reviews", "get", "The reviews one started or is asked in", "audit", page(ref("Review")), PAGED),
    Told(
        "reviews", "post", "Review access: who may grant there may ask", "manage", ref("Review"),
        body=ref("NewReview"), status=201,
    ),
    Told(_ONE, "get", "How a review stands", "audit", ref("Review"), others=_NONE),
    Told(
        f"{_ONE}/rows", "get", "The work-list of the caller, or with `all` every row", "audit",
        page(ref("ReviewRow")), ("order", "only", "all", "text", *PAGED), others=_NONE,
    ),
    Told(
        f"{_ONE}/rows/{{number}}/effect", "get", "What removing a row would really do", "audit",
        ref("Effect"), others=_NONE,
    ),
    Told(
        f"{_ONE}/decisions", "post", "Decide rows in one step", "manage",
        record(
            ("decided", "refused"),
            decided=listed(WHOLE),
            refused=listed(record(("row", "detail"), row=WHOLE, detail=TEXT)),
        ),
        body=record(("decisions",), decisions=listed(ref("Verdict")), seconds={"type": "number"}),
        others=_LATE,
    ),
    *(
        Told(f"{_ONE}/{deed}", "post", summary, "manage", ref("Review"), body=body, others=_LATE)
        for deed, summary, body in (
            ("close", "End deciding now; what was decided is carried out", record(reason=TEXT)),
            ("extend", "Give it more days", record(("days",), days=WHOLE, reason=TEXT)),
            ("cancel", "Call it off; nothing is removed", record(reason=TEXT)),
            ("repeat", "Have it come again after so many months, or no more",
             record(("every",), every=either(WHOLE, NULL))),
        )
    ),
    Told(
        f"{_ONE}/pass", "post", "Have somebody else decide rows", "manage",
        record(("passed",), passed=WHOLE),
        body=record(("to",), to=PRINCIPAL, rows=listed(WHOLE), reason=TEXT), others=_LATE,
    ),
    Told(
        f"{_ONE}/exceptions", "get", "What a review leaves to look at", "audit", page(ref("Exception")),
        PAGED, others=_NONE,
    ),
    Told(f"{_ONE}/pace", "get", "How fast each reviewer decides", "audit",
         record(("results",), results=listed(ref("Pace"))), others=_NONE),
    Told(
        f"{_ONE}/evidence", "get", "The auditor's bundle, a signed zip archive", "audit", TEXT, others=_NONE,
    ),
)  # fmt: skip
