"""Files of registries by pinned versions and checksums, kept in a cache outside of the tree.

A path that begins with the name of a distribution is a package of it, any other is a file of Maven Central.

`python -m tests.real.artifacts <server>` fetches what a server is made of, before its tests may not leave
this machine any more.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).parent / "pins"
CENTRAL = "https://repo1.maven.org/maven2"
DISTRIBUTIONS = {
    "debian": ("LAKEWARDEN_DEBIAN", "https://deb.debian.org"),
    "ubuntu": ("LAKEWARDEN_UBUNTU", "http://archive.ubuntu.com"),
}


class Absent(Exception):
    """What is pinned cannot be had: a distribution keeps no package that it has a newer one of."""


class Untrue(Exception):
    """What came is not what was pinned."""


def cache() -> Path:
    """Where files of others are kept: `LAKEWARDEN_CACHE`, or a folder of the user's."""
    return Path(os.environ.get("LAKEWARDEN_CACHE") or Path.home() / ".cache" / "lakewarden")


@dataclass(frozen=True)
class Artifact:
    """One file, known by its path in the repository and by what is in it."""

    path: str
    sha256: str

    @property
    def kept(self) -> Path:
        return cache() / self.path if self._distribution else cache() / "maven" / self.path

    @property
    def _distribution(self) -> tuple[str, str] | None:
        return DISTRIBUTIONS.get(self.path.partition("/")[0])

    def fetch(self) -> Path:
        """The file, from the cache or from the registry; raises Untrue when it is another, or Absent."""
        if not self.kept.exists():
            self._download()
        if digest(self.kept) != self.sha256:
            self.kept.unlink()
            raise Untrue(f"{self.path} is not the file that was pinned; it was removed from the cache")
        return self.kept

    def _download(self) -> None:
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        part = self.kept.with_name(f"{self.kept.name}.{os.getpid()}")
        variable, usual = self._distribution or ("LAKEWARDEN_MAVEN", CENTRAL)
        source = f"{os.environ.get(variable, usual)}/{self.path}"
        try:
            with (
                urllib.request.urlopen(source, timeout=120) as answer,  # noqa: S310 - what comes is compared
                part.open("wb") as file,
            ):
                shutil.copyfileobj(answer, file)
            part.rename(self.kept)
        except OSError as error:
            raise Absent(f"{source}: {error}") from error
        finally:
            part.unlink(missing_ok=True)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pins_of(server: str) -> Path:
    return PINS / f"{server}.tsv"


def pinned(server: str) -> Iterator[Artifact]:
    """What a server is made of."""
    for line in pins_of(server).read_text().splitlines():
        if line and not line.startswith("#"):
            path, _, sha256 = line.partition("\t")
            yield Artifact(path, sha256)


def class_paths(server: str) -> list[str]:
    """The names of its pins: of `cdap` there are `cdap-3.4`, `cdap-3.5` and `cdap-4.3`."""
    names = sorted(path.stem for path in PINS.glob("*.tsv"))
    return [name for name in names if name == server or name.startswith(f"{server}-")]


def version(server: str) -> str:
    """The release that is pinned, from the first line of its pins: `# Apache Hadoop 3.4.2`."""
    return pins_of(server).read_text().partition("\n")[0].removeprefix("# ")


def main() -> None:
    for pins in class_paths(sys.argv[1]):
        for artifact in pinned(pins):
            artifact.fetch()


if __name__ == "__main__":
    main()
