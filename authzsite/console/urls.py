"""The addresses of the console."""

from django.urls import path

from authzsite.console import catalog, grants, history, home, objects, revoke, search, session, sync, why

app_name = "console"

urlpatterns = [
    path("", home.room, name="home"),
    path("sign-in", session.sign_in, name="sign_in"),
    path("sign-out", session.sign_out, name="sign_out"),
    path("resume", session.resume, name="resume"),
    path("preferences", session.preferences, name="preferences"),
    path("keys", session.keys, name="keys"),
    path("catalog", catalog.top, name="catalog"),
    path("catalog/<int:id>", catalog.browse, name="browse"),
    path("catalog/<int:id>/nodes", catalog.nodes, name="nodes"),
    path("catalog/<int:id>/list.csv", catalog.as_csv, name="browse_csv"),
    path("objects/<int:id>", objects.access, name="object"),
    path("objects/<int:id>/access.csv", objects.access_csv, name="object_csv"),
    path("objects/<int:id>/rules", objects.rules_tab, name="object_rules"),
    path("objects/<int:id>/history", objects.history_tab, name="object_history"),
    path("objects/<int:id>/sync", objects.sync_tab, name="object_sync"),
    path("objects/<int:id>/columns", objects.columns_tab, name="object_columns"),
    path("objects/<int:id>/state", objects.state, name="object_state"),
    path("objects/<int:id>/grant", grants.grant, name="grant"),
    path("objects/<int:id>/grant/people", grants.people, name="grant_people"),
    path("objects/<int:id>/grant/preview", grants.preview, name="grant_preview"),
    path("objects/<int:id>/revoke", revoke.revoke, name="revoke"),
    path("undo/<int:revision>", revoke.undo, name="undo"),
    path("why", why.room, name="why"),
    path("history", history.room, name="history"),
    path("history.csv", history.as_csv, name="history_csv"),
    path("search", search.room, name="search"),
    path("sync", sync.room, name="sync"),
]
