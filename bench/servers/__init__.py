"""What measurements run on: a PostgreSQL of their own, gone when they end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def own_server(*, durable: bool = False) -> Iterator[Path]:
    """An empty PostgreSQL that the settings of this process and of its children point to: its folder.

    A `durable` one waits for its disk at each commit.
    """
    from authzsite import embedded

    with tempfile.TemporaryDirectory(prefix="lakewarden-bench-") as folder:
        server = embedded.PostgreSQL(Path(folder) / "postgresql", durable=durable)
        server.start()
        os.environ |= {"LAKEWARDEN_VAR": folder, "DATABASE_URL": server.url()}
        try:
            yield Path(folder)
        finally:
            server.stop()
