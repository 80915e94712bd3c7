"""Access as other systems write it down, read into a policy file, with a report of what could not be said."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.utils.translation import gettext

from policies.errors import Internal, Invalid, PolicyError
from policies.policy_files.imports import csv_table, gravitino, lake_formation, ranger, sql_grants, unity
from policies.policy_files.imports.draft import Draft, LeftOut, NotBuilt

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """One kind of file that can be read: what it is, and what reads it into a draft."""

    description: str
    read: Callable[[str, Draft], None]


SOURCES: Mapping[str, Source] = {
    "ranger": Source("policies of Apache Ranger as JSON: one, a list, or its export", ranger.read),
    "postgresql": Source("GRANT statements of pg_dump and pg_dumpall", sql_grants.read_postgresql),
    "mariadb": Source("the answers of SHOW GRANTS", sql_grants.read_mariadb),
    "unity": Source("permissions of Unity Catalog as its API answers them, JSON", unity.read),
    "lakeformation": Source("what `aws lakeformation list-permissions` prints, JSON", lake_formation.read),
    "gravitino": Source("roles, users and groups as a Gravitino server answers them, JSON", gravitino.read),
    "csv": Source("a table with the columns principal, privilege and object", csv_table.read),
}


def read(source: str, text: str, *, realm: str, catalog: str = "") -> Draft:
    """What a file of another system says, for a Gravitino realm.  Raises Invalid, and Internal for errors of
    our own.

    `catalog` is where schemas stand whose source knows no catalogs.
    """
    source_kind = SOURCES.get(source)
    if source_kind is None:
        raise Invalid(
            gettext("%(source)s is not a source; known are %(sources)s.")
            % {"source": source, "sources": ", ".join(SOURCES)}
        )
    draft = Draft(realm, catalog)
    try:
        source_kind.read(text, draft)
    except NotBuilt:
        raise Invalid(
            gettext("This does not have the structure of %(description)s.")
            % {"description": source_kind.description}
        ) from None
    except PolicyError:
        raise
    except Exception:
        log.exception("a file of %s could not be read", source)
        raise Internal(
            gettext(
                "This file could not be read because of an error in the program. The log has the details."
            )
        ) from None
    return draft


__all__ = ["SOURCES", "Draft", "LeftOut", "Source", "read"]
