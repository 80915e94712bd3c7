"""The addresses of the console."""

from django.urls import path

from authzsite.console.access import bulk, revoke
from authzsite.console.access import grant as access_grant
from authzsite.console.accounts import (
    account,
    profile,
    service_account,
    sign_in,
    welcome,
)
from authzsite.console.accounts import (
    views as accounts_views,
)
from authzsite.console.as_of import (
    files as as_of_files,
)
from authzsite.console.as_of import (
    objects as as_of_objects,
)
from authzsite.console.as_of import (
    people as as_of_people,
)
from authzsite.console.as_of import (
    roles as as_of_roles,
)
from authzsite.console.catalog import tree
from authzsite.console.catalog import views as catalog_views
from authzsite.console.cdap import (
    entities,
    grant,
    name,
)
from authzsite.console.cdap import (
    files as cdap_files,
)
from authzsite.console.cdap import (
    revoke as cdap_revoke,
)
from authzsite.console.cdap import (
    views as cdap_views,
)
from authzsite.console.downloads import views as downloads_views
from authzsite.console.emergency import urls as emergency
from authzsite.console.help import views as help_views
from authzsite.console.herd import (
    files as herd_files,
)
from authzsite.console.herd import (
    namespace,
    users,
)
from authzsite.console.herd import (
    roles as herd_roles,
)
from authzsite.console.herd import (
    views as herd_views,
)
from authzsite.console.history import access_log, archive, integrity
from authzsite.console.history import views as history_views
from authzsite.console.home import first_steps
from authzsite.console.home import views as home_views
from authzsite.console.inbox import urls as inbox
from authzsite.console.insights import urls as measures
from authzsite.console.lifecycle import urls as leaving
from authzsite.console.objects import owner, owners
from authzsite.console.objects import views as objects_views
from authzsite.console.people import group_members, person, person_groups, person_roles
from authzsite.console.people import views as people_views
from authzsite.console.requests import urls as asking
from authzsite.console.reviews import urls as reviewing
from authzsite.console.roles import bulk_privileges, compare, holders, privileges, role
from authzsite.console.roles import views as roles_views
from authzsite.console.search import palette
from authzsite.console.search import views as search_views
from authzsite.console.separation import urls as separation
from authzsite.console.settings import duties, members, realm, realm_settings, realms, repair, retention
from authzsite.console.sync import backend, operations, stuck, vanished
from authzsite.console.sync import history as sync_history
from authzsite.console.sync import views as sync_views
from authzsite.console.sync.connections import agreement, discoveries
from authzsite.console.sync.connections import views as connections_views
from authzsite.console.sync.drift import foreign_grants
from authzsite.console.why import check_as
from authzsite.console.why import views as why_views

app_name = "console"


urlpatterns = [
    *asking.urlpatterns,
    *inbox.urlpatterns,
    *leaving.urlpatterns,
    *separation.urlpatterns,
    *measures.urlpatterns,
    *emergency.urlpatterns,
    *reviewing.urlpatterns,
    path("", home_views.home_page, name="home"),
    path("sign-in", sign_in.sign_in, name="sign_in"),
    path("sign-out", sign_in.sign_out, name="sign_out"),
    path("resume", sign_in.resume, name="resume"),
    path("preferences", sign_in.preferences, name="preferences"),
    path("keys", sign_in.keys, name="keys"),
    path("help", help_views.glossary_page, name="help"),
    path("catalog", catalog_views.top, name="catalog"),
    path("catalog/<number:id>", catalog_views.browse, name="browse"),
    path("catalog/<number:id>/nodes", tree.nodes, name="nodes"),
    path("catalog/<number:id>/list.csv", catalog_views.as_csv, name="browse_csv"),
    path("objects/<number:id>", objects_views.access, name="object"),
    path("objects/<number:id>/access.csv", objects_views.access_csv, name="object_csv"),
    path("objects/<number:id>/rules", objects_views.rules_tab, name="object_rules"),
    path("objects/<number:id>/history", objects_views.history_tab, name="object_history"),
    path("objects/<number:id>/then", as_of_objects.object_as_of, name="object_then"),
    path("objects/<number:id>/evidence", as_of_objects.take_away, name="object_evidence"),
    path("objects/<number:id>/sync", objects_views.sync_tab, name="object_sync"),
    path("objects/<number:id>/applied", sync_history.on_object, name="object_applied"),
    path("objects/<number:id>/columns", objects_views.columns_tab, name="object_columns"),
    path("objects/<number:id>/state", objects_views.state, name="object_state"),
    path("objects/<number:id>/grant", access_grant.GrantView.as_view(), name="grant"),
    path("objects/<number:id>/grant/people", access_grant.people, name="grant_people"),
    path(
        "objects/<number:id>/grant/preview",
        access_grant.GrantView.as_view(preview_only=True),
        name="grant_preview",
    ),
    path("objects/<number:id>/owner", owner.OwnerView.as_view(), name="object_owner"),
    path("objects/<number:id>/duties", duties.duty_list, name="object_duties"),
    path("objects/<number:id>/duties/give", duties.GiveView.as_view(), name="object_duty_give"),
    path("objects/<number:id>/duties/take", duties.TakeView.as_view(), name="object_duty_take"),
    path("objects/<number:id>/revoke", revoke.RevokeView.as_view(), name="revoke"),
    path("herds/<number:id>", herd_views.namespace_list, name="herd"),
    path("herds/<number:id>/new", herd_views.new, name="namespace_new"),
    path("herds/<number:id>/mine", herd_views.mine, name="herd_mine"),
    path("herds/<number:id>/roles", herd_roles.role_list, name="herd_roles"),
    path("herds/<number:id>/roles/take", herd_roles.take, name="herd_roles_take"),
    path("herds/<number:id>/users", users.user_entries, name="herd_user"),
    path("herds/<number:id>/users/remove", users.remove, name="herd_user_remove"),
    path("namespaces/<number:id>", namespace.namespace_detail, name="namespace"),
    path("namespaces/<number:id>/preview", namespace.preview, name="namespace_preview"),
    path("namespaces/<number:id>/history", namespace.history_tab, name="namespace_history"),
    path("herds/<number:id>/namespaces.csv", herd_files.of_namespaces, name="herd_csv"),
    path("herds/<number:id>/mine.csv", herd_files.of_mine, name="herd_mine_csv"),
    path("herds/<number:id>/roles.csv", herd_files.of_roles, name="herd_roles_csv"),
    path("herds/<number:id>/users.csv", herd_files.of_user, name="herd_user_csv"),
    path("namespaces/<number:id>/entries.csv", herd_files.of_entries, name="namespace_csv"),
    path("namespaces/<number:id>/delete", namespace.delete, name="namespace_delete"),
    path("instances/<number:id>", cdap_views.instance_detail, name="instance"),
    path("instances/<number:id>/entities", entities.entity_list, name="cdap_entities"),
    path("instances/<number:id>/names.csv", cdap_files.of_names, name="instance_csv"),
    path("instances/<number:id>/entities.csv", cdap_files.of_entities, name="cdap_entities_csv"),
    path("instances/<number:id>/name", name.name_detail, name="cdap_text"),
    path("instances/<number:id>/grant", grant.grant, name="cdap_grant"),
    path("instances/<number:id>/grant/people", grant.people, name="cdap_grant_people"),
    path("instances/<number:id>/grant/preview", grant.preview, name="cdap_grant_preview"),
    path("instances/<number:id>/revoke", cdap_revoke.revoke, name="cdap_revoke"),
    path("objects/many", bulk.BulkGrantView.as_view(), name="many"),
    path("objects/many/preview", bulk.BulkGrantView.as_view(preview_only=True), name="many_preview"),
    path("undo/<number:revision>", revoke.undo, name="undo"),
    path("owners", owners.owner_list, name="owners"),
    path("owners/hand-over", owners.HandOverView.as_view(), name="owners_hand_over"),
    path("people", people_views.people_list, name="people"),
    path("people/<number:id>", person.person, name="person"),
    path("people/<number:id>/reach.csv", person.person_csv, name="person_csv"),
    path("people/<number:id>/groups", person_groups.membership_list, name="person_groups"),
    path("people/<number:id>/then", as_of_people.person_as_of, name="person_then"),
    path("people/<number:id>/history", person.past, name="person_history"),
    path("people/<number:id>/roles", person_roles.PersonRolesView.as_view(), name="person_roles"),
    path("people/<number:id>/sees", check_as.check_as_page, name="person_sees"),
    path("people/<number:id>/grant", people_views.grant, name="person_grant"),
    path("groups/new", group_members.NewGroupView.as_view(), name="group_new"),
    path("groups/<number:id>/join", group_members.JoinView.as_view(), name="group_join"),
    path("groups/<number:id>/leave", group_members.LeaveView.as_view(), name="group_leave"),
    path("first", first_steps.first_steps_page, name="first"),
    path("realms", realms.realm_list, name="realms"),
    path("realms/new", realms.NewRealmView.as_view(), name="realm_new"),
    path("realms/<number:id>", realm.realm_detail, name="realm"),
    path("realms/<number:id>/mode", realm_settings.ModeView.as_view(), name="realm_mode"),
    path("realms/<number:id>/settings", realm_settings.SettingsView.as_view(), name="realm_settings"),
    path("realms/<number:id>/retention", retention.RetentionView.as_view(), name="realm_retention"),
    path("realms/<number:id>/connect", connections_views.connect, name="connect"),
    path("realms/<number:id>/members/add", members.AddMemberView.as_view(), name="member_add"),
    path("realms/<number:id>/members/remove", members.RemoveMemberView.as_view(), name="member_remove"),
    path("roles", roles_views.role_list, name="roles"),
    path("roles/new", roles_views.NewRoleView.as_view(), name="role_new"),
    path("roles/compare", compare.comparison, name="role_compare"),
    path("roles/<number:id>/many", bulk_privileges.choose, name="role_many"),
    path("roles/<number:id>/many/give", bulk_privileges.give, name="role_many_give"),
    path("roles/<number:id>", role.role_detail, name="role"),
    path("roles/<number:id>/assign", holders.AssignView.as_view(), name="role_assign"),
    path("roles/<number:id>/unassign", holders.UnassignView.as_view(), name="role_unassign"),
    path("roles/<number:id>/then", as_of_roles.role_as_of, name="role_then"),
    path("roles/<number:id>/delete", holders.DeleteRoleView.as_view(), name="role_delete"),
    path("roles/<number:id>/give", privileges.choose, name="role_give"),
    path("roles/<number:id>/give/<number:on>", privileges.RolePrivilegesView.as_view(), name="role_give_on"),
    path("accounts", accounts_views.account_list, name="accounts"),
    path("accounts/new", accounts_views.NewAccountView.as_view(), name="account_new"),
    path("accounts/<number:id>", account.account_detail, name="account"),
    path("accounts/<number:id>/disable", account.DisableAccountView.as_view(), name="account_disable"),
    path("accounts/<number:id>/bind", account.BindAccountView.as_view(), name="account_bind"),
    path("services/new", service_account.NewServiceView.as_view(), name="service_new"),
    path("services/<number:id>", service_account.service_detail, name="service"),
    path("services/<number:id>/keeper", service_account.KeeperView.as_view(), name="service_keeper"),
    path(
        "services/<number:id>/disable", service_account.DisableServiceView.as_view(), name="service_disable"
    ),
    path("realms/<number:id>/repair", repair.RepairRealmView.as_view(), name="realm_repair"),
    path("welcome/<str:who>/<str:token>", welcome.welcome, name="welcome"),
    path("profile", profile.profile_page, name="profile"),
    path("why", why_views.why_page, name="why"),
    path("history", history_views.history_list, name="history"),
    path("history/looks", access_log.access_log_page, name="looks"),
    path("history/looks.csv", access_log.as_csv, name="looks_csv"),
    path("history/archive", archive.archive_page, name="history_archive"),
    path("history/integrity", integrity.integrity_page, name="integrity"),
    path("history/integrity/verify", integrity.verify, name="integrity_verify"),
    path("history/integrity/progress", integrity.progress, name="integrity_progress"),
    path("history.csv", history_views.as_csv, name="history_csv"),
    path("search", search_views.search_page, name="search"),
    path("search/found", palette.palette_results, name="found"),
    path("search.csv", search_views.as_csv, name="search_csv"),
    path("sync", sync_views.backend_list, name="sync"),
    path("sync.csv", downloads_views.of_findings, name="sync_csv"),
    path("objects/<number:id>/duties.csv", downloads_views.of_duties, name="duties_csv"),
    path("people.csv", downloads_views.of_people, name="people_csv"),
    path("accounts.csv", downloads_views.of_accounts, name="accounts_csv"),
    path("people/<number:id>/sees.csv", downloads_views.of_what_is_seen, name="person_sees_csv"),
    path("people/<number:id>/then.csv", as_of_files.of_person, name="person_then_csv"),
    path("objects/<number:id>/then.csv", as_of_files.of_object, name="object_then_csv"),
    path("roles/<number:id>/then.csv", as_of_files.of_role, name="role_then_csv"),
    path("roles/compare.csv", downloads_views.of_comparison, name="role_compare_csv"),
    path("people/<number:id>/groups.csv", downloads_views.of_members, name="groups_csv"),
    path("owners.csv", downloads_views.of_owned, name="owners_csv"),
    path("roles.csv", downloads_views.of_roles, name="roles_csv"),
    path("roles/<number:id>/holders.csv", downloads_views.of_holders, name="role_holders_csv"),
    path("roles/<number:id>/gives.csv", downloads_views.of_gifts, name="role_gives_csv"),
    path("objects/<number:id>/rules.csv", downloads_views.of_rules, name="rules_csv"),
    path("sync/<number:id>", backend.backend_detail, name="sync_backend"),
    path("sync/<number:id>/progress", backend.progress, name="sync_progress"),
    path("sync/<number:id>/discover", discoveries.discovery_detail, name="discover"),
    path("sync/<number:id>/discover/progress", discoveries.progress, name="discover_progress"),
    path("sync/<number:id>/discover/owner", discoveries.TakeOverView.as_view(), name="discover_owner"),
    path("sync/<number:id>/vanished", vanished.vanished_list, name="sync_vanished"),
    path("sync/<number:id>/vanished.csv", vanished.as_csv, name="sync_vanished_csv"),
    path("sync/<number:id>/runs.csv", sync_history.runs_csv, name="sync_runs_csv"),
    path("sync/<number:id>/runs", sync_history.runs, name="sync_runs"),
    path("sync/<number:id>/agree", agreement.AgreeView.as_view(), name="sync_agree"),
    path("sync/<number:id>/<slug:deed>", operations.OperateView.as_view(), name="sync_operate"),
    path("sync/findings/<number:id>/stuck", stuck.stuck_item, name="sync_stuck"),
    path(
        "sync/findings/<number:id>/<slug:code>", foreign_grants.ForeignGrantView.as_view(), name="sync_deed"
    ),
    path("sync/runs/<number:id>", operations.run, name="sync_run"),
    path("sync/runs/<number:id>/items/<number:item>/retry", operations.retry, name="sync_retry"),
]
