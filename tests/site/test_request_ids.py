"""Each request has an id, which its log lines, its tasks and the systems behind have too."""

from __future__ import annotations

import logging
import re

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from authzsite.celery import app
from authzsite.runtime.telemetry.logs import NoSecretsFormatter
from authzsite.runtime.telemetry.request_id import request_id
from lakewarden import request_ids

NEW = re.compile("[0-9a-f]{32}")


@pytest.mark.parametrize("path", ["/sign-in", "/nowhere", "/api/version", "/access/v1/nowhere"])
def test_who_sends_an_id_has_it_in_the_answer(db: None, client: Client, path: str) -> None:
    assert (
        client.get(path, headers={"X-Request-ID": "run-7/step.3"}).headers["X-Request-ID"] == "run-7/step.3"
    )
    assert "X-Request-ID" not in client.get(path).headers


def test_what_failed_here_names_its_request(rf: RequestFactory) -> None:
    failed = request_id(lambda _: HttpResponse(status=503))(rf.get("/"))
    request_ids.work_for("")
    assert NEW.fullmatch(failed.headers["X-Request-ID"])


def test_the_line_about_a_refusal_names_its_request_and_a_later_line_does_not(
    db: None, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.setFormatter(NoSecretsFormatter("%(message)s"))
    client.get("/nowhere", headers={"X-Request-ID": "run-7"})
    logging.getLogger("django.request").warning("later")
    assert caplog.text.splitlines() == ["Not Found: /nowhere [run-7]", "later"]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("run-7/step.3", True), ("x" * 64, True), ("x" * 65, False), ("two words", False), ("a\nb", False)],
)
def test_only_what_a_log_line_can_hold_is_taken_over(sent: str, kept: bool) -> None:
    taken = request_ids.of_caller(sent)
    assert taken == sent if kept else NEW.fullmatch(taken)


def test_what_the_beat_asks_for_goes_by_the_number_of_its_task() -> None:
    heard = []

    @app.task(name="tests.hear")
    def hear() -> None:
        heard.append(request_ids.current())

    try:
        hear.apply(task_id="of-the-beat")
    finally:
        app.tasks.pop("tests.hear")
    assert heard == ["of-the-beat"] and request_ids.current() == ""
