"""The stand-in's HTTP: operations, who asks, answers and errors as Hadoop writes them.

`python -m tests.standins.webhdfs.server` prints its port; with `--secure` it takes delegation tokens alone.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import RLock
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.standins.webhdfs import acls, namespace
from tests.standins.webhdfs.acls import AclException, IllegalArgumentException
from tests.standins.webhdfs.namespace import (
    AccessControlException,
    FileAlreadyExistsException,
    FileNotFoundException,
    Inode,
    Namespace,
    listed,
)

BATCH = 4  # dfs.ls.limit is 1000; a small one shows whoever does not go on
ATTRIBUTES, ATTRIBUTE = 32, 16384
_JAVA = {
    "AccessControlException": (403, "org.apache.hadoop.security."),
    "AclException": (403, "org.apache.hadoop.hdfs.protocol."),
    "FileAlreadyExistsException": (403, "org.apache.hadoop.fs."),
    "FileNotFoundException": (404, "java.io."),
    "IOException": (403, "java.io."),
    "IllegalArgumentException": (400, "java.lang."),
    "SafeModeException": (403, "org.apache.hadoop.hdfs.server.namenode."),
    "SecurityException": (401, "java.lang."),
    "StandbyException": (403, "org.apache.hadoop.ipc."),
    "UnsupportedOperationException": (400, "java.lang."),
}


class IOException(Exception):
    """What Hadoop has no better name for."""


class SecurityException(Exception):
    """Who asks is not known."""


class SafeModeException(Exception):
    """Nothing can be changed now."""


class StandbyException(Exception):
    """Another namenode is the active one."""


class UnsupportedOperationException(Exception):
    """There is no such operation."""


class State:
    """One HDFS, with what a test has set about it."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.forget()

    def forget(self) -> None:
        self.names = Namespace()
        self.tokens: dict[str, str] = {}
        self.settings: dict[str, Any] = {"acls": True, "safe": False, "standby": False, "page": False}


STATE = State()
SECURE = "--secure" in sys.argv


class Operations:
    """Each operation by its name; answers are JSON, or None for an empty one."""

    def __init__(self, path: str, user: str, asked: dict[str, str]) -> None:
        self.path, self.user, self.asked, self.names = path or "/", user, asked, STATE.names

    def node(self) -> Inode:
        return self.names.find(self.path, self.user)

    def _owned(self) -> Inode:
        if STATE.settings["safe"]:
            raise SafeModeException(f"Cannot change {self.path}. Name node is in safe mode.")
        node = self.node()
        self.names.check_owner(node, self.user, self.path)
        return node

    def _with_acls(self) -> None:
        if not STATE.settings["acls"]:
            raise AclException(
                "The ACL operation has been rejected.  "
                "Support for ACLs has been disabled by setting dfs.namenode.acls.enabled to false."
            )

    def get_getfilestatus(self) -> Any:
        return {"FileStatus": _status("", self.node())}

    def get_liststatus(self) -> Any:
        return {"FileStatuses": {"FileStatus": [_status(name, node) for name, node in self._listed("")]}}

    def get_liststatus_batch(self) -> Any:
        names = self._listed(self.asked.get("startAfter", ""))
        batch = [_status(name, node) for name, node in names[:BATCH]]
        rest = max(0, len(names) - BATCH)
        return {
            "DirectoryListing": {
                "partialListing": {"FileStatuses": {"FileStatus": batch}},
                "remainingEntries": rest,
            }
        }

    def _listed(self, after: str) -> list[tuple[str, Inode]]:
        node = self.node()
        if node.folder:
            self.names.check(node, self.user, 5, self.path)
        return list(listed(node, after))

    def get_getaclstatus(self) -> Any:
        self._with_acls()
        node = self.node()
        entries = [str(item) for item in (*node.named, *node.default)]
        return {
            "AclStatus": {
                "entries": entries,
                "group": node.group,
                "owner": node.owner,
                "permission": f"{node.mode:o}",
                "stickyBit": bool(node.mode & 0o1000),
            }
        }

    def get_getxattrs(self) -> Any:
        node, wanted = self.node(), self.asked.get("xattr.name")
        if self.user != namespace.SUPERUSER:
            self.names.check(node, self.user, 4, self.path)
        seen = {
            name: value
            for name, value in node.attributes.items()
            if name.startswith("user.") or self.user == namespace.SUPERUSER
        }
        if wanted is not None and wanted not in seen:
            raise IOException("At least one of the attributes provided was not found.")
        encode = {"base64": lambda raw: "0s" + base64.b64encode(raw).decode()}.get(
            self.asked.get("encoding", ""), lambda raw: f'"{raw.decode()}"'
        )
        names = [wanted] if wanted else list(seen)
        return {"XAttrs": [{"name": name, "value": encode(seen[name])} for name in names]}

    def get_checkaccess(self) -> Any:
        bits = {"r": 4, "w": 2, "x": 1}
        wanted = sum(bits[letter] for letter in self.asked["fsaction"] if letter != "-")
        self.names.check(self.node(), self.user, wanted, self.path)

    def get_open(self) -> Any:
        self.names.check(self.node(), self.user, 4, self.path)
        return {"text": "1,2"}

    def get_getdelegationtoken(self) -> Any:
        token = base64.urlsafe_b64encode(f"token of {self.user}".encode()).decode().rstrip("=")
        STATE.tokens[token] = self.user
        return {"Token": {"urlString": token}}

    def put_mkdirs(self) -> Any:
        with suppress(FileAlreadyExistsException):
            self.names.make(self.path, self.user, folder=True, mode=self._mode("755"))
        return {"boolean": True}

    def put_create(self) -> Any:
        self.names.make(self.path, self.user, folder=False, mode=self._mode("644"))

    def put_createsymlink(self) -> Any:
        node = self.names.make(self.path, self.user, folder=False, mode=0o777)
        node.link = self.asked["destination"]

    def _mode(self, otherwise: str) -> int:
        return int(self.asked.get("permission", otherwise), 8)

    def put_rename(self) -> Any:
        return {"boolean": self.names.rename(self.path, self.asked["destination"], self.user)}

    def put_setowner(self) -> Any:
        if self.user != namespace.SUPERUSER:
            raise AccessControlException(
                f"User {self.user} is not a super user (non-super user cannot change owner)."
            )
        node = self.node()
        node.owner, node.group = self.asked.get("owner", node.owner), self.asked.get("group", node.group)

    def put_setpermission(self) -> Any:
        self._owned().mode = self._mode("755")

    def put_modifyaclentries(self) -> Any:
        self._keep(lambda node, spec: acls.merged(node.acl(), spec))

    def put_removeaclentries(self) -> Any:
        self._keep(lambda node, spec: acls.filtered(node.acl(), spec), bits=False)

    def put_setacl(self) -> Any:
        self._keep(lambda node, spec: acls.replaced(node.acl(), spec))

    def _keep(self, change: Callable[[Inode, list[acls.Entry]], acls.Acl], *, bits: bool = True) -> None:
        self._with_acls()
        spec = acls.parsed(self.asked["aclspec"], bits=bits)
        node = self._owned()
        node.keep(change(node, spec))

    def put_removedefaultacl(self) -> Any:
        self._with_acls()
        self._owned().default = ()

    def put_removeacl(self) -> Any:
        self._with_acls()
        node = self._owned()
        if node.named:
            group = next(item.bits for item in node.named if item.type == "group" and not item.name)
            node.mode = node.mode & ~0o070 | group << 3
        node.named = node.default = ()

    def put_setxattr(self) -> Any:
        if STATE.settings["safe"]:
            raise SafeModeException(f"Cannot set XAttr on {self.path}. Name node is in safe mode.")
        node, name, flags = self.node(), self.asked["xattr.name"], self.asked.get("flag", "").split(",")
        self.names.check(node, self.user, 2, self.path)
        if not name.startswith("user.") and self.user != namespace.SUPERUSER:
            raise AccessControlException(f"User {self.user} may not set {name}")
        if name in node.attributes and "REPLACE" not in flags:
            raise IOException(f"XAttr: {name} already exists. The REPLACE flag must be specified.")
        if name not in node.attributes and "CREATE" not in flags:
            raise IOException(f"XAttr: {name} does not exist. The CREATE flag must be specified.")
        value = _decoded(self.asked.get("xattr.value", ""))
        if len(value) + len(name) > ATTRIBUTE:
            raise IllegalArgumentException(
                f"The XAttr is too big. The maximum combined size of the name and value is {ATTRIBUTE}, "
                f"but the total size is {len(value) + len(name)}"
            )
        if len(node.attributes) >= ATTRIBUTES and name not in node.attributes:
            raise IOException("Cannot add additional XAttr to inode, would exceed limit of 32")
        node.attributes[name] = value

    def put_removexattr(self) -> Any:
        node, name = self.node(), self.asked["xattr.name"]
        self.names.check(node, self.user, 2, self.path)
        if name not in node.attributes:
            raise IOException("No matching attributes found for remove operation")
        del node.attributes[name]

    def delete_delete(self) -> Any:
        node = self.node() if self.path != "/" else None
        if node and node.children and self.asked.get("recursive") != "true":
            raise IOException(f"{self.path} is non empty")
        return {"boolean": self.names.delete(self.path, self.user)}


def _decoded(value: str) -> bytes:
    if value.startswith("0s"):
        return base64.b64decode(value[2:])
    if value.startswith("0x"):
        return bytes.fromhex(value[2:])
    return value.strip('"').encode()


def _status(name: str, node: Inode) -> dict[str, Any]:
    status: dict[str, Any] = {
        "accessTime": 0,
        "blockSize": 0 if node.folder else 134217728,
        "childrenNum": len(node.children),
        "fileId": node.id,
        "group": node.group,
        "length": 0 if node.folder else 3,
        "modificationTime": 1320171722771,
        "owner": node.owner,
        "pathSuffix": name,
        "permission": f"{node.mode:o}",
        "replication": 0 if node.folder else 3,
        "storagePolicy": 0,
        "type": "SYMLINK" if node.link else "DIRECTORY" if node.folder else "FILE",
    }
    if node.named or node.default:
        status["aclBit"] = True
    if node.link:
        status["symlink"] = node.link
    return status


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # an answer in one piece, so that nobody waits for the second
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve("get")

    def do_PUT(self) -> None:
        self._serve("put")

    def do_DELETE(self) -> None:
        self._serve("delete")

    def do_POST(self) -> None:
        """By hand: what no REST call could set."""
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        with STATE.lock:
            if "forget" in body:
                STATE.forget()
            STATE.settings.update({name: body[name] for name in STATE.settings.keys() & body.keys()})
            STATE.names.groups.update(
                {who: frozenset(groups) for who, groups in body.get("groups", {}).items()}
            )
        self._answer(200, {})

    def _serve(self, method: str) -> None:
        parts = urlsplit(self.path)
        asked = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if STATE.settings["page"]:
            return self._page()
        try:
            with STATE.lock:
                self._answer(200, self._done(method, parts.path, asked))
        except Exception as error:  # noqa: BLE001 - as Hadoop's own filter does
            self._refuse(error)

    def _done(self, method: str, path: str, asked: dict[str, str]) -> Any:
        if not path.startswith("/webhdfs/v1"):
            raise FileNotFoundException(path)
        if STATE.settings["standby"]:
            raise StandbyException("Operation category READ is not supported in state standby")
        deeds = Operations(unquote(path.removeprefix("/webhdfs/v1")), _user(asked), asked)
        deed = getattr(deeds, f"{method}_{asked.get('op', '').lower()}", None)
        if deed is None:
            raise UnsupportedOperationException(f"{asked.get('op')} is not supported")
        return deed()

    def _refuse(self, error: Exception) -> None:
        name = type(error).__name__
        status, package = _JAVA.get(name, (500, "java.lang."))
        self._answer(
            status,
            {"RemoteException": {"exception": name, "javaClassName": package + name, "message": str(error)}},
        )

    def _answer(self, status: int, value: Any) -> None:
        content = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json" if content else "application/octet-stream")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _page(self) -> None:
        content = b"<html><body>Sign in</body></html>"
        self.send_response(403)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nothing: tests look at what is answered."""


def _user(asked: dict[str, str]) -> str:
    """Who asks: of a token its owner, else whoever says so where security is off."""
    token = asked.get("delegation")
    if token is not None:
        if token not in STATE.tokens:
            raise SecurityException("Failed to obtain user group information: token can't be found in cache")
        return STATE.tokens[token]
    if SECURE and asked.get("op") != "GETDELEGATIONTOKEN":
        raise SecurityException("Authentication required")
    return asked.get("user.name") or "dr.who"


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
