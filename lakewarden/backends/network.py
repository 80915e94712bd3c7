"""Where a connection may lead, judged by what is there: resolved addresses and real folders, no spellings.

A host is resolved once, every address of it is judged, and whoever connects uses an address that was judged,
so that no second answer of a name server leads elsewhere.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, Union

from lakewarden.backends.errors import Misconfigured, Transient

T = TypeVar("T")
Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
LOOPBACK = "loopback"


@dataclass(frozen=True)
class Network:
    """Where a site lets its connections lead: the hosts, networks and folders that its operator named.

    `allow` is LAKEWARDEN_CONNECT_ALLOW; `sockets` are folders with sockets of this machine that are the
    site's own.
    """

    allow: tuple[str, ...]
    sockets: tuple[str, ...] = ()

    def addresses(self, host: str) -> tuple[str, ...]:
        """The addresses that a host has now, each of which this site may reach.

        Raises Misconfigured when it may not reach all of them, Transient when the host cannot be looked up.
        """
        named = any(_name(entry) == _name(host) for entry in self.allow)
        try:
            try:
                rows = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            except (UnicodeError, ValueError):
                raise OSError(f"{host!r} is no name of a host") from None
            plain = [_plain(str(row[4][0])) for row in {row[4]: row for row in rows}.values()]
        except OSError:
            if named:
                raise Transient(f"{host} cannot be looked up") from None
            # in the same words as a host that is there: names of a network are not for everybody to try
            raise _refused(host) from None
        if not plain or not all(self._may(address, named=named) for address in plain):
            raise _refused(host)
        return tuple(str(address) for address in plain)

    def connected(
        self, host: str, connect: Callable[[str], T], failing: type[Exception] | tuple[type[Exception], ...]
    ) -> T:
        """What `connect` makes of the first address of a host that answers.  Raises its last error."""
        *others, last = self.addresses(host)
        for address in others:
            try:
                return connect(address)
            except failing:
                continue
        return connect(last)

    def machine(self, host: str, port: int | str) -> str:
        """Where a host and port lead, the same for every spelling: its addresses, all near ones being one."""
        machines = {
            "loopback" if ipaddress.ip_address(address).is_loopback else address
            for address in self.addresses(host)
        }
        return f"{' '.join(sorted(machines))} port {port}"

    def check_folder(self, folder: str) -> None:
        """Raise Misconfigured unless LAKEWARDEN_CONNECT_ALLOW names the real folder, or one above it."""
        if not _is_below(folder, self._folders()):
            raise Misconfigured(f"{folder} is not below a folder in LAKEWARDEN_CONNECT_ALLOW")

    def socket_file(self, path: str) -> str:
        """The real path of a socket of this machine.  Raises Misconfigured when its folder is not allowed.

        A socket whose name begins with `@` lies in no folder, so nothing tells whose it is.
        """
        allowed = [*self._folders(), *(Path(folder).resolve() for folder in self.sockets)]
        real = os.path.realpath(path.replace("\0", "@"))
        if not path.startswith("/") or not _is_below(os.path.dirname(real), allowed):
            raise Misconfigured(f"the socket {path} does not lie in a folder in LAKEWARDEN_CONNECT_ALLOW")
        return real

    def check(self, parts: Mapping[str, str]) -> None:
        """Judge everything that the parts of a URL lead to.  Raises Misconfigured."""
        if parts.get("socket"):
            self.socket_file(parts["socket"])
            return
        # the hosts that a driver opens: where an address is given beside a name, that
        hosts, given = _listed(parts, "host"), _listed(parts, "hostaddr")
        networks = hosts + given
        if not networks or not all(networks):
            raise Misconfigured("the URL must name its host, so that it can be judged")
        for host in networks:
            try:
                if host.startswith(("/", "@")):
                    self.socket_file(f"{host}/.s.PGSQL.{parts.get('port') or 5432}")
                else:
                    self.addresses(host)
            except Transient:
                continue  # the operator named it; whoever connects finds out again

    def libpq(self, parts: Mapping[str, str]) -> dict[str, str]:
        """The same hosts for libpq, each with an address that was judged; names stay, as TLS proves them.

        Raises Misconfigured, and Transient when a host cannot be looked up.
        """
        hosts, given = _listed(parts, "host"), _listed(parts, "hostaddr")
        count = max(len(hosts), len(given))
        ports = _listed(parts, "port") or ["5432"]
        ports = ports * count if len(ports) == 1 else ports
        if count == 0 or len(ports) != count or (hosts and given and len(hosts) != len(given)):
            raise Misconfigured("the URL must name a host, and for each host one port, or one for all")
        triples = []
        for number in range(count):
            host = hosts[number] if hosts else ""
            port = ports[number] or "5432"
            leads = (given[number] if given else "") or host
            if leads.startswith(("/", "@")):
                folder = os.path.dirname(self.socket_file(f"{leads}/.s.PGSQL.{port}"))
                triples.append((folder, "", port))
            else:
                triples += [(host or leads, address, port) for address in self.addresses(leads)]
        names = ("host", "hostaddr", "port")
        return {name: ",".join(values) for name, values in zip(names, zip(*triples))}

    def _may(self, address: Address, *, named: bool) -> bool:
        """Whether an address may be reached; a name in the list opens none that is near by its nature."""
        if address.is_unspecified or address.is_multicast:
            return False
        entries = self.allow
        if any(_covers(entry, address) for entry in entries):
            return True
        return named and not (address.is_loopback or address.is_link_local or address.is_reserved)

    def _folders(self) -> list[Path]:
        return [Path(entry).resolve() for entry in self.allow if entry.startswith("/")]


def _listed(parts: Mapping[str, str], name: str) -> list[str]:
    text = parts.get(name, "")
    return text.split(",") if text else []


def _plain(text: str) -> Address:
    """An address as the kernel takes it: one of version 4 in the dress of version 6 is of version 4."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _name(host: str) -> str:
    return host.lower().removesuffix(".")


def _covers(entry: str, address: Address) -> bool:
    if entry == LOOPBACK:
        return address.is_loopback
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _is_below(folder: str, allowed: list[Path]) -> bool:
    return Path(folder).is_absolute() and any(map(Path(folder).resolve().is_relative_to, allowed))


def _refused(host: str) -> Misconfigured:
    who = "the operator of this Lakewarden adds it there"
    return Misconfigured(f"{host} is not among the hosts in LAKEWARDEN_CONNECT_ALLOW; {who}")
