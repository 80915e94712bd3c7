"""How a cache of decisions behaves, also in the words of CDAP's own site file."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from lakewarden.law.objects import ObjectRef

log = logging.getLogger("lakewarden")

PREFIX = "security.authorization.cache."
OF_EXTENSION = "security.authorization.extension.config.cache."
ENABLED, REFRESH, TTL = PREFIX + "enabled", PREFIX + "refresh.interval.secs", PREFIX + "ttl.secs"
MOST, FAILURES = PREFIX + "max.entries", PREFIX + "max.failed.refreshes"
LISTEN = PREFIX + "listen"


TEN_MINUTES = 600.0
"""For so long may answers count that could not be asked for again, as in CDAP 4.3."""


class BadSetting(ValueError):
    """A property has a value that cannot be meant."""


@dataclass(frozen=True)
class Settings:
    """`refresh` and `ttl` are seconds, `most` how many objects with privileges are kept in all.

    `listen`: whether changes are heard of as they happen.
    `failures`: after so many failed refreshes in a row everything is dropped and refused.  `objects` has
    shorter intervals for single objects by their text (`dataset:cdap/ns1.orders`); zero: never kept.
    """

    enabled: bool = True
    refresh: float = 50.0
    ttl: float = TEN_MINUTES
    most: int = 100_000
    failures: int = 3
    listen: bool = True
    objects: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.on:
            return
        if self.refresh <= 0:
            raise BadSetting(_NO_INTERVAL.format(REFRESH, _number(self.refresh)))
        if self.ttl <= 0:
            raise BadSetting(_NO_TTL.format(TTL, _number(self.ttl)))
        if self.failures < 1:
            raise BadSetting(f"'{FAILURES}' must be at least one. It is currently set to {self.failures}.")
        if self.ttl <= self.refresh:
            log.warning(_SHORT, REFRESH, _number(self.refresh), TTL, _number(self.ttl))

    @property
    def on(self) -> bool:
        """Whether anything is kept at all."""
        return self.enabled and self.most > 0

    def interval(self, ref: ObjectRef) -> float:
        """How old, in seconds, what is kept may be for this object."""
        return min(self.refresh, self.objects.get(f"{ref.type}:{ref.id}", self.refresh))

    @classmethod
    def of_properties(cls, properties: Mapping[str, str]) -> Settings:
        """Read CDAP's own properties; others are not looked at.  Raises BadSetting.

        `security.authorization.cache.` before `enabled`, `refresh.interval.secs`, `ttl.secs`, `max.entries`
        and `max.failed.refreshes`; a dataset's own interval is `refresh.interval.secs.` and its text.
        """
        named = {name.replace(OF_EXTENSION, PREFIX, 1): text for name, text in properties.items()}
        named.update({name: text for name, text in properties.items() if name.startswith(PREFIX)})
        own = {
            name[len(REFRESH) + 1 :]: text for name, text in named.items() if name.startswith(REFRESH + ".")
        }
        return cls(
            enabled=_flag(named.get(ENABLED, "true"), ENABLED),
            refresh=_whole(named.get(REFRESH, "50")),
            ttl=_whole(named.get(TTL, f"{TEN_MINUTES:g}")),
            most=_whole(named.get(MOST, "100000")),
            failures=_whole(named.get(FAILURES, "3")),
            listen=_flag(named.get(LISTEN, "true"), LISTEN),
            objects={name: max(0, _whole(text)) for name, text in own.items()},
        )


def _flag(text: str, name: str) -> bool:
    value = text.strip().lower()
    if value not in ("true", "false"):
        raise BadSetting(f"'{name}' must be true or false. It is currently set to {text}.")
    return value == "true"


def _whole(text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise BadSetting(f'For input string: "{text}"') from None


def _number(value: float) -> str:
    return f"{value:g}"


# the words with which CDAP itself refuses such values
_NO_INTERVAL = (
    "The refresh interval for authorization cache specified by the parameter '{}' must be greater than zero. "
    "It is currently set to {}."
)
_NO_TTL = (
    "The TTL for authorization cache entries specified by the parameter '{}' must be greater than zero. "
    "It is currently set to {}."
)
_SHORT = (
    "the refresh interval '%s' (%s) is not shorter than '%s' (%s): "
    "what is kept may be too old before it is refreshed, and refused"
)
