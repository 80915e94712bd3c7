"""The packages that Lakewarden is built of: a bill of materials, their licenses, what is known against them.

python scripts/packages.py sbom [FILE]         CycloneDX; default: dist/lakewarden.cdx.json
python scripts/packages.py licenses [--check]  write docs/licenses.md, or only say whether it is right
python scripts/packages.py audit [--strict]    ask osv.dev; --strict fails also where it cannot be asked
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import lakewarden  # noqa: E402

DOCUMENT = ROOT / "docs" / "licenses.md"
SHIPPED, LOCK = "requirements.txt", "requirements.lock"
FILES = (SHIPPED, "requirements-dev.txt", "requirements-build.txt")
PIN = re.compile(r"^([A-Za-z0-9._-]+)(\[[a-z,]+\])?==([^\s\\]+)", re.M)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
DATABASE = "https://api.osv.dev/v1/querybatch"

ALLOWED = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSD", "CC0-1.0", "ISC", "MIT", "MIT-0"),
    *("PSF-2.0", "Unlicense", "Zlib"),
    "MPL-2.0",  # binds whoever changes its files, and none of them is changed here
    "LGPL-3.0-only",  # binds whoever changes the library, which stays exchangeable: psycopg alone
}
"""Licenses under which a package may be used and passed on with the console."""
SPELLINGS = {
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause",
    "bsd license": "BSD",
    "expat license": "MIT",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
}
READ_BY_HAND = {
    "axe-playwright-python": "MIT",  # its file LICENSE
    "fido2": "BSD-2-Clause AND Apache-2.0 AND MPL-2.0",  # its COPYING files, for parts of it
    "herdsdk": "Apache-2.0",  # the license of FINRA's Herd, of which it is made
    "isodate": "BSD-3-Clause",  # its file LICENSE
    "pandas": "BSD-3-Clause",  # the whole text stands in the field
    "pytest-django": "BSD-3-Clause",  # its file LICENSE
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",  # says "Dual License"
    "pytokens": "MIT",  # the whole text stands in the field
    "scim2-tester": "Apache-2.0",  # the whole text stands in the field
    "qrcode": "BSD-3-Clause",  # its file LICENSE; "other" is the MIT of what it was made from
}
"""Packages whose metadata do not say it, with where it was read."""
HEAD = (
    "# Licenses of packages\n\n"
    "Lakewarden itself is under the [Apache License 2.0](../LICENSE). What it runs on, as pinned in "
    "`requirements.txt`:\n\n"
)
FOOT = (
    "\nPackages for tests and checks are not passed on; their licenses are held to the same list. "
    "`make sbom` writes all of this for machines (CycloneDX), with the digests of `requirements.lock`. "
    "This page is written by `make licenses`.\n"
)


class Unknown(Exception):
    """It cannot be said; the text says why."""


@dataclass(frozen=True)
class Package:
    """One pinned package; `wants` are those pinned ones that it needs."""

    name: str
    version: str
    license: str
    summary: str = ""
    wants: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def normal(name: str) -> str:
    """A package's name as the index knows it."""
    return re.sub("[-_.]+", "-", name).lower()


def pins(name: str) -> dict[str, str]:
    """The packages of a file of requirements with their versions, and of those that it names."""
    text = (ROOT / name).read_text()
    pins_ = {normal(package): version for package, _, version in PIN.findall(text)}
    for other in re.findall(r"^-r (\S+)", text, re.M):
        pins_ |= pins(other)
    return dict(sorted(pins_.items()))


def packages(name: str) -> list[Package]:
    """The same with what they say of themselves.  Raises Unknown where one is not installed as pinned."""
    pinned = pins(name)
    return [_package(package, version, pinned) for package, version in pinned.items()]


def _package(name: str, version: str, pinned: Mapping[str, str]) -> Package:
    try:
        distribution_ = distribution(name)
    except PackageNotFoundError:
        raise Unknown(f"{name} is pinned and not installed: make setup") from None
    if distribution_.version != version:
        raise Unknown(f"{name} {distribution_.version} is installed, and {version} is pinned: make setup")
    wants = {normal(item.name) for item in _requirements(distribution_)}
    summary = _field(distribution_, "Summary")
    return Package(name, version, license_of(distribution_), summary, tuple(sorted(wants & set(pinned))))


def _requirements(package: Distribution) -> Iterator[Requirement]:
    for text in package.requires or ():
        item = Requirement(text)
        if item.marker is None or item.marker.evaluate({"extra": ""}):
            yield item


def _field(package: Distribution, name: str) -> str:
    return next(iter(package.metadata.get_all(name) or ()), "")


def license_of(found: Distribution) -> str:
    """The license as an SPDX expression; empty where the package does not say it."""
    data = found.metadata
    if known := READ_BY_HAND.get(normal(data["Name"])):
        return known
    if expression := _field(found, "License-Expression"):
        return expression
    if len(expression := _field(found, "License").strip()) < 60 and expression:
        return SPELLINGS.get(" ".join(expression.lower().split()), expression)
    classes = [text.split(" :: ")[-1] for text in data.get_all("Classifier") or () if "License ::" in text]
    return " AND ".join(SPELLINGS.get(text.lower(), text) for text in classes)


def is_allowed(expression: str) -> bool:
    """Whether a package may be used: by every license that it names, or by one that it offers."""
    if not expression:
        return False
    ways = re.split(r"\s+OR\s+", expression.replace("(", " ").replace(")", " ").strip())
    return any(set(re.split(r"\s+AND\s+", way.strip())) <= ALLOWED for way in ways)


# The bill of materials


def sbom() -> dict[str, Any]:
    """What the console is built of, in CycloneDX 1.6; the same bytes for the same packages."""
    shipped = packages(SHIPPED)
    extras = {normal(name): more for name, more, _ in PIN.findall((ROOT / SHIPPED).read_text()) if more}
    hashes = _hashes()
    own = f"pkg:generic/lakewarden@{lakewarden.__version__}"
    needed = {want for package in shipped for want in package.wants}
    direct = [package.url for package in shipped if package.name not in needed or package.name in extras]
    refs = {package.name: package.url for package in shipped}
    body: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "lakewarden",
                "version": lakewarden.__version__,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [_component(package, hashes.get(package.name, ())) for package in shipped],
        "dependencies": [
            {"ref": own, "dependsOn": direct},
            *(
                {"ref": package.url, "dependsOn": [refs[want] for want in package.wants]}
                for package in shipped
            ),
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "serialNumber": f"urn:uuid:{number}",
    } | body


def _component(package: Package, hashes: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": package.url,
        "name": package.name,
        "version": package.version,
        "description": package.summary,
        "purl": package.url,
        "licenses": [_license(package.license)],
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{package.name}/{package.version}/#files",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in hashes],
            }
        ],
    }


def _license(text: str) -> dict[str, Any]:
    if text == "BSD":  # no SPDX license: which BSD it is the package does not say
        return {"license": {"name": "BSD"}}
    return {"expression": text} if re.search(r" (AND|OR) ", text) else {"license": {"id": text}}


def _hashes() -> dict[str, tuple[str, ...]]:
    entries = re.split(r"^(?=[A-Za-z0-9])", (ROOT / LOCK).read_text(), flags=re.M)[1:]
    hashes = {}
    for entry in entries:
        if match := PIN.match(entry):
            hashes[normal(match[1])] = tuple(HASH.findall(entry))
    return hashes


# Licenses


def license_page() -> str:
    rows = [
        f"| {each.name} | {each.version} | {each.license} | {each.summary.replace('|', '/').strip()} |\n"
        for each in packages(SHIPPED)
    ]
    return f"{HEAD}| Package | Version | License | What it is |\n|---|---|---|---|\n{''.join(rows)}{FOOT}"


# What is known against them

ACCEPTED: dict[str, str] = {}
"""Advisories that do not concern this program, each with the reason."""


def audit(ask: Callable[[bytes], bytes]) -> list[str]:
    """What is known against the pinned packages, a line each.  Raises Unknown where it cannot be asked."""
    pinned = {name: version for file in FILES for name, version in pins(file).items()}
    questions = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
        for name, version in sorted(pinned.items())
    ]
    try:
        answer = json.loads(ask(json.dumps({"queries": questions}).encode()))
        results = answer["results"]
        known = [[str(item["id"]) for item in result.get("vulns", ())] for result in results]
    except (OSError, http.client.HTTPException) as problem:
        raise Unknown(f"{DATABASE} was not reached ({type(problem).__name__})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Unknown(f"{DATABASE} gave no answer that is understood") from None
    if len(known) != len(questions):
        raise Unknown(f"{DATABASE} answered {len(known)} of {len(questions)} questions")
    return [
        f"{name} {version}: {number}"
        for (name, version), numbers in zip(sorted(pinned.items()), known, strict=True)
        for number in numbers
        if number not in ACCEPTED
    ]


def ask_osv(body: bytes) -> bytes:
    request = urllib.request.Request(DATABASE, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  # https, and a constant
        response_body: bytes = answer.read(50_000_000)
    return response_body


# The commands


def main(arguments: Sequence[str], ask: Callable[[bytes], bytes] = ask_osv) -> int:
    what, *more = arguments or [""]
    try:
        if what == "sbom":
            return _write_sbom(Path(more[0]) if more else ROOT / "dist" / "lakewarden.cdx.json")
        if what == "licenses":
            return _write_licenses(only_check="--check" in more)
        if what == "audit":
            return _audit(ask, strict="--strict" in more)
    except Unknown as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    sys.stderr.write(str(__doc__))
    return 2


def _write_sbom(file: Path) -> int:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(sbom(), indent=2) + "\n")
    print(file)
    return 0


def _write_licenses(*, only_check: bool) -> int:
    if only_check:
        return int(not DOCUMENT.exists() or license_page() != DOCUMENT.read_text())
    DOCUMENT.write_text(license_page())
    return 0


def _audit(ask: Callable[[bytes], bytes], *, strict: bool) -> int:
    try:
        problems = audit(ask)
    except Unknown as problem:
        print(f"not audited: {problem}. Nothing is known about vulnerabilities of the packages.")
        return int(strict)
    for line in problems:
        print(line)
    print(f"{len(problems)} known vulnerabilities" if problems else "no known vulnerabilities")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
