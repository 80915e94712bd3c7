"""The backend `webhdfs` on a NameNode and a DataNode of Apache Hadoop."""

from __future__ import annotations

import pytest

from lakewarden.backends import planning
from lakewarden.backends.base import Desired, Order, Right
from lakewarden.backends.errors import Misconfigured, Rejected
from lakewarden.backends.testing.contract import Contract
from lakewarden.backends.testing.kit import look, settle
from tests.backends.files_world import READ, WRITE, FileRights, HdfsSite, each, fileset
from tests.real.hdfs.cluster import Cluster

NOTHING = Desired({}, {})
ANA_READS = each(ana=fileset("sales", "orders", *READ))
ANA_WRITES = each(ana=fileset("sales", "orders", *WRITE))
FILE = "/lake/sales/orders/2026/0.csv"


@pytest.fixture(scope="module")
def cluster():
    running = Cluster()
    yield running
    running.stop()


class TestWebHDFS(FileRights, Contract):
    """The contract suite; fifty workers die at any write, and what they left is made good."""

    seeds = range(50)

    @pytest.fixture
    def site(self, cluster):
        return HdfsSite(cluster)


@pytest.fixture
def lake(cluster):
    site = HdfsSite(cluster, files=6)  # more than a batch
    site.schema("sales")
    site.table("sales", "orders")
    site.table("sales", "costs")
    site.people += ["ana", "bo"]
    return site


def done(lake, desired, **more):
    assert [item.error for item in settle(lake, desired, **more) if item.error] == []
    assert planning.plan(desired, look(lake)).steps == ()


def opens(lake, person, path=FILE):
    return lake.server.ask("GET", path, "OPEN", user=person)[0] == 200


def appends(lake, person, path=FILE):
    return lake.server.ask("POST", path, "APPEND", user=person, data=b"3,4\n")[0] == 200


def test_files_are_read_and_refused_as_other_people(lake):
    assert not opens(lake, "ana")
    done(lake, ANA_READS)
    assert opens(lake, "ana")
    assert not appends(lake, "ana")
    assert not opens(lake, "bo")
    assert not opens(lake, "ana", "/lake/sales/costs/2026/0.csv")
    done(lake, ANA_WRITES)
    assert appends(lake, "ana")
    assert not appends(lake, "bo")
    done(lake, NOTHING)
    assert not opens(lake, "ana")


def test_what_is_made_later_is_theirs_to_read_too(lake):
    done(lake, ANA_READS)
    lake.server.call("PUT", "/lake/sales/orders/2027", "MKDIRS")
    lake.server.call("PUT", "/lake/sales/orders/2027/new.csv", "CREATE", permission="640")
    assert opens(lake, "ana", "/lake/sales/orders/2027/new.csv")
    assert planning.plan(ANA_READS, look(lake)).steps == ()


def test_every_list_is_as_it_was_when_all_is_taken(lake):
    before = lake.lists()
    done(lake, ANA_WRITES)
    assert lake.lists() != before
    done(lake, NOTHING)
    assert lake.lists() == before


@pytest.mark.parametrize("desired", [ANA_READS, ANA_WRITES])
def test_the_mask_wakes_nobody_when_something_is_given_or_taken(lake, desired):
    orders = "/lake/sales/orders"
    lake.modify(orders, "user:bo:rwx,mask::r-x")
    lake.modify("/lake", "user:bo:--x")
    lake.modify("/lake/sales", "user:bo:--x")
    for state in (desired, NOTHING):
        done(lake, state)
        assert lake.allowed("bo", orders, "r-x")
        assert not lake.allowed("bo", orders, "rwx")


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
    assert "32" in errors[Rejected]
    assert sum(lake.allowed(name, "/lake/sales/orders", "r-x") for name in people) == 28


def test_who_may_write_cannot_forge_what_is_remembered(lake):
    done(lake, ANA_WRITES)
    [mark] = lake.marks("/lake/sales/orders")
    more = {"xattr__name": mark["name"], "xattr__value": '"{}"', "flag": "REPLACE"}
    status, _ = lake.server.ask("PUT", "/lake/sales/orders", "SETXATTR", user="ana", **more)
    assert status == 403


def test_a_stranger_may_change_nothing_and_is_told(lake):
    lake.server.call("PUT", "/lake", "SETPERMISSION", permission="755")
    with lake.opened(lake.url.replace("hdfs@", "bo@")) as backend:
        step = planning.plan(each(ana=[Right("catalog", (), "ENTER")]), backend.observe())
        errors = [item.error for item in backend.apply(step) if item.error]
        assert {type(error) for error in errors} >= {Misconfigured}
        assert any("must be a superuser" in item.text for item in backend.check())
