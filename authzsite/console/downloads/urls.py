"""The addresses of this area: Tables as files."""

from django.urls import path

from authzsite.console.downloads import views as downloads_views

urlpatterns = [
    path("sync.csv", downloads_views.of_findings, name="sync_csv"),
    path("accounts.csv", downloads_views.of_accounts, name="accounts_csv"),
    path("people/<number:id>/sees.csv", downloads_views.of_what_is_seen, name="person_sees_csv"),
    path("roles/compare.csv", downloads_views.of_comparison, name="role_compare_csv"),
    path("people/<number:id>/groups.csv", downloads_views.of_members, name="groups_csv"),
    path("roles/<number:id>/holders.csv", downloads_views.of_holders, name="role_holders_csv"),
    path("roles/<number:id>/gives.csv", downloads_views.of_gifts, name="role_gives_csv"),
]
