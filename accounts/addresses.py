"""Where a request comes from: the other end of the connection, or what a proxy one trusts says of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

_WITH_PORT = re.compile(r"(?:(?P<plain>[0-9.]+)|\[(?P<bracketed>[0-9A-Fa-f:.]+)\])(?::[0-9]+)?")


def address_of(request: HttpRequest) -> str:
    """The client's address; X-Forwarded-For counts only from addresses in LAKEWARDEN_PROXY_ADDRESSES.

    It is read from its end, as far as those who wrote it are trusted; a client can begin it as it likes.
    """
    address = str(request.META.get("REMOTE_ADDR", ""))
    hops = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    while is_trusted(address) and hops:
        hop = _without_port(hops.pop())
        if _read(hop) is None:
            break
        address = hop
    return address


def is_trusted(text: str) -> bool:
    """Whether this is the address of a proxy that is trusted."""
    return is_within(text, settings.LAKEWARDEN_PROXY_ADDRESSES)


def is_within(text: str, networks: Iterable[str]) -> bool:
    """Whether this is an address in one of some networks."""
    address = _read(text)
    return address is not None and any(address in ip_network(network, strict=False) for network in networks)


def is_near(request: HttpRequest) -> bool:
    """Whether the request comes from this machine, by loopback or a socket, and from behind no proxy."""
    forwarded = "HTTP_X_FORWARDED_FOR" in request.META or "HTTP_FORWARDED" in request.META
    if forwarded and not is_trusted(request.META.get("REMOTE_ADDR", "")):
        return False  # a proxy on this machine that nobody named speaks for whoever is behind it
    address = _read(address_of(request))
    return address.is_loopback if address else not request.META.get("REMOTE_ADDR")


def _without_port(hop: str) -> str:
    """Some proxies write 203.0.113.9:51234 and [2001:db8::1]:443."""
    match = _WITH_PORT.fullmatch(hop)
    return (match["plain"] or match["bracketed"]) if match else hop


def _read(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
