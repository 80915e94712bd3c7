"""Ed25519 signatures checked with the standard library alone (RFC 8032, 5.1.7).

For a machine that has no more, and for checking only: no secret passes through here, so nothing takes care to
last equally long.  Some milliseconds a signature.
"""

from __future__ import annotations

import hashlib

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
_CURVE = -121665 * pow(121666, FIELD - 2, FIELD) % FIELD
_ROOT = pow(2, (FIELD - 1) // 4, FIELD)
"""A square root of -1."""

Point = tuple[int, int, int, int]
"""x, y, z and t of extended coordinates: the point (x/z, y/z), where t is xy/z."""


def is_signed(key: bytes, signature: bytes, message: bytes) -> bool:
    """Whether the key (32 bytes) has signed the message; a signature (64 bytes) is written in one way."""
    if len(key) != 32 or len(signature) != 64:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    public = _read(key)
    if public is None or scalar >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    x, y, z, t = public
    less = _times(int.from_bytes(digest, "little") % ORDER, (-x % FIELD, y, z, -t % FIELD))
    return _written(_sum(_times(scalar, _BASE), less)) == signature[:32]


def _read(text: bytes) -> Point | None:
    """The point of its 32 bytes; None when no point is written so."""
    number = int.from_bytes(text, "little")
    odd, y = number >> 255, number & ((1 << 255) - 1)
    x = _x_of(y, odd) if y < FIELD else None
    return None if x is None else (x, y, 1, x * y % FIELD)


def _x_of(y: int, odd: int) -> int | None:
    square = (y * y - 1) * pow(_CURVE * y * y + 1, FIELD - 2, FIELD) % FIELD
    x = pow(square, (FIELD + 3) // 8, FIELD)
    if (x * x - square) % FIELD:
        x = x * _ROOT % FIELD
    if (x * x - square) % FIELD or (x == 0 and odd):
        return None
    return FIELD - x if x & 1 != odd else x


def _written(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, FIELD - 2, FIELD)
    x, y = x * inverse % FIELD, y * inverse % FIELD
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _sum(point: Point, other: Point) -> Point:
    a = (point[1] - point[0]) * (other[1] - other[0]) % FIELD
    b = (point[1] + point[0]) * (other[1] + other[0]) % FIELD
    c = 2 * point[3] * other[3] * _CURVE % FIELD
    d = 2 * point[2] * other[2] % FIELD
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % FIELD, g * h % FIELD, f * g % FIELD, e * h % FIELD


def _times(number: int, point: Point) -> Point:
    total: Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            total = _sum(total, point)
        point, number = _sum(point, point), number >> 1
    return total


_BASE_Y = 4 * pow(5, FIELD - 2, FIELD) % FIELD
_BASE = _read(_BASE_Y.to_bytes(32, "little")) or (0, 1, 1, 0)
