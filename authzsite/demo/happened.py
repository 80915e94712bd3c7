"""What happened in the demo's six months, day by day; `six_months` does it."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from authzsite.demo import neighbours
from authzsite.demo.six_months import SixMonths, Step
from authzsite.demo.world import BY, READING
from policies.analytics import uses
from policies.analytics.uses import ReportedUse
from policies.authority import of_operator
from policies.emergency import access as emergency
from policies.emergency.access import EmergencyRequest
from policies.models import Emergency, Review
from policies.requests import decisions, escalation, submission
from policies.reviews import completion, management, population, start, worklist
from policies.reviews import decisions as review_decisions
from policies.reviews.campaign_plans import Plan, Scope, Stage
from policies.reviews.decisions import Verdict
from policies.separation.sides import Side
from policies.services import duties, separation
from policies.sync.actions import foreign_rights

TEAM_ROLES = {
    "finance_read": ("finance", "schema shop.billing", READING),
    "marketing_read": ("marketing_team", "schema shop.marketing", READING),
    "warehouse_write": ("warehouse_team", "schema shop.stock", (*READING, "MODIFY_TABLE")),
    "support_desk": ("support", "schema shop.crm", (*READING, "MODIFY_TABLE")),
    "raw_read": ("engineers", "schema shop.raw_events", READING),
}
DAILY = (
    ("lena", "table shop.billing.invoices", "read"),
    ("nadia", "table shop.billing.ledger", "read"),
    ("theo", "table shop.marketing.campaigns", "read"),
    ("maya", "table shop.marketing.ad_spend", "read"),
    ("oskar", "table shop.stock.levels", "write"),
    ("wanda", "table shop.stock.movements", "write"),
    ("elif", "table shop.crm.tickets", "write"),
    ("clara", "table shop.crm.contacts", "read"),
    ("julia", "table shop.raw_events.dead_letters", "read"),
    ("noah", "table shop.sales.orders", "read"),
)
"""What jobs told of day by day; some of it on some days alone."""
USED_DAYS = 40


def connected(past: SixMonths) -> None:
    past.compare()


def other_realms_are_made(past: SixMonths) -> None:
    neighbours.ensure()


def teams_get_roles(past: SixMonths) -> None:
    for name, (team, text, codes) in TEAM_ROLES.items():
        past.make_role(name, (text, codes), ("catalog shop", ("USE_CATALOG",)), to=past.group(team))


def payments_are_entered_and_approved(past: SixMonths) -> None:
    """Nadia does both before anybody made a rule of it."""
    ledger = "table shop.billing.ledger"
    past.make_role("enter_payments", (ledger, ("MODIFY_TABLE",)), to=past.who("nadia"))
    past.make_role(
        "approve_payments", ("table shop.billing.payments", ("MODIFY_TABLE",)), to=past.who("hugo")
    )


def nadia_stands_in(past: SixMonths) -> None:
    past.give_role("approve_payments", past.who("nadia"), reason="Stands in while Hugo is on leave")


def payments_are_separated(past: SixMonths) -> None:
    enter, other = (past.on(f"role {name}") for name in ("enter_payments", "approve_payments"))
    name = "Nobody both enters and approves payments"
    separation.make(past.place, name, Side(role=enter.id), Side(role=other.id), by=past.by("marek"))


def stock_gets_an_owner(past: SixMonths) -> None:
    """Greta leaves later, and nobody takes it over."""
    past.set_owner("schema shop.stock", "greta", by="marek")
    past.set_owner("schema shop.marketing", "theo", by="marek")


def viktor_is_on_call(past: SixMonths) -> None:
    billing = past.on("schema shop.billing")
    duties.give(billing, "break_glass", past.who("viktor"), by=BY, authority=of_operator(BY))


def mia_corrects_customers(past: SixMonths) -> None:
    reason = "Merge of duplicate customers"
    past.grant("table shop.sales.customers", past.who("mia"), "MODIFY_TABLE", days=30, reason=reason)


def lena_closes_the_year(past: SixMonths) -> None:
    past.grant(
        "table shop.sales.orders", past.who("lena"), "SELECT_TABLE", days=90, reason="Year-end closing"
    )


def support_reads_orders(past: SixMonths) -> None:
    past.grant(
        "table shop.sales.orders", past.group("support"), "SELECT_TABLE", reason="Pilot of the new desk"
    )


def support_stops(past: SixMonths) -> None:
    past.revoke("table shop.sales.orders", past.group("support"), "SELECT_TABLE", reason="The pilot is over")


def jonas_reads_orders(past: SixMonths) -> None:
    past.grant("table shop.sales.orders", past.who("jonas"), "SELECT_TABLE", reason="Dunning by hand")


def warehouse_reads_orders(past: SixMonths) -> None:
    past.grant(
        "table shop.sales.orders", past.group("warehouse_team"), "SELECT_TABLE", reason="Picking lists"
    )


def priya_reads_orders(past: SixMonths) -> None:
    past.grant(
        "table shop.sales.orders", past.who("priya"), "SELECT_TABLE", days=39, reason="Audit of refunds"
    )


def hugo_will_read_refunds(past: SixMonths) -> None:
    past.grant(
        "table shop.sales.refunds", past.who("hugo"), "SELECT_TABLE", begins=6, days=20, reason="Audit week"
    )


def somebody_grants_by_hand(past: SixMonths) -> None:
    past.in_shop("GRANT USAGE ON SCHEMA marketing, stock TO dora")
    past.in_shop("GRANT SELECT ON marketing.ad_spend TO dora")
    past.in_shop("GRANT SELECT ON stock.suppliers TO dora")
    past.compare()


def the_drift_is_decided(past: SixMonths) -> None:
    """One grant is made ours, the other is taken away."""
    adopted, refused = (
        past.finding(f"table shop.{name}", "dora") for name in ("marketing.ad_spend", "stock.suppliers")
    )
    if adopted is not None:
        foreign_rights.adopt(adopted.pk, by=past.by("marek"), reason="Dora plans the budget")
    if refused is not None:
        foreign_rights.revoke(refused.pk, by=past.by("marek"), reason="Not needed for the budget")
    past.compare()


def theo_asks(past: SixMonths) -> None:
    past.ask(
        "theo", "view shop.sales.customers_masked", "read", "Which countries our campaigns reach", "P60D"
    )


def theo_is_given(past: SixMonths) -> None:
    decisions.approve(past.asked["theo"].pk, by=past.by("olivia"), note="The masked view is made for this")
    past.compare()


def jana_asks(past: SixMonths) -> None:
    past.ask("jana", "table shop.billing.bank_accounts", "read", "Curious how refunds are paid out")


def jana_is_refused(past: SixMonths) -> None:
    reason = "Bank accounts stay with finance; ask Lena for the totals"
    decisions.refuse(past.asked["jana"].pk, reason, by=past.by("olivia"))


def sofia_asks(past: SixMonths) -> None:
    past.ask("sofia", "table shop.sales.returns", "write", "Close returns that were paid twice", "P14D")


def sofia_takes_it_back(past: SixMonths) -> None:
    submission.withdraw(past.asked["sofia"].pk, by=past.by("sofia"))


def kofi_asks(past: SixMonths) -> None:
    past.ask("kofi", "table shop.sales.targets", "read", "Targets for the spring campaign")


def kofi_waits_too_long(past: SixMonths) -> None:
    escalation.tick(timezone.now())


def leo_asks(past: SixMonths) -> None:
    past.ask("leo", "table shop.sales.baskets", "read", "Why baskets are lost at checkout", "P90D")


def leo_is_given_less(past: SixMonths) -> None:
    decisions.approve(past.asked["leo"].pk, by=past.by("olivia"), lasts="P30D", note="A month first")
    past.compare()


def zoe_asks(past: SixMonths) -> None:
    past.ask("zoe", "table shop.sales.refunds", "read", "Reconcile refunds with the bank", "P30D")


def zoe_is_asked_back(past: SixMonths) -> None:
    decisions.ask_back(past.asked["zoe"].pk, "Which months do you need?", by=past.by("olivia"))


def sales_is_reviewed(past: SixMonths) -> None:
    purpose = "The autumn review: everybody who reads or changes sales."
    scope = Scope((past.on("schema shop.sales"),))
    plan = Plan("Autumn review of sales", scope, (Stage("owner"),), purpose=purpose, pace=0)
    population.build(start.start(plan, by=past.by("olivia")))


def sales_review_is_decided(past: SixMonths) -> None:
    """Olivia keeps all but what Jonas no longer needs."""
    review = Review.objects.get(title="Autumn review of sales")
    for row in worklist.rows_of(review, past.who("olivia")).order_by("number"):
        goes = row.holder == past.who("jonas")
        reason = "Dunning runs by itself now" if goes else "Still needed"
        verdict = Verdict(row.pk, row.version, "remove" if goes else "keep", reason=reason)
        review_decisions.decide(review, [verdict], by=past.by("olivia"), seconds=30)
    management.end(review, by=past.by("olivia"))
    review.refresh_from_db()
    completion.work(review)


def sales_review_is_over(past: SixMonths) -> None:
    past.compare()
    review = Review.objects.get(title="Autumn review of sales")
    completion.work(review)


def viktor_opens_the_ledger(past: SixMonths) -> None:
    reason = "The ledger rejects all bookings since 06:40; month-end closing waits"
    wanted = EmergencyRequest(past.on("table shop.billing.ledger"), "write", 2, reason)
    emergency.open_for_oneself(wanted, by=past.by("viktor"))


def the_ledger_works_again(past: SixMonths) -> None:
    emergency.finish_all(timezone.now())
    row = Emergency.objects.get(person=past.who("viktor"))
    verdict = "Repaired a sequence and nothing else; a monitor now warns before it runs out"
    emergency.close(row.pk, verdict, by=past.by("olivia"))


def jobs_tell_what_they_used(past: SixMonths) -> None:
    """Forty days of it, at the moments at which it was used."""
    jobs, now = past.who_service("nightly_load"), timezone.now()
    for days in range(USED_DAYS, 0, -1):
        at = now - timedelta(days=days)
        reported = [
            ReportedUse(past.who(name), past.on(text), action, True, at)
            for number, (name, text, action) in enumerate(DAILY)
            if (days + number) % (1 + number % 4) == 0
        ]
        uses.take(past.place.realm_id, jobs, f"daily-{at:%Y-%m-%d}", reported)


STEPS: tuple[tuple[float, Step], ...] = (
    (181, connected),
    (178, teams_get_roles),
    (174, other_realms_are_made),
    (171, stock_gets_an_owner),
    (170, mia_corrects_customers),
    (160, viktor_is_on_call),
    (155, payments_are_entered_and_approved),
    (150, lena_closes_the_year),
    (136, nadia_stands_in),
    (128, support_reads_orders),
    (122, payments_are_separated),
    (112, somebody_grants_by_hand),
    (110, the_drift_is_decided),
    (100, jonas_reads_orders),
    (92, theo_asks),
    (91, theo_is_given),
    (88, warehouse_reads_orders),
    (80, sales_is_reviewed),
    (73, sales_review_is_decided),
    (72, sales_review_is_over),
    (71, jana_asks),
    (70, jana_is_refused),
    (66, support_stops),
    (64, kofi_asks),
    (52, sofia_asks),
    (51, sofia_takes_it_back),
    (38, viktor_opens_the_ledger),
    (37, the_ledger_works_again),
    (32, kofi_waits_too_long),
    (30, priya_reads_orders),
    (27, leo_asks),
    (25, leo_is_given_less),
    (3, hugo_will_read_refunds),
    (2, zoe_asks),
    (1, zoe_is_asked_back),
    (0.1, jobs_tell_what_they_used),
)
