"""`python -m lakewarden.record ARCHIVE --key KEY`: check what was taken away from a site, far from it.

Leaves with 0 when everything fits, 1 and the first thing that does not, 2 on misuse.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lakewarden.record import bundle, notes
from lakewarden.record.archive import Broken
from lakewarden.record.expected import Expected, a_time


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        keys = notes.public_keys(_text(options.key))
        kept = options.checkpoints.read_text(encoding="utf-8") if options.checkpoints else ""
        expected = Expected(options.object, options.as_of or "", kept)
        verdict = bundle.check(options.archive, keys, options.person, expected, options.record)
    except (Broken, notes.BadNote) as broken:
        sys.stderr.write(f"broken: {broken}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{error.filename}: {error.strerror}\n")
        return 2
    except UnicodeDecodeError:
        sys.stderr.write("the key and the checkpoints must be text files; one of them is not\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in verdict.lines))
    return 0


def _text(key: str) -> str:
    return Path(key).read_text() if Path(key).exists() else key


def _time(text: str) -> str:
    try:
        return a_time(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write 2026-01-31, or with T12:00Z"
        ) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lakewarden.record", description="Check an archive.")
    parser.add_argument("archive", type=Path, help="the audit log or evidence, a zip file")
    parser.add_argument("--key", required=True, help="the site's public key, or a file with its keys")
    parser.add_argument("--person", default="", help="for evidence: show only user:NAME")
    parser.add_argument("--object", default="", help="refuse evidence that is not about table:REALM/NAME")
    parser.add_argument("--as-of", type=_time, help="refuse evidence of another day or moment")
    parser.add_argument(
        "--checkpoints",
        type=Path,
        metavar="FILE",
        help="signed checkpoints kept elsewhere: refuse an archive that is older or of another log",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="for evidence: the complete audit log; refuse evidence that leaves something out",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
