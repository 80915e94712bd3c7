"""Migrates the database of DATABASE_URL to this version, verifies it and asks who may do what; prints JSON.

python -m tests.upgrades.today
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from io import StringIO
from typing import Any

import django
from django.core.management import call_command

SUBJECTS = (
    *(f"user:{name}" for name in ("marek", "olivia", "ana", "ada", "mia", "tomas", "noah", "carl")),
    "service:nightly_load",
)
ACTIONS = {
    "catalog": ("use",),
    "schema": ("use", "create_table"),
    "table": ("read", "write", "grant"),
    "view": ("read",),
    "role": ("grant",),
    "namespace": ("read", "write", "execute"),
    "dataset": ("read", "write"),
}
ASKER = "upgrades"
"""A service account that every realm of a dump admits."""


def run(*words: str, **options: Any) -> str:
    """What a command says.  A command that fails ends this."""
    output = StringIO()
    call_command(*words, stdout=output, **options)
    return output.getvalue().strip()


def decisions() -> Iterator[tuple[str, list[str]]]:
    """By `user:mia read table` the names of all such objects, as the API of the console answers."""
    from django.test import Client

    token = run("createtoken", ASKER, "--service")
    client = Client(SERVER_NAME="127.0.0.1", headers={"Authorization": f"Bearer {token}"})
    for subject in SUBJECTS:
        kind, _, name = subject.partition(":")
        for type_, actions in ACTIONS.items():
            for action in actions:
                question = {
                    "subject": {"type": kind, "id": name},
                    "action": {"name": action},
                    "resource": {"type": type_},
                }
                answer = client.post("/access/v1/search/resource", question, "application/json")
                assert answer.status_code == 200, answer.content
                yield f"{subject} {action} {type_}", sorted(each["id"] for each in answer.json()["results"])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
    django.setup()
    run("migrate", verbosity=0, skip_checks=False)
    seen = {"facts": run("facts"), "record": run("verify_audit"), "decisions": dict(decisions())}
    print(json.dumps(seen))
