"""The Celery application; what it does is in the settings (CELERY_…) and in the `tasks` of the apps."""

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, celeryd_init, worker_init

from authzsite.runtime.telemetry import tasks

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")

app = Celery("lakewarden")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
tasks.follow_requests()


@celeryd_init.connect
@beat_init.connect
def start_broker(**_: Any) -> None:
    """A worker or beat started by hand brings the embedded Redis along, when that is the one configured."""
    from django.conf import settings

    from authzsite import embedded

    server = embedded.redis(settings.VAR)
    if server.url == settings.REDIS_URL:
        server.start()


@worker_init.connect
def start_traces(**_: Any) -> None:
    from authzsite.runtime.telemetry import traces

    traces.start("worker")
