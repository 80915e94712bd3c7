"""Apache Ranger Admin as a backend: one policy of ours for each object, one Ranger role for each role.

Ranger knows no objects of its own, so what the console has is believed.  Whatever could merge, replace or
delete what others made is never called; see docs/ranger.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from lakewarden.backends.base import Backend, Finding, ObjectKind, Observation, Outcome, Plan, Source, Step
from lakewarden.backends.errors import BackendError, Misconfigured
from lakewarden.backends.kinds import Field, Kind, plain_url
from lakewarden.backends.network import Network
from lakewarden.backends.steps import in_turn
from policies.sync.backends.ranger.apply import Writer
from policies.sync.backends.ranger.bypass import denies_work
from policies.sync.backends.ranger.client import SCHEMES, Session
from policies.sync.backends.ranger.names import Identity
from policies.sync.backends.ranger.observe import in_force, observe
from policies.sync.backends.ranger.state import Reader
from policies.sync.backends.ranger.types import CDAP, HIVE, TRINO, Type
from policies.sync.backends.ranger.wanted import wanted
from policies.sync.backends.ranger.wanted_cdap import LAW
from policies.sync.backends.ranger.wanted_cdap import wanted as wanted_in_cdap

_ALWAYS_ASKED = ("beside", "ca")


def open(url: str, *, realm: str, mark: str, network: Network, type_: Type) -> Backend:
    """The backend behind a `ranger+https://` URL, connected when first used.  Raises Misconfigured."""
    return Ranger(Session(url, network), realm=realm, mark=mark, type_=type_)


class Ranger:
    """One service of one Ranger Admin, over one line; not to be shared by threads."""

    def __init__(self, session: Session, *, realm: str, mark: str, type_: Type) -> None:
        fixed = session.at.options.get(type_.fixed, "") if type_.fixed else ""
        if bool(fixed) != bool(type_.fixed) or set(session.at.options) - {type_.fixed, *_ALWAYS_ASKED}:
            wanted = (
                f"name its {type_.fixed}: …?{type_.fixed}=name" if type_.fixed else "have nothing behind a ?"
            )
            raise Misconfigured(f"the URL of a service of type {type_.code} must {wanted}")
        if session.at.options.get("beside", "no") not in ("yes", "no"):
            raise Misconfigured("in the URL, beside is yes or no")
        self._session, self._type, self._fixed = session, type_, fixed
        self._identity = Identity(realm, mark, session.service_name)
        self._write = Writer(
            session, self._identity, type_, fixed, beside=session.at.options.get("beside") == "yes"
        )
        self._operations: dict[str, Callable[[Step], None]] = {
            "make_role": self._write.make_role,
            "give": self._write.change_rights,
            "take": self._write.change_rights,
            "switch": self._write.switch,
            "drop_role": self._write.drop_role,
            "take_foreign": self._write.take_foreign,
        }
        if type_.by_person:
            # items name people themselves, so there is nothing to make or to be in
            self._operations |= dict.fromkeys(("make_role", "switch", "drop_role"), _nothing)

    def rights_for(self, privilege: str, kind: ObjectKind) -> tuple[str, ...]:
        """The accesses on an object of `kind` that carry a console privilege; () when none is needed."""
        return self._type.rights.get((privilege, kind), ())

    def source(self) -> Source:
        """The service, by the number that Ranger gave it, and the part of it that this is about."""
        service = self._session.service()
        number = service.get("guid") or f"{service.get('id')} at {self._session.machine}"
        return Source(f"ranger {number} {self._fixed}".strip())

    def observe(self) -> Observation:
        """Policies, roles and users at one version of the policies.  Raises BackendError."""
        return observe(self._reader())

    def apply(self, plan: Plan) -> Iterator[Outcome]:
        """Do each step and say what became of it; raises only when nothing answers at all."""
        self._session.service()
        yield from in_turn(plan.steps, lambda step: self._operations[step.kind](step))

    def check(self) -> Iterable[Finding]:
        """What works and what has to be mended, in words."""
        try:
            return list(_findings(self._reader()))
        except BackendError as error:
            return [Finding.unreachable(error)]

    def close(self) -> None:
        """Let go of the line; the next call makes a new one."""
        self._session.close()

    def _reader(self) -> Reader:
        return Reader(self._session, self._identity, self._type, self._fixed)


def _nothing(step: Step) -> None:
    """What a step about a role is where there are none."""


def _findings(reader: Reader) -> Iterator[Finding]:
    name, version = reader.service.get("name"), int(reader.service.get("policyVersion") or 0)
    yield Finding(ok=True, text=f"service {name} answers; its policies are at version {version}")
    if not reader.is_admin:
        text = f"{reader.me} is no administrator of Ranger and sees only a part; nothing can be written"
        yield Finding(ok=False, text=text, blocks=True)
    if not denies_work(reader.definition):
        yield Finding(ok=False, text="denials are switched off in the service's definition; none will work")
    plugins = in_force(reader.service, reader.plugins)
    if not plugins:
        yield Finding(ok=False, text="no plugin has asked for these policies yet: nothing enforces them")
    for where, active in plugins:
        state = "in force" if active >= version else f"not yet in force, it has version {active}"
        yield Finding(ok=active >= version, text=f"{where}: {state}")


def _address(values: Mapping[str, str], *, fixed: str = "") -> str:
    scheme = SCHEMES[values.get("tls") == "no"]
    base = plain_url(scheme, {**values, "database": values.get("service", "")})
    fixed_values = {fixed: values.get(fixed, "")} if fixed else {}
    if values.get("beside") == "yes":
        fixed_values["beside"] = "yes"
    return f"{base}?{urlencode(fixed_values)}" if fixed_values else base


_SERVICE = Field("service", "Service", "The name of the service in Ranger, such as cl1_hive.")
_TLS = Field("tls", "Encryption", choices=(("yes", "Encrypted (https)"), ("no", "Not encrypted (http)")))
_BESIDE = Field(
    "beside",
    "Where others have a policy on the same object",
    "Ranger keeps one policy for each resource; a validity since 2000 makes ours another one.",
    choices=(("no", "Wait, and report it"), ("yes", "Add a policy of Lakewarden")),
)


def _kind(type_: Type, label: str, **more: Any) -> Kind:
    return Kind(
        code=f"ranger-{type_.code}",
        label=f"Ranger for {label}",
        open=partial(open, type_=type_),
        needs=("network",),
        schemes=SCHEMES,
        url=partial(_address, fixed=type_.fixed),
        **more,
    )


_TABLES: dict[str, Any] = {
    "objects": {"catalog": "catalog", "schema": "schema", "table": "table", "view": "table"},
    "discovers": {"schema": "schema", "table": "table"},
    "provider": "hive",
}
KIND_HIVE = _kind(
    HIVE,
    "Hive",
    example="ranger+https://user:password@host:6182/cl1_hive",
    wanted=wanted,
    fields=(_SERVICE, _TLS, _BESIDE),
    **_TABLES,
)
KIND_TRINO = _kind(
    TRINO,
    "Trino",
    example="ranger+https://user:password@host:6182/cl1_trino?catalog=lake",
    wanted=wanted,
    fields=(_SERVICE, Field("catalog", "Catalog", "The name of the catalog in Trino."), _TLS, _BESIDE),
    **_TABLES,
)
KIND_CDAP = _kind(
    CDAP,
    "CDAP",
    example="ranger+https://user:password@host:6182/cl1_cdap?instance=cdap",
    whole_realm=True,
    realm_kinds=(LAW,),
    by_person=True,
    objects={shape.kind: shape.kind for shape in CDAP.shapes},
    carried={},
    wanted=wanted_in_cdap,
    fields=(
        _SERVICE,
        Field("instance", "Instance", "The name of the CDAP instance in its policies."),
        _TLS,
        _BESIDE,
    ),
)
