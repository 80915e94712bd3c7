"""The rooms of reviews: what waits, deciding in three views, who owes what, the result with its proof."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from accounts.people import make_account
from authzsite.console.reviews import results, start
from catalog.nodes import Node
from policies.models import AccessRecord, Review, ReviewRow
from policies.reviews import completion, management, population
from policies.reviews.campaign_plans import Stage
from policies.services import duties, grants
from policies.services.grants import GrantRequest
from tests.console.kit.test_navigation import badge
from tests.console.settings.test_owners_and_members import posted
from tests.factories import AUTHORITY, BY, a_person, a_role, acting, admit, rewritten, the
from tests.kept import kept
from tests.markup import markup
from tests.reviews.world import a_review, acts, decides, rows

Enter = Callable[[str], Client]
READ, WRITE = ("SELECT_TABLE",), ("SELECT_TABLE", "MODIFY_TABLE")


def orders() -> Node:
    return the("table", "shop.sales.orders")


def make_sales(shop: Node) -> Node:
    """On orders Ana reads, Noah writes, Nora reads until in a month; Olivia and Marek can sign in."""
    for name in ("olivia", "marek", "ana", "noah", "nora", "mia"):
        make_account(name)
    admit(shop, "noah", "nora")
    until = timezone.now() + timedelta(days=60)
    for name, codes, end in (("ana", READ, None), ("noah", WRITE, None), ("nora", READ, until)):
        grants.add(GrantRequest(orders(), (a_person(name),), codes, None, end), by=acting("olivia"))
    return shop


sales = kept(make_sales, on="shop")


def text(client: Client, address: str) -> str:
    return unescape(markup(client.get(address)))


def decided(client: Client, review: Review, choices: dict[str, str], **more: str) -> Any:
    """A step as a browser sends it: the versions of the page, and the choices by who and what."""
    known = rows(review)
    form = {f"v-{known[name].pk}": str(known[name].version) for name in choices}
    form |= {f"d-{known[name].pk}": choice for name, choice in choices.items()}
    address = f"/reviews/{review.pk}"
    client.get(address)
    return client.post(address, {"step": "submit", "nonce": "a" * 20, **form, **more})


def choice_of(review: Review, name: str) -> str:
    return rows(review)[name].choice


ANA, NOAH = "ana shop.sales.orders", "noah shop.sales.orders"
NORA = "nora shop.sales.orders"


# What waits


def test_a_review_waits_for_who_is_asked(sales: Node, signed_in: Enter) -> None:
    review = a_review()
    olivia = signed_in("olivia")
    assert f'href="/reviews/{review.pk}"' in text(olivia, "/reviews")
    assert "Waits for you" in text(olivia, "/reviews")
    assert "Sales data" in text(olivia, "/")
    assert "Sales data" not in text(signed_in("mia"), "/reviews")


def test_how_many_rows_wait_stands_beside_the_room(sales: Node, signed_in: Enter) -> None:
    many = len(rows(a_review()))
    assert f"{many}<span" in text(signed_in("olivia"), "/reviews/count")
    assert text(signed_in("mia"), "/reviews/count").strip() == ""


def test_how_many_rows_wait_is_true_on_the_page_after_each_decision(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    shown = [badge(text(olivia, f"/reviews/{review.pk}"), "Reviews")]
    for choice in ("keep", "remove"):
        decided(olivia, review, {[ANA, NOAH][choice == "remove"]: choice}, reason="left")
        shown.append(badge(text(olivia, f"/reviews/{review.pk}"), "Reviews"))
    many = len(rows(review))
    management.end(review, by=acts("olivia"))
    shown.append(badge(text(olivia, f"/reviews/{review.pk}/result"), "Reviews"))
    assert shown == [str(many), str(many - 1), str(many - 2), ""]


def test_what_is_decided_no_longer_waits(sales: Node, signed_in: Enter) -> None:
    review = a_review()
    for row in rows(review).values():
        decides("olivia", row, "keep")
    assert "No review waits for you" in text(signed_in("olivia"), "/reviews")
    assert "Running" in text(signed_in("olivia"), "/reviews")


# Starting


def form_of(**more: Any) -> dict[str, Any]:
    plan = {"title": "Quarter four", "on": the("schema", "shop.sales").id, "by": "owner", "days": "10"}
    return {**plan, "silence": "keep", "reasons": "changes", "every": "3", **more}


def test_the_count_is_told_in_the_language_of_the_reader(sales: Node, signed_in: Enter) -> None:
    address = f"/reviews/new?on={the('schema', 'shop.sales').id}"
    page = signed_in("olivia").get(address, HTTP_ACCEPT_LANGUAGE="de").content.decode()
    assert re.search(r"<b>\d+</b><span>Zeilen</span>", page)
    assert re.search(r"Überprüfung von \d+ Zeilen starten", page)
    with override("de"):
        assert str(start.KINDS["owned"]) == "Eigentümerschaften"


def test_a_review_is_counted_before_it_is_started(sales: Node, signed_in: Enter) -> None:
    body = text(signed_in("olivia"), f"/reviews/new?on={the('schema', 'shop.sales').id}")
    counted = re.search(r"<b>(\d+)</b><span>rows</span>", body)
    assert counted is not None
    assert not Review.objects.exists()
    review = a_review()
    assert review.counts["rows"] == int(counted[1])


def test_a_review_is_started_and_prepared_in_the_background(sales: Node, signed_in: Enter) -> None:
    olivia = signed_in("olivia")
    answer = posted(olivia, "/reviews/new", step="save", **form_of())
    review = Review.objects.get()
    assert answer["Location"] == f"/reviews/{review.pk}"
    assert (review.state, review.title, review.every) == ("building", "Quarter four", 3)
    assert "written down" in text(olivia, f"/reviews/{review.pk}")
    assert "hx-trigger" in olivia.get(f"/reviews/{review.pk}/state", HTTP_HX_REQUEST="true").content.decode()
    population.build(review)
    assert olivia.get(f"/reviews/{review.pk}/state")["HX-Redirect"] == f"/reviews/{review.pk}"
    assert "Does everyone on this list still need it?" in text(olivia, f"/reviews/{review.pk}")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("title", "", "Enter a name"),
        ("on", "", "Choose what to review"),
        ("days", "0", "A number from 1 to 366"),
        ("by", "people", "Enter at least one person"),
    ],
)
def test_what_is_missing_is_said_and_nothing_starts(
    field: str, value: str, said: str, sales: Node, signed_in: Enter
) -> None:
    answer = posted(signed_in("olivia"), "/reviews/new", step="save", **form_of(**{field: value}))
    assert answer.status_code == 422
    assert said in unescape(answer.content.decode())
    assert not Review.objects.exists()


def test_people_start_reviews_only_of_what_is_theirs_to_give(sales: Node, signed_in: Enter) -> None:
    stock = the("schema", "shop.stock").id
    answer = posted(signed_in("olivia"), "/reviews/new", step="save", **form_of(on=stock))
    assert answer.status_code == 422
    assert signed_in("mia").get("/reviews/new").status_code == 403
    assert not Review.objects.exists()


# Deciding


def test_rows_are_decided_and_can_be_changed_until_the_end(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    answer = decided(olivia, review, {ANA: "remove", NORA: "keep"}, reason="left the team")
    assert answer.status_code == 302
    assert (choice_of(review, ANA), choice_of(review, NORA)) == ("remove", "keep")
    assert rows(review)[ANA].reason == "left the team"
    assert "2 decisions submitted" in text(olivia, f"/reviews/{review.pk}")
    decided(olivia, review, {ANA: "keep"})
    assert choice_of(review, ANA) == "keep"
    assert grants.direct(orders(), a_person("ana")).exists()  # nothing is carried out before the end


@pytest.mark.parametrize("view", ["risk", "person", "object"])
def test_three_views_of_the_same_rows(view: str, sales: Node, signed_in: Enter) -> None:
    review = a_review()
    body = text(signed_in("olivia"), f"/reviews/{review.pk}?view={view}")
    drawn = re.findall(r'name="v-(\d+)"', body)
    assert sorted(map(int, drawn)) == sorted(row.pk for row in rows(review).values())
    heads = {"risk": "High risk", "person": "ana", "object": "shop.sales.orders"}
    assert f"<strong>{heads[view]}</strong>" in body


def test_a_row_says_who_can_what_how_and_what_we_suggest(sales: Node, signed_in: Enter) -> None:
    body = text(signed_in("olivia"), f"/reviews/{a_review().pk}")
    for text_ in ("Read, write orders", "Direct", "High risk", "decided one at a time"):
        assert text_ in body


def test_what_removal_does_is_said_before_it_is_submitted(sales: Node, signed_in: Enter) -> None:
    """Mia reads orders as an analyst, and was given it directly too."""
    grants.add(GrantRequest(orders(), (a_person("mia"),), READ), by=acting("olivia"))
    review, olivia = a_review(by="marek"), signed_in("olivia")
    row = rows(review)["mia shop.sales.orders"]
    page_text = text(olivia, f"/reviews/{review.pk}/rows/{row.number}/more?d-{row.pk}=remove")
    assert "mia keeps read" in page_text
    page = text(olivia, f"/reviews/{review.pk}/rows/{row.number}")
    assert "keeps read orders" in page
    assert "Through another path, which stays." in page
    assert choice_of(review, "mia shop.sales.orders") == ""


def test_what_a_role_gives_on_every_table_of_a_schema_is_told(sales: Node, signed_in: Enter) -> None:
    codes = ("USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE")
    a_role(sales, "sales_write", *(f"allow {code} on schema shop.sales" for code in codes), held_by=("mia",))
    review, marek = a_review(sales, by="marek"), signed_in("marek")
    row = rows(review)["mia sales_write"]
    address = f"/reviews/{review.pk}/rows/{row.number}"
    assert "loses write on all tables in sales" in text(marek, address)
    olivia = signed_in("olivia")
    page_text = text(olivia, f"{address}/more?d-{row.pk}=remove")
    assert "mia loses write on all tables in sales" in page_text
    assert "Can still use schema sales, by another path." in page_text


def test_the_other_path_is_offered_too(sales: Node, signed_in: Enter) -> None:
    grants.add(GrantRequest(the("schema", "shop.sales"), (a_person("ana"),), READ), by=acting("olivia"))
    a_role(sales, "opens", "allow USE_SCHEMA on schema shop.sales", held_by=("ana",))
    review, olivia = a_review(), signed_in("olivia")
    row = rows(review)[ANA]
    address = f"/reviews/{review.pk}/rows/{row.number}"
    assert "Other paths in this review" in text(olivia, address)
    olivia.post(f"{address}/also")
    assert "2 decisions" in text(olivia, f"/reviews/{review.pk}")
    assert choice_of(review, ANA) == ""  # ready, and not submitted


def test_ready_decisions_wait_until_they_are_submitted(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    decided(olivia, review, {ANA: "remove"}, step="save")
    assert choice_of(review, ANA) == ""
    body = text(olivia, f"/reviews/{review.pk}")
    assert "1 decision</strong> ready: 1 remove" in body
    assert f'name="d-{rows(review)[ANA].pk}" value="remove" data-key="2" checked' in body
    other = decided(olivia, review, {NORA: "keep"}, reason="gone")
    assert other.status_code == 302
    assert (choice_of(review, ANA), choice_of(review, NORA)) == ("remove", "keep")


def test_turning_the_page_keeps_what_is_ready(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    answer = decided(olivia, review, {ANA: "unsure"}, step="", go="?view=person")
    assert answer["Location"] == f"/reviews/{review.pk}?view=person"
    assert "1 decision</strong> ready" in text(olivia, f"/reviews/{review.pk}")
    outside = decided(olivia, review, {ANA: "unsure"}, step="", go="//evil.example/")
    assert outside["Location"].startswith("/reviews/")


@pytest.mark.parametrize(
    ("choice", "more", "said"),
    [
        ("remove", {}, "Add a reason."),
        ("end", {"reason": "soon"}, "Add an end date."),
        ("reduce", {"reason": "less"}, "Choose the rights to remove."),
    ],
)
def test_what_a_decision_still_needs_is_said(
    choice: str, more: dict[str, str], said: str, sales: Node, signed_in: Enter
) -> None:
    review, olivia = a_review(), signed_in("olivia")
    answer = decided(olivia, review, {NOAH: choice}, **more)
    assert answer.status_code == 422
    assert said in unescape(answer.content.decode())
    assert choice_of(review, NOAH) == ""
    assert "1 decision</strong> ready" in text(olivia, f"/reviews/{review.pk}")  # nothing typed is lost


def test_access_is_reduced_and_given_an_end(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    noah, ana = rows(review)[NOAH], rows(review)[ANA]
    form = {f"takes-{noah.pk}": "MODIFY_TABLE", f"until-{ana.pk}": "2030-01-31T18:00", "reason": "reads only"}
    assert decided(olivia, review, {NOAH: "reduce", ANA: "end"}, **form).status_code == 302
    assert rows(review)[NOAH].takes == ["MODIFY_TABLE"]
    assert f"{rows(review)[ANA].until:%Y-%m-%d}" == "2030-01-31"


def test_what_somebody_else_decided_meanwhile_is_said_and_stands(sales: Node, signed_in: Enter) -> None:
    review = a_review(by="marek", stages=(Stage("people", (a_person("olivia"), a_person("marek"))),))
    olivia, marek = signed_in("olivia"), signed_in("marek")
    known = rows(review)
    form = {f"v-{known[ANA].pk}": "0", f"d-{known[ANA].pk}": "keep", "step": "submit"}
    assert decided(olivia, review, {ANA: "remove"}, reason="gone").status_code == 302
    answer = marek.post(f"/reviews/{review.pk}", form)
    assert answer.status_code == 409
    assert "Olivia Owner decided row" in unescape(answer.content.decode())
    assert choice_of(review, ANA) == "remove"


def test_rows_that_reach_far_go_one_by_one_and_no_more_than_the_limit(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(bulk=1), signed_in("olivia")
    decided(olivia, review, {ANA: "remove", NORA: "remove", NOAH: "keep"}, reason="gone")
    chosen = [choice_of(review, name) for name in (ANA, NORA, NOAH)]
    assert sorted(chosen) == ["", "keep", "remove"]
    assert "still ready: at most 1 go in one step" in text(olivia, f"/reviews/{review.pk}")
    together = ReviewRow.objects.get(pk=rows(review)[NOAH].pk).decisions.get().together
    assert together == 1


def test_nobody_decides_their_own_access(sales: Node, signed_in: Enter) -> None:
    grants.add(GrantRequest(orders(), (a_person("marek"),), READ), by=acting("olivia"))
    review = a_review(by="marek")
    own = rows(review)["marek shop.sales.orders"]
    assert f'name="v-{own.pk}"' not in text(signed_in("marek"), f"/reviews/{review.pk}")


def test_a_decision_is_taken_back(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    decided(olivia, review, {ANA: "unsure"})
    row = rows(review)[ANA]
    address = f"/reviews/{review.pk}/rows/{row.number}"
    assert olivia.post(f"{address}/back", {"version": row.version}).status_code == 302
    assert rows(review)[ANA].state == "open"
    assert olivia.post(f"{address}/back", {"version": row.version}).status_code == 409


def test_rows_are_passed_on(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    posted(olivia, f"/reviews/{review.pk}/pass", who="user:marek", step="save", reason="on leave")
    assert "Sales data" in text(signed_in("marek"), "/reviews")
    assert "You have no row to decide here" in text(olivia, f"/reviews/{review.pk}")


# Leading


def test_who_started_it_sees_who_owes_how_much_and_how_fast(sales: Node, signed_in: Enter) -> None:
    review = a_review(sales, by="marek")
    for name in (ANA, NORA):
        decides("olivia", rows(review)[name], "keep", seconds=1)
    body = text(signed_in("marek"), f"/reviews/{review.pk}/progress")
    many = len(rows(review))
    assert f"2 of {many}" in body
    assert "1 s a row" in body
    assert 'class="done"' in body  # the line over time
    quick = text(signed_in("marek"), f"/reviews/{review.pk}/result?show=quick")
    assert quick.count('role="rowheader"') == 2
    assert signed_in("olivia").get(f"/reviews/{review.pk}/progress").status_code == 404


@pytest.mark.parametrize(
    ("names", "said"), [((ANA,), "1 removal waits for proof."), ((ANA, NORA), "2 removals wait for proof.")]
)
def test_what_waits_for_proof_is_counted_in_words(
    sales: Node, signed_in: Enter, names: tuple[str, ...], said: str
) -> None:
    review = a_review(sales, by="marek")
    rewritten(ReviewRow.objects.filter(pk__in=[rows(review)[name].pk for name in names]), state="carried")
    rewritten(Review.objects.filter(pk=review.pk), state="proving")
    assert said in text(signed_in("marek"), f"/reviews/{review.pk}/result")


@pytest.mark.parametrize(("seconds", "leads"), [(1, True), (600, False)])
@pytest.mark.parametrize("language", ["en", "de"])
def test_only_quick_decisions_are_led_to(
    sales: Node, signed_in: Enter, language: str, seconds: int, leads: bool
) -> None:
    review = a_review(sales, by="marek")
    decides("olivia", rows(review)[ANA], "keep", seconds=seconds)
    page = signed_in("marek").get(f"/reviews/{review.pk}/progress", HTTP_ACCEPT_LANGUAGE=language)
    assert ("show=quick" in page.content.decode()) == leads


@pytest.mark.parametrize("deed", ["extend", "end", "cancel", "remind", "repeat"])
def test_leading_is_for_who_may_grant_there(deed: str, sales: Node, signed_in: Enter) -> None:
    duties.give(sales, "view_history", a_person("mia"), by=BY, authority=AUTHORITY)
    review = a_review(sales, by="marek")
    address = f"/reviews/{review.pk}/do/{deed}"
    assert signed_in("marek").get(address).status_code == 200
    assert signed_in("mia").post(address).status_code == 403  # Mia may read the history
    assert signed_in("olivia").post(address).status_code == 404  # Olivia is asked, and no more
    assert signed_in("marek").get(f"/reviews/{review.pk}/do/nothing").status_code == 404


def test_more_time_an_end_and_a_reminder(sales: Node, signed_in: Enter) -> None:
    review, marek = a_review(sales, by="marek"), signed_in("marek")
    due = review.due
    posted(marek, f"/reviews/{review.pk}/do/extend", days="5")
    review.refresh_from_db()
    assert review.due == due + timedelta(days=5)
    assert posted(marek, f"/reviews/{review.pk}/do/extend", days="x").status_code == 422
    posted(marek, f"/reviews/{review.pk}/do/remind")
    assert "2 reviewers reminded" in text(marek, f"/reviews/{review.pk}/progress")
    posted(marek, f"/reviews/{review.pk}/do/end", reason="all is said")
    review.refresh_from_db()
    assert review.state == "closing"


# The result


def closed(review: Review) -> Review:
    management.end(review, by=acts(review.starter.name))
    for _ in range(3):
        completion.work(review)
        review.refresh_from_db()
    return review


def test_the_result_says_when_each_removal_was_read_again(sales: Node, signed_in: Enter) -> None:
    review = a_review()
    decides("olivia", rows(review)[ANA], "remove")
    olivia = signed_in("olivia")
    closed(review)
    assert not grants.direct(orders(), a_person("ana")).exists()
    body = text(olivia, f"/reviews/{review.pk}/result")
    assert "1 of 1 removal proved" in body
    assert "Not synced to a backend; in force since revision" in body
    assert "no longer needed" in body
    left = text(olivia, f"/reviews/{review.pk}/result?show=left")
    assert "Nobody decided." in left
    assert "is responsible for it until" in left


def test_paper_and_file_hold_every_row(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    many = len(rows(review))
    paper = text(olivia, f"/reviews/{review.pk}/print")
    assert paper.count('role="rowheader"') == many
    assert review.digest in paper
    file = b"".join(olivia.get(f"/reviews/{review.pk}/rows.csv")).decode()
    assert len(file.splitlines()) == many + 1


@pytest.mark.parametrize(
    ("left", "said"), [(1, "1 more row is in the file."), (2, "2 more rows are in the file.")]
)
def test_paper_counts_what_it_leaves_to_the_file(
    sales: Node, signed_in: Enter, monkeypatch: pytest.MonkeyPatch, left: int, said: str
) -> None:
    review = a_review()
    monkeypatch.setattr(results, "PRINTED", len(rows(review)) - left)
    assert said in text(signed_in("olivia"), f"/reviews/{review.pk}/print")


def test_evidence_is_for_who_may_export_the_history(sales: Node, signed_in: Enter) -> None:
    review, olivia = a_review(), signed_in("olivia")
    address = f"/reviews/{review.pk}/evidence"
    assert "Exporting evidence requires a duty" in text(olivia, f"/reviews/{review.pk}/result")
    assert olivia.post(address).status_code == 302
    assert AccessRecord.objects.filter(kind="refused", operation="export_history").exists()
    duties.give(sales, "export_history", a_person("olivia"), by=BY, authority=AUTHORITY)
    answer: Any = olivia.post(address)
    assert answer["Content-Disposition"].endswith(f'review-{review.pk}.zip"')
    assert b"".join(answer)[:2] == b"PK"


def test_a_hidden_review_reads_like_an_absent_one(sales: Node, signed_in: Enter) -> None:
    review, mia = a_review(), signed_in("mia")
    for tail in ("", "/result", "/progress", "/how", "/pass", "/print", "/rows.csv", "/rows/1"):
        assert mia.get(f"/reviews/{review.pk}{tail}").status_code == 404
        assert mia.get(f"/reviews/987654{tail}").status_code == 404
    shown = text(mia, "/history/looks")
    assert (f"review {review.pk}" in shown) == ("review 987654" in shown)


@pytest.mark.parametrize(
    "query",
    [
        "after=x",
        "after=1~z",
        "after=99999999999~1",
        "view=moon&only=sun",
        "q=%00",
        "only=again",
        "after=5~%00",
    ],
)
def test_what_makes_no_sense_breaks_nothing(query: str, sales: Node, signed_in: Enter) -> None:
    assert signed_in("olivia").get(f"/reviews/{a_review().pk}?{query}").status_code == 200


@pytest.mark.parametrize(("typed", "taken"), [("shop.sales.orders", True), ("ORDERS", True), ("s", False)])
def test_a_name_and_enter_choose_what_is_reviewed(
    typed: str, taken: bool, sales: Node, signed_in: Enter
) -> None:
    form = {"what": typed, "step": "look", "nonce": "a" * 20, "title": "Kept"}
    body = unescape(markup(signed_in("olivia").post("/reviews/new", form)))
    assert (f'name="on" value="{orders().id}"' in body) == taken
    assert re.search(r'<input id="what" [^>]*value="([^"]*)"', body)[1] == ("" if taken else typed)
    assert re.search(r'<input id="what" [^>]* autofocus[ >]', body)
    assert 'value="Kept"' in body
