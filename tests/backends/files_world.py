"""Trees of files that people change by hand, on this machine, tried by the kernel as other accounts."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lakewarden.backends.base import Backend, Desired, Foreign, Right
from lakewarden.backends.testing.kit import Crash, look
from policies.sync.backends.posix import kind as posix
from policies.sync.backends.shared.rest import Rest
from policies.sync.backends.webhdfs import kind as webhdfs
from policies.sync.connections.destinations import network
from tests.conftest import missing
from tests.standins.webhdfs.process import Process

ACCOUNTS = (
    "daemon",
    "games",
    "mail",
    "news",
    "proxy",
    "backup",
    "list",
    "www-data",
    "uucp",
    "man",
    "lp",
    "bin",
)
"""Accounts that every Debian has and that nobody signs in as; they play the people."""

LETTERS = {"READ": "r", "WRITE": "w", "ENTER": "x"}
WORDS = {"SELECT": "READ", "INSERT": "WRITE", "UPDATE": "WRITE", "DELETE": "WRITE"}


def needs_root() -> None:
    """Only root can be everybody in turn; skips, or fails where everything has to run."""
    if os.geteuid() != 0 or shutil.which("setfacl") is None:
        missing("root and setfacl", "run the tests as root with the package acl installed")


def as_person(name: str, deed: Callable[[], object]) -> bool:
    """Whether the kernel lets an account do it, tried in a process of that account."""
    account = pwd.getpwnam(name)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([account.pw_gid])
            os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
            os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)
            deed()
            code = 0
        except PermissionError:
            code = 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 2), f"{name} met another error than being refused"
    return code == 0


def reads(folder: Path) -> Callable[[], object]:
    """List a folder and everything in it, and read every file."""

    def deed() -> None:
        for above, folders, files in os.walk(folder, onerror=_fail):
            for name in files:
                (Path(above) / name).read_bytes()
            for name in folders:
                os.listdir(Path(above) / name)

    return deed


def writes(folder: Path) -> Callable[[], object]:
    """Make a file in a folder and take it away again."""

    def deed() -> None:
        (folder / ".tried").write_text("x")
        (folder / ".tried").unlink()

    return deed


def _fail(error: OSError) -> None:
    raise error


def shown(root: Path) -> dict[str, str]:
    """The list of a folder and of everything in it by path, as `getfacl` tells it; links are not followed."""
    result = subprocess.run(["getfacl", "-RPnpE", root], capture_output=True, check=True)
    blocks = result.stdout.decode("utf-8", "surrogateescape").strip().split("\n\n")
    lines = [[line for line in block.splitlines() if line] for block in blocks]
    return {
        each[0].removeprefix("# file: "): "\n".join(line for line in each if not line.startswith("#"))
        for each in lines
    }


def setfacl(*args: str | Path) -> None:
    subprocess.run(["setfacl", *args], check=True)


class PosixSite:
    """A tree with `root/<schema>/<fileset>`; each fileset has a file, and a file in a folder."""

    def __init__(self) -> None:
        needs_root()
        self.holds = "filesets"
        self.root = Path(tempfile.mkdtemp(prefix="lake-"))
        self.root.chmod(0o750)
        self.places: dict[tuple[str, ...], str] = {}
        self._names = iter(ACCOUNTS)
        self.people: list[str] = []

    @property
    def url(self) -> str:
        return f"posix://{self.root}?holds={self.holds}"

    def backend(self) -> Backend:
        return posix.open(self.url, realm="acme", mark="shop", places=self.places, people=self.people)

    def folder(self, *path: str) -> Path:
        return self.root.joinpath(*path)

    def schema(self, name: str) -> None:
        self.folder(name).mkdir()
        self.folder(name).chmod(0o750)

    def table(self, schema: str, name: str, *, serial: bool = False) -> None:
        self.fill(self.folder(schema, name))

    def fill(self, folder: Path) -> None:
        (folder / "2026").mkdir(parents=True)
        folder.chmod(0o750)
        (folder / "2026").chmod(0o750)
        for file in (folder / "all.csv", folder / "2026" / "may.csv"):
            file.write_text("1,2\n")
            file.chmod(0o640)

    def drop(self, schema: str, name: str) -> None:
        shutil.rmtree(self.folder(schema, name))

    def rename(self, schema: str, name: str, new: str) -> None:
        self.folder(schema, name).rename(self.folder(schema, new))

    def person(self, name: str) -> str:
        account = next(self._names)
        self.people.append(account)
        return account

    def give_by_hand(self, right: Right, holder: str) -> None:
        """As an administrator does who wants somebody to come in: all the way down, now and later."""
        for above in (
            self.root,
            *(self.folder(*right.path[:length]) for length in range(1, len(right.path))),
        ):
            self._add(above, holder, "x", recursive=False)
        self._add(self.folder(*right.path), holder, self.letters(right.right), recursive=True)

    def letters(self, word: str) -> str:
        word = WORDS.get(word, word)
        return "rX" if word == "READ" else LETTERS[word]

    def _add(self, folder: Path, holder: str, letters: str, *, recursive: bool) -> None:
        who = holder if holder.startswith("group:") else f"user:{holder}"
        setfacl(*(["-R"] if recursive else []), "-m", f"{who}:{letters}", folder)

    def foreign(self) -> set[Foreign]:
        """What others gave, read past the backend: what `getfacl` shows less what our marks say."""
        return set(look(self).foreign)

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        for right, more in ((taken, False), (given, True)):
            if right:
                self._turn(key.removeprefix("person:"), right, more=more)

    def _turn(self, person: str, right: Right, *, more: bool) -> None:
        """Give or take one letter of an entry that is there already, on the folder itself."""
        folder = self.folder(*right.path)
        entry = next(line for line in self.entries(folder) if line.startswith(f"user:{person}:"))
        letters = {*entry.split(":")[2]} - {"-"}
        letter = {LETTERS[right.right]}
        setfacl(
            "-m", f"user:{person}:{''.join(letters | letter if more else letters - letter) or '-'}", folder
        )

    def entries(self, folder: Path) -> list[str]:
        result = subprocess.run(["getfacl", "-cpE", folder], capture_output=True, text=True, check=True)
        return result.stdout.splitlines()

    def may(self, person: str, word: str, schema: str, table: str) -> bool:
        deed = reads if WORDS[word] == "READ" else writes
        return as_person(person, deed(self.folder(schema, table)))

    @contextmanager
    def dying(self, change: int) -> Iterator[None]:
        """Inside, a worker ends just before its n-th write."""
        left, kept = [change], (os.setxattr, os.removexattr)

        def mortal(deed: Callable[..., None]) -> Callable[..., None]:
            def run(*args: Any, **more: Any) -> None:
                left[0] -= 1
                if left[0] <= 0:
                    raise Crash
                deed(*args, **more)

            return run

        os.setxattr, os.removexattr = map(mortal, kept)
        try:
            yield
        finally:
            os.setxattr, os.removexattr = kept

    def close(self) -> None:
        shutil.rmtree(self.root)


def fileset(schema: str, name: str, *rights: str) -> frozenset[Right]:
    """Rights on a fileset and the way to it."""
    way = {Right("catalog", (), "ENTER"), Right("schema", (schema,), "ENTER")}
    return frozenset({*way, *(Right("fileset", (schema, name), right) for right in rights)})


READ, WRITE = ("READ", "ENTER"), ("READ", "WRITE", "ENTER")


class FileRights:
    """What the contract suite has to know of files."""

    COSTS = fileset("sales", "costs", *READ)
    READ, WRITE = fileset("sales", "orders", *READ), fileset("sales", "orders", *WRITE)
    has_roles = False

    @staticmethod
    def on(schema: str, table: str, *deeds: str) -> frozenset[Right]:
        return fileset(schema, table, *(WRITE if "INSERT" in deeds else READ))


def each(**people: Iterable[Right]) -> Desired:
    """What each person is to have."""
    named = {name.replace("_", "-"): frozenset(rights) for name, rights in people.items()}
    return Desired(
        {f"person:{name}": rights for name, rights in named.items() if rights},
        {f"person:{name}": frozenset({name}) for name, rights in named.items() if rights},
    )


class HdfsSite:
    """A folder of the stand-in for HDFS; `may` is asked of the stand-in as that person."""

    def __init__(self, server: Process, *, files: int = 2) -> None:
        self.server, self.files = server, files
        self.places: dict[tuple[str, ...], str] = {}
        self.people: list[str] = []
        server.set(forget=True)
        server.call("PUT", "/lake", "MKDIRS", permission="750")

    @property
    def url(self) -> str:
        return f"webhdfs://hdfs@127.0.0.1:{self.server.port}/lake"

    def backend(self) -> Backend:
        return webhdfs.open(
            self.url, realm="acme", mark="shop", places=self.places, people=self.people, network=network()
        )

    def schema(self, name: str) -> None:
        self.server.call("PUT", f"/lake/{name}", "MKDIRS", permission="750")

    def table(self, schema: str, name: str, *, serial: bool = False) -> None:
        self.fill(f"/lake/{schema}/{name}")

    def fill(self, folder: str) -> None:
        for path in (folder, f"{folder}/2026"):
            self.server.call("PUT", path, "MKDIRS", permission="750")
        for number in range(self.files):
            self.server.call("PUT", f"{folder}/2026/{number}.csv", "CREATE", permission="640")

    def drop(self, schema: str, name: str) -> None:
        self.server.call("DELETE", f"/lake/{schema}/{name}", "DELETE", recursive="true")

    def rename(self, schema: str, name: str, new: str) -> None:
        self.server.call("PUT", f"/lake/{schema}/{name}", "RENAME", destination=f"/lake/{schema}/{new}")

    def person(self, name: str) -> str:
        self.people.append(f"person_{len(self.people)}")
        return self.people[-1]

    def give_by_hand(self, right: Right, holder: str) -> None:
        way = ["/lake", *(f"/lake/{'/'.join(right.path[:length])}" for length in range(1, len(right.path)))]
        for path in way:
            self.modify(path, f"user:{holder}:--x")
        letters = {"READ": "r-x", "WRITE": "-w-", "ENTER": "--x"}[right.right]
        for path in self.walk(f"/lake/{'/'.join(right.path)}"):
            self.modify(path, f"user:{holder}:{letters}")

    def modify(self, path: str, spec: str) -> None:
        self.server.call("PUT", path, "MODIFYACLENTRIES", aclspec=spec)

    def walk(self, path: str) -> Iterator[str]:
        yield path
        statuses = self.server.call("GET", path, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        for item in statuses:
            if item["pathSuffix"]:
                yield from self.walk(f"{path}/{item['pathSuffix']}")

    @contextmanager
    def opened(self, url: str) -> Iterator[Backend]:
        """A connection by another URL."""
        backend = webhdfs.open(url, realm="acme", mark="shop", people=self.people, network=network())
        try:
            yield backend
        finally:
            backend.close()

    def lists(self) -> dict[str, object]:
        """Every list and every mark, as HDFS tells them."""
        return {
            path: (self.server.call("GET", path, "GETACLSTATUS"), self.marks(path))
            for path in self.walk("/lake")
        }

    def marks(self, path: str) -> list[object]:
        attributes = self.server.call("GET", path, "GETXATTRS", encoding="text")["XAttrs"]
        return [item for item in attributes if not item["name"].endswith(".kept")]

    def foreign(self) -> set[Foreign]:
        return set(look(self).foreign)

    def spoil(self, key: str, *, taken: Right | None = None, given: Right | None = None) -> None:
        for right, more in ((taken, False), (given, True)):
            if right:
                person, path = key.removeprefix("person:"), f"/lake/{'/'.join(right.path)}"
                entries = self.server.call("GET", path, "GETACLSTATUS")["AclStatus"]["entries"]
                entry = next(item for item in entries if item.startswith(f"user:{person}:"))
                letters, letter = {*entry.split(":")[2]}, LETTERS[right.right]
                now = letters | {letter} if more else letters - {letter}
                self.modify(path, f"user:{person}:{''.join(item if item in now else '-' for item in 'rwx')}")

    def may(self, person: str, deed: str, schema: str, table: str) -> bool:
        letters = "r-x" if WORDS[deed] == "READ" else "rwx"
        return self.allowed(person, f"/lake/{schema}/{table}/2026", letters)

    def allowed(self, person: str, path: str, letters: str) -> bool:
        status, _ = self.server.ask("GET", path, "CHECKACCESS", user=person, fsaction=letters)
        return status == 200

    @contextmanager
    def dying(self, change: int) -> Iterator[None]:
        """Inside, a worker ends just before its n-th write."""
        left, call = [change], Rest.call

        def mortal(rest: Rest, method: str, *names: str, **more: Any) -> Any:
            left[0] -= method != "GET"
            if method != "GET" and left[0] <= 0:
                raise Crash
            return call(rest, method, *names, **more)

        Rest.call = mortal  # type: ignore[method-assign]
        try:
            yield
        finally:
            Rest.call = call  # type: ignore[method-assign]
