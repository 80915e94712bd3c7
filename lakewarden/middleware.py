"""Asking before a service's handler runs: for the caller, whatever account the service runs as.

    guard = Guard(Cache(Client()))

    @guard.require("read", "dataset:cdap/ns1.{name}", caller=lambda request, name: request.user)
    def show(request, name): ...

    rules = [Rule("GET", "/datasets/{name}", "read", "dataset:cdap/ns1.{name}")]
    application = WsgiGuard(application, guard, rules)

What is put in the place of `{name}` is one part of the object's name, whatever characters it holds.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol, TypeVar, Union
from urllib.parse import unquote

from lakewarden.client import AccessDenied, Decision, parse_resource
from lakewarden.client.transport import ConsoleError
from lakewarden.law.objects import BadName, ObjectRef
from lakewarden.law.principals import Principal

log = logging.getLogger("lakewarden")

_FIELD = re.compile(r"\{(\w+)\}")
Caller = Callable[..., Union[str, Principal, None]]
Handler = TypeVar("Handler", bound=Callable[..., Any])


class Asker(Protocol):
    """A Client or a Cache."""

    def check(self, subject: Principal, action: str, resource: ObjectRef) -> Decision: ...


class NotSignedIn(PermissionError):
    """The caller is unknown, so nothing is done for them."""


class Guard:
    """Asks for callers; raises NotSignedIn, AccessDenied, or ConsoleError when there is no decision."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def ask(self, caller: str | Principal | None, action: str, resource: ObjectRef) -> Decision:
        """The decision when it is a yes.  A text is the name of a user, whatever it looks like."""
        if not caller:
            raise NotSignedIn("no user is signed in")
        who = caller if isinstance(caller, Principal) else Principal("user", caller)
        decision = self._asker.check(who, action, resource)
        if not decision:
            raise AccessDenied([decision], asked=1)
        return decision

    def require(self, action: str, resource: str, *, caller: Caller) -> Callable[[Handler], Handler]:
        """Let a function run only when the caller may do the action; `caller` gets the same arguments."""
        target = Target(resource)

        def guarded(handler: Handler) -> Handler:
            names = inspect.signature(handler)

            def decide(*args: Any, **kwargs: Any) -> None:
                bound = names.bind(*args, **kwargs)
                bound.apply_defaults()
                self.ask(caller(*args, **kwargs), action, target.filled(bound.arguments))

            @functools.wraps(handler)
            def run(*args: Any, **kwargs: Any) -> Any:
                decide(*args, **kwargs)
                return handler(*args, **kwargs)

            @functools.wraps(handler)
            async def run_later(*args: Any, **kwargs: Any) -> Any:
                await _aside(decide, *args, **kwargs)
                return await handler(*args, **kwargs)

            return run_later if inspect.iscoroutinefunction(handler) else run  # type: ignore[return-value]

        return guarded


class Target:
    """A resource with fields: `table:demo/shop.sales.{name}`.  Raises BadName."""

    def __init__(self, text: str) -> None:
        self._ref = parse_resource(text)

    def filled(self, values: Mapping[str, Any]) -> ObjectRef:
        """The object; raises BadName when a field has no value, or an empty one."""

        def value(field: re.Match[str]) -> str:
            value = values.get(field[1])
            if not isinstance(value, str) or not value:
                raise BadName(f"{field[1]} names nothing")
            return value

        path = tuple(_FIELD.sub(value, part) for part in self._ref.path)
        return ObjectRef(self._ref.type, self._ref.realm, path)


@dataclass(frozen=True)
class Rule:
    """Requests with this method, to paths like this one, need the action on the resource.

    `*` is any method.  A `{field}` is one segment of the path.
    """

    method: str
    path: str
    action: str
    resource: str
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _target: Target = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = (
            f"(?P<{part}>[^/]+)" if at % 2 else re.escape(part)
            for at, part in enumerate(_FIELD.split(self.path))
        )
        object.__setattr__(self, "_pattern", re.compile("".join(parts)))
        object.__setattr__(self, "_target", Target(self.resource))

    def object_of(self, method: str, path: str) -> ObjectRef | None:
        """The object that a request is about; None when the rule is not about it.  Raises BadName."""
        match = self._pattern.fullmatch(path) if self.method in ("*", method) else None
        return self._target.filled(match.groupdict()) if match else None


class _Rules:
    def __init__(self, guard: Guard, rules: Iterable[Rule], public: Sequence[str]) -> None:
        self._guard, self._rules, self._public = guard, tuple(rules), frozenset(public)

    def refusal(self, method: str, path: str, caller: Callable[[], str | Principal | None]) -> _No | None:
        """What to answer instead of the handler; None lets the request through."""
        if path in self._public:
            return None
        try:
            for rule in self._rules:
                ref = rule.object_of(method, path)
                if ref is not None:
                    self._guard.ask(caller(), rule.action, ref)
                    return None
        except NotSignedIn as error:
            return _No(401, str(error))
        except AccessDenied as denied:
            refusal = denied.refusals[0]
            subject, action, resource = refusal.question
            sentence = refusal.reason or f"{subject} may not {action} {resource}"
            return _No(403, sentence, denied.refusals[0])
        except BadName as error:
            return _No(404, str(error))
        except ConsoleError as error:
            log.error("no decision, so %s is refused: %s", path[:200], error)
            return _No(503, "access could not be decided; try again later")
        return _No(403, "no rule allows this call")


@dataclass(frozen=True)
class _No:
    """A refusal as a problem of RFC 9457."""

    status: int
    detail: str
    decision: Decision | None = None

    @property
    def body(self) -> bytes:
        wire: dict[str, Any] = {
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.decision is not None:
            wire["missing"] = [str(lack) for lack in self.decision.missing]
            if self.decision.request_url:
                wire["request_url"] = self.decision.request_url
        return json.dumps(wire).encode()

    @property
    def headers(self) -> list[tuple[str, str]]:
        headers = [("Content-Type", "application/problem+json"), ("Content-Length", str(len(self.body)))]
        return [*headers, ("WWW-Authenticate", "Bearer")] if self.status == 401 else headers


class WsgiGuard:
    """WSGI middleware: asks by the first rule that fits, refuses what no rule speaks of.

    Without a `caller` of its own it goes by REMOTE_USER, which the server in front sets.
    """

    def __init__(
        self,
        app: Callable[..., Iterable[bytes]],
        guard: Guard,
        rules: Iterable[Rule],
        *,
        caller: Caller = lambda environ: environ.get("REMOTE_USER"),
        public: Sequence[str] = (),
    ) -> None:
        self._app, self._caller = app, caller
        self._rules = _Rules(guard, rules, public)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        # WSGI hands over bytes as if they were Latin-1
        text = path.encode("latin-1", "replace").decode(errors="replace")
        no = self._rules.refusal(environ["REQUEST_METHOD"], text, lambda: self._caller(environ))
        if no is None:
            return self._app(environ, start_response)
        start_response(f"{no.status} {HTTPStatus(no.status).phrase}", no.headers)
        return [no.body]


class AsgiGuard:
    """ASGI middleware with the same rules; `caller` is told the scope.  WebSockets are refused."""

    def __init__(
        self,
        app: Callable[..., Awaitable[None]],
        guard: Guard,
        rules: Iterable[Rule],
        *,
        caller: Caller,
        public: Sequence[str] = (),
    ) -> None:
        self._app, self._caller = app, caller
        self._rules = _Rules(guard, rules, public)

    async def __call__(
        self, scope: dict[str, Any], receive: Any, send: Callable[..., Awaitable[None]]
    ) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        no = await _aside(self._asked, scope) if scope["type"] == "http" else None
        if no is None:
            await self._app(scope, receive, send)
            return
        headers = [(name.lower().encode(), value.encode()) for name, value in no.headers]
        await send({"type": "http.response.start", "status": no.status, "headers": headers})
        await send({"type": "http.response.body", "body": no.body})

    def _asked(self, scope: dict[str, Any]) -> _No | None:
        path = scope.get("path") or unquote(scope.get("raw_path", b"").decode("latin-1"))
        return self._rules.refusal(scope["method"], path, lambda: self._caller(scope))


async def _aside(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    # the console is asked over a socket that blocks
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, functools.partial(function, *args, **kwargs))
