"""What the environment says of systems that sign people in.  Raises ValueError with the line to show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_network
from urllib.parse import urlsplit

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


@dataclass(frozen=True)
class Provider:
    """An OpenID Connect provider, and how much of what it says counts."""

    name: str
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    title: str = ""
    user_claim: str = "preferred_username"
    groups_claim: str = ""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    """What the provider is asked for; some tell groups only when they are asked for `groups`."""
    domains: tuple[str, ...] = ()
    """Of these alone a confirmed mail address is let in; empty asks for none."""
    joins: bool = False
    """Whether the name alone joins an account that has a password here."""


OIDC_ENDINGS = (
    *("ISSUER", "CLIENT_ID", "CLIENT_SECRET", "TITLE", "USER_CLAIM", "GROUPS_CLAIM", "SCOPES"),
    *("DOMAINS", "JOINS"),
)
_OIDC = re.compile(rf"^LAKEWARDEN_OIDC_([A-Z0-9]+(?:_[A-Z0-9]+)*?)_({'|'.join(OIDC_ENDINGS)})$")
_DOMAIN = re.compile(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")


def oidc_providers(variables: Mapping[str, str]) -> tuple[Provider, ...]:
    """The providers of the variables `LAKEWARDEN_OIDC_<NAME>_…`, by name."""
    parts: dict[str, dict[str, str]] = {}
    for variable, value in variables.items():
        if not variable.startswith("LAKEWARDEN_OIDC_"):
            continue
        match = _OIDC.match(variable)
        if match is None:
            raise ValueError(
                f"{variable} is not known; it ends with ISSUER, CLIENT_ID, CLIENT_SECRET and so on"
            )
        parts.setdefault(match[1], {})[match[2].lower()] = value.strip()
    return tuple(_provider(name, given) for name, given in sorted(parts.items()))


def _provider(name: str, given: Mapping[str, str]) -> Provider:
    prefix = f"LAKEWARDEN_OIDC_{name}"
    if not given.get("client_id"):
        raise ValueError(f"{prefix}_CLIENT_ID must be set")
    if given.get("joins", "0") not in ("0", "1"):
        raise ValueError(f"{prefix}_JOINS={given['joins']!r} is not understood; use 0 or 1")
    domains = [part.strip().lower() for part in given.get("domains", "").split(",") if part.strip()]
    for domain in domains:
        if not _DOMAIN.match(domain):
            raise ValueError(f"{prefix}_DOMAINS: {domain!r} is not a domain, such as example.org")
    return Provider(
        name=name.lower().replace("_", "-"),
        issuer=_issuer(f"{prefix}_ISSUER", given.get("issuer", "")),
        client_id=given["client_id"],
        client_secret=given.get("client_secret", ""),
        title=given.get("title") or name.replace("_", " ").capitalize(),
        user_claim=given.get("user_claim") or Provider.user_claim,
        groups_claim=given.get("groups_claim", ""),
        scopes=_scopes(f"{prefix}_SCOPES", given.get("scopes", "")) or Provider.scopes,
        domains=tuple(domains),
        joins=given.get("joins") == "1",
    )


def _scopes(variable: str, text: str) -> tuple[str, ...]:
    """The names in a text, parted by spaces; empty where it says nothing."""
    names = tuple(text.split())
    if names and "openid" not in names:
        raise ValueError(f"{variable}={text!r} lacks openid, without which nobody proves who they are")
    return names


def is_safe(url: str) -> bool:
    """Whether nobody on the way can read or change what is asked there: TLS, or this machine."""
    parts = urlsplit(url)
    return (parts.scheme == "https" and bool(parts.hostname)) or (
        parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    )


def _issuer(variable: str, text: str) -> str:
    try:
        wrong = not is_safe(text) or "?" in text or "#" in text
    except ValueError:
        wrong = True
    if wrong:
        raise ValueError(
            f"{variable} must be the provider's address, such as https://login.example.org/realms/lake"
        )
    return text


def check_oidc(providers: Sequence[Provider]) -> None:
    """Whether there is a provider at all."""
    if not providers:
        raise ValueError(
            "LAKEWARDEN_AUTHENTICATORS has oidc: LAKEWARDEN_OIDC_<NAME>_ISSUER and _CLIENT_ID must name a "
            "provider"
        )
