"""Calls to another system's REST API: bounded in time and size, no redirects, secrets in no text."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from opentelemetry import propagate
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError
from urllib3.exceptions import TimeoutError as TimeoutError_

from lakewarden import request_ids
from lakewarden.backends.deadline import answered_within
from lakewarden.backends.errors import BackendError, Misconfigured, NotAnswering, Transient
from lakewarden.backends.kinds import Field
from lakewarden.backends.network import Network

TIMEOUT = 20.0  # seconds for one answer
GRACE = 5.0  # seconds more until the line is cut, for what no time-out of a socket ends
MAX_BYTES = 64 * 1024 * 1024
_PASSING = frozenset({429, 500, 502, 503, 504})
_SAID = 300  # letters of the other side's own words that are passed on


@dataclass(frozen=True)
class Address:
    """Where a server is and as whom to come, read from `KIND+https://user:password@host:port/path?option=…`.

    A password without a user is a token.
    """

    tls: bool
    host: str
    port: int
    path: tuple[str, ...]
    user: str = ""
    secret: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, url: str, kind: str, *, port: int, options: frozenset[str], path: int | None) -> Address:
        """Raises Misconfigured, without the URL in its words: the secret stands in it.

        `options` are the names that may be asked; `path` is how many names the path has, None for any number.
        """
        try:
            parts = urlsplit(url)
            query_parts = parse_qs(parts.query, strict_parsing=bool(parts.query))
            number = parts.port or port
        except ValueError:
            raise _no_url(kind) from None
        names = tuple(unquote(name) for name in parts.path.split("/") if name)
        schemes = {f"{kind}+http": False, f"{kind}+https": True}
        if parts.scheme not in schemes or not parts.hostname or not options.issuperset(query_parts):
            raise _no_url(kind)
        if path is not None and len(names) != path:
            raise _no_url(kind)
        user, secret = unquote(parts.username or ""), unquote(parts.password or "")
        single = {name: values[-1] for name, values in query_parts.items()}
        return cls(schemes[parts.scheme], parts.hostname, number, names, user, secret, single)

    @property
    def place(self) -> str:
        """Where this leads, for people."""
        return f"{self.host}:{self.port}"


TOKEN, TLS = "token", "https"
SIGNS_IN = Field(
    "way",
    "Signs in by",
    "With a token, the account above is only a label.",
    choices=(("password", "account and password"), (TOKEN, "token, in place of the password")),
)
REACHED = Field("tls", "Reached over", choices=((TLS, "TLS"), ("http", "plain HTTP")))
"""What forms ask for all these systems."""


def url_of(kind: str, values: Mapping[str, str], *options: str) -> str:
    """The URL for what a form says; a password without a user is a token."""
    user = "" if values.get("way") == TOKEN else values.get("user", "")
    port = f":{values['port']}" if values.get("port") else ""
    secret = f":{quote(values['password'], safe='')}" if values.get("password") else ""
    who = f"{quote(user, safe='')}{secret}@" if user or secret else ""
    path = quote(values.get("database", "").strip("/"), safe="/")
    query = urlencode({name: values[name] for name in options if values.get(name)})
    scheme = f"{kind}+{'http' if values.get('tls') == 'http' else TLS}"
    return f"{scheme}://{who}{values.get('host', '')}{port}/{path}{'?' if query else ''}{query}"


def parts_of(at: Address) -> dict[str, str]:
    """The reverse, for a form that renews a connection and for who judges where it leads."""
    elsewhere = urlsplit(at.options.get("oauth", "")).hostname
    return {
        # first, as one of them is also called `user`
        **at.options,
        "host": at.host,
        **({"hostaddr": elsewhere} if elsewhere else {}),
        "port": str(at.port),
        "dbname": "/".join(at.path),
        "user": at.user or (TOKEN if at.secret else ""),
        "password": at.secret,
        "way": "password" if at.user else TOKEN,
        "tls": TLS if at.tls else "http",
    }


def _no_url(kind: str) -> Misconfigured:
    return Misconfigured(f"the URL must look like {kind}+https://user:password@host:port/…")


class Refused(BackendError):
    """The other side answered with an error; each kind of backend has its own table of what that means."""

    def __init__(self, status: int, text: str, body: Mapping[str, Any]):
        super().__init__(text)
        self.status, self.body = status, body


class _InUse:
    """Tells each connection where it may lead, and remembers which was given out, so that it can be ended."""

    in_use: Any = None
    network: Network

    def _new_conn(self) -> Any:
        connection = super()._new_conn()  # type: ignore[misc]
        connection.network = self.network
        return connection

    def _get_conn(self, timeout: float | None = None) -> Any:
        self.in_use = super()._get_conn(timeout)  # type: ignore[misc]
        return self.in_use


class Reply(NamedTuple):
    status: int
    kind: str
    content: bytes


class _Connection(HTTPConnection):
    """A line to an address that was judged just before; the name stays for `Host` and for TLS to prove."""

    network: Network

    def _new_conn(self) -> socket.socket:
        return self.network.connected(self.host, self._to, HTTPError)

    def _to(self, address: str) -> socket.socket:
        name, self._dns_host = self._dns_host, address
        try:
            return super()._new_conn()
        finally:
            self._dns_host = name


class _SecureConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Pool(_InUse, HTTPConnectionPool):
    """Plain HTTP."""

    ConnectionCls = _Connection


class _SecurePool(_InUse, HTTPSConnectionPool):
    """HTTP over TLS."""

    ConnectionCls = _SecureConnection


Authorize = Callable[[], str]
"""Gives the value of the header `Authorization`, "" for none."""


class Rest:
    """One server, over a connection that stays open and is opened again when it was lost.

    `explain` takes an error's body to the other side's own words; with one of `lasting` in them an error that
    looks as if it would pass is one of how the other side is set up.
    """

    def __init__(
        self,
        at: Address,
        authorize: Authorize,
        *,
        network: Network,
        accept: str = "application/json",
        explain: Callable[[Mapping[str, Any], str], str],
        lasting: tuple[str, ...] = (),
    ) -> None:
        self.at, self._authorize, self._accept, self._explain = at, authorize, accept, explain
        self._network, self._lasting = network, lasting

    @property
    def machine(self) -> str:
        """Where this leads, the same for every spelling of the host.  Raises BackendError."""
        return self._network.machine(self.at.host, self.at.port)

    def get(self, *names: str, **query: str) -> Any:
        """The JSON that answers.  Raises BackendError; Refused with the status of an error."""
        return self.call("GET", *names, query=query)

    def call(self, method: str, *names: str, body: Any = None, query: Mapping[str, str] | None = None) -> Any:
        """One call on the path of these names; None when the answer is empty."""
        path = (
            "/" + "/".join(quote(name, safe="") for name in names) + (f"?{urlencode(query)}" if query else "")
        )
        content = None if body is None else json.dumps(body).encode()
        return self._call(method, path, content, "application/json")

    def form(self, *names: str, fields: Mapping[str, str]) -> Any:
        """The JSON that answers a form."""
        path = "/" + "/".join(quote(name, safe="") for name in names)
        return self._call("POST", path, urlencode(fields).encode(), "application/x-www-form-urlencoded")

    def _call(self, method: str, path: str, content: bytes | None, kind: str) -> Any:
        headers = {"Accept": self._accept, "Content-Type": kind}
        if request_id := request_ids.current():
            headers[request_ids.HEADER] = request_id
        propagate.inject(headers)
        if authorization := self._authorize():
            headers["Authorization"] = authorization
        reply = self._answered(method, path, content, headers)
        if 300 <= reply.status < 400:
            raise Misconfigured(f"{self.at.place} redirects; name the address that it points to")
        value, whole = _json(reply.content)
        if 200 <= reply.status < 300:
            if not whole:
                # without its query, where a token may stand
                bare_path = path.partition("?")[0]
                raise Misconfigured(f"{self.at.place} answers {bare_path} with something that is no JSON")
            return value
        raise self._refusal(reply, value)

    def close(self) -> None:
        """Let go of the connection; the next call makes a new one."""
        if "_pool" in self.__dict__:
            self._pool.close()
            del self._pool

    @cached_property
    def _pool(self) -> HTTPConnectionPool:
        # not `requests`: it reads proxies, cookies and passwords of its own, and takes `..` out of paths
        at = self.at
        pool: _Pool | _SecurePool
        if at.tls:
            trusting = _trusting(at.options.get("ca"))
            pool = _SecurePool(at.host, at.port, TIMEOUT, retries=False, ssl_context=trusting)
        else:
            pool = _Pool(at.host, at.port, TIMEOUT, retries=False)
        pool.network = self._network
        return pool

    def _answered(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        try:
            try:
                return self._send(method, path, content, headers)
            except ProtocolError:
                # an idle line may have been closed over there; what changes something is never sent twice
                if method != "GET":
                    raise
            return self._send(method, path, content, headers)
        except ValueError:
            # not in its own words, where a token may stand
            what = f"the address, account or token for {self.at.place}"
            raise Misconfigured(f"{what} holds letters that HTTP cannot carry") from None
        except HTTPError as error:
            raise self._trouble(error) from None

    def _send(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        with answered_within(
            TIMEOUT + GRACE, lambda: getattr(getattr(self._pool, "in_use", None), "sock", None), self.at.place
        ):
            until = time.monotonic() + TIMEOUT
            answer = self._pool.urlopen(
                method, path, content, dict(headers), redirect=False, preload_content=False
            )
            parts, size = [], 0
            try:
                while part := answer.read1(65536):
                    parts.append(part)
                    size += len(part)
                    if size > MAX_BYTES or time.monotonic() > until:
                        raise Transient(
                            f"{self.at.place} sends more than can be read in {TIMEOUT:.0f} seconds"
                        )
            except BaseException:
                answer.close()
                raise
            answer.release_conn()
            return Reply(answer.status, _type_of(answer.headers), b"".join(parts))

    def _trouble(self, error: HTTPError) -> BackendError:
        # what is behind the library's own words, which name its objects
        inner = (cause for cause in reversed(error.args) if isinstance(cause, Exception))
        cause = error.__cause__ or next(inner, error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Misconfigured(f"{self.at.place} is not trusted: {cause.verify_message}")
        kind = (
            NotAnswering if isinstance(error, TimeoutError_) or isinstance(cause, TimeoutError) else Transient
        )
        return kind(f"{self.at.place} does not answer: {str(cause) or type(cause).__name__}")

    def _refusal(self, reply: Reply, value: Any) -> BackendError:
        body = value if isinstance(value, dict) else {}
        # a page of some proxy says nothing that helps
        plain = "" if "html" in reply.kind else reply.content.decode(errors="replace")
        reason = self._explain(body, plain)
        text = self._tidy(f"{self.at.place} answers {reply.status}: {reason or 'no reason given'}")
        if reply.status == 401 or any(words in reason for words in self._lasting):
            return Misconfigured(text)
        if reply.status in _PASSING:
            return Transient(text)
        if "html" in reply.kind:
            return Misconfigured(f"{text}; that is no answer of the API, so the address leads elsewhere")
        return Refused(reply.status, text, body)

    def _tidy(self, text: str) -> str:
        hidden = text.replace(self.at.secret, "******") if self.at.secret else text
        return "".join(letter if letter.isprintable() else " " for letter in hidden)[:_SAID]


def _type_of(headers: Mapping[str, str]) -> str:
    return headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _json(content: bytes) -> tuple[Any, bool]:
    if not content.strip():
        return None, True
    try:
        return json.loads(content), True
    except (ValueError, RecursionError):
        return None, False


def _trusting(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise Misconfigured(f"{ca} cannot be used as a certificate file: {error}") from None


# who one comes as


def signing_in(at: Address, network: Network) -> Authorize:
    """By the client's credentials at the token endpoint that the URL's `oauth` names, else by password."""
    oauth = at.options.get("oauth")
    return ClientCredentials(at, oauth, at.options.get("scope", ""), network) if oauth else by_password(at)


def by_password(at: Address) -> Authorize:
    """`Basic` by user and password, `Bearer` when there is no user, nothing when there is neither."""
    if at.user:
        pair = base64.b64encode(f"{at.user}:{at.secret}".encode()).decode()
        return lambda: f"Basic {pair}"
    return lambda: f"Bearer {at.secret}" if at.secret else ""


class ClientCredentials:
    """Tokens of an OAuth server for a client's id and secret, fetched anew shortly before they end."""

    def __init__(self, at: Address, url: str, scope: str, network: Network) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Misconfigured("`oauth` must be the http or https address of a token endpoint")
        tls, names = parts.scheme == "https", tuple(name for name in parts.path.split("/") if name)
        self._at = Address(
            tls, parts.hostname, parts.port or (443 if tls else 80), names, at.user, at.secret, at.options
        )
        self._scope, self._token, self._until = scope, "", 0.0
        self._network = network

    def __call__(self) -> str:
        if time.monotonic() >= self._until:
            self._fetch()
        return f"Bearer {self._token}"

    def _fetch(self) -> None:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._at.user,
            "client_secret": self._at.secret,
            **({"scope": self._scope} if self._scope else {}),
        }
        line = Rest(
            self._at,
            lambda: "",
            network=self._network,
            explain=lambda body, plain: str(body.get("error", "")),
        )
        response = line.form(*self._at.path, fields=form)
        line.close()
        token = response.get("access_token") if isinstance(response, dict) else None
        if not isinstance(token, str) or not token:
            raise Misconfigured(f"{self._at.place} gives no access token")
        lasts = response.get("expires_in")
        self._token = token
        self._until = time.monotonic() + max(0.0, (lasts if isinstance(lasts, (int, float)) else 60) - 30)
