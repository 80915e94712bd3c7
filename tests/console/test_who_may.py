"""Every page, by who comes: nobody signed in, a stranger, a member, a reader, and those with authority.

A stranger gets the answer for what does not exist; a reader gets a refusal that explains itself.  A site
admin who is no member has no access inside a realm, and a duty gives no data: a reader of the history of
hidden objects is led to that.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver

from accounts import people
from catalog.nodes import Node
from policies.emergency import access as emergency_access
from policies.models import AccessRecord
from policies.separation.sides import Side
from policies.services import duties, separation
from tests.console.visitors import DOOR, KEPT, Page, misanswered
from tests.factories import AUTHORITY, BY, a_metalake, a_person, a_role, acting, admit, the
from tests.kept import kept
from tests.policies.conftest import make_shop

PAGES = (
    Page("home", "/", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("sign_in", "/sign-in", 200, 302, 302, 302, 302, 302, 302, 302),
    Page("sign_out", "/sign-out", 302, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("resume", "/resume", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("preferences", "/preferences", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("keys", "/keys", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("catalog", "/catalog", DOOR, 200, 302, 302, 302, 302, 302, 200),
    Page("browse", "/catalog/{schema}", DOOR, 404, 404, 200, 200, 200, 302, 404),
    Page("nodes", "/catalog/{schema}/nodes", DOOR, 404, 404, 200, 200, 200, 404, 404),
    Page("browse_csv", "/catalog/{schema}/list.csv", DOOR, 404, 404, 200, 200, 200, 404, 404),
    Page("object", "/objects/{table}", DOOR, 404, 404, 200, 200, 200, 302, 404),
    Page("object_csv", "/objects/{table}/access.csv", DOOR, 404, 404, 404, 200, 200, 404, 404),
    Page("object_rules", "/objects/{table}/rules", DOOR, 404, 404, 200, 200, 200, 404, 404),
    Page("object_history", "/objects/{table}/history", DOOR, 404, 404, 200, 200, 200, 200, 404),
    Page(
        "object_sync", "/objects/{table}/sync", DOOR, 404, 404, 404, 404, 404, 404, 404
    ),  # no backend mirrors this catalog
    Page("object_then", "/objects/{table}/then?at=3", DOOR, 404, 404, 200, 200, 200, 200, 404),
    Page("object_evidence", "/objects/{table}/evidence", KEPT, 404, 404, 403, 403, 403, 403, 404, "post"),
    Page("object_columns", "/objects/{table}/columns", DOOR, 404, 404, 200, 200, 200, 404, 404),
    Page("object_uses", "/objects/{table}/uses", DOOR, 404, 404, 404, 200, 200, 404, 404),
    Page("object_state", "/objects/{table}/state", DOOR, 404, 404, 200, 200, 200, 404, 404),
    Page("grant", "/objects/{table}/grant", DOOR, 404, 404, 403, 200, 200, 404, 404),
    Page("grant", "/objects/{table}/grant", KEPT, 404, 404, 403, 200, 200, 404, 404, "post"),
    Page("grant_people", "/objects/{table}/grant/people?find=a", DOOR, 404, 404, 403, 200, 200, 404, 404),
    Page("grant_preview", "/objects/{table}/grant/preview", KEPT, 404, 404, 403, 200, 200, 404, 404, "post"),
    Page("revoke", "/objects/{table}/revoke?who=user:ana", DOOR, 404, 404, 403, 200, 200, 404, 404),
    Page("revoke", "/objects/{table}/revoke?who=user:ana", KEPT, 404, 404, 403, 302, 302, 404, 404, "post"),
    Page("many", "/objects/many?on={table}", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("many", "/objects/many?on={table}", KEPT, 200, 200, 200, 200, 200, 200, 200, "post"),
    Page("many_preview", "/objects/many/preview", KEPT, 200, 200, 200, 200, 200, 200, 200, "post"),
    Page("undo", "/undo/1", DOOR, 302, 302, 302, 302, 302, 302, 302),
    Page("undo", "/undo/1", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("why", "/why?what=shop.sales.orders", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("history", "/history", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("history_terms", "/history/terms?q=a", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("looks", "/history/looks", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("looks_csv", "/history/looks.csv", DOOR, 403, 403, 403, 403, 403, 403, 403),
    Page("history_archive", "/history/archive", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("integrity", "/history/integrity", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("checker", "/history/integrity/check-evidence.pyz", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("integrity_verify", "/history/integrity/verify", KEPT, 403, 403, 403, 403, 403, 403, 302, "post"),
    Page("integrity_progress", "/history/integrity/progress", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("history_csv", "/history.csv", DOOR, 403, 403, 403, 403, 403, 403, 403),
    Page("search", "/search?q=orders", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("found", "/search/found?q=orders", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("names", "/search/names?of=people&q=a", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("search_csv", "/search.csv?q=orders", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("people_csv", "/people.csv", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("accounts_csv", "/accounts.csv", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("person_sees_csv", "/people/{person}/sees.csv", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_sees_csv", "/people/{person}/sees.csv?in={realm}", DOOR, 404, 404, 404, 404, 404, 404, 200),
    Page("person_then_csv", "/people/{person}/then.csv?at=3", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("object_then_csv", "/objects/{table}/then.csv?at=3", DOOR, 404, 404, 404, 200, 200, 200, 404),
    Page("role_then_csv", "/roles/{role}/then.csv?at=3", DOOR, 404, 404, 200, 404, 404, 404, 404),
    Page("role_compare_csv", "/roles/compare.csv?a=browse&b=no", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("groups_csv", "/people/{person}/groups.csv", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("owners_csv", "/owners.csv", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("roles_csv", "/roles.csv", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("role_holders_csv", "/roles/{role}/holders.csv", DOOR, 404, 404, 200, 404, 404, 404, 404),
    Page("role_gives_csv", "/roles/{role}/gives.csv", DOOR, 404, 404, 200, 404, 404, 404, 404),
    Page("rules_csv", "/objects/{table}/rules.csv", DOOR, 404, 404, 404, 200, 200, 404, 404),
    Page("emergencies_csv", "/emergency.csv", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("separation_csv", "/realms/{realm}/separation.csv", DOOR, 404, 403, 403, 200, 200, 200, 200),
    Page("separation_rule_csv", "/separation/{rule}/conflicts.csv", DOOR, 404, 404, 404, 403, 403, 403, 200),
    Page("sync_runs_csv", "/sync/0/runs.csv", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_vanished_csv", "/sync/0/vanished.csv", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_csv", "/sync.csv", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("sync", "/sync", DOOR, 200, 200, 200, 200, 200, 200, 200),
    # no backend mirrors this catalog; test_sync_board.py walks these rooms over one
    Page("sync_backend", "/sync/0", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_progress", "/sync/0/progress", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_standing", "/sync/0/standing", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_operate", "/sync/0/pause", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_operate", "/sync/0/pause", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("sync_agree", "/sync/0/agree", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_agree", "/sync/0/agree", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("sync_stuck", "/sync/findings/0/stuck", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_stuck", "/sync/findings/0/stuck", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("sync_leave", "/sync/findings/0/leave", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_leave", "/sync/findings/0/leave", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("sync_vanished", "/sync/0/vanished", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_vanished", "/sync/0/vanished", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("sync_runs", "/sync/0/runs", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("object_applied", "/objects/{table}/applied", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("discover", "/sync/0/discover", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("discover_progress", "/sync/0/discover/progress", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("discover_owner", "/sync/0/discover/owner", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("connect", "/realms/{realm}/connect", DOOR, 404, 403, 403, 403, 403, 403, 403),
    Page("connect", "/realms/{realm}/connect", KEPT, 404, 403, 403, 403, 403, 403, 403, "post"),
    Page("sync_together", "/sync/findings/together/revoke?on=0", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("sync_together", "/sync/findings/together/revoke", KEPT, 422, 422, 422, 422, 422, 422, 422, "post"),
    Page("sync_deed", "/sync/findings/0/revoke", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_deed", "/sync/findings/0/revoke", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("sync_run", "/sync/runs/0", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("sync_retry", "/sync/runs/0/items/0/retry", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("people", "/people", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("person", "/people/{person}", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_csv", "/people/{person}/reach.csv", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_groups", "/people/{person}/groups", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_then", "/people/{person}/then?at=3", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_history", "/people/{person}/history", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_grant", "/people/{person}/grant", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_same", "/people/{person}/same?as=user:mia", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_same", "/people/{person}/same", KEPT, 404, 404, 404, 200, 200, 200, 200, "post"),
    Page("person_leaving", "/people/{person}/leaving", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_leaving", "/people/{person}/leaving", KEPT, 404, 404, 404, 200, 200, 200, 200, "post"),
    Page("person_done", "/people/done/none", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("object_duties", "/objects/{table}/duties", DOOR, 404, 404, 200, 200, 200, 404, 404),
    Page("object_duties", "/objects/{realm}/duties", DOOR, 404, 200, 200, 200, 200, 200, 200),
    Page("duties_csv", "/objects/{table}/duties.csv", DOOR, 404, 404, 200, 200, 200, 404, 404),
    Page("duties_csv", "/objects/{realm}/duties.csv", DOOR, 404, 200, 200, 200, 200, 200, 200),
    Page("object_duty_give", "/objects/{table}/duties/give", DOOR, 404, 404, 403, 403, 403, 404, 404),
    Page("object_duty_give", "/objects/{realm}/duties/give", KEPT, 404, 403, 403, 403, 403, 403, 200, "post"),
    Page("object_duty_take", "/objects/{table}/duties/take", DOOR, 404, 404, 403, 403, 403, 404, 404),
    Page("object_duty_take", "/objects/{realm}/duties/take", KEPT, 404, 403, 403, 403, 403, 403, 404, "post"),
    Page("group_new", "/groups/new", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("group_new", "/groups/new", KEPT, 403, 403, 403, 403, 403, 403, 422, "post"),
    Page("group_join", "/groups/{group}/join", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("group_join", "/groups/{group}/join", KEPT, 403, 403, 403, 403, 403, 403, 200, "post"),
    Page("group_leave", "/groups/{group}/leave?who=user:carl", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page(
        "group_leave",
        "/groups/{group}/leave?who=user:nobody",
        KEPT,
        403,
        403,
        403,
        403,
        403,
        403,
        404,
        "post",
    ),
    Page("object_owner", "/objects/{table}/owner", DOOR, 404, 404, 403, 403, 200, 404, 404),
    Page("object_owner", "/objects/{table}/owner", KEPT, 404, 404, 403, 403, 200, 404, 404, "post"),
    Page("help", "/help", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("calls", "/help/calls", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("first", "/first", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("realms", "/realms", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("realm_new", "/realms/new", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("realm_new", "/realms/new", KEPT, 403, 403, 403, 403, 403, 403, 422, "post"),
    Page("realm", "/realms/{realm}", DOOR, 404, 200, 200, 200, 200, 200, 200),
    Page("realm_mode", "/realms/{realm}/mode?to=off", DOOR, 404, 403, 403, 403, 403, 403, 403),
    Page("realm_mode", "/realms/{realm}/mode?to=off", KEPT, 404, 403, 403, 403, 403, 403, 403, "post"),
    Page("realm_mode", "/realms/{realm}/mode?to=on", DOOR, 404, 403, 403, 403, 403, 403, 302),
    Page("realm_settings", "/realms/{realm}/settings", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("realm_retention", "/realms/{realm}/retention", DOOR, 404, 403, 403, 403, 403, 403, 403),
    Page("realm_retention", "/realms/{realm}/retention", KEPT, 404, 403, 403, 403, 403, 403, 403, "post"),
    Page("realm_raise", "/realms/{realm}/raise?to=4.3", DOOR, 404, 404, 404, 404, 404, 404, 404),  # no CDAP
    Page("policy_file", "/realms/{realm}/policies", DOOR, 404, 403, 403, 403, 403, 403, 403),
    Page("policy_file", "/realms/{realm}/policies", KEPT, 404, 403, 403, 403, 403, 403, 403, "post"),
    Page("effect", "/effects/1", DOOR, 404, 404, 404, 404, 404, 404, 404),  # nobody asked for one
    Page("policy_file_text", "/realms/{realm}/policies.yaml", DOOR, 404, 404, 404, 404, 404, 404, 404),
    Page("member_add", "/realms/{realm}/members/add", DOOR, 404, 403, 403, 403, 403, 403, 404),
    Page(
        "member_remove",
        "/realms/{realm}/members/remove?who=user:carl",
        DOOR,
        404,
        403,
        403,
        403,
        403,
        403,
        404,
    ),
    Page("roles", "/roles", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("role_new", "/roles/new?in={realm}", DOOR, 404, 403, 403, 403, 403, 403, 404),
    Page("role", "/roles/{role}", DOOR, 404, 404, 200, 404, 404, 404, 404),
    Page("role_assign", "/roles/{role}/assign", DOOR, 404, 404, 403, 404, 404, 404, 404),
    Page("role_assign", "/roles/{role}/assign", KEPT, 404, 404, 403, 404, 404, 404, 404, "post"),
    Page("role_unassign", "/roles/{role}/unassign?who=user:ana", DOOR, 404, 404, 403, 404, 404, 404, 404),
    Page("role_delete", "/roles/{role}/delete", DOOR, 404, 404, 403, 404, 404, 404, 404),
    Page("role_then", "/roles/{role}/then?at=3", DOOR, 404, 404, 200, 404, 404, 404, 404),
    Page("role_give", "/roles/{role}/give", DOOR, 404, 404, 200, 404, 404, 404, 404),
    Page("role_give_on", "/roles/{role}/give/{table}", DOOR, 404, 404, 403, 404, 404, 404, 404),
    Page("person_roles", "/people/{person}/roles", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_roles", "/people/{person}/roles", KEPT, 404, 404, 404, 200, 200, 200, 200, "post"),
    Page("person_sees", "/people/{person}/sees", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_sees", "/people/{person}/sees?in={schema}", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("person_sees", "/people/{person}/sees?in={realm}", DOOR, 404, 404, 404, 404, 404, 404, 200),
    Page("owners", "/owners", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("owners_hand_over", "/owners/hand-over?in={realm}", DOOR, 404, 404, 404, 200, 200, 200, 404),
    Page("owners_hand_over", "/owners/hand-over?in={realm}", KEPT, 404, 404, 404, 200, 200, 200, 404, "post"),
    Page("role_compare", "/roles/compare?a=sales_read&b=browse", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("role_many", "/roles/{role}/many", DOOR, 404, 404, 200, 404, 404, 404, 404),
    Page("role_many_give", "/roles/{role}/many/give", DOOR, 404, 404, 302, 404, 404, 404, 404),
    Page("role_many_give", "/roles/{role}/many/give", KEPT, 404, 404, 302, 404, 404, 404, 404, "post"),
    Page("accounts", "/accounts", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("account_new", "/accounts/new", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("account_new", "/accounts/new", KEPT, 403, 403, 403, 403, 403, 403, 422, "post"),
    Page("account", "/accounts/{account}", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("account", "/accounts/{account}", KEPT, 403, 403, 403, 403, 403, 403, 302, "post"),
    Page("account_disable", "/accounts/{account}/disable", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("account_disable", "/accounts/0/disable", KEPT, 403, 403, 403, 403, 403, 403, 404, "post"),
    Page("account_bind", "/accounts/{account}/bind", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("account_bind", "/accounts/{account}/bind", KEPT, 403, 403, 403, 403, 403, 403, 200, "post"),
    Page("service_new", "/services/new", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("service_new", "/services/new", KEPT, 403, 403, 403, 403, 403, 403, 200, "post"),
    Page("service", "/services/{service}", DOOR, 404, 404, 404, 404, 404, 404, 200),
    Page("service", "/services/{service}", KEPT, 404, 404, 404, 404, 404, 404, 302, "post"),
    Page("service_keeper", "/services/{service}/keeper", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("service_keeper", "/services/{service}/keeper", KEPT, 403, 403, 403, 403, 403, 403, 200, "post"),
    Page("service_disable", "/services/{service}/disable", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("service_disable", "/services/0/disable", KEPT, 403, 403, 403, 403, 403, 403, 404, "post"),
    Page("realm_repair", "/realms/{closed}/repair", DOOR, 403, 403, 403, 403, 403, 403, 200),
    Page("realm_repair", "/realms/{realm}/repair", DOOR, 403, 403, 403, 403, 403, 403, 404),
    Page("realm_repair", "/realms/{closed}/repair", KEPT, 403, 403, 403, 403, 403, 403, 200, "post"),
    Page("welcome", "/welcome/MQ/nonsense", 404, 404, 404, 404, 404, 404, 404, 404),
    Page("welcome", "/welcome/MQ/nonsense", 404, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("separation", "/realms/{realm}/separation", DOOR, 404, 403, 403, 200, 200, 200, 200),
    Page("separation_new", "/realms/{realm}/separation/new", DOOR, 404, 403, 403, 403, 403, 403, 200),
    Page("separation_new", "/realms/{realm}/separation/new", KEPT, 404, 403, 403, 403, 403, 403, 200, "post"),
    Page("separation_rule", "/separation/{rule}", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("separation_end", "/separation/{rule}/end", DOOR, 404, 404, 404, 403, 403, 403, 200),
    Page("separation_end", "/separation/0/end", KEPT, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("separation_let", "/separation/{rule}/let", DOOR, 404, 404, 404, 403, 403, 403, 200),
    Page("separation_let", "/separation/{rule}/let", KEPT, 404, 404, 404, 403, 403, 403, 200, "post"),
    Page(
        "separation_let_end",
        "/separation/{rule}/let/end?who=user:ana",
        DOOR,
        404,
        404,
        404,
        403,
        403,
        403,
        200,
    ),
    Page(
        "separation_let_end",
        "/separation/{rule}/let/end?who=user:ana",
        KEPT,
        404,
        404,
        404,
        403,
        403,
        403,
        302,
        "post",
    ),
    Page("emergencies", "/emergency", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("emergencies", "/emergency", KEPT, 403, 403, 403, 403, 403, 403, 403, "post"),
    Page("emergency", "/emergency/{emergency}", DOOR, 404, 404, 404, 200, 200, 200, 200),
    Page("emergency", "/emergency/{emergency}", KEPT, 404, 404, 404, 302, 302, 422, 302, "post"),
    Page("inbox", "/inbox", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("inbox", "/inbox", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("inbox_settings", "/inbox/settings", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("inbox_settings", "/inbox/settings", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("oidc_begin", "/sign-in/with/none", 404, 404, 404, 404, 404, 404, 404, 404, "post"),
    Page("oidc_callback", "/sign-in/with/none/callback", 404, 404, 404, 404, 404, 404, 404, 404),
    Page("second_step", "/sign-in/second", 403, 302, 302, 302, 302, 302, 302, 302),
    Page("second_factor", "/profile/second-factor", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("second_factor", "/profile/second-factor", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
    Page("again", "/sign-in/again", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("again", "/sign-in/again", KEPT, 422, 422, 422, 422, 422, 422, 422, "post"),
    Page("profile", "/profile", DOOR, 200, 200, 200, 200, 200, 200, 200),
    Page("profile", "/profile", KEPT, 302, 302, 302, 302, 302, 302, 302, "post"),
)
VISITORS = {
    "anonymous": "",
    "stranger": "zoe",
    "member": "ana",
    "reader": "mia",  # of schema sales
    "grantor": "gina",  # reads schema sales and holds Manage grants on it
    "owner": "olivia",  # of schema sales
    "duty": "dora",  # reads the history of schema sales, and no data
    "admin": "sam",  # a site admin, in no realm
}


def people_of(shop: Node) -> None:
    """Those of the visitors whom the shop does not know yet."""
    a_person("zoe")
    a_person("sam")
    people.make_account("marek")  # owns the realm and can sign in
    for name in ("gina", "dora"):
        a_person(name, "staff")
        admit(shop, name)
    may = ("USE_SCHEMA", "SELECT_TABLE", "MANAGE_GRANTS")
    a_role(shop, "sales_grant", *(f"allow {item} on schema shop.sales" for item in may), held_by=("gina",))
    people.make_account("dora")
    duties.give(the("schema", "shop.sales"), "view_history", a_person("dora"), by=BY, authority=AUTHORITY)


def an_emergency() -> int:
    """Carl broke the glass over stock; it is over and waits for its review."""
    stock = the("schema", "shop.sales")
    carl = people.make_account("eve").principal
    assert carl is not None
    admit(the("metalake"), "eve")
    duties.give(stock, "break_glass", carl, by=BY, authority=AUTHORITY)
    wanted = emergency_access.EmergencyRequest(stock, "read", 1, "The nightly load stopped")
    return emergency_access.open_for_oneself(wanted, by=acting(carl)).pk


def a_rule(shop: Node) -> int:
    first, other = (Side(role=the("role", name).id) for name in ("browse", "no_contractors"))
    return separation.make(shop, "Apart", first, other, by=acting("marek")).pk


def make_numbers() -> dict[str, int]:
    """Of what the addresses name, in the shop with all its visitors."""
    shop = make_shop()
    people_of(shop)
    return {
        "table": the("table", "shop.sales.orders").id,
        "schema": the("schema", "shop.sales").id,
        "person": a_person("carl").pk,
        "group": people.ensure("group", "analysts").pk,
        "account": people.make_account("tomas").pk,
        "service": people.ensure("service", "etl").pk,
        "closed": a_metalake("closed", owner="gone").id,
        "role": the("role", "sales_read").id,
        "realm": shop.id,
        "rule": a_rule(shop),
        "emergency": an_emergency(),
    }


numbers = kept(make_numbers)


def elsewhere() -> list[Any]:
    """The rows of the tests beside and below this one, each about the pages of one area."""
    here = Path(__file__)
    others = [path for path in sorted(here.parent.rglob("test_*.py")) if path != here]
    of_pages = [path for path in others if "from tests.console.visitors import" in path.read_text()]
    modules = [".".join(path.relative_to(here.parents[2]).with_suffix("").parts) for path in of_pages]
    return [page for name in modules for page in import_module(name).PAGES]


@pytest.mark.parametrize("visitor", VISITORS)
def test_each_page_answers_each_visitor(
    visitor: str, numbers: dict[str, int], signed_in: Callable[[str], Client], settings: Any
) -> None:
    settings.LAKEWARDEN_SERVICE_ADMINS = frozenset({"sam"})
    pages = [*PAGES, *(page for page in elsewhere() if isinstance(page, Page))]
    assert not misanswered(pages, visitor, VISITORS, signed_in, numbers)


def test_every_route_has_a_row() -> None:
    console = get_resolver().namespace_dict["console"][1]
    routes = {name for name in console.reverse_dict if isinstance(name, str)}
    assert routes == {page.name for page in [*PAGES, *elsewhere()]}


@pytest.mark.parametrize("tab", ["", "/rules", "/history", "/grant", "/columns", "/access.csv"])
def test_what_is_hidden_reads_like_what_is_absent(
    tab: str, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    client = signed_in("ana")  # a member of the realm, without rights on the table
    hidden = client.get(f"/objects/{the('table', 'shop.sales.orders').id}{tab}")
    absent = client.get(f"/objects/987654321{tab}")
    assert hidden.status_code == absent.status_code == 404
    assert _words(hidden.content) == _words(absent.content)
    assert AccessRecord.objects.filter(kind="refused").count() == 2


def test_what_is_hidden_takes_as_much_as_what_is_absent(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    """The time to the same answer is not to tell which numbers are objects; who asked is recorded of both."""
    client, hidden = signed_in("ana"), the("table", "shop.sales.orders").id
    client.get("/objects/987654320")
    statements = [
        _statements(client, f"/objects/{number}") for number in (hidden, 987654321, hidden, 987654321)
    ]
    assert statements[0] == statements[1]  # at first
    assert statements[2] == statements[3]  # and again
    shown = client.get("/history/looks").content.decode()
    assert "987654321" not in shown and "orders" not in shown


def _statements(client: Client, address: str) -> list[str]:
    """The word that each statement of a request begins with."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 404
    return sorted(query["sql"].split()[0] for query in queries.captured_queries)


def _words(body: bytes) -> str:
    import re

    text = re.sub(r'(name="csrfmiddlewaretoken" value|name="next" value)="[^"]*"', "", body.decode())
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize(
    "address", ["/objects/99999999999999999999", "/objects/0", "/catalog/-1", "/objects/x"]
)
def test_numbers_that_are_none_are_not_found(
    address: str, shop: Node, signed_in: Callable[[str], Client]
) -> None:
    assert signed_in("olivia").get(address).status_code == 404


def test_lists_are_shorter_never_refused(shop: Node, signed_in: Callable[[str], Client]) -> None:
    catalog = the("catalog", "shop").id
    assert b"sales" in signed_in("mia").get(f"/catalog/{catalog}").content
    shown = signed_in("ana").get(f"/catalog/{catalog}")
    assert shown.status_code == 200
    assert b"sales" not in shown.content
    assert b"stock" not in shown.content


def test_search_finds_only_what_one_may_see(shop: Node, signed_in: Callable[[str], Client]) -> None:
    assert b"orders</b>" in signed_in("mia").get("/search?q=orders").content
    assert b"orders</b>" not in signed_in("ana").get("/search?q=orders").content


def test_only_who_gives_access_looks_people_up(shop: Node, signed_in: Callable[[str], Client]) -> None:
    assert b"person carl" in signed_in("olivia").get("/search?q=carl").content
    ana = signed_in("ana")
    assert b"person carl" not in ana.get("/search?q=carl").content
    assert b"person ana" in ana.get("/search?q=ana").content
    known, unknown = (ana.get(f"/history?person={name}").content.decode() for name in ("carl", "nobody"))
    assert "Nobody is called carl." in known
    assert "Nobody is called nobody." in unknown


def test_a_refusal_names_what_is_lacking_and_who_can_give_it(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    body = signed_in("mia").get(f"/objects/{the('table', 'shop.sales.orders').id}/grant").content.decode()
    assert "You cannot grant access to shop.sales.orders" in body
    assert "Manage grants on orders" in body
    assert "olivia can grant it" in body
    assert "See how this was decided" in body


def test_others_access_is_shown_to_those_who_give_it_and_recorded(
    shop: Node, signed_in: Callable[[str], Client]
) -> None:
    address = f"/objects/{the('table', 'shop.sales.orders').id}"
    assert b"no_contractors" in signed_in("olivia").get(address).content
    assert AccessRecord.objects.filter(kind="looked").count() == 1
    own = signed_in("mia").get(address).content.decode()
    assert "no_contractors" not in own
    assert "What you can do here" in own
