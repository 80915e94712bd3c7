from django.db import migrations

from accounts.migrations._beside_older import NotByOlder

TABLES = {
    "accounts_principal": ("kind", "name", "display_name", "pseudonym", "erased"),
    "catalog_detail": ("properties", "content"),
    "catalog_realm": ("kind", "settings"),
    "policies_appliedfile": ("realm_id", "scope", "owns", "registers_objects", "statements", "revision", "at"),
    "policies_backend": (
        *("realm_id", "catalog_id", "kind", "sealed_url", "place", "policy", "share", "confirmed"),
        *("restored", "source", "within", "sole", "awaits"),
    ),
    "policies_foreignorder": (
        *("backend_id", "type", "path", "right", "holder", "grantor", "replaced", "revision"),
        *("done", "dropped"),
    ),
    "policies_groupduty": ("group_id", "permission_id", "content_object_id"),
    "policies_requestpart": ("seal", "given", "role_id", "lasts", "until", "decided_by_id", "decided_for_id"),
    "policies_review": ("realm_id", "starter_id", "silence", "stages", "fallback_id"),
    "policies_reviewdesk": ("review_id", "stage", "key"),
    "policies_reviewrow": ("desk_id", "choice", "takes", "until", "decided_by_id", "default"),
    "policies_reviewseat": ("desk_id", "reviewer_id", "left"),
    "policies_substitute": ("person_id", "deputy_id", "starts", "ends", "ended_at"),
}


class Migration(migrations.Migration):
    """The same where the tables were sealed before their migrations kept older processes out."""

    atomic = False
    dependencies = [
        ("policies", "0059_defaults_for_older_processes"),
        ("accounts", "0023_defaults_for_older_processes"),
        ("catalog", "0010_seals_of_realms_and_details"),
    ]

    operations = [NotByOlder(table, columns, 1) for table, columns in TABLES.items()]
