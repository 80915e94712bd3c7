"""The same calls in XML, and XML that wants more than to be read."""

from __future__ import annotations

import time
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring

from tests.herd.world import ENTRIES, REST, Caller, entry_path

CREATE = """<?xml version="1.0" encoding="UTF-8"?>
<userNamespaceAuthorizationCreateRequest>
  <userNamespaceAuthorizationKey><userId>{user}</userId><namespace>sales</namespace></userNamespaceAuthorizationKey>
  <namespacePermissions>
    <namespacePermission>WRITE</namespacePermission><namespacePermission>READ</namespacePermission>
  </namespacePermissions>
  <unknown><more/></unknown>
</userNamespaceAuthorizationCreateRequest>"""
HEAD = "<?xml version='1.0' encoding='utf-8'?>\n"


def post(caller: Caller, body: str | bytes, path: str = ENTRIES, accept: str = "application/xml") -> Any:
    content = body.encode() if isinstance(body, str) else body
    return caller.generic("POST", path, content, content_type="application/xml", headers={"accept": accept})


def test_xml_goes_in_and_comes_out(olivia: Caller) -> None:
    answer = post(olivia, CREATE.format(user="ana &amp; bo"))
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"] == "application/xml"
    number = olivia.get(entry_path("ana & bo", "SALES")).json()["id"]
    item = (
        f"<id>{number}</id>"
        "<userNamespaceAuthorizationKey><userId>ana &amp; bo</userId><namespace>SALES</namespace>"
        "</userNamespaceAuthorizationKey><namespacePermissions><namespacePermission>READ</namespacePermission>"
        "<namespacePermission>WRITE</namespacePermission></namespacePermissions>"
    )
    assert answer.content.decode() == f"{HEAD}<userNamespaceAuthorization>{item}</userNamespaceAuthorization>"
    response = olivia.get(f"{ENTRIES}/userIds/ana & bo", headers={"accept": "application/xml"})
    entry = f"<userNamespaceAuthorization>{item}</userNamespaceAuthorization>"
    assert (
        response.content.decode()
        == f"{HEAD}<userNamespaceAuthorizations>{entry}</userNamespaceAuthorizations>"
    )


def test_the_other_bodies_have_their_elements(olivia: Caller) -> None:
    def xml(path: str) -> str:
        return str(olivia.get(f"{REST}/{path}", headers={"accept": "application/xml"}).content.decode())

    assert xml("namespaces") == (
        f"{HEAD}<namespaceKeys><namespaceKey><namespaceCode>SALES</namespaceCode></namespaceKey>"
        "<namespaceKey><namespaceCode>STOCK</namespaceCode></namespaceKey></namespaceKeys>"
    )
    assert xml("namespaces/SALES") == (
        f"{HEAD}<namespace><namespaceCode>SALES</namespaceCode><s3KeyPrefix>sales</s3KeyPrefix></namespace>"
    )
    assert xml("currentUser") == (
        f"{HEAD}<userAuthorizations><userId>olivia</userId><namespaceAuthorizations><namespaceAuthorization>"
        "<namespace>SALES</namespace><namespacePermissions><namespacePermission>READ</namespacePermission>"
        "<namespacePermission>GRANT</namespacePermission></namespacePermissions></namespaceAuthorization>"
        "</namespaceAuthorizations><securityRoles><securityRole>DATA_OWNER</securityRole></securityRoles>"
        "<securityFunctions /></userAuthorizations>"
    )
    assert xml("namespaces/nope") == (
        f"{HEAD}<errorInformation>"
        "<statusCode>404</statusCode><statusDescription>Not Found</statusDescription>"
        '<message>Namespace "nope" doesn\'t exist.</message><messageDetails /></errorInformation>'
    )


def test_updates_and_searches_are_read_too(olivia: Caller, admin: Caller) -> None:
    permission = "<namespacePermission>EXECUTE</namespacePermission>"
    body = "<userNamespaceAuthorizationUpdateRequest><namespacePermissions>{}</namespacePermissions>{}"
    whole = body.format(permission, "</userNamespaceAuthorizationUpdateRequest>").encode()
    olivia.create("ana", "SALES", "READ")
    answer = olivia.generic("PUT", entry_path("ana", "SALES"), whole, content_type="application/xml")
    assert answer.json()["namespacePermissions"] == ["EXECUTE"]
    none = body.format("", "</userNamespaceAuthorizationUpdateRequest>").encode()
    answer = olivia.generic("PUT", entry_path("ana", "SALES"), none, content_type="application/xml")
    assert answer.json()["message"] == "Namespace permissions must be specified."
    post(
        admin,
        "<namespaceCreateRequest><namespaceCode>P</namespaceCode><chargeCode>c</chargeCode></namespaceCreateRequest>",
        f"{REST}/namespaces",
    )
    key = "<namespaceSearchKey><mustHaveChargeCode>true</mustHaveChargeCode></namespaceSearchKey>"
    search = (
        f"<namespaceSearchFilter><namespaceSearchKeys>{key}</namespaceSearchKeys></namespaceSearchFilter>"
    )
    response = post(
        admin,
        f"<namespaceSearchRequest><namespaceSearchFilters>{search}</namespaceSearchFilters></namespaceSearchRequest>",
        f"{REST}/namespaces/search",
    )
    namespace = "<namespace><namespaceCode>P</namespaceCode></namespace>"
    assert response.content.decode() == (
        f"{HEAD}<namespaceSearchResponse><namespaces>{namespace}</namespaces></namespaceSearchResponse>"
    )


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("application/json", "application/json"),
        ("application/xml", "application/xml"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/json;q=0.2, application/xml;q=0.9", "application/xml"),
        ("text/html, application/xml;q=0.9, */*;q=0.1", "application/xml"),
    ],
)
def test_accept_is_honoured(olivia: Caller, accept: str, chosen: str) -> None:
    answer = olivia.get(f"{REST}/currentUser", headers={"accept": accept})
    assert answer.headers["Content-Type"] == chosen
    assert olivia.get(f"{REST}/currentUser").headers["Content-Type"] == "application/json"


LAUGHS = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10 if at else "ha"}">' for at in range(9))
BAD = {
    "bomb": f"<?xml version='1.0'?><!DOCTYPE x [{LAUGHS}]>" + CREATE.format(user="&l8;").partition("\n")[2],
    "one big entity": f'<!DOCTYPE x [<!ENTITY a "{"a" * 100_000}">]><x>{"&a;" * 10_000}</x>',
    "a file": '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><x>&f;</x>',
    "a host": '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd"><x/>',
    "parameter entity": '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:1/p"> %p;]><x/>',
    "a bare type": "<!DOCTYPE userNamespaceAuthorizationCreateRequest>"
    + CREATE.format(user="a").partition("\n")[2],
    "an unknown entity": CREATE.format(user="&nobody;"),
    "another element": "<userNamespaceAuthorizationUpdateRequest/>",
    "half": CREATE[:200],
    "nothing": " ",
    "JSON": "{}",
    "a name twice": CREATE.format(user="a</userId><userId>b"),
    "a permission unheard of": CREATE.format(user="a").replace("WRITE", "OWNER"),
    "no such encoding": CREATE.format(user="a").replace("UTF-8", "x-none"),
    "a child in a text": CREATE.format(user="<b/>"),
}


@pytest.mark.parametrize("name", BAD)
def test_xml_that_wants_more_is_refused(olivia: Caller, name: str) -> None:
    started = time.perf_counter()
    answer = post(olivia, BAD[name], accept="application/json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["message"].startswith("Could not read the request: ")
    assert "root:" not in answer.content.decode()
    assert time.perf_counter() - started < 30
    assert olivia.get(f"{ENTRIES}/namespaces/SALES").content.count(b'"id"') == 1


def test_depth_does_no_harm(olivia: Caller) -> None:
    for depth, status in ((10, 200), (50_000, 400)):
        deep = CREATE.format(user="ana").replace("<more/>", "<m>" * depth + "</m>" * depth)
        started = time.perf_counter()
        assert post(olivia, deep).status_code == status
        assert time.perf_counter() - started < 20


@pytest.mark.parametrize(
    "begin", ["<m><!--</m>-->", "<m><![CDATA[</m>]]>", '<m a="/>">', "<m a='/>'>", "<m><?p </m>?>"]
)
def test_no_letters_like_those_of_a_tag_hide_depth(olivia: Caller, begin: str) -> None:
    for depth, status in ((10, 200), (50_000, 400)):
        deep = CREATE.format(user="ana").replace("<more/>", begin * depth + "</m>" * depth)
        answer = post(olivia, deep, accept="application/json")
        assert answer.status_code == status, answer.content
    assert "too many elements in one another" in answer.json()["message"]


@pytest.mark.parametrize("odd", ["\\ud800", "\\u0000", "\\u0001", "\\ufffe", "\\u00e9 \\ud83d\\ude00 <&>"])
@pytest.mark.parametrize("accept", ["application/json", "application/xml"])
def test_odd_letters_come_back_readable(olivia: Caller, admin: Caller, odd: str, accept: str) -> None:
    body = (
        '{"userNamespaceAuthorizationKey":{"userId":"a%s","namespace":"N%s"},"namespacePermissions":["READ"]}'
    )
    for caller in (olivia, admin):
        answer = caller.generic(
            "POST", ENTRIES, body % (odd, odd), content_type="application/json", headers={"accept": accept}
        )
        assert answer.status_code in (400, 403, 404), answer.content
        assert "N" in (
            answer.content.decode() if accept.endswith("json") else fromstring(answer.content)[2].text
        )
    assert olivia.get(f"{ENTRIES}/userIds/a%00%01%ff").status_code == 400
