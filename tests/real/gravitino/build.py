"""Builds the server of Apache Gravitino from a checkout of its source, as no package registry has it.

`python -m tests.real.gravitino.build SOURCE TARGET` compiles the server and the catalogs of models, filesets
and PostgreSQL by the machine's Java against pinned jars of Maven Central, and lays a release out in TARGET.
The statistics of partitions in Lance are left out, which nothing here asks for.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.real.artifacts import pinned

LEFT_OUT = "LancePartitionStatisticStorage"
SERVER = ("api", "common", "catalogs/catalog-common", "core", "server-common", "lineage", "server")
CATALOGS = {
    "model": ("catalogs/catalog-model",),
    "fileset": ("catalogs/hadoop-common", "catalogs/hadoop-auth", "catalogs/catalog-fileset"),
    "jdbc-postgresql": ("catalogs/catalog-jdbc-common", "catalogs/catalog-jdbc-postgresql"),
}
"""The modules of each; what a catalog has besides the server's classes stands in its last one."""
OF_CATALOGS = {
    "fileset": ("hadoop-client-", "cglib", "asm-", "metrics-caffeine"),
    "jdbc-postgresql": ("postgresql", "commons-dbcp2", "commons-pool2", "commons-logging"),
    "model": (),
}
"""The jars beside each catalog, by how their names begin."""
BUILT = "project.version=1.3.1-SNAPSHOT\ncompile.date=01/01/2026 00:00:00\ngit.commit.id=unknown\n"
"""What the server says of itself; its own build asks git."""
NOT_OF_THE_SERVER = ("arrow-", "lombok", "postgresql", "hadoop-client-")


def build(source: Path, target: Path) -> None:
    """Lay a release out in `target`, whole or not at all.  Raises CalledProcessError when javac does."""
    jars = [artifact.fetch() for artifact in pinned("gravitino")]
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        work, release = Path(folder) / "classes", Path(folder) / "release"
        _compile(source, SERVER, work / "server", jars)
        (work / "server" / "gravitino-build-info.properties").write_text(BUILT)
        _jar(work / "server", release / "libs" / "gravitino-server.jar")
        _copy((jar for jar in jars if not jar.name.startswith(NOT_OF_THE_SERVER)), release / "libs")
        for name, modules in CATALOGS.items():
            _compile(source, modules, work / name, [*jars, work / "server"])
            place = release / "catalogs" / name
            _jar(work / name, place / "libs" / f"gravitino-catalog-{name}.jar")
            _copy((jar for jar in jars if jar.name.startswith(OF_CATALOGS[name])), place / "libs")
            _copy((source / modules[-1] / "src/main/resources").glob("*.conf"), place / "conf")
        shutil.copytree(source / "scripts", release / "scripts")
        release.rename(target)


def _compile(source: Path, modules: Iterable[str], classes: Path, path: Iterable[Path]) -> None:
    """The classes and the resources of some modules in one folder."""
    classes.mkdir(parents=True)
    files = [
        file
        for module in modules
        for file in (source / module / "src/main/java").rglob("*.java")
        if not file.name.startswith(LEFT_OUT)
    ]
    listed = classes.with_suffix(".txt")
    listed.write_text("\n".join(map(str, files)))
    jars = [str(item) for item in path]
    [processor] = [jar for jar in jars if "lombok" in jar]
    options = ["-nowarn", "-encoding", "UTF-8", "-parameters", "-J-Xmx1500m"]
    where = ["-d", str(classes), "-cp", ":".join(jars), "-processorpath", processor]
    subprocess.run(["javac", *options, *where, f"@{listed}"], check=True)
    for module in modules:
        resources = source / module / "src/main/resources"
        if resources.exists():
            shutil.copytree(resources, classes, dirs_exist_ok=True)


def _jar(classes: Path, jar: Path) -> None:
    jar.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["jar", "cf", str(jar), "-C", str(classes), "."], check=True)


def _copy(files: Iterable[Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
