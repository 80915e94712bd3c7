"""What is acknowledged is on disk, whatever the server, the database or the role says of commits."""

from __future__ import annotations

from copy import deepcopy

import pytest
from django.db import connection, connections

KEPT = {
    "off": "on",  # a crash would take back what was acknowledged
    "local": "on",  # a failover would
    "remote_write": "on",
    "on": "on",
    "remote_apply": "remote_apply",
}


@pytest.mark.parametrize(("given", "used"), KEPT.items())
@pytest.mark.django_db
def test_a_session_of_the_site_commits_to_disk(given: str, used: str) -> None:
    line = connections.create_connection("default")
    line.settings_dict = deepcopy(connection.settings_dict)
    line.settings_dict["OPTIONS"]["options"] = f"-c synchronous_commit={given}"
    try:
        with line.cursor() as cursor:
            cursor.execute("SHOW synchronous_commit")
            assert cursor.fetchone() == (used,)
    finally:
        line.close()
