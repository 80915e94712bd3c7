"""How entities and patterns are written."""

from __future__ import annotations

import pytest

from lakewarden.law.dialects.cdap.authorizable import BadEntity, matches, parse
from lakewarden.law.objects import ObjectRef
from tests.cdap_law.asking import decided, holding


@pytest.mark.parametrize(
    ("text", "type", "parts"),
    [
        pytest.param("namespace:ns1", "namespace", ("ns1",), marks=pytest.mark.seed("S1-128", "S1-125")),
        pytest.param("application:ns1.app", "application", ("ns1", "app"), marks=pytest.mark.seed("S1-129")),
        pytest.param(
            "program:ns1.app.worker.etl",
            "program",
            ("ns1", "app", "worker", "etl"),
            marks=pytest.mark.seed("S1-130"),
        ),
        pytest.param("dataset:ns1.orders", "dataset", ("ns1", "orders"), marks=pytest.mark.seed("S1-131")),
        pytest.param("stream:ns1.clicks", "stream", ("ns1", "clicks"), marks=pytest.mark.seed("S1-132")),
        pytest.param("artifact:ns1.jar", "artifact", ("ns1", "jar"), marks=pytest.mark.seed("S1-133")),
        pytest.param(
            "dataset_type:ns1.co.shop.T",
            "dataset_type",
            ("ns1", "co.shop.T"),
            marks=pytest.mark.seed("S1-134"),
        ),
        pytest.param(
            "dataset_module:ns1.co.shop.M",
            "dataset_module",
            ("ns1", "co.shop.M"),
            marks=pytest.mark.seed("S1-135"),
        ),
        pytest.param("securekey:ns1.key", "securekey", ("ns1", "key"), marks=pytest.mark.seed("S1-136")),
        pytest.param(
            "kerberosprincipal:etl/host@SHOP.COM",
            "kerberosprincipal",
            ("etl/host@SHOP.COM",),
            marks=pytest.mark.seed("S1-137"),
        ),
        ("instance:cdap", "instance", ("cdap",)),
        ("dataset:ns1.a.b", "dataset", ("ns1", "a.b")),
        ("program:ns1.app.*", "program", ("ns1", "app", "*")),
        ("DataSet:ns1.Orders", "dataset", ("ns1", "Orders")),
        ("program:ns1.app.WORKER.Etl", "program", ("ns1", "app", "worker", "Etl")),
    ],
)
def test_a_text_is_a_type_and_parts(text: str, type: str, parts: tuple[str, ...]) -> None:
    entity = parse(text)
    assert (entity.type, entity.parts) == (type, parts)
    name = text.partition(":")[2]
    if type != "instance" and len(parts) != 3:
        assert ObjectRef.parse(type, f"cdap/{name}").path == parts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Null or empty entity string."),
        ("ns1", "Cannot extract the entity type from ns1"),
        ("teapot:ns1", "Entity type TEAPOT does not support authorization."),
        ("namespace:a.b", "missing some parts or containing more parts"),
        ("dataset:ns1", "missing some parts or containing more parts"),
        ("dataset:ns1.", "missing some parts or containing more parts"),
        ("artifact:ns1.jar.1", "If you are including version please remove it"),
        ("application:ns1.app.1", "If you are including version please remove it"),
        ("program:ns1.app.etl", "When program type is not given, a program name can only contain a *"),
        ("program:ns1.app.worker.etl.1", "missing some parts or containing more parts"),
    ],
)
def test_what_is_no_text_is_told_in_the_words_of_cdap(text: str, words: str) -> None:
    with pytest.raises(BadEntity) as problem:
        parse(text)
    assert words in str(problem.value)


@pytest.mark.parametrize(
    ("pattern", "named", "others"),
    [
        pytest.param(
            "namespace:ns*",
            ["namespace:ns", "namespace:ns1", "namespace:nsabc"],
            ["namespace:n", "namespace:xns", "namespace:NS1", "dataset:ns1.a"],
            marks=pytest.mark.seed("S1-144", "S1-113"),
        ),
        pytest.param(
            "namespace:ns?",
            ["namespace:ns1", "namespace:nsx"],
            ["namespace:ns", "namespace:ns12", "dataset:ns1.a"],
            marks=pytest.mark.seed("S1-145", "S1-114"),
        ),
        pytest.param(
            "program:ns1.app1.*",
            ["program:ns1.app1.worker.etl", "program:ns1.app1.flow.x"],
            ["program:ns1.app2.worker.etl", "program:ns2.app1.worker.etl", "application:ns1.app1"],
            marks=pytest.mark.seed("S1-146", "S1-164"),
        ),
        ("program:ns1.*.*", ["program:ns1.a.worker.b"], ["program:ns2.a.worker.b"]),
        ("program:ns1.*.worker.*", ["program:ns1.a.worker.b"], ["program:ns1.a.flow.b"]),
        ("program:ns1.a.Worker.b", ["program:ns1.a.worker.b"], ["program:ns1.a.worker.B"]),
        pytest.param(
            "dataset:ns1.*",
            ["dataset:ns1.a", "dataset:ns1.a.b"],
            ["dataset:ns2.a", "stream:ns1.a"],
            marks=pytest.mark.seed("S1-111"),
        ),
        pytest.param(
            "dataset:ns1.tmp*",
            ["dataset:ns1.tmp", "dataset:ns1.tmp.a1"],
            ["dataset:ns1.x.tmp", "dataset:ns2.tmp"],
            marks=pytest.mark.seed("S1-196"),
        ),
        ("artifact:ns.*es?t", ["artifact:ns.esXt", "artifact:ns.wesXt"], ["artifact:ns.test"]),
        ("dataset:ns1.a+[b]", ["dataset:ns1.a+[b]"], ["dataset:ns1.aab", "dataset:ns1.a+b"]),
    ],
)
def test_a_pattern_names_these_and_not_those(pattern: str, named: list[str], others: list[str]) -> None:
    for text in named:
        assert matches(parse(pattern), parse(text)), text
        assert decided(holding("cdap43", [("ADMIN", str(parse(pattern)))]), "ADMIN", text), text
    for text in others:
        assert not decided(holding("cdap43", [("ADMIN", str(parse(pattern)))]), "ADMIN", text), text
