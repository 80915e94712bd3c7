"""The evidence of a review: checked far from the site, and broken by whatever is changed in it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from authzsite.downloads import review_evidence
from catalog.nodes import Node
from lakewarden.record import bundle
from lakewarden.record.__main__ import main
from lakewarden.record.archive import Broken
from policies import signing
from policies.models import Review, ReviewRow
from policies.record.exports import signed_archives
from policies.reviews import completion, evidence, management
from policies.services import grants
from policies.services.grants import GrantRequest
from tests.factories import acting, the
from tests.reviews.world import a_review, acts, can_sign_in, decides, person, rows


@pytest.fixture
def closed(shop: Node) -> Review:
    can_sign_in("marek", "olivia", "ana", "mia", "carl")
    for name in ("ana", "mia"):
        wish = GrantRequest(
            the("table", "shop.sales.orders"), (person(name),), ("SELECT_TABLE", "MODIFY_TABLE")
        )
        grants.add(wish, by=acting("olivia"))
    review = a_review()
    by_key = rows(review)
    decides("olivia", by_key["ana shop.sales.orders"], "remove", reason="left the team")
    decides("olivia", by_key["mia shop.sales.orders"], "reduce", takes=("MODIFY_TABLE",))
    decides("olivia", by_key["role:sales_read shop.sales"], "keep")
    decides("olivia", by_key["ana shop.sales"], "unsure")
    management.end(review, by=acts("olivia"))
    completion.work(review)
    review.refresh_from_db()
    assert review.state == "closed"
    return review


@pytest.fixture
def archive(closed: Review, tmp_path: Path) -> Path:
    path = tmp_path / "review.zip"
    with path.open("wb") as file:
        review_evidence.write(file, closed, name="review.zip")
    return path


def test_it_says_for_each_removal_when_the_backend_was_read_without_it(
    archive: Path, closed: Review, capsys: pytest.CaptureFixture[str]
) -> None:
    key = str(signing.public_key())
    assert main([str(archive), "--key", key]) == 0
    output = capsys.readouterr().out
    assert "user:ana lost MODIFY_TABLE, SELECT_TABLE on shop.sales.orders" in output
    assert "user:mia lost MODIFY_TABLE of MODIFY_TABLE, SELECT_TABLE on shop.sales.orders" in output
    assert "left the team" in output
    assert output.count("the console was read at revision") == 2
    assert main([str(archive), "--key", key, "--person", "user:ana"]) == 0
    assert "user:mia" not in capsys.readouterr().out
    assert main([str(archive), "--key", key, "--person", "user:nobody"]) == 1
    with zipfile.ZipFile(archive) as files:
        table, report = files.read("rows.csv").decode(), files.read("report.html").decode()
        manifest = json.loads(files.read("manifest.json"))
    many = closed.counts["rows"]
    assert (len(table.splitlines()), manifest["population"]["rows"]) == (many + 1, many)
    assert "The reviewer did not know." in report


def test_every_kind_of_row_is_as_it_was_sealed(shop: Node, tmp_path: Path) -> None:
    """Roles, owners, members of groups: the check knows the words of each."""
    can_sign_in("marek", "olivia", "ana", "mia", "carl")
    people = tuple(person(name) for name in ("olivia", "ana", "mia", "carl"))
    review = a_review(shop, by="marek", people=people)
    kinds = set(review.rows.values_list("kind", flat=True))
    assert kinds >= {"role", "owner"}, kinds
    management.end(review, by=acts("marek"))
    completion.work(review)
    review.refresh_from_db()
    path = tmp_path / "all.zip"
    with path.open("wb") as file:
        review_evidence.write(file, review, name="all.zip")
    joined = ReviewRow(kind="member", group=person("group:analysts"))
    assert evidence.gives(joined) == f"a place in group {str(joined.group).partition(':')[2]}"
    assert (
        bundle.check(path, signing.public_key())
        .lines[1]
        .startswith(f"population: {review.rows.count()} rows")
    )


def rewritten(archive: Path, name: str, edit: Callable[[bytes], bytes]) -> Path:
    """The archive with one file edited and signed again, as somebody with the site's key could."""
    with zipfile.ZipFile(archive) as files:
        content = {item: files.read(item) for item in files.namelist()}
    manifest = json.loads(content["manifest.json"])
    content[name] = edit(content[name])
    kept = {name: value for name, value in content.items() if not name.startswith("manifest")}
    target = io.BytesIO()
    kept_fields = {item: manifest[item] for item in ("review", "population")}
    signed_archives.write(target, "review", kept, kept_fields)
    path = archive.with_name("changed.zip")
    path.write_bytes(target.getvalue())
    return path


def line(number: int, changed: dict[str, Any]) -> Callable[[bytes], bytes]:
    def edited(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        row = json.loads(lines[number])
        row.update(changed)
        lines[number] = json.dumps(row, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        return b"".join(lines)

    return edited


def where(archive: Path, holder: str, what: str) -> int:
    with zipfile.ZipFile(archive) as files:
        row_bodies = [json.loads(splitline) for splitline in files.read("rows.jsonl").splitlines()]
    return next(at for at, row in enumerate(row_bodies) if row["holder"] == holder and row["object"] == what)


TAMPERED = [
    ("population.jsonl", {"privileges": ["SELECT_TABLE"]}, "not the one that was sealed"),
    ("rows.jsonl", {"choice": "keep", "state": "kept"}, "does not say that row"),
    ("rows.jsonl", {"reason": "asked for by the owner"}, "does not say that row"),
    ("rows.jsonl", {"carried_revision": 3}, "was carried out"),
    ("rows.jsonl", {"decided_by": "somebody"}, "decided by another person"),
    ("rows.jsonl", {"default": True}, "was decided, though"),
    ("rows.jsonl", {"number": 99}, "not those of the population"),
    ("rows.jsonl", {"pseudonym": "somebody"}, "its pseudonym is not that of the population"),
    ("rows.jsonl", {"object": "shop.sales.customers"}, "its object is not that of the population"),
    ("rows.jsonl", {"privileges": ["SELECT_TABLE"]}, "its privileges is not that of the population"),
    ("rows.jsonl", {"gives": "SELECT_TABLE on shop.sales.customers"}, "does not give what it says"),
    ("rows.jsonl", {"kind": "owner"}, "its kind is not that of the population"),
    ("rows.jsonl", {"state": "kept"}, "was carried out, though"),
    ("rows.jsonl", {"decided_at": "2020-01-01T00:00:00+00:00"}, "was decided at another moment"),
]


def test_whatever_is_changed_is_found_though_it_is_signed_again(archive: Path) -> None:
    at = where(archive, "user:ana", "shop.sales.orders")
    for name, changed, problem in TAMPERED:
        broken = rewritten(archive, name, line(at, changed))
        with pytest.raises(Broken, match=problem):
            bundle.check(broken, signing.public_key())


def test_what_is_left_out_or_was_never_signed_is_found(archive: Path) -> None:
    shorter = rewritten(
        archive, "rows.jsonl", lambda content: b"".join(content.splitlines(keepends=True)[1:])
    )
    with pytest.raises(Broken, match="not those of the population"):
        bundle.check(shorter, signing.public_key())
    other = rewritten(
        archive, "changes.jsonl", lambda content: content.replace(b'"left the team"', b'"was asked to"')
    )
    with pytest.raises(Broken, match="was changed after it was written"):
        bundle.check(other, signing.public_key())
