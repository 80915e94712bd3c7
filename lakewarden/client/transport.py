"""Calls to the console in JSON: bounded in time and size, no redirects, the token in no text."""

from __future__ import annotations

import gzip
import http.client
import io
import json
import os
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

MAX_BYTES = 8 * 1024 * 1024
MAX_UNPACKED = 8 * MAX_BYTES
MAX_LINE = 1024 * 1024
REPEATABLE = frozenset({429, 502, 503, 504})
LONGEST_WAIT = 8.0


class ConsoleError(Exception):
    """The console gave no decision; nothing may be read on the strength of this."""


class Unavailable(ConsoleError):
    """The console could not be reached, was too slow, or answered something that is no answer."""


class BadCredentials(ConsoleError):
    """The console does not accept the token."""


class MayNotAsk(ConsoleError):
    """The token is good, but its holder may not ask this question."""


class Gone(ConsoleError):
    """What was asked about is not kept any more."""


class BadQuestion(ConsoleError):
    """The console did not understand the question."""


class Conflicting(ConsoleError):
    """Somebody was faster, or it was asked for before; the text says what."""


class NotConfigured(ConsoleError, ValueError):
    """The address or the token is missing or unusable."""


_BY_STATUS = {400: BadQuestion, 401: BadCredentials, 403: MayNotAsk, 409: Conflicting, 410: Gone}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    # urllib would send the token again to wherever the answer points
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _Again(Exception):
    """This attempt failed in a way that the next may not."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after


class Reply(NamedTuple):
    """What came back: the JSON object, None when nothing changed, and the tag to ask with next time."""

    value: dict[str, Any] | None
    etag: str = ""


class Transport:
    """Calls one console; `timeout` is seconds for one attempt, a failure that may pass gets `attempts`.

    `total` bounds all attempts of a call and the waits between them: a console that hangs takes that long.
    Proxies come from the environment as urllib reads them; `ca` is a PEM file of the authorities to trust
    instead of the machine's.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        attempts: int,
        ca: str | None,
        total: float = float("inf"),
    ) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable or parts.query or parts.fragment or not url.isprintable() or " " in url:
            raise NotConfigured("the console's address must look like https://console.example.org")
        if "@" in parts.netloc:
            raise NotConfigured("the console's address must not contain a name or password")
        self.url = url.rstrip("/")
        if not (token.isascii() and token.isprintable()) or not token or " " in token:
            raise NotConfigured("the token is empty or contains characters that are not allowed")
        self._token = token
        self.timeout, self.attempts, self.total = timeout, max(1, attempts), total
        self.after_writing: list[Callable[[], None]] = []
        # reading the machine's authorities takes longer than a call, and who calls over plain HTTP needs none
        context = _tls(ca) if ca is not None or parts.scheme == "https" else None
        self._opener = urllib.request.build_opener(NoRedirect, urllib.request.HTTPSHandler(context=context))

    def __repr__(self) -> str:
        return f"Transport({self.url!r})"

    def post(self, path: str, body: Mapping[str, object], *, key: str = "") -> dict[str, Any]:
        """The JSON object that answers.  Only for what may be repeated, as anything may that has a key.

        Raises ConsoleError.
        """
        return self._repeated("POST", path, json.dumps(body).encode(), "", key).value or {}

    def get(self, path: str, asked: Mapping[str, Any], *, etag: str = "") -> Reply:
        """The JSON object that answers; none when it is still the one of that tag.  Raises ConsoleError.

        A parameter may have several values.
        """
        return self._repeated("GET", f"{path}?{urllib.parse.urlencode(asked, doseq=True)}", None, etag)

    def lines(self, path: str, asked: Mapping[str, Any], *, silence: float) -> Iterator[str]:
        """The lines of an answer that goes on, as they come, until it ends; no more than `silence` seconds
        lie between two.  Raises ConsoleError.
        """
        request_id = str(uuid.uuid4())
        request = self._request("GET", f"{path}?{urllib.parse.urlencode(asked)}", None, request_id, "")
        request.add_header("Accept", "text/event-stream")
        request.add_header("Accept-Encoding", "identity")
        try:
            with self._opener.open(request, timeout=silence) as answer:
                if answer.headers.get_content_type() != "text/event-stream":
                    raise Unavailable(
                        self.tidy(f"{self.url} sent an answer that cannot be read (request {request_id})")
                    )
                while line := answer.readline(MAX_LINE):
                    yield line.decode(errors="replace").rstrip("\r\n")
        except urllib.error.HTTPError as error:
            with error:
                refusal = self._refusal(error, time.monotonic() + silence, request_id)
        except (OSError, http.client.HTTPException) as error:
            refusal = self._trouble(error, request_id)
        else:
            return
        raise Unavailable(self.tidy(str(refusal))) if isinstance(refusal, _Again) else refusal

    def _repeated(self, method: str, path: str, content: bytes | None, etag: str, key: str = "") -> Reply:
        request_id, end = str(uuid.uuid4()), time.monotonic() + self.total
        for number in range(self.attempts):
            try:
                request = self._request(method, path, content, request_id, etag)
                if key:
                    request.add_header("Idempotency-Key", key)
                return self._attempt(request, request_id, min(time.monotonic() + self.timeout, end))
            except _Again as failure:
                why, wait = failure, max(_jitter(number), failure.after)
                if number + 1 == self.attempts or time.monotonic() + wait >= end:
                    break
                time.sleep(wait)
        raise Unavailable(self.tidy(f"{self.url} gave no answer: {why} (request {request_id})"))

    def wrote(self) -> None:
        """Tell those who keep what was read over this line that something was written over it."""
        for tell in self.after_writing:
            tell()

    def tidy(self, text: str) -> str:
        """Text for people: one line without control characters, nor the token, by whatever way it came."""
        hidden = text.replace(self._token, "******")
        return "".join(char if char.isprintable() else " " for char in hidden)

    def _attempt(self, request: urllib.request.Request, request_id: str, deadline: float) -> Reply:
        try:
            with self._opener.open(request, timeout=max(0.001, deadline - time.monotonic())) as answer:
                kind = answer.headers.get_content_type()
                value = self._object(received(answer, deadline), kind, request_id)
                return Reply(value, answer.headers.get("ETag", ""))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 304 and request.has_header("If-none-match"):
                    return Reply(None, request.get_header("If-none-match") or "")
                raise self._refusal(error, deadline, request_id) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._trouble(error, request_id) from None

    def _request(
        self, method: str, path: str, content: bytes | None, request_id: str, etag: str
    ) -> urllib.request.Request:
        request = urllib.request.Request(self.url + path, data=content, method=method)  # noqa: S310 - checked url
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        headers = {"Accept": "application/json", "X-Request-ID": request_id}
        if content is None:
            headers |= {"Accept-Encoding": "gzip", "If-None-Match": etag}
        else:
            headers |= {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        for name, value in headers.items():
            if value:
                request.add_header(name, value)
        return request

    def _object(self, content: bytes, kind: str, request_id: str) -> dict[str, Any]:
        try:
            value = json.loads(content.decode()) if kind == "application/json" else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Unavailable(
                self.tidy(f"{self.url} sent an answer that cannot be read (request {request_id})")
            )
        return value

    def _refusal(self, error: urllib.error.HTTPError, deadline: float, request_id: str) -> Exception:
        if error.code in REPEATABLE:
            return _Again(f"status {error.code}", after=_retry_after(error.headers.get("Retry-After", "")))
        if 300 <= error.code < 400:
            text = "it redirects, and the token is not sent on; set the address it points to"
        else:
            text = f"{_message(error, deadline)} (status {error.code})"
        kind = _BY_STATUS.get(error.code, Unavailable)
        return kind(self.tidy(f"{self.url} rejected the request: {text} (request {request_id})"))

    def _trouble(self, error: Exception, request_id: str) -> Exception:
        cause = getattr(error, "reason", error)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Unavailable(self.tidy(f"{self.url} is not trusted: {cause.verify_message}"))
        return _Again(str(cause) or type(cause).__name__)


def _jitter(number: int) -> float:
    return random.uniform(0, min(LONGEST_WAIT, 0.2 * 2**number))  # noqa: S311 - spreads load, guards nothing


def _retry_after(text: str) -> float:
    return min(LONGEST_WAIT, float(text)) if text.isascii() and text.isdigit() else 0.0


def _read(answer: Any, deadline: float) -> bytes:
    parts, size = [], 0
    while part := answer.read1(65536):
        size += len(part)
        if size > MAX_BYTES:
            raise Unavailable(f"the answer is larger than {MAX_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError("the answer took too long")
        parts.append(part)
    expected = answer.headers.get("Content-Length")
    if expected is not None and size != int(expected):
        raise http.client.IncompleteRead(b"", int(expected) - size)
    return b"".join(parts)


def received(answer: Any, deadline: float) -> bytes:
    """All of an answer, bounded in size, by the deadline of the monotonic clock.  Raises ConsoleError."""
    content = _read(answer, deadline)
    packing = answer.headers.get("Content-Encoding", "")
    if packing.lower() not in ("gzip", "identity", ""):
        raise Unavailable(f"the answer is packed as {packing[:20]}, which was not requested")
    if packing.lower() != "gzip":
        return content
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            body = file.read(MAX_UNPACKED + 1)
    except (OSError, EOFError, zlib.error):
        raise Unavailable("the answer cannot be unpacked") from None
    if len(body) > MAX_UNPACKED:
        raise Unavailable(f"the answer is larger than {MAX_UNPACKED} bytes")
    return body


def _message(error: urllib.error.HTTPError, deadline: float) -> str:
    try:
        text = _read(error, deadline).decode(errors="replace")[:2000]
        value = json.loads(text)
    except (OSError, http.client.HTTPException, ConsoleError):
        return "no reason given"
    except ValueError:
        return str(error.reason)
    message = value.get("detail") if isinstance(value, dict) else value
    return message if isinstance(message, str) else text


def _tls(ca: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise NotConfigured(f"{ca} cannot be used as a certificate file: {error}") from None


def setting(given: str | None, variable: str) -> str:
    """What was given, else the environment's; raises NotConfigured when there is neither."""
    value = given if given is not None else os.environ.get(variable, "")
    if not value:
        raise NotConfigured(f"set {variable}, or pass it to the client")
    return value
