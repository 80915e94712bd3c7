"""The Celery application; what it does is in the settings (CELERY_…) and in the `tasks` of the apps."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")

app = Celery("lakewarden")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
