"""The stand-in over HTTP: `python -m tests.standins.ranger.server` says its port and serves until it ends.

What is below /standin is not Ranger's: there a test sets up users and accounts, orders failures, and reads
which calls were made.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import RLock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.standins.ranger.admin import Admin
from tests.standins.ranger.checks import NoGo

Answer = tuple[int, Any]
PUBLIC = "/service/public/v2/api"
PAGE = "<html><head><title>Ranger - Sign In</title></head><body><form></form></body></html>"


class Ranger(ThreadingHTTPServer):
    """One server with its memory, the calls it saw, and the failures it is to make."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = RLock()
        self.reset()

    def reset(self) -> None:
        self.admin, self.calls, self.failures = Admin(), list[dict[str, str]](), list[dict[str, Any]]()

    def failure_for(self, method: str, path: str) -> dict[str, Any] | None:
        for failure in self.failures:
            fits = re.search(failure["path"], path) and failure["method"] in ("*", method)
            if not fits:
                continue
            if failure.get("skip", 0) > 0:
                failure["skip"] -= 1
            elif failure["times"] > 0:
                failure["times"] -= 1
                return failure
        return None


class Handler(BaseHTTPRequestHandler):
    """One connection, kept open between calls."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Ranger

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Calls are kept in memory, not written."""

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or "null")
        target = urlsplit(self.path)
        asked = dict(parse_qsl(target.query, keep_blank_values=True))
        if target.path.startswith("/standin/"):
            with self.server.lock:
                self._send(200, _by_hand(self.server, target.path.split("/")[2], body))
            return
        failure = self.server.failure_for(self.command, self.path)
        how = failure["how"] if failure else ""
        if how == "cut before":
            self._cut()
        elif how == "slow":
            time.sleep(failure["seconds"])
            self._cut()
        elif how == "page":
            self._send(200, PAGE, "text/html")
        elif how.isdigit():
            self._send(int(how), {"statusCode": 1, "msgDesc": f"ordered {how}"})
        else:
            self._do(target.path, asked, body, cut=how == "cut after")

    def _do(self, path: str, asked: dict[str, str], body: Any, *, cut: bool) -> None:
        with self.server.lock:
            target = urlsplit(self.path)
            call = {"method": self.command, "path": target.path, "asked": target.query}
            self.server.calls.append({**call, "user": self._login() or ""})
            try:
                status, answer = self._answer(path, asked, body)
            except NoGo as refused:
                status, answer = refused.status, refused.body
        if cut:
            self._cut()
        elif status == 401:
            self._send(401, "<html><body>HTTP Status 401</body></html>", "text/html")
        else:
            self._send(status, answer)

    def _answer(self, path: str, asked: dict[str, str], body: Any) -> Answer:
        login = self._login()
        if login is None:
            return 401, None
        for method, pattern, does in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method == self.command:
                names = [unquote(group) for group in match.groups()]
                return does(self.server.admin, login, names, asked, body)
        return 404, {"statusCode": 1, "msgDesc": "no such call in the stand-in"}

    def _login(self) -> str | None:
        kind, _, secret = (self.headers.get("Authorization") or "").partition(" ")
        if kind != "Basic":
            return None
        login, _, password = base64.b64decode(secret).decode().partition(":")
        account = self.server.admin.accounts.get(login)
        return login if account and account.password == password else None

    def _send(self, status: int, answer: Any, kind: str = "application/json") -> None:
        content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        content = b"" if status in (204, 304) else content
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.close()


def _by_hand(server: Ranger, what: str, body: Any) -> Any:
    """What a test does to the server past its rules."""
    deeds: dict[str, Callable[[], Any]] = {
        "reset": server.reset,
        "service": lambda: server.admin.add_service(body["name"], body["type"]),
        "user": lambda: server.admin.add_user(body["name"], body.get("groups", ())),
        "account": lambda: server.admin.add_account(
            body["login"], body["password"], roles=tuple(body["roles"]), sees=frozenset(body.get("sees", ()))
        ),
        "set": lambda: server.admin.services[body.pop("service")].update(body),
        "option": lambda: server.admin.definitions[body["type"]]["options"].update(body["options"]),
        "forget": lambda: server.admin.users.pop(body["name"]) and None,
        "page": lambda: setattr(server.admin, "page", body["size"]),
        "fail": lambda: server.failures.append({"times": 1, "method": "*", **body}),
        "mend": server.failures.clear,
        "calls": lambda: list(server.calls),
    }
    return deeds[what]()


def _page_of_users(admin: Admin, asked: dict[str, str]) -> Answer:
    rows = [
        {
            "id": number,
            "name": name,
            "groupNameList": sorted(admin.users[name]),
            "isVisible": 1,
            "userRoleList": list(admin.accounts[name].roles) if name in admin.accounts else ["ROLE_USER"],
        }
        for number, name in enumerate(sorted(admin.users), 1)
    ]
    start, size = int(asked.get("startIndex") or 0), admin.size_of_page(asked)
    shown = rows[start : start + size]
    about = {"startIndex": start, "pageSize": size, "totalCount": len(rows), "resultSize": len(shown)}
    return 200, {**about, "vXUsers": shown}


def _roles(admin: Admin, login: str, asked: dict[str, str]) -> Answer:
    admin.only_admins(login)
    start = int(asked.get("startIndex") or 0)
    return 200, list(admin.roles.values())[start : start + admin.size_of_page(asked)]


def _download(admin: Admin, service: str, asked: dict[str, str]) -> Answer:
    document = admin.download(service, asked)
    return (304, None) if document is None else (200, document)


def _gone(done: None) -> Answer:
    return 204, done


def _in_roles(admin: Admin, user: str) -> list[str]:
    rows = admin.roles.values()
    return [row["name"] for row in rows if any(item["name"] == user for item in row["users"])]


Route = Callable[[Admin, str, list[str], dict[str, str], Any], Answer]
ROUTES: list[tuple[str, str, Route]] = [
    ("GET", f"{PUBLIC}/service/name/([^/]+)", lambda a, who, at, asked, body: (200, a.service(at[0]))),
    ("GET", f"{PUBLIC}/servicedef/name/([^/]+)", lambda a, who, at, asked, body: (200, a.definitions[at[0]])),
    ("GET", f"{PUBLIC}/policy", lambda a, who, at, asked, body: (200, a.list_policies(who, asked))),
    ("GET", f"{PUBLIC}/policy/(\\d+)", lambda a, who, at, asked, body: (200, a.policy(who, int(at[0])))),
    (
        "GET",
        f"{PUBLIC}/service/([^/]+)/policy/([^/]+)",
        lambda a, who, at, asked, body: (200, a.policy_by_name(who, *at)),
    ),
    ("POST", f"{PUBLIC}/policy", lambda a, who, at, asked, body: (200, a.create_policy(who, body))),
    (
        "PUT",
        f"{PUBLIC}/policy/(\\d+)",
        lambda a, who, at, asked, body: (200, a.update_policy(who, int(at[0]), body)),
    ),
    (
        "DELETE",
        f"{PUBLIC}/policy/(\\d+)",
        lambda a, who, at, asked, body: _gone(a.delete_policy(who, int(at[0]))),
    ),
    ("GET", f"{PUBLIC}/roles", lambda a, who, at, asked, body: _roles(a, who, asked)),
    ("GET", f"{PUBLIC}/roles/name/([^/]+)", lambda a, who, at, asked, body: (200, a.role_named(at[0]))),
    ("GET", f"{PUBLIC}/roles/user/([^/]+)", lambda a, who, at, asked, body: (200, _in_roles(a, at[0]))),
    ("POST", f"{PUBLIC}/roles", lambda a, who, at, asked, body: (200, a.create_role(who, body))),
    (
        "PUT",
        f"{PUBLIC}/roles/(\\d+)",
        lambda a, who, at, asked, body: (200, a.update_role(who, int(at[0]), body)),
    ),
    (
        "DELETE",
        f"{PUBLIC}/roles/(\\d+)",
        lambda a, who, at, asked, body: _gone(a.delete_role(who, int(at[0]))),
    ),
    ("GET", f"{PUBLIC}/plugins/info", lambda a, who, at, asked, body: (200, a.plugin_rows())),
    ("GET", "/service/xusers/users", lambda a, who, at, asked, body: _page_of_users(a, asked)),
    (
        "GET",
        "/service/users/profile",
        lambda a, who, at, asked, body: (
            200,
            {"loginId": who, "userRoleList": list(a.accounts[who].roles)},
        ),
    ),
    (
        "GET",
        "/service/plugins/policies/download/([^/]+)",
        lambda a, who, at, asked, body: _download(a, at[0], asked),
    ),
    (
        "GET",
        "/service/roles/download/([^/]+)",
        lambda a, who, at, asked, body: (
            200,
            {"roleVersion": a.role_version, "rangerRoles": list(a.roles.values())},
        ),
    ),
]


def main() -> None:
    server = Ranger(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
