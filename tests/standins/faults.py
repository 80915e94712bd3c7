"""A line to another server that can be refused, cut, frozen, slowed to drips, or lose what comes back."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from contextlib import suppress
from typing import Self


class Proxy:
    """Listens on a port of this machine and passes on to `host:port` or a socket in the file system.

    `mode` may be changed at any time and holds for lines that are open too, except where `old_only` is set:
    then new lines pass.  `pass`, `refuse` (nobody listens to new lines, open ones are cut), `cut` (each line
    is ended as soon as something comes), `freeze` (taken and never answered), `drip` (a byte at a time),
    `lose` (what is asked arrives, what is answered does not).
    """

    def __init__(self, target: tuple[str, int] | str) -> None:
        self.target, self.mode, self.old_only = target, "pass", False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: dict[_Line, None] = {}
        self._stopped = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._listener.close()
        self.cut()

    def become(self, mode: str, *, old_only: bool = False) -> None:
        """Have all lines behave so from now on, or only those that are open."""
        self.mode, self.old_only = mode, old_only
        for line in list(self._open):
            line.mode = mode
        if mode == "refuse":
            self.cut()

    def cut(self) -> None:
        """End every open line."""
        for line in list(self._open):
            line.end()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self.mode == "refuse":
                near.close()
                continue
            try:
                line = _Line(self, near, "pass" if self.old_only else self.mode)
            except OSError:  # nobody listens there now
                near.close()
                continue
            self._open[line] = None
            threading.Thread(target=line.run, daemon=True).start()

    def forget(self, line: _Line) -> None:
        self._open.pop(line, None)


class _Line:
    def __init__(self, proxy: Proxy, near: socket.socket, mode: str) -> None:
        self.proxy, self.near, self.mode = proxy, near, mode
        if isinstance(proxy.target, str):
            self.far = socket.socket(socket.AF_UNIX)
            self.far.connect(proxy.target)
        else:
            self.far = socket.create_connection(proxy.target)

    def end(self) -> None:
        for item in (self.near, self.far):
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)

    def run(self) -> None:
        try:
            with selectors.DefaultSelector() as ready:
                ready.register(self.near, selectors.EVENT_READ)
                ready.register(self.far, selectors.EVENT_READ)
                while self._passed(ready):
                    pass
        except OSError:
            pass
        finally:
            self.end()
            self.near.close()
            self.far.close()
            self.proxy.forget(self)

    def _passed(self, ready: selectors.BaseSelector) -> bool:
        for key, _ in ready.select(0.05):
            if self.mode == "freeze":
                time.sleep(0.05)
                continue
            from_near = key.fileobj is self.near
            part = (self.near if from_near else self.far).recv(65536)
            if not part or self.mode == "cut":
                return False
            self._send(part, from_near)
        return True

    def _send(self, part: bytes, from_near: bool) -> None:
        if from_near:
            self.far.sendall(part)
        elif self.mode == "drip":
            for byte in part:
                if self.mode != "drip":
                    break
                self.near.sendall(bytes([byte]))
                time.sleep(0.2)
        elif self.mode != "lose":
            self.near.sendall(part)
