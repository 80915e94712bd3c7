"""What the form of a connection asks, by the kind of system, and the URL that its answers make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from authzsite.console.kit.display import terms
from authzsite.console.kit.forms import ConsoleForm, SegmentsField, TextField, WholeNumberField
from authzsite.console.settings.realm import RealmAccess, kinds_for
from catalog.nodes import Node
from catalog.queries import find
from lakewarden.backends import kinds
from lakewarden.backends.errors import BackendError
from lakewarden.backends.kinds import Field as KindField
from lakewarden.backends.kinds import Kind
from lakewarden.law.objects import ObjectRef
from policies.models import Backend
from policies.secrets import decrypt, encrypt
from policies.sync.connections import by_hand
from policies.sync.connections.by_hand import Registered

POLICIES = (
    (
        "report",
        gettext_lazy("Only report"),
        gettext_lazy("Differences are shown. Nothing is changed in the backend."),
    ),
    ("repair", gettext_lazy("Repair"), gettext_lazy("Decisions are applied there; grants by others stay.")),
)
REGISTERED = (
    (
        by_hand.KEEP,
        gettext_lazy("Keep owners and grants"),
        gettext_lazy("They apply to the tables and schemas that really have these names."),
    ),
    (
        by_hand.HAND_OVER,
        gettext_lazy("Hand over"),
        gettext_lazy(
            "All that lies in the catalog goes to its owner, and the grants on that end. What the catalog "
            "itself has stays."
        ),
    ),
)
SERVER = ("host", "port", "user")
OWN = "its-"
"""Before the name of what only one kind asks for, so that it is never taken for what all do."""
PLACE = ("host", "port")
SECRET = {"password"}
"""What a kept URL may say among its options, and what is never taken from there."""
WRITTEN = {"class": "input", "autocapitalize": "none", "spellcheck": "false"}
CATALOG_HELP = gettext_lazy("Its name here; created if it does not exist.")
READ_AS = {"database": "dbname", "tls": "sslmode"}
"""What a driver calls, in a URL that it reads, what the form asks for."""


@dataclass
class TypedConnection:
    """What a form says of a connection, and the URL that its answers make."""

    ward: RealmAccess
    data: QueryDict | Mapping[str, str]

    def said(self, name: str) -> str:
        return str(self.data.get(name, "")).strip()[:255].replace("\0", "")

    @cached_property
    def kind(self) -> Kind | None:
        """The kind of system that was chosen; None while none is."""
        return kinds_for(self.ward).get(self.said("kind"))

    @cached_property
    def place(self) -> Node | None:
        """What is connected: the catalog of that name when it is there already, or the realm itself."""
        if self.kind is not None and self.kind.whole_realm:
            return self.ward.root
        name = self.said("catalog")
        return find(ObjectRef("catalog", self.ward.root.name, (name,))) if name else None

    @cached_property
    def before(self) -> Backend | None:
        """The connection that it has now."""
        return Backend.objects.filter(catalog=self.place.id).first() if self.place else None

    @cached_property
    def registered(self) -> list[Registered]:
        """What somebody registered by hand there, which would be bound to what is real."""
        return by_hand.registered(self.place, self.kind) if self.place and self.kind else []

    @property
    def name(self) -> str:
        """What it is called: the catalog, or the realm."""
        return self.place.name if self.place else self.said("catalog")

    # What is asked

    @cached_property
    def asks_server(self) -> bool:
        """Whether it is reached over the network; a folder of this machine is not."""
        return self.kind is not None and bool(urlsplit(self.kind.example).hostname)

    @cached_property
    def asks_account(self) -> bool:
        return self.kind is not None and urlsplit(self.kind.example).username is not None

    def own(self) -> dict[str, str]:
        """What only this kind of system asks for, as it was answered or as it usually is."""
        fields = self.kind.fields if self.kind else ()
        usual = {item.name: item.choices[0][0] if item.choices else "" for item in fields}
        return {name: self.said(OWN + name) or value for name, value in usual.items()}

    # What was answered

    @cached_property
    def password(self) -> str:
        """What was typed now, or in the try before, or what is kept already."""
        return self._typed or self._kept_password()

    @cached_property
    def _typed(self) -> str:
        typed = str(self.data.get("password", ""))
        return typed or _opened(str(self.data.get("sealed", ""))[:4000], self.ward)

    def _kept_password(self) -> str:
        """What is kept, for the very connection that it was given for and for nothing else.

        Who renews a connection need not be who knows its password.
        """
        if self.before is None or self.kind is None or self.before.kind != self.kind.code:
            return ""
        kept = kept_parts(self.before)
        secret = kept.get("password", "")
        try:
            parts = self.kind.parts(self._url_with(self.kind, secret))
        except BackendError:
            return ""
        # whether two URLs say the same in all their parts; what one leaves out is what is usual
        usual = {
            name: item.choices[0][0]
            for item in self.kind.fields
            if item.choices
            for name in (item.name, READ_AS.get(item.name, ""))
        }
        alike = all(
            parts.get(name, usual.get(name, "")) == kept.get(name, usual.get(name, ""))
            for name in parts.keys() | kept.keys()
        )
        return secret if alike else ""

    @property
    def sealed(self) -> str:
        """The password that this very person typed, as only they can hand it in again.

        Never one that was kept: handed in again, it would be sent wherever the form says.
        """
        return encrypt(f"{_typed_by(self.ward)} {self._typed}") if self._typed else ""

    def url(self, kind: Kind) -> str:
        return self._url_with(kind, self.password)

    def _url_with(self, kind: Kind, password: str) -> str:
        server = {name: self.said(name) for name in SERVER} if self.asks_server else {}
        # the URL with what was said of the same server by command, as an own authority, and no form asks
        url = kind.address({**server, **self.own(), "password": password})
        if self.before is None or self.before.kind != kind.code:
            return url
        parts = kept_parts(self.before)
        if any(parts.get(name, "") != self.said(name) for name in PLACE):
            return url
        names = {name for item in kind.fields for name in (item.name, READ_AS.get(item.name, ""))}
        names |= {name for name, _ in parse_qsl(urlsplit(url).query)} | SECRET
        kept = [pair for pair in parse_qsl(urlsplit(_whole(self.before)).query) if pair[0] not in names]
        return f"{url}{'&' if '?' in url else '?'}{urlencode(kept)}" if kept else url


class ConnectionForm(ConsoleForm):
    """What a kind of system is asked by: its catalog, its server, an account, and what only it has."""

    policy = SegmentsField(
        choices=[(code, word) for code, word, _ in POLICIES], otherwise=Backend.Policy.REPORT, required=False
    )
    registered = SegmentsField(choices=[(code, word) for code, word, _ in REGISTERED], required=False)
    registered_seen = TextField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, *, ward: RealmAccess, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.typed = TypedConnection(ward, self.data)
        if self.typed.kind is not None:
            self.fields |= dict(_fields_of(self.typed.kind, self.typed))

    @property
    def own_fields(self) -> list[Any]:
        """What only this kind of system asks for."""
        return [self[name] for name in self.fields if name.startswith(OWN)]

    def clean_catalog(self) -> str:
        name: str = self.cleaned_data["catalog"]
        if "/" in name or "." in name:
            raise ValidationError(gettext("A catalog's name has no slash and no dot."))
        return name


def _fields_of(kind: Kind, typed: TypedConnection) -> Iterator[tuple[str, forms.Field]]:
    if not kind.whole_realm:
        attrs = {**WRITTEN, **({} if typed.said("catalog") else {"autofocus": True})}
        yield (
            "catalog",
            _text(gettext("Catalog"), gettext("Enter the catalog, such as shop."), str(CATALOG_HELP), attrs),
        )
    if typed.asks_server:
        yield "host", _text(gettext("Server"), gettext("Enter the server."))
        wrong = gettext("A port is a number up to 65535.")
        yield (
            "port",
            WholeNumberField(
                label=gettext("Port"),
                least=1,
                most=65535,
                wrong=wrong,
                required=False,
                max_length=5,
                help_text=gettext("Empty for the default."),
                widget=forms.TextInput(attrs={"class": "input", "inputmode": "numeric"}),
            ),
        )
    for item in kind.fields:
        label, help_text = gettext(item.label), gettext(item.help) if item.help else ""
        missing = gettext("Enter the %(label)s.") % {"label": terms.lower(label)} if item.required else ""
        yield OWN + item.name, _choice(item) if item.choices else _text(label, missing, help_text)
    if typed.asks_account:
        yield "user", _text(gettext("Account"), gettext("Enter the account it signs in with."))
        kept = (
            gettext("Empty keeps the current one.") if typed.password else gettext("Empty if none is needed.")
        )
        hidden = forms.PasswordInput(attrs={"class": "input", "autocomplete": "off"})
        yield (
            "password",
            TextField(
                label=gettext("Password"),
                required=False,
                strip=False,
                max_length=1000,
                help_text=kept,
                widget=hidden,
            ),
        )


def _text(label: str, missing: str, help_text: str = "", attrs: Mapping[str, Any] | None = None) -> TextField:
    return TextField(
        label=label,
        required=bool(missing),
        error_messages={"required": missing},
        help_text=help_text,
        widget=forms.TextInput(attrs=dict(attrs or WRITTEN)),
    )


def _choice(item: KindField) -> forms.ChoiceField:
    return forms.ChoiceField(
        label=gettext(item.label),
        choices=[(code, gettext(word)) for code, word in item.choices],
        required=False,
        initial=item.choices[0][0],
        help_text=gettext(item.help) if item.help else "",
        error_messages={"invalid_choice": gettext("Choose one of these.")},
        widget=forms.Select(attrs={"class": "input"}),
    )


def prefilled(asked: QueryDict | Mapping[str, str], ward: RealmAccess) -> dict[str, str]:
    """What is kept of a connection that is to be renewed, but for its secret."""
    first = {name: str(asked.get(name, ""))[:255] for name in ("catalog", "kind")}
    wanted = TypedConnection(ward, first)
    if wanted.before is None or (first["kind"] and wanted.before.kind != first["kind"]):
        return first
    kind, parts = kinds_for(ward).get(wanted.before.kind), kept_parts(wanted.before)
    own = {
        OWN + item.name: parts.get(item.name) or parts.get(READ_AS.get(item.name, ""), "")
        for item in (kind.fields if kind else ())
    }
    server = {name: parts.get(name, "") for name in SERVER}
    return {**first, "kind": wanted.before.kind, "policy": wanted.before.policy, **server, **own}


def kept_parts(row: Backend) -> dict[str, str]:
    try:
        return dict(kinds.get(row.kind).parts(decrypt(row.sealed_url)))
    except BackendError:
        return {}


def _whole(row: Backend) -> str:
    try:
        return decrypt(row.sealed_url)
    except BackendError:
        return ""


def _opened(sealed: str, ward: RealmAccess) -> str:
    """A password that this very person typed before; "" when there is none."""
    if not sealed:
        return ""
    try:
        whose, _, password = decrypt(sealed).partition(" ")
    except BackendError:
        return ""
    return password if whose == _typed_by(ward) else ""


def _typed_by(ward: RealmAccess) -> str:
    # not the number alone: under that, pages once sealed kept passwords, and somebody may still have one
    return f"typed:{ward.asker.pk}"
