"""Sets of people as integers, a bit a person, and sums over many such sets.

All people at once cost one operation on one long integer, so an answer for ten thousand people takes about as
long as an answer for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Crowd = int


def _count_by_text(crowd: Crowd) -> int:
    return bin(crowd).count("1")


count: Callable[[Crowd], int] = getattr(int, "bit_count", _count_by_text)
"""How many are in a crowd."""  # int.bit_count came with Python 3.10


def places(crowd: Crowd) -> Iterator[int]:
    """The places of those in a crowd, lowest first."""
    at = -1
    text = bin(crowd)[:1:-1]
    while True:
        at = text.find("1", at + 1)
        if at < 0:
            return
        yield at


def one_of(crowd: Crowd, start: int) -> int:
    """The place of the first in a crowd from `start` on, going round; the crowd is not empty."""
    rest = crowd >> start
    if not rest:
        rest, start = crowd, 0
    return start + (rest & -rest).bit_length() - 1


class Numbering:
    """Gives each of some keys a place, and so a crowd of one."""

    def __init__(self, keys: Iterable[Any]) -> None:
        self.keys = tuple(dict.fromkeys(keys))
        self._places: dict[object, int] = {key: place for place, key in enumerate(self.keys)}
        self.all: Crowd = (1 << len(self.keys)) - 1

    def __len__(self) -> int:
        return len(self.keys)

    def place(self, key: object) -> int | None:
        return self._places.get(key)

    def alone(self, key: object) -> Crowd:
        """The crowd of that one; nobody when the key is not known."""
        place = self._places.get(key)
        return 0 if place is None else 1 << place

    def crowd(self, keys: Iterable[Any]) -> Crowd:
        """The crowd of these keys, of which unknown ones are left out."""
        found_places = {place for place in map(self._places.get, keys) if place is not None}
        if len(found_places) < 64:
            return sum(1 << place for place in found_places)
        bits = bytearray(len(self.keys) // 8 + 1)
        for place in found_places:
            bits[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(bits, "little")

    def of(self, crowd: Crowd) -> list[Any]:
        return [self.keys[place] for place in places(crowd)]


class Tally:
    """How often each person was in the crowds that were added.

    The sums are kept as binary digits, a crowd for each digit, so adding a crowd takes a few operations
    however many people are in it.
    """

    def __init__(self) -> None:
        self.digits: list[Crowd] = []

    def add(self, crowd: Crowd, times: int = 1) -> None:
        digit = 0
        while times:
            if times & 1:
                self._carry(crowd, digit)
            times >>= 1
            digit += 1

    def _carry(self, crowd: Crowd, digit: int) -> None:
        digits = self.digits
        while len(digits) <= digit:
            digits.append(0)
        while crowd:
            if digit == len(digits):
                digits.append(crowd)
                return
            digits[digit], crowd = digits[digit] ^ crowd, digits[digit] & crowd
            digit += 1

    def sums(self) -> dict[int, int]:
        """The sum for each place that is not nought."""
        sums: dict[int, int] = {}
        for digit, crowd in enumerate(self.digits):
            for place in places(crowd):
                sums[place] = sums.get(place, 0) + (1 << digit)
        return sums
