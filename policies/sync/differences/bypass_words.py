"""What a bypass is, read in the reader's language: with its finding it is kept in English."""

from __future__ import annotations

from policies.sentences import Reader, Said, read_back, sentence
from policies.sync.backends.shared import powers

_PLAIN = tuple(sentence(power.code, power.one, power.many) for power in powers.PLAIN)
_WHOLE = tuple(sentence(power.code, power.one) for power in (*powers.OF_RANGER, *powers.OF_FILES))
_AROUND = tuple(sentence(power.code, power.one) for power in (powers.AS, powers.THROUGH, powers.BUT_A_PART))


def in_readers_language(text: str) -> str:
    """A bypass as it was found; one whose wording is not known here stays in English."""
    readers: dict[str, Reader] = {"what": _plain, "rights": str}
    return str(read_back(text, (*_PLAIN, *_WHOLE, *_AROUND), readers) or text)


def _plain(text: str) -> Said | None:
    return read_back(text, _PLAIN, {"rights": str})
