"""The addresses of the console."""

from django.urls import path, register_converter

from authzsite.console import (
    catalog,
    duties,
    grants,
    group,
    herd,
    herd_roles,
    herd_users,
    history,
    home,
    members,
    namespace,
    objects,
    owner,
    palette,
    people,
    person,
    profile,
    revoke,
    role,
    role_gives,
    role_holders,
    roles,
    search,
    session,
    sync,
    tree,
    sync_backend,
    sync_deeds,
    sync_operate,
    then,
    why,
)

app_name = "console"


class Number:
    """A number that the database can hold; a longer one is no address."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(Number, "number")

urlpatterns = [
    path("", home.room, name="home"),
    path("sign-in", session.sign_in, name="sign_in"),
    path("sign-out", session.sign_out, name="sign_out"),
    path("resume", session.resume, name="resume"),
    path("preferences", session.preferences, name="preferences"),
    path("keys", session.keys, name="keys"),
    path("catalog", catalog.top, name="catalog"),
    path("catalog/<number:id>", catalog.browse, name="browse"),
    path("catalog/<number:id>/nodes", tree.nodes, name="nodes"),
    path("catalog/<number:id>/list.csv", catalog.as_csv, name="browse_csv"),
    path("objects/<number:id>", objects.access, name="object"),
    path("objects/<number:id>/access.csv", objects.access_csv, name="object_csv"),
    path("objects/<number:id>/rules", objects.rules_tab, name="object_rules"),
    path("objects/<number:id>/history", objects.history_tab, name="object_history"),
    path("objects/<number:id>/then", then.room, name="object_then"),
    path("objects/<number:id>/evidence", then.take_away, name="object_evidence"),
    path("objects/<number:id>/then", then.room, name="object_then"),
    path("objects/<number:id>/evidence", then.take_away, name="object_evidence"),
    path("objects/<number:id>/sync", objects.sync_tab, name="object_sync"),
    path("objects/<number:id>/columns", objects.columns_tab, name="object_columns"),
    path("objects/<number:id>/state", objects.state, name="object_state"),
    path("objects/<number:id>/grant", grants.grant, name="grant"),
    path("objects/<number:id>/grant/people", grants.people, name="grant_people"),
    path("objects/<number:id>/grant/preview", grants.preview, name="grant_preview"),
    path("objects/<number:id>/owner", owner.hand_over, name="object_owner"),
    path("objects/<number:id>/duties", duties.room, name="object_duties"),
    path("objects/<number:id>/duties/give", duties.give, name="object_duty_give"),
    path("objects/<number:id>/duties/take", duties.take, name="object_duty_take"),
    path("objects/<number:id>/revoke", revoke.revoke, name="revoke"),
    path("herds/<number:id>", herd.room, name="herd"),
    path("herds/<number:id>/new", herd.new, name="namespace_new"),
    path("herds/<number:id>/mine", herd.mine, name="herd_mine"),
    path("herds/<number:id>/roles", herd_roles.room, name="herd_roles"),
    path("herds/<number:id>/roles/take", herd_roles.take, name="herd_roles_take"),
    path("herds/<number:id>/users", herd_users.room, name="herd_user"),
    path("herds/<number:id>/users/remove", herd_users.remove, name="herd_user_remove"),
    path("namespaces/<number:id>", namespace.room, name="namespace"),
    path("namespaces/<number:id>/preview", namespace.preview, name="namespace_preview"),
    path("namespaces/<number:id>/history", namespace.history_tab, name="namespace_history"),
    path("namespaces/<number:id>/delete", namespace.delete, name="namespace_delete"),
    path("undo/<number:revision>", revoke.undo, name="undo"),
    path("people", people.room, name="people"),
    path("people/<number:id>", person.person, name="person"),
    path("people/<number:id>/reach.csv", person.person_csv, name="person_csv"),
    path("people/<number:id>/groups", person.groups, name="person_groups"),
    path("people/<number:id>/history", person.past, name="person_history"),
    path("people/<number:id>/grant", people.grant, name="person_grant"),
    path("groups/new", group.new, name="group_new"),
    path("groups/<number:id>/join", group.join, name="group_join"),
    path("groups/<number:id>/leave", group.leave, name="group_leave"),
    path("realms/<number:id>/members/add", members.add, name="member_add"),
    path("realms/<number:id>/members/remove", members.remove, name="member_remove"),
    path("roles", roles.room, name="roles"),
    path("roles/new", roles.new, name="role_new"),
    path("roles/<number:id>", role.room, name="role"),
    path("roles/<number:id>/assign", role_holders.assign, name="role_assign"),
    path("roles/<number:id>/unassign", role_holders.unassign, name="role_unassign"),
    path("roles/<number:id>/delete", role_holders.delete, name="role_delete"),
    path("roles/<number:id>/give", role_gives.choose, name="role_give"),
    path("roles/<number:id>/give/<number:on>", role_gives.give, name="role_give_on"),
    path("profile", profile.room, name="profile"),
    path("why", why.room, name="why"),
    path("history", history.room, name="history"),
    path("history.csv", history.as_csv, name="history_csv"),
    path("search", search.room, name="search"),
    path("search/found", palette.found, name="found"),
    path("search.csv", search.as_csv, name="search_csv"),
    path("sync", sync.room, name="sync"),
    path("sync/<number:id>", sync_backend.room, name="sync_backend"),
    path("sync/<number:id>/progress", sync_backend.progress, name="sync_progress"),
    path("sync/<number:id>/<slug:deed>", sync_operate.operate, name="sync_operate"),
    path("sync/findings/<number:id>/<slug:code>", sync_deeds.deed, name="sync_deed"),
    path("sync/runs/<number:id>", sync_operate.run, name="sync_run"),
    path("sync/runs/<number:id>/items/<number:item>/retry", sync_operate.retry, name="sync_retry"),
]
