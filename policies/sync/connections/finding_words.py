"""What a test of a connection found, read in the reader's language: kinds of backends say it in English."""

from __future__ import annotations

from policies.sentences import read_back, sentence

_POSTGRESQL = (
    sentence("found.connected", "connected to database {database} as {account}"),
    sentence("found.standby", "the server is a standby: connect to the primary"),
    sentence("found.shut_out", "{owner} owns objects in {schema} and cannot enter it: {statement}"),
    sentence("found.unmarked", "role {name} looks like ours and does not carry our mark: left alone"),
    sentence(
        "found.crowded",
        "{table} has rights for {holders} holders, and has room for about 2,300: give rights to fewer roles",
    ),
    sentence(
        "found.public", "everyone may connect to {database}, so USE_CATALOG keeps nobody out: {statement}"
    ),
    sentence("found.too_old", "PostgreSQL {version} is too old: {oldest} or newer is needed"),
    sentence(
        "found.set_role",
        "PostgreSQL {version} cannot keep people from SET ROLE, nor the account from others' roles",
    ),
    sentence("found.postgresql", "PostgreSQL {version}"),
    sentence("found.superuser", "{account} is a superuser, which is more than it needs"),
    sentence("found.creates_roles", "{account} may create roles"),
    sentence("found.creates_no_roles", "{account} may not create roles: {statement}"),
    sentence("found.cannot_act_as", "cannot act as {owner}, who owns objects: {statement}"),
    sentence("found.acts_as_all", "can act as every owner"),
)
_MARIADB = (
    sentence("found.server_version", "the server is {version}; {oldest} or newer is known"),
    sentence("found.server_read_only", "the server is read only"),
    sentence("found.readable", "everything that matters can be read"),
    sentence("found.account_lacks", "the account lacks {word} on *.*"),
)
_POSIX = (
    sentence("found.no_folder", "{path} is not a folder"),
    sentence("found.folder", "{path} is there, seen as {account}"),
    sentence(
        "found.everybody_enters", "everyone may enter {path}, so USE_CATALOG keeps nobody out: {statement}"
    ),
    sentence("found.changes_lists", "{account} may change access lists of everything in it"),
    sentence(
        "found.owns_tree",
        "{account} owns the tree but is not root: what others own in it, such as files that people wrote, "
        "keeps the access list it has; run the workers as root or with CAP_FOWNER and CAP_DAC_READ_SEARCH",
    ),
    sentence(
        "found.owns_nothing",
        "{account} neither owns {path} nor is root: run the workers as its owner ({owner}), as root, or with "
        "CAP_FOWNER and CAP_DAC_READ_SEARCH",
    ),
    sentence("found.mounted_without", "it is mounted without {what}: {error}"),
    sentence("found.keeps", "it keeps {what}"),
    sentence("found.mounted_read_only", "it is mounted read only"),
    sentence(
        "found.forgeable",
        "{account} lacks CAP_SYS_ADMIN: people who may write in a folder can forge its marks and keep a "
        "right that is taken",
    ),
    sentence(
        "found.closed_above",
        "{above} is closed to others, so people come to {path} only if it is opened: {statement}",
    ),
)
_ANY = (
    sentence("found.unreachable", "cannot connect or read: {error}"),
    sentence("found.cannot_be_read", "{path} cannot be read: {error}"),
)
CODES = (*_POSTGRESQL, *_MARIADB, *_POSIX, *_ANY)


def in_readers_language(text: str) -> str:
    """A finding; one whose wording is not known here, such as of another's package, stays in English."""
    return str(read_back(text, CODES) or text)
