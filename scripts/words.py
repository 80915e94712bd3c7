"""Writes the table of docs/development/words.md from the glossary of the console.

python scripts/words.py             write it
python scripts/words.py --check     only say whether it is as the glossary has it
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from authzsite.console.help.glossary import AVOIDED, GERMAN, IN_CODE, WORDS  # noqa: E402

DOCUMENT = ROOT / "docs" / "development" / "words.md"
TABLE = re.compile(r"(?<=<!-- words -->\n).*?(?=<!-- end of the words -->)", re.S)


def table() -> str:
    """A row for each word, by the alphabet."""
    words = sorted((*WORDS.values(), *IN_CODE), key=lambda word: word.word.casefold())
    rows = (
        "| {} | {} | {} | {} |\n".format(
            word.word, word.text, AVOIDED.get(word.code, ""), GERMAN.get(word.code, "")
        )
        for word in words
    )
    return "| Word | What it means | Not | German |\n|---|---|---|---|\n" + "".join(rows)


def main(arguments: list[str]) -> int:
    document = DOCUMENT.read_text()
    written = TABLE.sub(lambda _: table(), document)
    if "--check" in arguments:
        return int(written != document)
    DOCUMENT.write_text(written)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
