"""What the console is built of: complete, under licenses that allow it, and asked about in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scripts import packages
from scripts.packages import FILES, LOCK, SHIPPED, Unknown, audit, is_allowed, main, pins


@pytest.mark.parametrize("file", FILES)
def test_every_pinned_package_has_a_license_that_is_allowed(file: str) -> None:
    named = {package.name: package.license for package in packages.packages(file)}
    assert set(named) == set(pins(file))
    assert {name: license_ for name, license_ in named.items() if not is_allowed(license_)} == {}


@pytest.mark.parametrize(
    ("said", "allowed"),
    [
        ("MIT", True),
        ("MIT AND Apache-2.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("(GPL-3.0-only) OR (MIT)", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only", False),
        ("AGPL-3.0", False),
        ("Other/Proprietary License", False),
        ("", False),
    ],
)
def test_a_license_is_judged_by_all_that_it_names(said: str, allowed: bool) -> None:
    assert is_allowed(said) is allowed


def test_the_page_is_as_the_packages_say() -> None:
    assert packages.license_page() == packages.DOCUMENT.read_text(), "run `make licenses`"


def test_a_package_that_is_not_there_as_pinned_is_no_guess() -> None:
    with pytest.raises(Unknown, match="not installed"):
        packages._package("no-such-package", "1", {})
    with pytest.raises(Unknown, match="pinned"):
        packages._package("django", "0.1", {})


def test_the_bill_of_materials_names_everything_and_nothing_twice() -> None:
    bill = packages.sbom()
    parts = bill["components"]
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert {part["name"]: part["version"] for part in parts} == pins(SHIPPED) == pins(LOCK)
    refs = [part["bom-ref"] for part in parts]
    assert len(set(refs)) == len(refs)
    assert [part["name"] for part in parts if not part["externalReferences"][0]["hashes"]] == []
    own = bill["metadata"]["component"]["bom-ref"]
    assert {part["ref"] for part in bill["dependencies"]} == {own, *refs}
    reached, more = {own}, {own}
    wants = {part["ref"]: set(part["dependsOn"]) for part in bill["dependencies"]}
    while more := set().union(*(wants[ref] for ref in more)) - reached:
        reached |= more
    assert reached == {own, *refs}
    assert bill == packages.sbom()
    json.dumps(bill)


# Vulnerabilities


def answer(**known: Any) -> bytes:
    """What the database says: of all packages nothing, of these something."""
    names = sorted({name for file in FILES for name in pins(file)})
    return json.dumps(
        {"results": [{"vulns": known[name]} if name in known else {} for name in names]}
    ).encode()


def test_what_is_known_is_said_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    known = [{"id": "PYSEC-2099-1", "modified": "2099-01-01"}]
    assert main(["audit"], lambda _: answer(django=known)) == 1
    assert f"django {pins(SHIPPED)['django']}: PYSEC-2099-1" in capsys.readouterr().out
    assert main(["audit"], lambda _: answer()) == 0
    assert "no known" in capsys.readouterr().out


def test_every_package_is_asked_about_with_its_version() -> None:
    asked: list[dict[str, Any]] = []

    def ask(body: bytes) -> bytes:
        asked.extend(json.loads(body)["queries"])
        return answer()

    assert audit(ask) == []
    named = {query["package"]["name"]: query["version"] for query in asked}
    assert named == {name: version for file in FILES for name, version in pins(file).items()}


@pytest.mark.parametrize(
    "said", [b"", b"<html>", b"{}", b'{"results": []}', b'{"results": [{}]}', b'{"results": 7}', b"[]"]
)
def test_no_answer_is_not_read_as_none_known(said: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit"], lambda _: said) == 0
    out = capsys.readouterr().out
    assert "not audited" in out
    assert "no known" not in out
    assert main(["audit", "--strict"], lambda _: said) == 1


def test_a_database_that_is_not_reached_fails_no_check(capsys: pytest.CaptureFixture[str]) -> None:
    def ask(body: bytes) -> bytes:
        raise ConnectionRefusedError

    assert main(["audit"], ask) == 0
    assert "not audited" in capsys.readouterr().out
