"""dex on loopback, the people and groups of an OpenLDAP behind it, and a browser that signs in there."""

from __future__ import annotations

import html
import http.client
import http.cookiejar
import json
import os
import re
import shutil
import socket
import urllib.request
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin

import pytest

from tests.real.servers import Server, free_port

CLIENT, SECRET, PASSWORD = "lakewarden", "a secret of the tests", "correct horse"
BACK = "http://testserver/sign-in/with/dex/callback"
PEOPLE = {"ana": ("staff", "auditors"), "bo": ("staff",), "cy": ()}
BASE = "dc=lake,dc=example"
ADMIN = f"cn=admin,{BASE}"
SLAPD = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {home}/slapd.pid
database mdb
suffix "{base}"
rootdn "{admin}"
rootpw "{password}"
directory {home}/entries
"""


def program(name: str, variable: str, missing: str) -> str:
    """Where a program is: as a variable says, or in the path; without it the tests are skipped."""
    found = os.environ.get(variable) or shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if not found:
        pytest.skip(f"{name} is missing: {missing}")
    return found


def entries() -> str:
    """The directory as LDIF: people, and the groups that name them."""
    units = [f"dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\no: Lake\ndc: lake"]
    units += [f"dn: ou={name},{BASE}\nobjectClass: organizationalUnit" for name in ("people", "groups")]
    people = [
        f"dn: uid={name},ou=people,{BASE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name.title()} Diaz\n"
        f"sn: Diaz\nmail: {name}@example.com\nuserPassword: {PASSWORD}"
        for name in PEOPLE
    ]
    groups = [
        "\n".join([
            f"dn: cn={group},ou=groups,{BASE}\nobjectClass: groupOfNames",
            *(f"member: uid={name},ou=people,{BASE}" for name, held in PEOPLE.items() if group in held),
        ])
        for group in ("staff", "auditors")
    ]  # fmt: skip
    return "\n\n".join([*units, *people, *groups]) + "\n"


class Directory(Server):
    """An OpenLDAP with these people, which keeps what it holds in its folder."""

    def __init__(self) -> None:
        slapd = program("slapd", "LAKEWARDEN_SLAPD", "on Debian: apt-get install slapd")
        super().__init__("ldap")
        self.port = free_port()
        (self.home / "entries").mkdir()
        settings = self.home / "slapd.conf"
        settings.write_text(SLAPD.format(home=self.home, base=BASE, admin=ADMIN, password=PASSWORD))
        (self.home / "entries.ldif").write_text(entries())
        self.once([slapd, "-T", "add", "-f", str(settings), "-l", str(self.home / "entries.ldif")])
        self.run([slapd, "-d", "0", "-f", str(settings), "-h", f"ldap://127.0.0.1:{self.port}"])
        self.wait(self._listens)

    def _listens(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), timeout=5):
            return True


class Dex(Server):
    """One process that keeps nothing; whom it lets in the directory decides."""

    def __init__(self, directory: Directory) -> None:
        dex = program("dex", "LAKEWARDEN_DEX", "the variable LAKEWARDEN_DEX names no dex")
        super().__init__("dex")
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}/dex"
        self.web = Path(os.environ.get("LAKEWARDEN_DEX_WEB") or Path(dex).parent / "web")
        settings = self.home / "dex.yaml"  # JSON is YAML
        settings.write_text(json.dumps(self._settings(directory)))
        self.run([dex, "serve", str(settings)])
        self.wait(self._answers)

    def _settings(self, directory: Directory) -> dict[str, object]:
        people = {
            "baseDN": f"ou=people,{BASE}",
            "username": "uid",
            "idAttr": "uid",
            "emailAttr": "mail",
            "nameAttr": "cn",
            "preferredUsernameAttr": "uid",
        }
        groups = {
            "baseDN": f"ou=groups,{BASE}",
            "userMatchers": [{"userAttr": "DN", "groupAttr": "member"}],
            "nameAttr": "cn",
        }
        ldap = {
            "host": f"127.0.0.1:{directory.port}",
            "insecureNoSSL": True,
            "bindDN": ADMIN,
            "bindPW": PASSWORD,
            "userSearch": people,
            "groupSearch": groups,
        }
        client = {"id": CLIENT, "secret": SECRET, "name": "Lakewarden", "redirectURIs": [BACK]}
        return {
            "issuer": self.issuer,
            "storage": {"type": "memory"},
            "web": {"http": f"127.0.0.1:{self.port}"},
            "frontend": {"dir": str(self.web)},
            "oauth2": {"skipApprovalScreen": True},
            "connectors": [{"type": "ldap", "id": "ldap", "name": "LDAP", "config": ldap}],
            "staticClients": [client],
        }

    def _answers(self) -> bool:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            line.request("GET", "/dex/.well-known/openid-configuration")
            return line.getresponse().status == 200
        finally:
            line.close()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Each step is taken by `sign_in_there`, which stops where dex sends the browser back."""


def sign_in_there(address: str, name: str, password: str = PASSWORD) -> str:
    """Where dex sends the browser after its form was filled in; "" when it asks again."""
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(cookies, _Stay())
    filled = urlencode({"login": name, "password": password}).encode()
    body: bytes | None = None
    for _ in range(10):
        try:
            page = browser.open(address, body, timeout=120).read().decode()
        except HTTPError as answer:
            if answer.code not in (302, 303):
                if answer.code == 401:  # the form again, with what was wrong
                    return ""
                raise
            address, body = urljoin(address, answer.headers["Location"]), None
            if address.startswith(BACK):
                return address
            continue
        form = re.search(r'<form[^>]*action="([^"]+)"', page)
        assert form, page[:2000]
        if body is not None:
            return ""
        address, body = urljoin(address, html.unescape(form[1])), filled
    raise AssertionError(f"dex sends the browser around: {address}")
