"""Carries CDAP's commands out over its REST interface, here or at any CDAP that speaks it."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from lakewarden.cdap.commands import Holder
from lakewarden.cdap.wire import read_authorizable, read_entity, write_authorizable
from lakewarden.client.transport import BadCredentials, Transport, Unavailable, received
from lakewarden.law.dialects.cdap.authorizable import Authorizable, BadEntity

BASE = "/v3/security/authorization"


class Refused(Exception):
    """The other side says no, or that something is not there or already is; the text is its own."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Line(Transport):
    """One call each, never repeated: a role that was made cannot be made again."""

    def call(self, method: str, path: str, body: Mapping[str, object] | None = None) -> bytes:
        """What answers.  Raises Refused, ConsoleError."""
        content = None if body is None else json.dumps(body).encode()
        request_id = str(uuid.uuid4())
        request = self._request(method, path, content, request_id, "")
        try:
            with self._opener.open(request, timeout=self.timeout) as answer:
                return received(answer, time.monotonic() + self.timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise self._no(error, request_id) from None
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(
                self.tidy(f"{self.url} gave no answer: {error} (request {request_id})")
            ) from None
        finally:
            # also where no answer came: it may have been done
            if method != "GET":
                self.wrote()

    def _no(self, error: urllib.error.HTTPError, request_id: str) -> Exception:
        content = received(error, time.monotonic() + self.timeout)
        text = self.tidy(content.decode(errors="replace")[:2000]) or str(error.reason)
        if error.code == 401:
            return BadCredentials(f"{self.url} does not accept the token (request {request_id})")
        if 400 <= error.code < 500 or error.code == 501:
            return Refused(error.code, text)
        return Unavailable(f"{self.url} gave no answer: status {error.code} (request {request_id})")


class Rest:
    """A `lakewarden.cdap.commands.Backend` behind an address and a token."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def grant(self, target: Authorizable, holder: Holder, actions: Sequence[str]) -> None:
        self._line.call("POST", f"{BASE}/privileges/grant", _body(target, holder, actions))

    def revoke(self, target: Authorizable, holder: Holder | None, actions: Sequence[str] | None) -> None:
        self._line.call("POST", f"{BASE}/privileges/revoke", _body(target, holder, actions))

    def privileges(self, holder: Holder) -> list[tuple[Authorizable, str]]:
        return [self._privilege(row) for row in self._rows(f"{_of(holder)}/privileges")]

    def create_role(self, name: str) -> None:
        self._line.call("PUT", f"{BASE}/roles/{_escaped(name)}", {})

    def drop_role(self, name: str) -> None:
        self._line.call("DELETE", f"{BASE}/roles/{_escaped(name)}")

    def roles(self, holder: Holder | None) -> list[str]:
        rows = self._rows(f"{_of(holder)}/roles" if holder else f"{BASE}/roles")
        return [self._line.tidy(str(row.get("name"))) for row in rows]

    def add_role(self, name: str, holder: Holder) -> None:
        self._line.call("PUT", f"{_of(holder)}/roles/{_escaped(name)}", {})

    def remove_role(self, name: str, holder: Holder) -> None:
        self._line.call("DELETE", f"{_of(holder)}/roles/{_escaped(name)}")

    def _rows(self, path: str) -> list[Mapping[str, Any]]:
        try:
            rows = json.loads(self._line.call("GET", path).decode())
        except (ValueError, RecursionError):
            rows = None
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise Unavailable(f"{self._line.url} sent an answer that cannot be read")
        return rows

    def _privilege(self, row: Mapping[str, Any]) -> tuple[Authorizable, str]:
        try:
            target = (
                read_entity(row["entity"]) if "entity" in row else read_authorizable(row.get("authorizable"))
            )
        except BadEntity:
            raise Unavailable(f"{self._line.url} sent an answer that cannot be read") from None
        permission = row.get("permission")
        action = permission.get("name") if isinstance(permission, Mapping) else row.get("action")
        return target, str(action)


def _body(target: Authorizable, holder: Holder | None, actions: Sequence[str] | None) -> dict[str, object]:
    body: dict[str, object] = {"authorizable": write_authorizable(target)}
    if holder is not None:
        body["principal"] = {"name": holder.name, "type": holder.kind.upper()}
    if actions is not None:
        body["actions"] = list(actions)
    return body


def _of(holder: Holder) -> str:
    return f"{BASE}/{holder.kind.upper()}/{_escaped(holder.name)}"


def _escaped(name: str) -> str:
    # a name of dots alone would be taken for a step in the path
    return quote(name, safe="").replace(".", "%2E") if set(name) == {"."} else quote(name, safe="")
