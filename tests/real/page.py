"""docs/real.md: which server, how it was started, what was compared, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.real import results


@dataclass(frozen=True)
class About:
    """What the page says of a server besides its figures."""

    name: str
    source: str
    started: str
    compared: str


SERVERS = {
    "gravitino": About(
        "Apache Gravitino, branch 1.3 (1.3.1-SNAPSHOT, cb3af5e6)",
        "an unpacked release, which `LAKEWARDEN_GRAVITINO_HOME` names, as no registry in reach has the "
        "server",
        "one process (768 MB and as much for classes), its store in H2, authorization on with the built-in "
        "jcasbin authorizer, everybody coming by name",
        "the law: random metalakes with catalogs of models and of filesets, functions, tags, policies, job "
        "templates, people, roles, denials and owners, made in both systems by the same calls, and the same "
        "questions asked of both as ordinary people: whether they are let in, and which names they "
        "are shown. "
        "Managers change the world in between: roles and owners change, objects move, are dropped and made "
        "again, people leave. `WORLDS` says how many worlds, 300 without it. And the contract suite of the "
        "backend `gravitino` on filesets of a metalake, with fifty killed workers",
    ),
    "hdfs": About(
        "Apache Hadoop 3.4.2, HDFS",
        "Maven Central, `hadoop-hdfs` and what it depends on",
        "a NameNode (384 MB) and a DataNode (256 MB) on loopback, access lists on, batches of four names",
        "the contract suite of the backend `webhdfs` with fifty workers killed at any write; files "
        "opened, appended to and refused as other people through the DataNode; lists as they were "
        "when all is taken",
    ),
    "keycloak": About(
        "Keycloak 26.4.7",
        "Maven Central, `keycloak-quarkus-dist`",
        "its distribution as it is, in its mode for development (512 MB), with a realm of two groups and two "
        "people that it imports",
        "signing in by OpenID Connect with PKCE: who somebody is, their groups and no others, the same "
        "person again; a wrong password, an answer that another browser brings, and a code that was used "
        "are refused",
    ),
    "dex": About(
        "dex 2.43.1, with OpenLDAP 2.5",
        "dex's public source, as the Go module proxy has nothing newer than 2.13: `LAKEWARDEN_DEX` names the "
        "program, beside which its folder `web` lies; OpenLDAP is Debian's package `slapd`",
        "one process that keeps nothing, whose people and groups are in an OpenLDAP of three people",
        "signing in by OpenID Connect with PKCE: who somebody is, their groups when the scope `groups` is "
        "asked for and none without it, mail domains, the same person again; a wrong password, an answer "
        "that another browser brings, and a code that was used are refused",
    ),
    "helm": About(
        "Helm 3.22.0",
        "the Go module proxy: `go install helm.sh/helm/v3/cmd/helm@v3.22.0`; `LAKEWARDEN_HELM` names it, or "
        "it is in the path",
        "a program that is run for each question",
        "the chart in `deploy/helm`: it is taken without a warning, renders with and without an ingress, "
        "every container has no rights, and what is missing or secret in the values is refused",
    ),
    "promtool": About(
        "promtool 2.42.0, Prometheus's own tool",
        "Debian's package `prometheus`; `LAKEWARDEN_PROMTOOL` names it, or it is in the path",
        "a program that is run for each question",
        "the alerts in `deploy/prometheus`: they are taken, and the cases beside them come out as they say",
    ),
    "mysql": About(
        "MySQL 9.7.4 and 8.0.36",
        "packages of Debian sid and of Ubuntu 24.04, `mysql-server-core` and what it depends on. Debian "
        "drops a package when it has a newer one: then the tests of that release are skipped, and say so",
        "unpacked into the cache and run by their own libc, one process each (a pool of 64 MB), with "
        "certificates of its own",
        "the contract suite of the backend `mysql` with fifty workers killed at any statement; what a "
        "MariaDB is asked besides, and what MySQL alone has: roles that are accounts, `WITH GRANT OPTION`, "
        "patterns of databases, partial revokes, mandatory roles, proxies, dynamic privileges, "
        "`SYSTEM_USER`, names of tables in any letters; `caching_sha2_password` with TLS; a catalog that "
        "the console connects, discovers, changes and repairs after changes by hand. What people may is "
        "tried with their own logins",
    ),
    "ranger": About(
        "Apache Ranger 2.6.0, its policy engine",
        "Maven Central, `ranger-plugins-common` and what it depends on",
        "a small Java program of ours around the engine (384 MB), with Ranger's own definitions of Hive and "
        "Trino; policies and roles come from the stand-in of Ranger Admin",
        "the contract suites of `ranger-hive` and `ranger-trino`, in which the engine says who "
        "may, with fifty "
        "killed workers each; random worlds, in which it answers for all people and objects as the law does. "
        "The stand-in's own engine has to give the same answer each time",
    ),
    "cdap": About(
        "CDAP's Java clients of 3.4.3, 3.5.0 and 4.3.0",
        "Maven Central, `cdap-client` and what it depends on",
        "a small Java program of ours around the clients (96 MB), one for each release; Lakewarden behind "
        "gunicorn, with a realm of the release and another CDAP beside it",
        "every method of the clients for authorization, namespaces, artifacts, applications, programs, "
        "datasets, their modules and types, streams and secure keys, but for those that `NOT_CALLED` in "
        "`tests/real/cdap/calls.py` names with a reason: each is tried first by somebody without rights, "
        "who must be refused in the client's own exceptions, and then done by somebody who may; lists as "
        "each person sees them; no token, an unknown one, a disabled person; features that are off",
    ),
    "cdap_server": About(
        "CDAP 4.3.0, its standalone server",
        "Maven Central, `cdap-standalone` and what it depends on; the Java 8 that it wants is Debian sid's "
        "package `openjdk-8-jre-headless`, unpacked into the cache with the C library of Debian 13, whose "
        "own loader starts it; `LAKEWARDEN_DEBIAN` names another mirror. Sid keeps no old packages: when "
        "this one is gone, the run says so",
        "one process (768 MB and 256 MB for classes), security on with names and passwords, authorization on "
        "with a small extension of ours in Java that keeps in memory what is granted, neither Kerberos nor "
        "Hive nor the page for people",
        "the law of 4.3: random worlds of a namespace with an artifact, an application and its programs, "
        "datasets, streams, a secure key, a role and privileges on names and patterns, made in both by the "
        "same calls; then the same calls as four people: whether they are let in, and which names lists "
        "show; privileges come and go in between. `WORLDS` says how many worlds, 40 without it. And the "
        "contract suite of the backend `cdap`, with fifty killed workers",
    ),
    "herd": About(
        "FINRA Herd 0.176, the checks before its services",
        "its public source, as no registry in reach has it: `LAKEWARDEN_HERD_CLASSES` names a folder with "
        "the compiled classes of `NamespaceSecurityAdvice`, `NamespaceSecurityHelper` and "
        "`UserNamespaceAuthorizationHelper` and what they need; Spring and AspectJ from Maven Central",
        "a small Java program of ours around the advice (128 MB), with the rules of all 116 methods of "
        "Herd's services as annotations; what would lie in Herd's tables is kept in lists, and Herd's "
        "server and its database do not run",
        "random worlds of entries of users and wildcard users, which change from world to world, and calls "
        "of all methods with one namespace or several, with names in any case: the advice lets in whom "
        "AuthZEN lets in",
    ),
    "trino": About(
        "Trino 476",
        "Maven Central, `trino-server`; it wants Java 24 or newer",
        "coordinator and worker in one process (768 MB), Trino's own plug-in for Open Policy Agent, a proxy "
        "that adds our token, a PostgreSQL database and tables in Trino's memory as catalogs",
        "statements of nine people, among them a denied one, a leaver and two strangers, which Trino runs "
        "or refuses as the console says: reading, joining over both catalogs, writing, making, views, "
        "lists, `information_schema`, procedures; grants and revocations with the next query; a console "
        "that does not answer",
    ),
}

ABSENT = (
    (
        "Apache Gravitino from a registry",
        "`org.apache.gravitino:gravitino-server` and `gravitino-core` 1.0.0 and 1.3.0: the mirror of Maven "
        "Central in reach has `gravitino-api` alone (404 for the others)",
    ),
    (
        "Gravitino's tables, views and topics",
        "need a Hive, a database or a Kafka behind the catalog; not yet begun",
    ),
    (
        "Groups in Gravitino",
        "groups are only in tokens there; with everybody coming by name nobody is in one. Groups "
        "are made, given "
        "roles and own objects in both systems; who is in them is not compared",
    ),
    (
        "Ranger Admin",
        "`org.apache.ranger:security-admin-web` and `ranger-admin` are not in the mirror (404); building it "
        "from its source was not begun",
    ),
    (
        "FINRA Herd's server and database",
        "`org.finra.herd:herd-war`, `herd-service`, `herd-dao`, `herd-model` and `herd-model-api` are not in "
        "the mirror (404); a build from its source needs the plugin `jaxb2-basics-tools` 0.11.1-SNAPSHOT, "
        "which is not there either. The classes that decide compile without it",
    ),
    (
        "CDAP 3.4 and 3.5",
        "`cdap-standalone` 3.4.0 is in Maven Central, 3.5 is not; neither was begun. The extensions for "
        "Sentry and Ranger were not run in the 4.3.0 either, so what a pattern matches and what is visible "
        "is by an extension of ours there",
    ),
    (
        "Running programs and the data of a CDAP",
        "no program was started, no module of datasets deployed, nothing impersonated; namespaces were not "
        "deleted",
    ),
    (
        "MySQL from its maker, and 8.4",
        "`repo.mysql.com` and `snapshot.debian.org` do not answer from here. Debian sid has 9.7 alone and "
        "keeps no older package, Ubuntu 24.04 has 8.0",
    ),
    (
        "toxiproxy",
        "2.12.0 compiles from the Go proxy; the links of `make torture` are cut by a proxy of ours",
    ),
)

INTRODUCTION = (
    "Written by `make real`, which fetches each server by pinned versions and checksums, starts it on "
    "loopback, runs the tests in `tests/real/` against it, and stops it. `make real ONLY=hdfs` takes one. "
    "What is fetched is kept in `~/.cache/lakewarden`, or where `LAKEWARDEN_CACHE` says; `LAKEWARDEN_MAVEN` "
    "names another mirror of Maven Central, `LAKEWARDEN_DEBIAN` and `LAKEWARDEN_UBUNTU` others of these. "
    "`make test` and `make test-slow` run none of it."
)
HEAD = f"""# Against real servers

{INTRODUCTION}

| Server | From | Tests passed | Failed | Took | Last run |
|---|---|---|---|---|---|
"""


def page() -> str:
    rows, parts = [], []
    for server, about in SERVERS.items():
        result = results.read(server)
        rows.append(_row(about, result))
        parts.append(_part(server, about, result))
    text = HEAD + "\n".join(rows) + "\n\n" + "\n".join(parts)
    return text + _absent()


def _row(about: About, result: dict[str, Any]) -> str:
    if not result:
        return f"| {about.name} | {about.source} | never run | | | |"
    counted = f"{result['passed']} | {result['failed']} | {result['seconds']} s | {result['day']}"
    return f"| {about.name} | {about.source} | {counted} |"


def _part(server: str, about: About, result: dict[str, Any]) -> str:
    lines = [f"## {about.name}", "", f"* **Run with** `make real ONLY={server}`: {about.started}."]
    lines.append(f"* **Compared**: {about.compared}.")
    for figure in result.get("figures", ()):
        what = figure.pop("what")
        numbers = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figure.items())
        lines.append(f"* **{what}**: {numbers}.")
    return "\n".join([*lines, ""])


def _absent() -> str:
    if not ABSENT:
        return ""
    rows = "\n".join(f"| {name} | {tried} |" for name, tried in ABSENT)
    return f"\n## What was not run\n\n| Server | What was tried |\n|---|---|\n{rows}\n"
