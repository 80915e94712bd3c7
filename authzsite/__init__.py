"""The site: settings, processes, the console's pages and the HTTP surfaces."""

from authzsite.celery import app as celery_app

__all__ = ["celery_app"]
