"""Evidence whose every digest and signature fits, made by a site that lies: what an outsider still sees.

In each realm, of each law, Ana has nothing, Bob was given something directly, Gus has it by a group or by a
role, and Olive owns; the lies are that Ana had what one of these has.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from accounts import people
from accounts.models import Membership
from authzsite.downloads import evidence
from catalog.nodes import Node
from lakewarden.record import bundle, chain
from lakewarden.record.archive import Broken
from lakewarden.record.stated_facts import Facts
from policies import signing
from policies.models import Checkpoint, Grant
from policies.record.exports import signed_archives
from policies.record.exports.evidence import Question, proved, revisions_of
from policies.record.revisions import latest
from policies.services import entries, members, patterns, roles
from tests.cdap_law.world import a_cdap, make, text
from tests.factories import AUTHORITY, BY, a_person, a_role, a_shop, admit, owned, the
from tests.herd.world import a_herd, namespaces, role
from tests.kept import kept
from tests.record.archives import resigned, rewritten

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Site:
    """An object of each law, and one beside it."""

    gravitino: Node
    herd: Node
    cdap: Node
    items: Node


def make_site() -> Site:
    root = a_shop(owner="olive")
    gus = a_person("gus", "team")
    admit(root, "ana", "bob", "gus", "group:team")
    owned(the("schema", "shop.sales"), "olive")
    a_role(root, "browse", "allow USE_CATALOG on catalog shop", held_by=("ana", "bob", "group:team"))
    a_role(
        root,
        "reader",
        "allow USE_SCHEMA on schema shop.sales",
        "allow SELECT_TABLE on schema shop.sales",
        "allow SELECT_TABLE on table shop.stock.items",
        held_by=("bob", "group:team"),
    )
    a_role(root, "none", "deny SELECT_TABLE on table shop.sales.orders", held_by=("gus",))
    herd = a_herd(owner="olive")
    [sales, _] = namespaces(herd, "SALES", "STOCK")
    entries.replace(sales, people.ensure("user", "bob"), ("READ",), by=BY, authority=AUTHORITY)
    entries.replace(sales, people.ensure("user", "BOSS"), ("READ",), by=BY, authority=AUTHORITY)
    entries.replace(sales, people.ensure("pattern", "*@CORP"), ("READ",), by=BY, authority=AUTHORITY)
    role("gus")
    cdap = a_cdap(owner="olive", admin_group="admins")
    make(cdap, "namespace:ns1", "dataset:ns1.orders", "dataset:ns1.items")
    a_person("adam", "admins", "team")
    readers = roles.create(cdap, "readers", by=BY, authority=AUTHORITY)
    roles.assign(readers, gus, by=BY, authority=AUTHORITY)
    for target, holder, code in (
        ("dataset:ns1.*", people.ensure("user", "bob"), "READ"),
        ("dataset:ns1.orders", people.ensure("group", "team"), "WRITE"),
        ("dataset:ns1.orders", readers, "ADMIN"),
        ("dataset:ns1.items", people.ensure("user", "ana"), "READ"),
    ):
        patterns.grant(cdap, text(target), holder, [code], by=BY)
    orders = the("dataset", "ns1.orders", cdap.realm)
    return Site(the("table", "shop.sales.orders"), sales, orders, the("table", "shop.stock.items"))


site = kept(make_site)
LAWS = ("gravitino", "herd", "cdap")
SELECT = "SELECT_TABLE"


def taken(place: Path, node: Node, person: str = "", **asked: Any) -> Path:
    who = people.ensure(*person.split(":")) if person else None
    content = io.BytesIO()
    evidence.write(content, Question(node, latest(), who, **asked), name="e.zip")
    place.write_bytes(content.getvalue())
    return place


def lines(archive: Path, person: str = "", record: Path | None = None) -> list[str]:
    return bundle.check(archive, signing.public_key(), person, record=record).lines


def the_record(place: Path) -> Path:
    with place.open("wb") as file:
        signed_archives.record(file)
    return place


# what is true passes


@pytest.mark.parametrize("law", LAWS)
def test_evidence_of_each_law_is_proved(site: Site, tmp_path: Path, law: str) -> None:
    statements = lines(taken(tmp_path / "e.zip", getattr(site, law)))
    could = {
        line.split(" could do: ")[0]: line.split(": ")[1] for line in statements if " could do: " in line
    }
    assert "read" in could["user:bob"], statements
    assert "the site says" not in statements[1]
    assert could.get("user:ana", "nothing") == "nothing"
    assert could["user:olive"] not in ("", "nothing")


@pytest.mark.parametrize(
    ("law", "person", "said"),
    [
        ("gravitino", "user:ana", "could do: nothing"),
        ("gravitino", "group:team", "held SELECT_TABLE on demo/shop.sales via role reader"),
        ("herd", "user:x@corp", "held READ on herd/SALES via pattern *@CORP: since change"),
        ("herd", "user:boss", "held READ on herd/SALES as user:BOSS: since change"),
        ("herd", "user:ana", "could do: use"),
        ("cdap", "user:ana", "could do: nothing"),
        (
            "cdap",
            "user:adam",
            "held OWNER on c43 via group admins: by the realm's settings (the admin",
        ),
        ("cdap", "user:bob", "held READ on dataset:ns1.*: since change"),
        ("cdap", "user:gus", "held ADMIN on dataset:ns1.orders via role readers: since change"),
    ],
)
def test_somebody_who_is_asked_about_alone_is_told_of(
    site: Site, tmp_path: Path, law: str, person: str, said: str
) -> None:
    statements = lines(taken(tmp_path / "e.zip", getattr(site, law), person), person)
    assert any(said in line for line in statements), statements


def test_who_held_a_role_is_proved(site: Site, tmp_path: Path) -> None:
    statements = lines(taken(tmp_path / "e.zip", the("role", "none")))
    assert any(line.startswith("user:gus could do: ") and "nothing" not in line for line in statements), (
        statements
    )


def test_of_a_change_that_tells_of_more_than_one_may_take_away_the_site_is_believed(
    site: Site, tmp_path: Path
) -> None:
    """The tables were registered together with others, the schemas too: whose duty ends at the schema."""
    schema = the("schema", "shop.sales")
    statements = lines(taken(tmp_path / "e.zip", site.gravitino, reach=frozenset({schema.id})))
    word = "where these stood and what they were called, the site says alone: "
    assert statements[1] == f"{word}demo, demo/shop, demo/shop.sales"
    with zipfile.ZipFile(tmp_path / "e.zip") as archive:
        assert b"demo/shop.stock" not in archive.read("changes.jsonl")


# what is false does not


@dataclass
class Lying:
    """The archive of a site that changes what it says and signs it again."""

    files: dict[str, bytes]

    def __post_init__(self) -> None:
        self.told = json.loads(self.files["access.json"])
        self.manifest = json.loads(self.files["manifest.json"])

    def row(self, person: str) -> dict[str, Any]:
        """The row of somebody, empty when there was none."""
        for row in self.told["rows"]:
            if row["principal"] == person:
                return row
        who = people.ensure(*person.split(":"))
        row = {"principal": person, "name": who.name, "pseudonym": who.pseudonym, "actions": ["read"]}
        self.told["rows"].append(row | {"paths": [], "way": [], "member": [], "holds": []})
        self.manifest["population"]["listed"] += 1
        self.manifest["population"]["with_access"] += 1
        return self.told["rows"][-1]

    def path(self, person: str, privilege: str) -> dict[str, Any]:
        paths = self.row(person)["paths"]
        return next(dict(path) for path in paths if path["privilege"] == privilege)

    def gives(self, person: str, *paths: dict[str, Any]) -> None:
        """Say of somebody that they had what these paths give, and nothing else."""
        self.row(person)["paths"] = list(paths)

    def proves(self, *codes: str) -> None:
        """Put the changes that began and ended these facts into the archive, too."""
        here = [json.loads(line) for line in self.files["changes.jsonl"].splitlines()]
        known = {item["change"]["revision"] for item in here}
        more = proved(Checkpoint.objects.latest("size"), revisions_of(codes) - known)
        ordered = sorted([*here, *more], key=lambda event: event["change"]["revision"])
        self.files["changes.jsonl"] = b"".join(chain.canonical(item).encode() + b"\n" for item in ordered)

    def sign(self) -> None:
        self.files["access.json"] = chain.canonical(self.told).encode()
        self.files["manifest.json"] = json.dumps(self.manifest).encode()
        resigned(self.files)


def alone(path: dict[str, Any]) -> dict[str, Any]:
    """The path without the links that lead to what is given."""
    return {**path, "facts": path["facts"][-1:], "via": []}


def borrowed(of: str, privilege: str) -> Callable[[Lying], None]:
    return lambda lie: lie.gives("user:ana", lie.path(of, privilege))


def alone_of(of: str, privilege: str) -> Callable[[Lying], None]:
    return lambda lie: lie.gives("user:ana", alone(lie.path(of, privilege)))


def behind_a_true_link(of: str, privilege: str) -> Callable[[Lying], None]:
    """What another was given, behind a link that is true of Ana."""

    def forge(lie: Lying) -> None:
        path, own = lie.path(of, privilege), lie.row("user:ana")
        link = own["member"] or [code for item in own["paths"] + own["way"] for code in item["facts"][:1]]
        lie.gives("user:ana", {**path, "facts": [*link, path["facts"][-1]]})

    return forge


def by_name(of: str, name: str) -> Callable[[Lying], None]:
    """What was given to a name, as if Ana bore it."""

    def forge(lie: Lying) -> None:
        bearer = people.ensure(*name.split(":"))
        data = {"principal": name, "pseudonym": bearer.pseudonym}
        lie.gives("user:ana", {**alone(lie.path(of, "READ")), "bearer": data})

    return forge


def by_settings(lie: Lying) -> None:
    lie.gives("user:ana", {**lie.path("user:bob", SELECT), "facts": [], "ground": "the admin group"})


def elsewhere(lie: Lying) -> None:
    """Bob reads another table too, which is true."""
    grant = Grant.objects.open().get(securable__placements__name="items", privilege=SELECT)
    path = lie.path("user:bob", SELECT)
    code = f"grant:{grant.pk}"
    lie.proves(code)
    facts = [*path["facts"][:-1], code]
    lie.gives("user:bob", {**path, "object": grant.securable_id, "facts": facts})


def on_another_name(lie: Lying) -> None:
    grant = Grant.objects.open().get(pattern="dataset:ns1.items")
    path = {**lie.path("user:bob", "READ"), "object": grant.pattern, "facts": [f"grant:{grant.pk}"]}
    lie.proves(*path["facts"])
    lie.gives("user:ana", path)


def without_the_denial(lie: Lying) -> None:
    row = lie.row("user:gus")
    row["paths"] = [path for path in row["paths"] if path["allow"]]


def can_more(lie: Lying) -> None:
    lie.row("user:bob")["actions"] = ["drop", "read"]


def twice(lie: Lying) -> None:
    lie.told["rows"].append({**lie.row("user:bob")})
    lie.manifest["population"]["listed"] += 1


def fewer(lie: Lying) -> None:
    lie.told["rows"].remove(lie.row("user:bob"))


def another_table(lie: Lying) -> None:
    lie.manifest["question"]["object"]["id"] = "demo/shop.stock.items"


def another_name(lie: Lying) -> None:
    lie.told["place"][-1]["name"] = "items"
    lie.manifest["question"]["object"]["id"] = "demo/shop.sales.items"


def another_way_down(lie: Lying) -> None:
    del lie.told["place"][2]
    lie.manifest["question"]["object"]["id"] = "demo/shop.orders"


def before_it_began(lie: Lying) -> None:
    moment = datetime.fromisoformat(lie.manifest["question"]["as_of"]) - timedelta(days=300)
    lie.manifest["question"]["as_of"] = moment.isoformat()


def not_yet_signed(lie: Lying) -> None:
    lie.manifest["question"]["revision"] += 1000


def another_law(lie: Lying) -> None:
    lie.manifest["question"]["law"] = "of the jungle"


def mode_left_out(lie: Lying) -> None:
    lie.told["mode"] = {}


def a_gift_in_between(lie: Lying) -> None:
    """A fact that is true and leads nowhere would only move the day since when."""
    path = lie.path("user:bob", SELECT)
    other = lie.path("user:olive", "OWNER")["facts"][-1]
    lie.gives("user:bob", {**path, "facts": [*path["facts"][:-1], other, path["facts"][-1]]})


Lie = Callable[[Lying], None]
LIES: dict[str, tuple[tuple[str, Lie, str], ...]] = {
    "gravitino": (
        (
            "a role's grant, and nothing shows that ana held it",
            alone_of("user:bob", SELECT),
            "gives to a role",
        ),
        ("what a group's role gives", alone_of("user:gus", SELECT), "gives to a role"),
        ("what another's role gives", borrowed("user:bob", SELECT), "does not speak of"),
        (
            "being in the realm, and another's role",
            behind_a_true_link("user:bob", SELECT),
            "does not go on from",
        ),
        ("another's ownership", alone_of("user:olive", "OWNER"), "does not speak of"),
        (
            "being in the realm, and another's ownership",
            behind_a_true_link("user:olive", "OWNER"),
            "does not go on from",
        ),
        ("what settings give, where they give nothing", by_settings, "no settings give"),
        ("a grant on another table", elsewhere, "is not about demo/shop.sales.orders"),
        ("a denial left out", without_the_denial, "by what is shown, user:gus could do: read"),
        ("an action too many", can_more, "by what is shown, user:bob could do: read"),
        ("a fact that is true and leads nowhere", a_gift_in_between, "leads to nothing else"),
        ("somebody twice", twice, "is listed twice"),
        ("somebody left out", fewer, "not what it says"),
        ("the name of another table", another_table, "what stood there is table demo/shop.sales.orders"),
        ("another name at its place", another_name, "puts table orders there, not table items"),
        ("a level left out", another_way_down, "does not stand below"),
        ("a day before it began", before_it_began, "had not begun at"),
        ("a revision to come", not_yet_signed, "was not signed"),
        ("a law of its own", another_law, "is no dialect"),
        ("no word on whether the law was enforced", mode_left_out, "nothing in it shows that"),
    ),
    "herd": (
        ("what another was given", alone_of("user:bob", "READ"), "does not speak of"),
        ("what a pattern was given, as if ana was", alone_of("pattern:*@CORP", "READ"), "does not speak of"),
        (
            "a pattern that does not match",
            by_name("pattern:*@CORP", "pattern:*@CORP"),
            "does not hold what pattern:",
        ),
        (
            "a name that is not ana's in any case",
            by_name("user:BOSS", "user:BOSS"),
            "does not hold what user:BOSS does",
        ),
        ("a name of ana's, and what another was given", by_name("user:bob", "user:ANA"), "does not speak of"),
    ),
    "cdap": (
        ("what another was given", alone_of("user:bob", "READ"), "does not speak of"),
        (
            "what a group has, and nothing shows that ana was in it",
            alone_of("user:gus", "WRITE"),
            "does not speak of",
        ),
        ("another's way through the group", borrowed("user:gus", "WRITE"), "does not speak of"),
        (
            "what a role has, and nothing shows that ana held it",
            alone_of("user:gus", "ADMIN"),
            "gives to a role",
        ),
        (
            "a name of ana's in another case, which is another",
            by_name("user:bob", "user:ANA"),
            "does not hold what user:ANA does",
        ),
        ("what ana was given on another name", on_another_name, "is not about c43/ns1.orders"),
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_even_the_sites_key_cannot_make_of_ana_what_ana_was_not(site: Site, tmp_path: Path, law: str) -> None:
    """Each lie stands in an archive whose digests, proofs and signature are the site's own."""
    genuine = taken(tmp_path / "e.zip", getattr(site, law))
    for what, forge, seen in LIES[law]:

        def lie(files: dict[str, bytes], forge: Callable[[Lying], None] = forge) -> None:
            lying = Lying(files)
            forge(lying)
            lying.sign()

        with pytest.raises(Broken) as broken:
            raise AssertionError(what, lines(rewritten(genuine, lie)))
        assert seen in str(broken.value), (what, broken.value)


# what is left out is seen with the whole record


@pytest.mark.parametrize("law", LAWS)
def test_the_whole_record_knows_of_nothing_else(site: Site, tmp_path: Path, law: str) -> None:
    node, record = getattr(site, law), the_record(tmp_path / "record.zip")
    statements = lines(taken(tmp_path / "e.zip", node), record=record)
    assert statements[1] == "complete: the audit log knows of nobody else and of nothing else"
    bob = lines(taken(tmp_path / "bob.zip", node, "user:bob"), record=record)
    assert bob[1] == "complete: the audit log knows of nothing else about the people in it"
    sample = lines(taken(tmp_path / "s.zip", node, sample=1, seed="x"), record=record)
    assert sample[1] == bob[1]


def denial_out_and_answer_in(lie: Lying) -> None:
    without_the_denial(lie)
    lie.row("user:gus")["actions"] = ["read"]
    lie.manifest["population"]["with_access"] += 1


def one_less(lie: Lying) -> None:
    fewer(lie)
    lie.manifest["population"]["listed"] -= 1
    lie.manifest["population"]["with_access"] -= 1


def a_group_of_one(lie: Lying) -> None:
    """Bob is said to be a group; there is somebody else besides who is left out."""
    one_less(lie)
    fewer_of(lie, "user:olive")
    lie.told["groups"] = [people.ensure("user", "bob").pseudonym]


def fewer_of(lie: Lying, person: str) -> None:
    lie.told["rows"].remove(lie.row(person))
    lie.manifest["population"]["listed"] -= 1
    lie.manifest["population"]["with_access"] -= 1


def test_the_whole_record_knows_what_was_left_out(site: Site, tmp_path: Path) -> None:
    """Each of these is believed with the evidence alone."""
    genuine, record = taken(tmp_path / "e.zip", site.gravitino), the_record(tmp_path / "record.zip")
    for forge, seen in (
        (denial_out_and_answer_in, "which led to user:gus"),
        (one_less, "it leaves .* out, to whom .* leads"),
        (a_group_of_one, "it leaves .* out, to whom .* leads"),
    ):

        def lie(files: dict[str, bytes], forge: Callable[[Lying], None] = forge) -> None:
            lying = Lying(files)
            forge(lying)
            lying.sign()

        assert lines(rewritten(genuine, lie))
        with pytest.raises(Broken, match=seen):
            lines(rewritten(genuine, lie), record=record)


def test_what_a_group_has_is_not_left_out_either(site: Site, tmp_path: Path) -> None:
    genuine = taken(tmp_path / "e.zip", site.gravitino, "group:team")
    record = the_record(tmp_path / "record.zip")
    assert lines(genuine, "group:team", record)[1].startswith("complete: ")

    def nothing(files: dict[str, bytes]) -> None:
        lying = Lying(files)
        lying.row("group:team").update(paths=[], way=[], actions=[])
        lying.manifest["population"]["with_access"] = 0
        lying.sign()

    assert lines(rewritten(genuine, nothing))[1] == "group:team could do: nothing"
    with pytest.raises(Broken, match="which led to group:team"):
        lines(rewritten(genuine, nothing), record=record)


def test_an_end_that_was_left_out_is_seen(site: Site, tmp_path: Path) -> None:
    past, bob = latest(), people.ensure("user", "bob")
    patterns.revoke(site.cdap, text("dataset:ns1.*"), bob, by=BY)
    content = io.BytesIO()
    evidence.write(content, Question(site.cdap, past), name="e.zip")
    (tmp_path / "e.zip").write_bytes(content.getvalue())
    record = the_record(tmp_path / "record.zip")
    assert any("ended by change" in line for line in lines(tmp_path / "e.zip", "user:bob", record))

    def without_the_end(files: dict[str, bytes]) -> None:
        files["changes.jsonl"] = b"".join(
            line for line in files["changes.jsonl"].splitlines(keepends=True) if b"grant.removed" not in line
        )
        resigned(files)

    forged = rewritten(tmp_path / "e.zip", without_the_end)
    assert any("had not ended" in line for line in lines(forged, "user:bob"))
    with pytest.raises(Broken, match="it leaves out that change"):
        lines(forged, record=record)


def test_evidence_is_held_against_the_record_of_its_own_site_alone(site: Site, tmp_path: Path) -> None:
    genuine = taken(tmp_path / "e.zip", site.herd)
    with pytest.raises(Broken, match="is not the audit log of"):
        lines(genuine, record=genuine)
    record = the_record(tmp_path / "record.zip")
    with pytest.raises(Broken, match="not a record"):
        lines(record, record=record)
    a_person("late", "team")
    with pytest.raises(Broken, match="was signed, but the record ends at"):
        lines(taken(tmp_path / "later.zip", site.herd), record=record)


def test_an_end_before_the_day_is_seen(site: Site, tmp_path: Path) -> None:
    """The group was left, and later the site says that it was left later still."""
    past, gus = latest(), people.ensure("user", "gus")
    members.leave_group(people.ensure("group", "team"), gus, by=BY, authority=AUTHORITY)
    content = io.BytesIO()
    evidence.write(content, Question(site.cdap, past), name="e.zip")
    (tmp_path / "e.zip").write_bytes(content.getvalue())
    assert any(
        "via group team" in line and "ended by" in line for line in lines(tmp_path / "e.zip", "user:gus")
    )

    def later(files: dict[str, bytes]) -> None:
        lying = Lying(files)
        lying.manifest["question"]["as_of"] = (past.moment + timedelta(days=1)).isoformat()
        lying.sign()

    left = Membership.objects.get(member=gus, group__name="team")
    with pytest.raises(Broken, match=f"membership:{left.pk} had ended at"):
        lines(rewritten(tmp_path / "e.zip", later))


def test_a_role_and_a_person_of_one_number_are_two() -> None:
    """Who holds role 7 is not who bears the number 7, and has nothing of what that one was given."""
    facts = Facts(1, datetime.fromisoformat("2026-01-31T00:00:00+00:00"))

    def event(fact: str, *people: str, **state: object) -> dict[str, Any]:
        return {"people": list(people), "data": {"fact": fact, "state": state}}

    events = [
        event("assignment:1", "ana", holder_id=1, role_id=7),
        event("membership:1", "bob", "team", member_id=7, group_id=8),
        event("grant:1", "bob", holder_id=7, role_id=None),
        event("grant:2", "ana", holder_id=None, role_id=7),
    ]
    facts.take({"revision": 1, "at": "2026-01-30T00:00:00+00:00", "events": events})
    assert facts.carry(["assignment:1", "grant:2"], "ana")["role_id"] == 7
    assert facts.carry(["grant:1"], "bob")["holder_id"] == 7
    for codes in (["assignment:1", "grant:1"], ["assignment:1", "membership:1", "grant:1"]):
        with pytest.raises(Broken, match="does not go on from"):
            facts.carry(codes, "ana")
