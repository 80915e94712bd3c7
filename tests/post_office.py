"""A mail server for tests: real SMTP on a socket, which keeps what it took and can fall silent or refuse."""

from __future__ import annotations

import email
import socket
import socketserver
import threading
from collections.abc import Callable
from email.message import Message
from typing import Any


class PostOffice(socketserver.ThreadingTCPServer):
    """`taken` holds every message the client may believe it handed over, in order.

    `answer` says what a message is answered with, after it was kept: nothing for "", None breaks off.
    `refuses` holds addresses nobody has.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Talk)
        self.taken: list[Message] = []
        self.refuses: dict[str, int] = {}
        self.answer: Callable[[int], str | None] = lambda _: "250 taken"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.server_address[1]}"

    def ids(self) -> list[str]:
        return [str(item["Message-ID"]) for item in self.taken]


class _Talk(socketserver.StreamRequestHandler):
    server: Any

    def handle(self) -> None:
        self._say("220 a lake")
        while line := self.rfile.readline().decode().strip():
            word = line.split(":")[0].split(" ")[0].upper()
            if word == "DATA":
                self._take()
            elif word == "RCPT":
                code = self.server.refuses.get(line.partition("<")[2].partition(">")[0])
                self._say(f"{code} no" if code else "250 yes")
            elif word == "QUIT":
                return self._say("221 bye")
            else:
                self._say("250 yes")
        return None

    def _take(self) -> None:
        self._say("354 go on")
        lines: list[bytes] = []
        while (line := self.rfile.readline()) and line != b".\r\n":
            lines.append(line)
        if line:
            self.server.taken.append(email.message_from_bytes(b"".join(lines)))
            answer = self.server.answer(len(self.server.taken))
            if answer is None:
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self._say(answer)

    def _say(self, text: str) -> None:
        if text:
            self.wfile.write(f"{text}\r\n".encode())
