"""The addresses of this area: Sync, connections and drift."""

from django.urls import path

from authzsite.console.sync import backend, operations, stuck, vanished
from authzsite.console.sync import history as sync_history
from authzsite.console.sync import views as sync_views
from authzsite.console.sync.connections import agreement, discoveries
from authzsite.console.sync.connections import views as connections_views
from authzsite.console.sync.drift import bulk_decisions, foreign_grants

urlpatterns = [
    path("objects/<number:id>/applied", sync_history.on_object, name="object_applied"),
    path("realms/<number:id>/connect", connections_views.ConnectView.as_view(), name="connect"),
    path("sync", sync_views.backend_list, name="sync"),
    path("sync/<number:id>", backend.backend_detail, name="sync_backend"),
    path("sync/<number:id>/progress", backend.progress, name="sync_progress"),
    path("sync/<number:id>/standing", backend.standing, name="sync_standing"),
    path("sync/<number:id>/discover", discoveries.discovery_detail, name="discover"),
    path("sync/<number:id>/discover/progress", discoveries.progress, name="discover_progress"),
    path("sync/<number:id>/discover/owner", discoveries.TakeOverView.as_view(), name="discover_owner"),
    path("sync/<number:id>/vanished", vanished.VanishedView.as_view(), name="sync_vanished"),
    path("sync/<number:id>/vanished.csv", vanished.as_csv, name="sync_vanished_csv"),
    path("sync/<number:id>/runs.csv", sync_history.runs_csv, name="sync_runs_csv"),
    path("sync/<number:id>/runs", sync_history.runs, name="sync_runs"),
    path("sync/<number:id>/agree", agreement.AgreeView.as_view(), name="sync_agree"),
    path("sync/<number:id>/<slug:deed>", operations.OperateView.as_view(), name="sync_operate"),
    path(
        "sync/findings/together/<slug:code>",
        bulk_decisions.BulkForeignGrantsView.as_view(),
        name="sync_together",
    ),
    path("sync/findings/<number:id>/stuck", stuck.stuck_item, name="sync_stuck"),
    path("sync/findings/<number:id>/leave", stuck.LeaveView.as_view(), name="sync_leave"),
    path(
        "sync/findings/<number:id>/<slug:code>", foreign_grants.ForeignGrantView.as_view(), name="sync_deed"
    ),
    path("sync/runs/<number:id>", operations.run, name="sync_run"),
    path("sync/runs/<number:id>/items/<number:item>/retry", operations.retry, name="sync_retry"),
]
