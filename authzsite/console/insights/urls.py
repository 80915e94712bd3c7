"""The addresses of this area."""

from django.urls import path

from authzsite.console.insights import drift, hint, hints, overview, pipelines
from authzsite.console.insights import waiting as _waiting  # noqa: F401 -- registers what waits on Home

urlpatterns = [
    path("overview", overview.site, name="overview"),
    path("overview/<number:id>", overview.realm_overview, name="overview_realm"),
    path("overview/<number:id>/files", drift.file_drift, name="policy_drift"),
    path("overview/<number:id>/files/<slug:scope>.yaml", drift.file_with_drift, name="policy_taken_in"),
    path("overview/<number:id>/files/<slug:scope>/let-go", drift.LetGoView.as_view(), name="policy_let_go"),
    path("hints", hints.hint_list, name="hints"),
    path("hints.csv", hints.as_csv, name="hints_csv"),
    path("hints/<number:id>/mend", hint.MendHintView.as_view(), name="hint_mend"),
    path("hints/<number:id>/dismiss", hint.DismissHintView.as_view(), name="hint_dismiss"),
    path("hints/<number:id>/back", hint.back, name="hint_back"),
    path("pipelines", pipelines.pipeline_list, name="pipelines"),
    path("pipelines/runs.csv", pipelines.as_csv, name="pipeline_runs_csv"),
    path("pipelines/start", pipelines.start, name="pipeline_start"),
    path("pipelines/progress", pipelines.progress, name="pipeline_progress"),
    path("pipelines/runs/<number:id>", pipelines.run, name="pipeline_run"),
    path("pipelines/runs/<number:id>/stop", pipelines.stop, name="pipeline_stop"),
]
