"""Access lists of HDFS over WebHDFS, against a stand-in that runs as a server of its own."""

from __future__ import annotations

import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Order, Right
from lakewarden.backends.errors import Gone, Misconfigured, Rejected, Transient
from lakewarden.backends.testing.contract import Contract
from lakewarden.backends.testing.kit import look, opened, settle
from policies.sync.backends.files.acl import Acl
from policies.sync.backends.webhdfs import kind as webhdfs
from policies.sync.backends.webhdfs.tree import lists, spec
from policies.sync.connections.destinations import network
from tests.backends.files_world import READ, WRITE, FileRights, HdfsSite, each, fileset
from tests.standins.webhdfs.process import Process

NOTHING = Desired({}, {})
ANA_READS = each(ana=fileset("sales", "orders", *READ))
ANA_WRITES = each(ana=fileset("sales", "orders", *WRITE))


@pytest.fixture(scope="module")
def server():
    process = Process()
    yield process
    process.stop()


class TestWebHDFS(FileRights, Contract):
    seeds = (*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 200)))

    @pytest.fixture
    def site(self, server):
        return HdfsSite(server)


@pytest.fixture
def lake(server):
    site = HdfsSite(server, files=6)  # more than a batch
    site.schema("sales")
    site.table("sales", "orders")
    site.table("sales", "costs")
    site.people += ["ana", "bo"]
    return site


def done(lake, desired, **more):
    assert [item.error for item in settle(lake, desired, **more) if item.error] == []
    assert planning.plan(desired, look(lake)).steps == ()


def acl(lake, path):
    entries = lake.server.call("GET", path, "GETACLSTATUS")["AclStatus"]
    return entries["permission"], entries["entries"]


def test_every_file_of_many_batches_gets_its_entry_and_loses_it(lake):
    before = lake.lists()
    done(lake, ANA_WRITES)
    assert all("user:ana:rw-" in acl(lake, f"/lake/sales/orders/2026/{number}.csv")[1] for number in range(6))
    assert lake.allowed("ana", "/lake/sales/orders/2026/5.csv", "rw-")
    assert not lake.allowed("bo", "/lake/sales/orders/2026/5.csv", "r--")
    done(lake, NOTHING)
    assert lake.lists() == before


def test_what_is_made_later_is_theirs_to_read_too(lake):
    done(lake, ANA_READS)
    lake.server.call("PUT", "/lake/sales/orders/2027", "MKDIRS")
    lake.server.call("PUT", "/lake/sales/orders/2027/new.csv", "CREATE")
    assert lake.allowed("ana", "/lake/sales/orders/2027/new.csv", "r--")
    assert planning.plan(ANA_READS, look(lake)).steps == ()


@pytest.mark.parametrize("desired", [ANA_READS, ANA_WRITES])
def test_the_mask_wakes_nobody_when_something_is_given_or_taken(lake, desired):
    """HDFS's own REMOVEACLENTRIES would make a mask of all that is left, and let bo write."""
    orders = "/lake/sales/orders"
    lake.modify(orders, "user:bo:rwx,mask::r-x")
    lake.modify("/lake", "user:bo:--x")
    lake.modify("/lake/sales", "user:bo:--x")
    assert not lake.allowed("bo", orders, "rwx")
    for state in (desired, NOTHING):
        done(lake, state)
        assert lake.allowed("bo", orders, "r-x")
        assert not lake.allowed("bo", orders, "rwx")


def test_what_others_gave_the_same_person_outlives_ours(lake):
    lake.give_by_hand(Right("fileset", ("sales", "orders"), "WRITE"), "ana")
    before, foreign = lake.lists(), look(lake).foreign
    done(lake, ANA_READS)
    assert look(lake).foreign == foreign
    done(lake, NOTHING)
    assert lake.lists() == before


def test_a_group_is_foreign_and_taken_by_an_order(lake):
    lake.modify("/lake/sales/orders", "group:staff:r-x,default:group:staff:r-x")
    assert {item.holder for item in look(lake).foreign} == {"group:staff"}
    done(lake, NOTHING, orders=[Order(item) for item in look(lake).foreign])
    assert look(lake).foreign == ()


def test_more_people_than_a_list_holds_are_told_in_hdfs_words_and_the_others_let_in(lake):
    people = [f"p{number:02}" for number in range(32)]
    lake.people += people
    desired = each(**{name: fileset("sales", "orders", *READ) for name in people})
    errors = {type(item.error): str(item.error) for item in settle(lake, desired) if item.error}
    assert set(errors) == {Rejected}
    assert "exceeds maximum of 32" in errors[Rejected]
    inside = [name for name in people if lake.allowed(name, "/lake/sales/orders", "r-x")]
    assert len(inside) == 28  # with the owner, the group, the mask and the others


def test_names_that_webhdfs_does_not_take_have_no_account(lake):
    lake.people += ["ana@example.com", "Größe", "1st"]
    assert look(lake).people == {"ana", "bo"}


def test_links_are_left_alone(lake):
    lake.server.call("PUT", "/lake/sales/orders/link", "CREATESYMLINK", destination="/etc")
    done(lake, ANA_READS)
    assert acl(lake, "/lake/sales/orders/link") == ("777", [])


@pytest.mark.parametrize(
    ("location", "known"),
    [
        ("hdfs://127.0.0.1:8020/lake/data/far", True),
        ("hdfs:///lake/data/far", True),
        ("webhdfs://127.0.0.1:9870/lake/data/far", True),
        ("hdfs://prod/lake/data/far", False),
        ("hdfs://127.0.0.1/other/far", False),
        ("file:///lake/data/far", False),
    ],
)
def test_a_location_is_ours_only_on_this_hdfs(lake, location, known):
    lake.fill("/lake/data/far")
    lake.places["sales", "far"] = location
    assert (("sales", "far") in {item.path for item in look(lake).objects}) is known
    assert any("outside of the connected tree" in text for text in look(lake).unknown) is not known


def test_a_folder_that_may_not_be_listed_makes_the_look_incomplete(lake):
    for path in [*lake.walk("/lake")]:
        lake.server.call("PUT", path, "SETOWNER", owner="lake")
    with lake.opened(lake.url.replace("hdfs@", "lake@")) as backend:
        plan = planning.plan(ANA_READS, backend.observe())
        assert [item.error for item in backend.apply(plan) if item.error] == []
        assert any("can be forged" in item.text for item in backend.check())
        lake.server.call("PUT", "/lake/sales/orders/2026", "SETOWNER", owner="hdfs")
        seen = backend.observe()
    assert not seen.complete
    assert {right.right for right in seen.roles["person:ana"]} == {"READ", "ENTER"}
    assert planning.plan(NOTHING, seen).steps == ()


def test_who_may_write_cannot_forge_what_is_remembered(lake):
    done(lake, ANA_WRITES)
    [mark] = lake.marks("/lake/sales/orders")
    assert mark["name"].startswith("trusted.")
    more = {"xattr__name": mark["name"], "xattr__value": '"{}"', "flag": "REPLACE"}
    status, _ = lake.server.ask("PUT", "/lake/sales/orders", "SETXATTR", user="ana", **more)
    assert status == 403


def test_who_cannot_see_the_marks_does_not_take_them_for_absent(lake):
    done(lake, ANA_READS)
    lake.server.call("PUT", "/lake", "SETOWNER", owner="lake")
    url = lake.url.replace("hdfs@", "lake@")
    with lake.opened(url) as backend, pytest.raises(Misconfigured, match="superuser"):
        backend.observe()


SETTINGS = {
    "another namenode is the active one": ({"standby": True}, Transient),
    "nothing can be changed while it starts": ({"safe": True}, Transient),
    "lists are switched off": ({"acls": False}, Misconfigured),
    "a page of a proxy instead of HDFS": ({"page": True}, Misconfigured),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_what_hdfs_refuses_says_what_to_do_next(lake, case):
    settings, kind = SETTINGS[case]
    with opened(lake) as backend:
        plan = planning.plan(ANA_READS, backend.observe())
        lake.server.set(**settings)
        errors = [item.error for item in backend.apply(plan) if item.error]
        assert {type(error) for error in errors} <= {kind, Transient}
        assert kind in {type(error) for error in errors}
        lake.server.set(**dict.fromkeys(settings, settings.get("acls") is False))
        assert [item.error for item in backend.apply(plan) if item.error] == []


def test_a_stranger_may_change_nothing_and_is_told(lake):
    lake.server.call("PUT", "/lake", "SETPERMISSION", permission="755")
    with lake.opened(lake.url.replace("hdfs@", "bo@")) as backend:
        step = planning.plan(each(ana=[Right("catalog", (), "ENTER")]), backend.observe())
        errors = [item.error for item in backend.apply(step) if item.error]
        assert {type(error) for error in errors} >= {Misconfigured}
        assert any("must be a superuser" in item.text for item in backend.check())


def test_a_server_that_is_gone_is_tried_again(lake):
    with lake.opened("webhdfs://hdfs@127.0.0.1:1/lake") as backend:
        with pytest.raises(Transient):
            backend.observe()
        assert [item.blocks for item in backend.check()] == [True]


def test_a_folder_that_is_not_there_blocks(lake):
    with lake.opened(lake.url.replace("/lake", "/nowhere")) as backend:
        with pytest.raises(Gone):
            backend.observe()
        assert [item.blocks for item in backend.check()] == [True]


@pytest.fixture
def secure():
    process = Process("--secure")
    yield process
    process.stop()


def test_with_security_only_a_token_opens_and_it_is_in_no_text(lake, secure):
    token = secure.call("GET", "/", "GETDELEGATIONTOKEN")["Token"]["urlString"]
    at = f"127.0.0.1:{secure.port}"
    secure.call("PUT", "/lake", "MKDIRS", delegation=token)
    with lake.opened(f"webhdfs://hdfs:{token}@{at}/lake") as good:
        assert good.observe().complete
        assert any("unencrypted" in item.text for item in good.check())
    for url in (f"webhdfs://hdfs@{at}/lake", f"webhdfs://hdfs:bad{token}@{at}/lake"):
        with lake.opened(url) as bad, pytest.raises(Misconfigured) as refused:
            bad.observe()
        assert token not in str(refused.value)


def test_the_token_is_hidden_where_a_page_answers(lake):
    lake.server.set(page=True)
    url = f"webhdfs://:secretsecret@127.0.0.1:{lake.server.port}/lake"
    with lake.opened(url) as backend, pytest.raises(Misconfigured) as refused:
        backend.observe()
    assert "secretsecret" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "webhdfs://host:9870/x",
        "webhdfs://hdfs@host:x/x",
        "webhdfs://hdfs@/x",
        "hdfs://hdfs@host/x",
        "webhdfs://hdfs@host/a/../b",
        "webhdfs://hdfs@host/x?op=DELETE",
        "webhdfs://hdfs@host/x?holds=x",
        "webhdfs://hdfs:very-secret@host/x?y=1",
    ],
)
def test_a_url_that_is_none_is_refused_without_its_secret(url):
    with pytest.raises(Misconfigured) as refused:
        webhdfs.open(url, realm="acme", mark="shop", network=network())
    assert "very-secret" not in str(refused.value)


FORMS = {
    "swebhdfs://hdfs:t%2Fk@nn:9871/ware%20house?nameservice=prod": {
        "host": "nn",
        "port": "9871",
        "user": "hdfs",
        "password": "t/k",
        "path": "/ware house",
        "tls": "yes",
        "nameservice": "prod",
        "holds": "filesets",
    },
    "webhdfs://hdfs@nn:9870/warehouse?holds=tables": {
        "host": "nn",
        "port": "9870",
        "user": "hdfs",
        "password": "",
        "path": "/warehouse",
        "tls": "no",
        "nameservice": "",
        "holds": "tables",
    },
}


@pytest.mark.parametrize("url", FORMS)
def test_what_a_form_says_is_in_the_url_and_comes_back(url):
    assert webhdfs.KIND.address(FORMS[url]) == url
    assert FORMS[url].items() <= dict(webhdfs.KIND.parts(url)).items()
    assert "folder" not in webhdfs.KIND.parts(url), "that would be one of this machine"


@pytest.mark.parametrize(
    ("mode", "entries", "access", "down"),
    [
        (0o750, [], Acl(7, 5, 0), None),
        (0o770, ["user:ana:r-x", "group::r--"], Acl(7, 4, 0, 7, {("user", "ana"): 5}), None),
        (
            0o750,
            ["default:user::rwx", "default:group::r-x", "default:other::---"],
            Acl(7, 5, 0),
            Acl(7, 5, 0),
        ),
    ],
)
def test_a_list_is_read_as_hdfs_tells_it(mode, entries, access, down):
    assert lists(mode, entries) == (access, down)


def test_a_list_is_written_whole():
    acl = Acl(7, 5, 0, 5, {("user", "ana"): 5, ("group", "staff"): 4})
    assert spec(acl) == "user::rwx,user:ana:r-x,group::r-x,group:staff:r--,mask::r-x,other::---"
    assert spec(Acl(7, 5, 0), "default:") == "default:user::rwx,default:group::r-x,default:other::---"
