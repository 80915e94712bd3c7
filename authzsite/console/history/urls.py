"""The addresses of this area: The record."""

from django.urls import path

from authzsite.console.history import access_log, archive, integrity, query_box
from authzsite.console.history import views as history_views

urlpatterns = [
    path("history", history_views.history_list, name="history"),
    path("history/terms", query_box.suggestions, name="history_terms"),
    path("history/looks", access_log.access_log_page, name="looks"),
    path("history/looks.csv", access_log.as_csv, name="looks_csv"),
    path("history/archive", archive.archive_page, name="history_archive"),
    path("history/integrity", integrity.integrity_page, name="integrity"),
    path("history/integrity/verify", integrity.verify, name="integrity_verify"),
    path("history/integrity/progress", integrity.progress, name="integrity_progress"),
    path("history/integrity/check-evidence.pyz", integrity.checker_file, name="checker"),
    path("history.csv", history_views.as_csv, name="history_csv"),
]
