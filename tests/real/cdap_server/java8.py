"""Java 8 beside the machine's own: Debian's package, unpacked into the cache and started where it lies.

The package wants a newer C library than a machine may have, so that library is unpacked with it, and the
program is started by that library's own loader.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.real.packages import unpacked

LIBRARIES, LOADER = Path("usr/lib/x86_64-linux-gnu"), "ld-linux-x86-64.so.2"
JRE = Path("usr/lib/jvm/java-8-openjdk-amd64/jre")


def java8() -> list[str]:
    """What stands before the arguments of a Java 8."""
    root = unpacked("cdap_server-java8")
    jre = root / JRE
    if not (jre / "bin" / LOADER).exists():
        _settle(root)
    folders = [root / LIBRARIES, *(jre / "lib/amd64" / each for each in ("", "jli", "server"))]
    libraries = os.pathsep.join(map(str, folders))
    return [str(jre / "bin" / LOADER), "--library-path", libraries, str(jre / "bin/java")]


def _settle(root: Path) -> None:
    """Make it find its settings and itself where it was unpacked."""
    jre = root / JRE
    for link in [path for path in jre.rglob("*") if path.is_symlink() and not path.exists()]:
        # its settings are links into /etc, where nothing was installed
        meant = root / os.readlink(link).lstrip("/")
        if meant.is_file():
            link.unlink()
            shutil.copy(meant, link)
    # Java looks for its home beside the program that runs, and that is the loader
    shutil.copy(root / LIBRARIES / LOADER, jre / "bin" / LOADER)
