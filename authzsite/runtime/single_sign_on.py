"""What the environment says of systems that sign people in.  Raises ValueError with the line to show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_network

HEADERS = {
    "user": ("LAKEWARDEN_PROXY_USER_HEADER", "X-Forwarded-User"),
    "display_name": ("LAKEWARDEN_PROXY_NAME_HEADER", ""),
    "mail": ("LAKEWARDEN_PROXY_MAIL_HEADER", ""),
    "groups": ("LAKEWARDEN_PROXY_GROUPS_HEADER", ""),
}
"""What a proxy says, the variable that names the header for it, and the usual header."""
_HEADER = re.compile(r"^[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*$")
_PATH = re.compile(r"^/[A-Za-z0-9._~/?&=%-]*$")


def proxy_headers(read: Callable[[str, str], str]) -> Mapping[str, str]:
    """The headers in which a proxy names people; only those that are named here are read."""
    headers = {}
    for what, (variable, usual) in HEADERS.items():
        header = read(variable, "").strip() or usual
        if header and not _HEADER.match(header):
            raise ValueError(f"{variable}={header!r} is not the name of a header, such as X-Forwarded-User")
        headers[what] = header
    return headers


def sign_out_path(read: Callable[[str, str], str]) -> str:
    """Where the proxy ends its own session; empty where nowhere."""
    path = read("LAKEWARDEN_PROXY_SIGN_OUT", "").strip()
    if path and (not _PATH.match(path) or path.startswith("//")):
        raise ValueError(f"LAKEWARDEN_PROXY_SIGN_OUT={path!r} is not a path, such as /oauth2/sign_out")
    return path


def check_proxies(addresses: Sequence[str]) -> None:
    """Whether these can be told from everybody else."""
    if not addresses:
        raise ValueError(
            "LAKEWARDEN_AUTHENTICATORS has proxy: LAKEWARDEN_PROXY_ADDRESSES must say where it is; others "
            "could send its headers too"
        )
    for address in addresses:
        if ip_network(address, strict=False).prefixlen == 0:
            raise ValueError(
                f"LAKEWARDEN_PROXY_ADDRESSES: {address} is everybody; with proxy among the authenticators "
                "each of them could sign in as anybody"
            )
