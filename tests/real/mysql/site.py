"""Databases and accounts of one test on a MySQL, and what people do there by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lakewarden.backends.base import Backend
from policies.sync.backends.mysql import kind as mysql
from policies.sync.backends.mysql.kind import Named
from policies.sync.connections.destinations import network
from tests.backends.mariadb_world import RIGHTS, MariaSite
from tests.real.mysql.server import MySQL

BUILT_IN = "('root', 'mysql.sys', 'mysql.session', 'mysql.infoschema')"


class MySite(MariaSite):
    """The console's account comes over TCP, with TLS and the password plug-in that the server prefers."""

    HOST = "'%'"
    server: MySQL

    def __init__(self, server: MySQL) -> None:
        super().__init__(server)  # type: ignore[arg-type]
        self.identity = Named(self.identity.realm, self.identity.mark)

    def pushes(self) -> None:
        self.do(f"CREATE USER {self.signs_in_as} IDENTIFIED BY 'secret'")
        self.do(f"GRANT CREATE USER, PROCESS, CONNECTION_ADMIN, ROLE_ADMIN ON *.* TO {self.signs_in_as}")
        self.do(f"GRANT {RIGHTS} ON *.* TO {self.signs_in_as} WITH GRANT OPTION")
        self.do(f"GRANT SELECT, UPDATE ON mysql.* TO {self.signs_in_as}")

    def backend(self) -> Backend:
        url = self.server.url(self.pusher, "secret")
        return mysql.open(url, realm=self.identity.realm, mark=self.identity.mark, network=network())

    @contextmanager
    def set(self, variable: str, value: str) -> Iterator[None]:
        """A setting of the whole server, for a while."""
        [(before,)] = self.do(f"SELECT @@global.{variable}")
        self.do(f"SET GLOBAL {variable} = {value}")
        try:
            yield
        finally:
            self.do(f"SET GLOBAL {variable} = {self.admin.escape(before)}")

    def gives_role(self, role: str, person: str) -> list[str]:
        return [f"GRANT {role} TO {self.account(person)}", f"SET DEFAULT ROLE ALL TO {self.account(person)}"]

    def kill_workers(self) -> None:
        for (number,) in self.do(
            f"SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '{self.pusher}'"
        ):
            self.do(f"KILL CONNECTION {number}")

    def clear_accounts(self) -> None:
        for user, host in self.do(f"SELECT User, Host FROM mysql.user WHERE User NOT IN {BUILT_IN}"):
            self.do(f"DROP USER {self.account(user, host)}")
