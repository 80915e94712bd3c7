"""Archives checked far from the site: what they prove, and every way of changing one that is seen."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import timezone

from accounts import people
from authzsite.downloads import evidence
from catalog.models import Realm
from catalog.nodes import Node
from lakewarden.record import bundle, notes
from lakewarden.record.archive import Broken, manifest_of, signature_line
from lakewarden.record.expected import Expected
from lakewarden.record.notes import PublicKey
from policies import signing
from policies.models import Checkpoint
from policies.record import access_log, checkpoints
from policies.record.access_log import AccessLookup
from policies.record.exports import signed_archives
from policies.record.exports.evidence import Question
from policies.record.revisions import at_moment, latest
from policies.services import grants, members, realms
from policies.services.grants import GrantRequest
from scripts import package
from tests.factories import AUTHORITY, BY, a_person, acting, admit, the
from tests.kept import kept
from tests.policies.conftest import make_shop
from tests.record.archives import resigned, rewritten

pytestmark = pytest.mark.django_db

TREE = Path(__file__).resolve().parents[2]
BY_OLIVIA = "user:olivia"


shop = kept(make_shop)


def saved(place: Path, write: Callable[[io.BytesIO], object]) -> Path:
    content = io.BytesIO()
    write(content)
    place.write_bytes(content.getvalue())
    return place


def about(place: Path, node: Node, **asked: Any) -> Path:
    question = Question(node, asked.pop("past", None) or latest(), **asked)
    return saved(place, lambda file: evidence.write(file, question, name=place.name))


@pytest.fixture
def orders(shop: Node, tmp_path: Path) -> Path:
    """Evidence of who could do what to the table orders."""
    return about(tmp_path / "orders.zip", the("table", "shop.sales.orders"))


def lines(archive: Path, person: str = "", **expected: str) -> list[str]:
    return bundle.check(archive, signing.public_key(), person, Expected(**expected)).lines


# what is proved


def test_evidence_tells_who_could_do_what_and_by_which_change(orders: Path) -> None:
    statements = lines(orders, "user:mia")
    assert statements[0].startswith("proved: table demo/shop.sales.orders as of ")
    assert statements[1] == "user:mia could do: read"
    assert any(
        "SELECT_TABLE on demo/shop.sales via group analysts, role sales_read: since change" in item
        for item in statements
    )
    assert any("had not ended when the record was signed" in item for item in statements)


def test_a_denial_is_told_too(orders: Path) -> None:
    statements = lines(orders, "user:carl")
    assert statements[1] == "user:carl could do: nothing"
    assert any("was denied SELECT_TABLE" in item for item in statements)


def test_the_past_is_proved_and_its_end(shop: Node, tmp_path: Path) -> None:
    table, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    grants.add(
        GrantRequest(table, (ana,), ("SELECT_TABLE",), way=True),
        by=acting("olivia"),
        reason="quarterly report",
    )
    past = latest()
    grants.remove(table, (ana,), ("SELECT_TABLE",), by=acting("olivia"), reason="report done")
    statements = lines(about(tmp_path / "past.zip", table, past=past, person=ana), "user:ana")
    [path] = [item for item in statements if "SELECT_TABLE" in item]
    assert "quarterly report" in path
    assert "ended by change" in path
    assert "report done" in path
    now = lines(about(tmp_path / "now.zip", table, person=ana), "user:ana")
    assert now[1] == "user:ana could do: nothing"


def test_the_state_is_that_of_the_moment(shop: Node, tmp_path: Path) -> None:
    a_person("late", "analysts", "staff")
    members.add(shop, people.ensure("user", "late"), by=BY, authority=AUTHORITY)
    before = at_moment(timezone.now() - timedelta(days=1))
    assert before.revision == 0
    assert "user:late could do: read" in lines(about(tmp_path / "e.zip", the("table", "shop.sales.orders")))


def test_a_sample_is_drawn_again_by_its_seed(shop: Node, tmp_path: Path) -> None:
    table = the("table", "shop.sales.orders")

    def drawn(seed: str) -> list[str]:
        statements = lines(about(tmp_path / "s.zip", table, sample=2, seed=seed))
        return [line for line in statements if "could do" in line]

    first = drawn("a")
    assert len(first) == 2
    assert drawn("a") == first
    # whom a seed draws depends on pseudonyms, which are random: one in ten draws the same two of five
    other = next(seed for seed in map(str, range(100)) if drawn(seed) != first)
    assert len(drawn(other)) == 2
    evidence_of_a = about(tmp_path / "s.zip", table, sample=2, seed="a")

    def chosen(files: dict[str, bytes]) -> None:
        replaced("manifest.json", '"seed":"a"', f'"seed":"{other}"')(files)
        resigned(files)

    with pytest.raises(Broken, match="not the 2 people that the seed draws"):
        lines(rewritten(evidence_of_a, chosen))


def test_evidence_holds_what_an_auditor_reads(orders: Path) -> None:
    with zipfile.ZipFile(orders) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        report = archive.read("report.html").decode()
        table = archive.read("access.csv").decode().splitlines()
    assert manifest["population"]["people"] == manifest["population"]["listed"] == 5
    assert manifest["population"]["query"].startswith("SELECT")
    assert "table demo/shop.sales.orders" in report
    assert "sales_read" in report
    assert table[0].startswith("principal,name,actions")
    assert any(line.startswith("user:mia,") for line in table)


def test_the_whole_record_is_proved(shop: Node, tmp_path: Path) -> None:
    statements = lines(saved(tmp_path / "record.zip", signed_archives.record))
    assert statements[0].startswith("intact: ")
    assert statements[1].startswith("signed: 1 checkpoint")


def test_an_outsider_checks_it_without_the_site(orders: Path, tmp_path: Path) -> None:
    """Another machine: only the package, the archive and the public key."""
    (tmp_path / "key.txt").write_text(f"{signing.public_key()}\n")
    clean = {"PATH": os.environ["PATH"], "PYTHONPATH": str(TREE)}
    asked = [sys.executable, "-m", "lakewarden.record", str(orders), "--key", str(tmp_path / "key.txt")]
    done = subprocess.run(
        [*asked, "--person", "user:mia"], env=clean, cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "user:mia could do: read" in done.stdout
    other = subprocess.run([*asked, "--person", "user:nobody"], env=clean, capture_output=True, text=True)
    assert (other.returncode, other.stdout) == (1, "")
    assert other.stderr == "broken: the evidence says nothing about user:nobody\n"


def test_access_that_was_given_for_a_time_says_so(shop: Node, tmp_path: Path) -> None:
    table, ana, end = the("table", "shop.sales.orders"), people.ensure("user", "ana"), timezone.now()
    end += timedelta(days=3)
    wish = GrantRequest(table, (ana,), ("SELECT_TABLE",), way=True, valid_until=end)
    grants.add(wish, by=acting("olivia"), reason="quarterly report")
    statements = lines(about(tmp_path / "now.zip", table, person=ana), "user:ana")
    [path] = [item for item in statements if "SELECT_TABLE" in item]
    assert f"by {BY_OLIVIA}: quarterly report), given until {end.isoformat()} and no longer" in path
    later = replace(latest(), moment=end + timedelta(seconds=1))
    gone = lines(about(tmp_path / "later.zip", table, past=later, person=ana), "user:ana")
    assert gone[1] == "user:ana could do: nothing"

    def forge(files: dict[str, bytes]) -> None:
        manifest = json.loads(files["manifest.json"])
        manifest["question"]["as_of"] = later.moment.isoformat()
        files["manifest.json"] = json.dumps(manifest).encode()
        resigned(files)

    with pytest.raises(Broken, match="did not hold at"):
        lines(rewritten(tmp_path / "now.zip", forge))


COMMAND = re.compile(r"^PYTHONPATH=lakewarden\.zip python3 (-m lakewarden\.record .*)$", re.M)


def test_the_commands_for_auditors_prove_access_and_its_end_in_an_empty_directory(
    shop: Node, tmp_path: Path
) -> None:
    """As docs/auditors.md says them: a Python, the program's zip, the archive, the key, and nothing else."""
    table, ana = the("table", "shop.sales.orders"), people.ensure("user", "ana")
    wish = GrantRequest(table, (ana,), ("SELECT_TABLE",), way=False)
    grants.add(wish, by=acting("olivia"), reason="quarterly report")
    past = at_moment(timezone.now())
    grants.remove(table, (ana,), ("SELECT_TABLE",), by=acting("olivia"), reason="report done")
    archive = about(tmp_path / "orders.zip", table, past=past)
    (tmp_path / "site.key").write_text(f"{signing.public_key()}\n")
    package.pack(tmp_path / "lakewarden.zip")
    [command] = COMMAND.findall((TREE / "docs" / "auditors.md").read_text())

    def asked() -> subprocess.CompletedProcess[str]:
        alone = {"PATH": os.environ["PATH"], "PYTHONPATH": "lakewarden.zip"}
        # -S: no package that is installed here is at hand
        on = command.replace("2026-01-31", past.moment.date().isoformat())
        call = [sys.executable, "-S", *on.split()]
        return subprocess.run(call, env=alone, cwd=tmp_path, capture_output=True, text=True)

    done = asked()
    assert (done.returncode, done.stderr) == (0, "")
    [path] = [splitline for splitline in done.stdout.splitlines() if "held SELECT_TABLE" in splitline]
    assert "quarterly report" in path and f"by {BY_OLIVIA}: report done" in path and "ended by change" in path
    content = archive.read_bytes()
    archive.write_bytes(content[:200] + bytes([content[200] ^ 1]) + content[201:])
    forged = asked()
    assert (forged.returncode, forged.stdout) == (1, "") and forged.stderr.startswith("broken: ")


# what is seen


def test_one_bit_changed_in_the_archive_itself_is_seen_or_changes_nothing(orders: Path) -> None:
    """Such as in its dates, which say nothing; whatever it is, the answer is one line and no traceback."""
    chance, content, good, refused = random.Random(42), orders.read_bytes(), lines(orders), 0
    for _ in range(120):
        at = chance.randrange(len(content))
        orders.write_bytes(content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :])
        try:
            assert lines(orders) == good
        except Broken:
            refused += 1
    assert refused > 60


def test_one_bit_changed_anywhere_in_any_file_is_seen(orders: Path) -> None:
    """In each file of the archive the first, the last, and some bytes by chance."""
    chance = random.Random(4711)
    with zipfile.ZipFile(orders) as archive:
        sizes = {item.filename: item.file_size for item in archive.infolist()}
    for name, size in sizes.items():
        for at in {0, size - 1, *(chance.randrange(size) for _ in range(8))}:

            def flip(files: dict[str, bytes], name: str = name, at: int = at) -> None:
                changed = bytearray(files[name])
                changed[at] ^= 1 << chance.randrange(8)
                files[name] = bytes(changed)

            with pytest.raises(Broken):
                lines(rewritten(orders, flip))


def replaced(name: str, before: str, after: str) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        assert before.encode() in files[name]
        files[name] = files[name].replace(before.encode(), after.encode(), 1)

    return change


def signed_anew(files: dict[str, bytes]) -> None:
    """A forger signs what was changed, with a foreign key under the site's name."""
    forger = Ed25519PrivateKey.generate()
    key = PublicKey(signing.public_key().name, forger.public_key().public_bytes_raw())
    kept = {name: content for name, content in files.items() if not name.startswith("manifest")}
    old = json.loads(files["manifest.json"])
    manifest = {name: value for name, value in old.items() if name not in ("form", "kind", "files")}
    files["manifest.json"] = manifest_of(old["kind"], kept, manifest)
    files["manifest.sig"] = signature_line(key, forger.sign(files["manifest.json"]))


def hashed_anew(files: dict[str, bytes]) -> None:
    """A file is changed and its digest in the manifest made to fit; the signature stays as it was."""
    replaced("access.json", "user:mia", "user:bob")(files)
    manifest = json.loads(files["manifest.json"])
    manifest["files"]["access.json"]["sha256"] = hashlib.sha256(files["access.json"]).hexdigest()
    files["manifest.json"] = json.dumps(manifest).encode()


def swapped(files: dict[str, bytes]) -> None:
    """Two lines change places; every one of them is there, and as it was."""
    first, second, *rest = files["changes.jsonl"].splitlines(keepends=True)
    files["changes.jsonl"] = b"".join([second, first, *rest])


FORGERIES: dict[str, tuple[Callable[[dict[str, bytes]], object], str]] = {
    "a row": (replaced("access.json", "user:mia", "user:bob"), "access.json was changed"),
    "an action": (replaced("access.json", '"read"', '"drop"'), "access.json was changed"),
    "the table": (replaced("access.csv", "user:mia", "user:bob"), "access.csv was changed"),
    "a change's reason": (
        replaced("changes.jsonl", '"reason":""', '"reason":"x"'),
        "changes.jsonl was changed",
    ),
    "a proof": (replaced("changes.jsonl", '"proof":["', '"proof":["00'), "changes.jsonl was changed"),
    "two lines": (swapped, "changes.jsonl was changed"),
    "the checkpoint": (
        replaced("checkpoints.txt", "lakewarden/", "lakewarden-"),
        "checkpoints.txt was changed",
    ),
    "what was applied": (replaced("applied.json", '"backends"', '"Backends"'), "applied.json was changed"),
    "the report": (replaced("report.html", "demo/shop", "demo/stop"), "report.html was changed"),
    "the readme": (replaced("README.txt", "Get the public key", "Use this key"), "README.txt was changed"),
    "the manifest": (replaced("manifest.json", '"listed":5', '"listed":4'), "the manifest was changed"),
    "the moment": (replaced("manifest.json", '"revision":', '"revision":1'), "the manifest was changed"),
    "a digest made to fit": (hashed_anew, "the manifest was changed"),
    "a file taken out": (lambda files: files.pop("access.csv"), "added or removed: access.csv"),
    "a file put in": (lambda files: files.update({"more.txt": b"x"}), "added or removed: more.txt"),
    "the signature taken out": (lambda files: files.pop("manifest.sig"), "manifest.sig"),
    "the manifest taken out": (lambda files: files.pop("manifest.json"), "manifest.json"),
    "an empty manifest": (lambda files: files.update({"manifest.json": b"{}"}), "the manifest was changed"),
    "signed by another": (signed_anew, "manifest.sig was changed"),
}


def test_a_forged_archive_is_refused_with_a_word_on_what_was_changed(orders: Path) -> None:
    for what, (forge, seen) in FORGERIES.items():
        with pytest.raises(Broken, match=re.escape(seen)):
            raise AssertionError(what, lines(rewritten(orders, forge)))


def test_a_checkpoint_of_something_else_is_refused(shop: Node, orders: Path, tmp_path: Path) -> None:
    """Another's, a later one, that of the access log: even where the site's key signs the manifest anew."""
    access_log.looked_all([AccessLookup(people.ensure("user", "ana"), "access", shop)], via="console")
    members.add(shop, a_person("late"), by=BY, authority=AUTHORITY)
    checkpoints.make()
    later, looks = (Checkpoint.objects.filter(log=log).latest("size").note for log in ("changes", "access"))
    strange = notes.Checkpoint("lakewarden/000000000000", 3, "00" * 32)
    other = notes.signed(strange, signing.public_key(), signing.sign(strange.body.encode()))
    for note, seen in ((later, "not among those that were signed"), (looks, "is of"), (other, "is of")):

        def put(files: dict[str, bytes], note: str = note) -> None:
            files["checkpoints.txt"] = note.encode()

        with pytest.raises(Broken, match=r"checkpoints\.txt was changed"):
            lines(rewritten(orders, put))

        def sealed(files: dict[str, bytes], note: str = note) -> None:
            files["checkpoints.txt"] = note.encode()
            resigned(files)

        with pytest.raises(Broken, match=seen):
            lines(rewritten(orders, sealed))


def test_another_genuine_archive_in_its_place_is_refused_when_one_says_what_one_expects(
    shop: Node, orders: Path, tmp_path: Path
) -> None:
    """A file can be called anything: evidence of another object, of another day, or from before the end."""
    with zipfile.ZipFile(orders) as archive:
        asked = json.loads(archive.read("manifest.json"))["question"]
    day, table = asked["as_of"][:10], "table:demo/shop.sales.orders"
    for fitting in ({"object": table}, {"as_of": day}, {"as_of": asked["as_of"]}):
        assert lines(orders, **fitting)
    with pytest.raises(Broken, match=r"evidence about table:.*orders, not about table:.*items"):
        lines(orders, object="table:demo/shop.stock.items")
    for other in ("2001-01-31", f"{day}T00:00:00+00:00", f"{day}T00:00:00Z"):
        with pytest.raises(Broken, match=rf"as of {day}.*, not as of {re.escape(other)}"):
            lines(orders, as_of=other)
    with pytest.raises(Broken, match="not evidence about an object, but of kind record"):
        lines(saved(tmp_path / "record.zip", signed_archives.record), object=table)
    same = Checkpoint.objects.get().note
    assert lines(orders, checkpoints=same)
    members.add(shop, a_person("late"), by=BY, authority=AUTHORITY)
    checkpoints.make()
    both = same + Checkpoint.objects.latest("size").note
    with pytest.raises(Broken, match="it does not know what has ended since"):
        lines(orders, checkpoints=both)
    forked = notes.opened(same, signing.public_key())._replace(root="00" * 32)
    fork = notes.signed(forked, signing.public_key(), signing.sign(forked.body.encode()))
    with pytest.raises(Broken, match="two records of"):
        lines(orders, checkpoints=fork)
    with pytest.raises(Broken, match="ends in the middle"):
        lines(orders, checkpoints=same[:40])


def test_a_key_that_was_changed_since_still_proves_what_it_signed(
    shop: Node, settings: Any, tmp_path: Path
) -> None:
    checkpoints.make()
    old = signing.public_key()
    settings.LAKEWARDEN_SIGNING_KEYS = (signing.new_key(), *settings.LAKEWARDEN_SIGNING_KEYS)
    archive = saved(tmp_path / "record.zip", signed_archives.record)
    keys = notes.public_keys("\n".join(map(str, signing.public_keys())))
    assert old in keys and bundle.check(archive, keys).lines[0].startswith("intact: ")
    with pytest.raises(Broken, match="not signed by"):
        bundle.check(archive, signing.public_key())


def test_where_the_law_was_not_enforced_every_member_is_told(shop: Node, tmp_path: Path) -> None:
    realm = Realm.objects.get(pk=shop.realm_id)
    admit(shop, "group:nobody")
    realms.set_mode(realm, "pass-through", by=BY, authority=AUTHORITY)
    archive = about(tmp_path / "open.zip", the("table", "shop.sales.orders"))
    whole = saved(tmp_path / "record.zip", signed_archives.record)
    complete = bundle.check(archive, signing.public_key(), record=whole).lines[1]
    assert complete.endswith("of nothing else; 1 group had no members, as the site says")
    statements = lines(archive, "user:ana")
    assert statements[1].startswith("authorization was pass-through: every member could")
    assert "read" in statements[2] and statements[3].startswith("  was a member: since change")

    def enforced(files: dict[str, bytes]) -> None:
        replaced("access.json", '"mode":"pass-through"', '"mode":"on"')(files)
        resigned(files)

    with pytest.raises(Broken, match="does not say that authorization was on"):
        lines(rewritten(archive, enforced))

    def without_its_fact(files: dict[str, bytes]) -> None:
        access = json.loads(files["access.json"])
        del access["mode"]["fact"]
        files["access.json"] = json.dumps(access).encode()
        resigned(files)

    with pytest.raises(Broken, match="nothing in it shows that authorization was pass-through"):
        lines(rewritten(archive, without_its_fact))


LIES = (
    ("changes.jsonl", '"reason":""', '"reason":"x"', "was changed after it was written"),
    ("changes.jsonl", '"proof":["', '"proof":["00', "not among those that were signed"),
    ("access.json", '"facts":["', '"facts":["grant:99999","', "had not begun"),
    ("access.json", '"privilege":"SELECT_TABLE"', '"privilege":"MODIFY_TABLE"', "does not give MODIFY_TABLE"),
    ("access.json", '"allow":false', '"allow":true', "does not give SELECT_TABLE"),
    ("access.json", '"user:mia","pseudonym":"', '"user:mia","pseudonym":"0', "does not speak of 0"),
)


def test_even_the_sites_key_cannot_make_a_false_change_true(orders: Path) -> None:
    for name, before, after, seen in LIES:

        def forge(files: dict[str, bytes], lie: tuple[str, str, str] = (name, before, after)) -> None:
            replaced(*lie)(files)
            resigned(files)

        with pytest.raises(Broken, match=seen):
            lines(rewritten(orders, forge))


def test_even_the_sites_key_cannot_put_facts_together_that_do_not_follow(orders: Path) -> None:
    """Carl is a member, and Mia's group reads: each is true, and the one does not lead to the other."""

    def borrow(files: dict[str, bytes]) -> None:
        access = json.loads(files["access.json"])
        rows = {row["principal"]: row for row in access["rows"]}
        [carl, mia] = [rows[f"user:{name}"] for name in ("carl", "mia")]
        own = [code for code in carl["paths"][0]["facts"] if code.startswith("realmmember")][:1]
        carl["paths"] = [{**mia["paths"][0], "facts": [*own, *mia["paths"][0]["facts"][1:]]}]
        files["access.json"] = json.dumps(access).encode()
        resigned(files)

    with pytest.raises(Broken, match="does not go on from"):
        lines(rewritten(orders, borrow))


@pytest.mark.parametrize("cut", ["first", "middle", "last"])
def test_a_record_with_a_line_less_is_refused(shop: Node, tmp_path: Path, cut: str) -> None:
    archive = saved(tmp_path / "record.zip", signed_archives.record)

    def forge(files: dict[str, bytes]) -> None:
        rows = files["record.jsonl"].splitlines(keepends=True)
        del rows[{"first": 0, "middle": len(rows) // 2, "last": -1}[cut]]
        files["record.jsonl"] = b"".join(rows)
        resigned(files)

    with pytest.raises(Broken, match=r"missing|cut off"):
        lines(rewritten(archive, forge))


@pytest.mark.parametrize("content", [b"", b"PK", b"nothing", bytes(range(256))])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    place = tmp_path / "x.zip"
    place.write_bytes(content)
    with pytest.raises(Broken):
        bundle.check(place, PublicKey("x", bytes(32)))
