"""Java 8 beside the machine's own: Debian's package, unpacked into the cache and started where it lies.

The package wants a newer C library than a machine may have, so that library is unpacked with it, and the
program is started by that library's own loader.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.real.artifacts import cache, pinned
from tests.real.servers import classpath

PINS = "cdap_server-java8"
LIBRARIES, LOADER = Path("usr/lib/x86_64-linux-gnu"), "ld-linux-x86-64.so.2"
JRE = Path("usr/lib/jvm/java-8-openjdk-amd64/jre")


def java8() -> list[str]:
    """What stands before the arguments of a Java 8."""
    packages = classpath(PINS).split(os.pathsep)
    if os.uname().machine != "x86_64" or not shutil.which("dpkg-deb"):
        pytest.skip("Java 8 is pinned for Debian on x86-64")
    pins = "".join(artifact.sha256 for artifact in pinned(PINS))
    root = cache() / f"java8-{hashlib.sha256(pins.encode()).hexdigest()[:12]}"
    if not root.exists():
        _unpack(packages, root)
    jre = root / JRE
    folders = [root / LIBRARIES, *(jre / "lib/amd64" / each for each in ("", "jli", "server"))]
    libraries = os.pathsep.join(map(str, folders))
    return [str(jre / "bin" / LOADER), "--library-path", libraries, str(jre / "bin/java")]


def _unpack(packages: list[str], root: Path) -> None:
    """All packages into one folder, which is there as a whole or not at all."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent) as folder:
        made = Path(folder) / "made"
        for package in packages:
            subprocess.run(["dpkg-deb", "-x", package, str(made)], check=True)
        for link in [path for path in (made / JRE).rglob("*") if path.is_symlink() and not path.exists()]:
            # its settings are links into /etc, where nothing was installed
            meant = made / os.readlink(link).lstrip("/")
            if meant.is_file():
                link.unlink()
                shutil.copy(meant, link)
        # Java looks for its home beside the program that runs, and that is the loader
        shutil.copy(made / LIBRARIES / LOADER, made / JRE / "bin" / LOADER)
        made.rename(root)
