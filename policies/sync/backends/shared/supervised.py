"""Calls that nothing can cut, such as those on a mounted tree whose server is gone, made in a thread apart.

Who called waits as long as the call comes further, and then leaves it behind: it does nothing more when
it wakes up, and until then nothing else is tried at the same place.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from lakewarden.backends.base import Backend, Finding, ObjectKind, Observation, Outcome, Plan, Source
from lakewarden.backends.deadline import LONGEST, before_call
from lakewarden.backends.errors import NotAnswering

T = TypeVar("T")

_mine = threading.local()
_left_behind: dict[str, _Call] = {}


class LeftBehind(BaseException):
    """Nobody waits for this call any more, so it stops; no handler of errors is to stop it from that."""


def comes_further() -> None:
    """Say, before each step of a call, that it did not hang so far.  Raises LeftBehind."""
    call: _Call | None = getattr(_mine, "call", None)
    if call is not None:
        if call.left:
            raise LeftBehind
        call.further = time.monotonic()


class _Call:
    """One call in its thread."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.further, self.left = time.monotonic(), False
        self.done = threading.Event()
        self._work = work
        self._answer: Any = None
        self._error: BaseException | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        _mine.call = self
        try:
            self._answer = self._work()
        except BaseException as error:  # noqa: BLE001 -- raised again where it is waited for
            self._error = error
        finally:
            self.done.set()

    def answer(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._answer


class Supervised:
    """A backend, each call of it in a thread that may be left behind.

    Only for what asks nothing of the console's database: a thread apart would do so outside of its lease.
    """

    def __init__(self, inner: Backend, place: str, longest: float = LONGEST) -> None:
        self._inner, self._place, self._longest = inner, place, longest

    def rights_for(self, privilege: str, kind: ObjectKind) -> tuple[str, ...]:
        return self._inner.rights_for(privilege, kind)

    def source(self) -> Source:
        tells: Callable[[], Source] = self._inner.source  # type: ignore[attr-defined]
        return self._waited_for(tells)

    def observe(self) -> Observation:
        return self._waited_for(self._inner.observe)

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        outcomes = iter(self._inner.apply(plan))
        while (outcome := self._waited_for(lambda: next(outcomes, None))) is not None:
            yield outcome

    def check(self) -> Iterable[Finding]:
        try:
            return self._waited_for(lambda: list(self._inner.check()))
        except NotAnswering as error:
            return [Finding(ok=False, text=str(error), blocks=True)]

    def listing(self, *asked: Any) -> Any:
        lists: Callable[..., Any] = self._inner.listing  # type: ignore[attr-defined]
        return self._waited_for(lambda: lists(*asked))

    def close(self) -> None:
        if self._place not in _left_behind:
            self._inner.close()

    def _waited_for(self, work: Callable[[], T]) -> T:
        before = _left_behind.get(self._place)
        if before is not None and not before.done.is_set():
            raise NotAnswering(f"{self._place} has not answered an earlier call yet")
        _left_behind.pop(self._place, None)
        before_call()
        call = _Call(work)
        while not call.done.wait(1.0):
            before_call()
            if time.monotonic() - call.further > self._longest:
                call.left = True
                _left_behind[self._place] = call
                raise NotAnswering(f"{self._place} gave no answer within {self._longest:.0f} seconds")
        answer: T = call.answer()
        return answer
