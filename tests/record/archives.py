"""Archives as a forger leaves them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from lakewarden.record.archive import manifest_of, signature_line
from policies import signing

Files = dict[str, bytes]


def rewritten(archive: Path, change: Callable[[Files], None]) -> Path:
    with zipfile.ZipFile(archive) as old:
        files = {name: old.read(name) for name in old.namelist()}
    change(files)
    target = archive.with_name("forged.zip")
    with zipfile.ZipFile(target, "w") as new:
        for name, content in files.items():
            new.writestr(name, content)
    return target


def resigned(files: Files) -> None:
    """The site's own key signs: what is left to catch it is the record itself."""
    kept = {name: content for name, content in files.items() if not name.startswith("manifest")}
    old = json.loads(files["manifest.json"])
    manifest = {name: value for name, value in old.items() if name not in ("form", "kind", "files")}
    files["manifest.json"] = manifest_of(old["kind"], kept, manifest)
    files["manifest.sig"] = signature_line(signing.public_key(), signing.sign(files["manifest.json"]))
