"""Packages of Debian and Ubuntu, unpacked into the cache: nothing is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.real.artifacts import cache, digest, pins_of
from tests.real.servers import cached


def unpacked(server: str) -> Path:
    """A folder of the cache with all packages of a server; its tests are skipped where one is missing."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is missing; on Debian it is in the package dpkg")
    packages = cached(server)
    folder = cache() / "unpacked" / f"{server}-{digest(pins_of(server))[:12]}"
    if not folder.exists():
        part = folder.with_name(f"{folder.name}.{os.getpid()}")
        part.mkdir(parents=True)
        for package in packages:
            subprocess.run(["dpkg-deb", "-x", str(package), str(part)], check=True)
        part.rename(folder)
    return folder
