"""Packs the client for those who have no console: a wheel for pip and a zip for `spark-submit --py-files`.

python scripts/package.py [FOLDER]      default: dist
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONG_AGO = (2026, 1, 1, 0, 0, 0)
PACKAGES = ("lakewarden", "pyspark_lakewarden")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as kept:
        source = Path(kept) / "source"
        # setuptools would leave its own folders in the checkout
        for package in PACKAGES:
            shutil.copytree(ROOT / package, source / package, ignore=LEFT_OUT)
        for name in ("pyproject.toml", "LICENSE"):
            shutil.copy(ROOT / name, source)
        wheel = build(source, Path(kept) / "made")
        target = folder / wheel.name
        shutil.copy(wheel, target)
    packed = folder / f"{wheel.name.split('-py3')[0]}.zip"
    pack(packed)
    print(f"{target}\n{packed}")
    return 0


def build(source: Path, made: Path) -> Path:
    """The wheel, made with the packages at hand alone."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--no-index", "--wheel-dir", str(made), str(source)], check=True)
    [wheel] = made.glob("*.whl")
    return wheel


def pack(target: Path) -> None:
    """The package folders at the zip's root; the same code is always the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                entry = zipfile.ZipInfo(str(path.relative_to(ROOT)), LONG_AGO)
                entry.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(entry, path.read_bytes())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")))
