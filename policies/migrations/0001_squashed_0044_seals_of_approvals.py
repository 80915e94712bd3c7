"""The record, the facts and what works on them: the tables of 0.1.0 as one migration.

What the database itself enforces is written in the folder `sql` beside this file.
"""

import datetime
from pathlib import Path

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import migrations, models
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce

ORIGINS = [
    ("hand", "by hand"),
    ("api", "through an API"),
    ("command", "by command"),
    ("discovered", "read from the source"),
    ("adopted", "adopted from a backend"),
    ("request", "asked for and approved"),
    ("emergency", "taken in an emergency"),
    ("system", "by the system"),
]
STARTS = Coalesce("valid_from", models.Value(datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), output_field=models.DateTimeField()))
ENDS = Coalesce("valid_until", models.Value(datetime.datetime(9999, 1, 1, tzinfo=datetime.UTC), output_field=models.DateTimeField()))
OPEN = models.Q(("closed__isnull", True))
FACETS_UNDO = """
DROP FUNCTION lakewarden_words, lakewarden_change_facets, lakewarden_event_facets;
DROP FUNCTION lakewarden_block;
"""


def _sql(name):
    return (Path(__file__).parent / "sql" / f"{name}.sql").read_text()


def _key():
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


def _fact():
    return [
        ("id", _key()),
        ("opened", models.BigIntegerField()),
        ("closed", models.BigIntegerField(null=True)),
        ("valid_from", models.DateTimeField(null=True)),
        ("valid_until", models.DateTimeField(null=True)),
        ("origin", models.CharField(choices=ORIGINS, default="hand", max_length=16)),
    ]


class Migration(migrations.Migration):
    initial = True
    # a database that has applied all of them has what is here
    replaces = [
        ("policies", name)
        for name in (
            "0001_initial",
            "0002_append_only",
            "0003_direct_grants",
            "0004_checkpoints",
            "0005_sync_deeds",
            "0006_grants_on_texts",
            "0007_feeds",
            "0008_changes_by_time",
            "0009_uses",
            "0010_verification",
            "0011_redaction",
            "0012_database_identity",
            "0013_discoveries",
            "0014_changes_of_request",
            "0015_words",
            "0016_notices",
            "0017_reviews",
            "0018_pipelines",
            "0019_requests",
            "0020_requests_needed",
            "0021_separation",
            "0022_words_of_reasons",
            "0023_emergencies",
            "0024_archives",
            "0025_sync_pace",
            "0026_forgotten_runs",
            "0027_kinds_of_backends",
            "0028_peers",
            "0029_owners_in_separation",
            "0030_facets",
            "0031_facets_found",
            "0032_nightly_readings",
            "0033_position_of_backends",
            "0034_sources",
            "0035_outages",
            "0039_facts_by_revision",
            "0040_hourly_verification",
            "0041_seals",
            "0042_door",
            "0043_states_of_items",
            "0044_seals_of_approvals",
        )
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("accounts", "0001_squashed_0011_seals"),
        ("catalog", "0001_squashed_0008_seals"),
    ]

    operations = [
        migrations.RunSQL(_sql("facets"), FACETS_UNDO),
        # record
        migrations.CreateModel(
            name="Counter",
            fields=[
                ("id", _key()),
                ("revision", models.BigIntegerField(default=0)),
                ("digest", models.CharField(blank=True, max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="Touch",
            fields=[("key", models.CharField(max_length=32, primary_key=True, serialize=False)), ("revision", models.BigIntegerField())],
        ),
        migrations.CreateModel(
            name="Change",
            fields=[
                ("revision", models.BigIntegerField(primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=40)),
                ("realm", models.BigIntegerField(null=True)),
                ("at", models.DateTimeField()),
                ("actor", models.CharField(max_length=40)),
                ("on_behalf_of", models.CharField(blank=True, max_length=40)),
                ("via", models.CharField(max_length=40)),
                ("reason", models.TextField(blank=True)),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("previous", models.CharField(blank=True, max_length=64)),
                ("digest", models.CharField(max_length=64)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["realm", "-revision"], name="changes_of_realm"),
                    models.Index(fields=["actor", "-revision"], name="changes_of_actor"),
                    models.Index(fields=["at", "revision"], name="changes_by_time"),
                    models.Index(condition=models.Q(("request_id", ""), _negated=True), fields=["request_id"], name="changes_of_request"),
                    GinIndex(
                        models.Func("revision", "actor", function="lakewarden_change_facets", output_field=ArrayField(models.TextField())),
                        models.Func("revision", "reason", function="lakewarden_words", output_field=SearchVectorField()),
                        gin_pending_list_limit=64,
                        name="changes_by_facets",
                    ),
                    models.Index(CombinedExpression(models.F("revision"), ">>", models.Value(14)), models.F("at"), name="changes_of_block"),
                ]
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", _key()),
                ("number", models.IntegerField()),
                ("kind", models.CharField(max_length=40)),
                ("object_type", models.CharField(blank=True, max_length=24)),
                ("object_name", models.TextField(blank=True)),
                ("object_key", models.BigIntegerField(null=True)),
                ("lineage", ArrayField(models.BigIntegerField(), default=list)),
                ("people", ArrayField(models.CharField(max_length=40), default=list)),
                ("data", models.JSONField(default=dict)),
                ("change", models.ForeignKey(on_delete=models.PROTECT, related_name="events", to="policies.change")),
            ],
            options={
                "indexes": [
                    GinIndex(fields=["lineage"], name="events_by_lineage"),
                    GinIndex(fields=["people"], name="events_by_people"),
                    models.Index(fields=["kind", "-change"], name="events_by_kind"),
                    models.Index(fields=["object_key", "-change"], name="events_of_object"),
                    GinIndex(
                        models.Func(
                            "change",
                            "kind",
                            "lineage",
                            "people",
                            function="lakewarden_event_facets",
                            output_field=ArrayField(models.TextField()),
                        ),
                        models.Func("change", "object_name", function="lakewarden_words", output_field=SearchVectorField()),
                        gin_pending_list_limit=64,
                        name="events_by_facets",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("change", "number"), name="one_event_a_number")],
            },
        ),
        migrations.CreateModel(
            name="AccessRecord",
            fields=[
                ("id", _key()),
                ("kind", models.CharField(choices=[("refused", "refused"), ("looked", "looked at others' access")], max_length=8)),
                ("at", models.DateTimeField()),
                ("realm", models.BigIntegerField(null=True)),
                ("actor", models.CharField(max_length=40)),
                ("operation", models.CharField(max_length=64)),
                ("object_type", models.CharField(blank=True, max_length=24)),
                ("object_name", models.TextField(blank=True)),
                ("lineage", ArrayField(models.BigIntegerField(), default=list)),
                ("via", models.CharField(max_length=40)),
                ("previous", models.CharField(blank=True, max_length=64)),
                ("digest", models.CharField(max_length=64)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["actor", "-at"], name="access_of_actor"),
                    GinIndex(fields=["lineage"], name="access_by_lineage"),
                ]
            },
        ),
        migrations.CreateModel(
            name="AccessRepeat",
            fields=[
                (
                    "record",
                    models.OneToOneField(
                        on_delete=models.CASCADE, primary_key=True, related_name="repeat", serialize=False, to="policies.accessrecord"
                    ),
                ),
                ("count", models.IntegerField(default=1)),
                ("last", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="AccessCounter",
            fields=[("id", _key()), ("size", models.BigIntegerField(default=0)), ("digest", models.CharField(blank=True, max_length=64))],
        ),
        migrations.CreateModel(
            name="Checkpoint",
            fields=[
                ("id", _key()),
                ("log", models.CharField(choices=[("changes", "changes"), ("access", "refusals and looks")], max_length=8)),
                ("size", models.BigIntegerField()),
                ("root", models.CharField(max_length=64)),
                ("peaks", ArrayField(models.CharField(max_length=64))),
                ("at", models.DateTimeField()),
                ("note", models.TextField()),
                ("sent", ArrayField(models.TextField(), default=list)),
                ("trouble", models.TextField(blank=True)),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("log", "size"), name="one_checkpoint_a_size")]},
        ),
        migrations.CreateModel(
            name="Verification",
            fields=[
                ("id", _key()),
                ("by", models.CharField(blank=True, max_length=40)),
                ("asked", models.DateTimeField(auto_now_add=True)),
                ("started", models.DateTimeField(null=True)),
                ("finished", models.DateTimeField(null=True)),
                ("total", models.BigIntegerField(default=0)),
                ("changes", models.BigIntegerField(default=0)),
                ("looks", models.BigIntegerField(default=0)),
                ("signed", models.IntegerField(default=0)),
                ("broken", models.TextField(blank=True)),
                ("differences", models.BigIntegerField(default=0)),
                ("differing", ArrayField(models.TextField(), default=list)),
                ("facts", models.BigIntegerField(default=0)),
                ("lost", ArrayField(models.TextField(), default=list)),
                ("turn", models.BigIntegerField(default=0)),
                ("upto", models.BigIntegerField(default=0)),
                ("whole", models.BooleanField(default=True)),
            ],
        ),
        migrations.CreateModel(
            name="Archive",
            fields=[
                ("id", _key()),
                ("first", models.BigIntegerField()),
                ("upto", models.BigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("written", "written"), ("recorded", "recorded"), ("removed", "removed from the live tables")],
                        default="written",
                        max_length=8,
                    ),
                ),
                ("folder", models.TextField()),
                ("digest", models.CharField(max_length=64)),
                ("events", models.BigIntegerField()),
                ("facts", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("recorded", models.BigIntegerField(null=True)),
                ("removed", models.BigIntegerField(default=0)),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="archives", to="catalog.realm")),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("realm", "first"), name="one_archive_a_beginning")]},
        ),
        migrations.CreateModel(
            name="Feed",
            fields=[
                ("id", _key()),
                ("name", models.TextField(unique=True)),
                ("changes", models.BigIntegerField(default=0)),
                ("access", models.BigIntegerField(default=0)),
                ("until", models.JSONField(null=True)),
                ("length", models.BigIntegerField(default=0)),
                ("trouble", models.TextField(blank=True)),
                ("at", models.DateTimeField(null=True)),
            ],
        ),
        # facts
        migrations.CreateModel(
            name="RealmMember",
            fields=[
                *_fact(),
                ("principal", models.ForeignKey(on_delete=models.PROTECT, related_name="realms", to="accounts.principal")),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="members", to="catalog.realm")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("realm"),
                        models.F("principal"),
                        models.F("origin"),
                        STARTS,
                        ENDS,
                        condition=OPEN,
                        name="one_open_realm_member",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                *_fact(),
                ("holder", models.ForeignKey(on_delete=models.PROTECT, related_name="assignments", to="accounts.principal")),
                ("role", models.ForeignKey(on_delete=models.PROTECT, related_name="assignments", to="catalog.securable")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("role"), models.F("holder"), models.F("origin"), STARTS, ENDS, condition=OPEN, name="one_open_assignment"
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                *_fact(),
                ("privilege", models.CharField(max_length=32)),
                ("written", models.CharField(blank=True, max_length=32)),
                ("effect", models.CharField(choices=[("allow", "allow"), ("deny", "deny")], default="allow", max_length=5)),
                ("pattern", models.TextField(blank=True)),
                ("holder", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="grants", to="accounts.principal")),
                ("role", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="privileges", to="catalog.securable")),
                ("securable", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="grants", to="catalog.securable")),
                ("realm", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="texts", to="catalog.realm")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(condition=OPEN, fields=["role"], name="open_grants_of_role"),
                    models.Index(condition=OPEN, fields=["holder"], name="open_grants_of_holder"),
                    models.Index(condition=OPEN, fields=["securable"], name="open_grants_on_object"),
                    models.Index(
                        condition=models.Q(("closed__isnull", True), ("securable__isnull", True)),
                        fields=["realm", "pattern"],
                        name="open_grants_on_texts",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("role"),
                        models.F("securable"),
                        models.F("privilege"),
                        models.F("effect"),
                        models.F("pattern"),
                        models.F("origin"),
                        STARTS,
                        ENDS,
                        condition=OPEN,
                        name="one_open_role_grant",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("holder__isnull", True), ("role__isnull", False)),
                            models.Q(("holder__isnull", False), ("role__isnull", True)),
                            _connector="OR",
                        ),
                        name="grant_has_one_holder",
                    ),
                    models.UniqueConstraint(
                        models.F("holder"),
                        models.F("securable"),
                        models.F("privilege"),
                        models.F("effect"),
                        models.F("pattern"),
                        models.F("origin"),
                        STARTS,
                        ENDS,
                        condition=OPEN,
                        name="one_open_direct_grant",
                    ),
                    models.UniqueConstraint(
                        models.F("role"),
                        models.F("privilege"),
                        models.F("pattern"),
                        models.F("origin"),
                        STARTS,
                        ENDS,
                        condition=models.Q(("closed__isnull", True), ("securable__isnull", True)),
                        name="one_open_role_text",
                    ),
                    models.UniqueConstraint(
                        models.F("holder"),
                        models.F("realm"),
                        models.F("privilege"),
                        models.F("pattern"),
                        models.F("origin"),
                        STARTS,
                        ENDS,
                        condition=models.Q(("closed__isnull", True), ("securable__isnull", True)),
                        name="one_open_direct_text",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("pattern", ""), ("realm__isnull", True), ("securable__isnull", False)),
                            models.Q(("realm__isnull", False), ("securable__isnull", True), models.Q(("pattern", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="grant_has_one_target",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Ownership",
            fields=[
                *_fact(),
                ("owner", models.ForeignKey(on_delete=models.PROTECT, related_name="ownerships", to="accounts.principal")),
                ("securable", models.ForeignKey(on_delete=models.PROTECT, related_name="ownerships", to="catalog.securable")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "indexes": [models.Index(condition=OPEN, fields=["owner"], name="open_ownerships")],
                "constraints": [models.UniqueConstraint(condition=OPEN, fields=("securable",), name="one_open_owner")],
            },
        ),
        # duties
        migrations.CreateModel(
            name="UserDuty",
            fields=[
                ("id", _key()),
                ("content_object", models.ForeignKey(on_delete=models.CASCADE, to="catalog.securable")),
                ("permission", models.ForeignKey(on_delete=models.CASCADE, to="auth.permission")),
                ("user", models.ForeignKey(on_delete=models.CASCADE, to=settings.AUTH_USER_MODEL)),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={"abstract": False, "unique_together": {("user", "permission", "content_object")}},
        ),
        migrations.CreateModel(
            name="GroupDuty",
            fields=[
                ("id", _key()),
                ("content_object", models.ForeignKey(on_delete=models.CASCADE, to="catalog.securable")),
                ("group", models.ForeignKey(on_delete=models.CASCADE, to="auth.group")),
                ("permission", models.ForeignKey(on_delete=models.CASCADE, to="auth.permission")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={"abstract": False, "unique_together": {("group", "permission", "content_object")}},
        ),
        # separation of duties
        migrations.CreateModel(
            name="SeparationRule",
            fields=[
                *_fact(),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="separations", to="catalog.realm")),
                ("name", models.CharField(max_length=100)),
                ("one_role", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="catalog.securable")),
                ("one_object", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="catalog.securable")),
                ("one_privileges", ArrayField(models.CharField(max_length=32), blank=True, default=list)),
                ("other_role", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="catalog.securable")),
                ("other_object", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="catalog.securable")),
                ("other_privileges", ArrayField(models.CharField(max_length=32), blank=True, default=list)),
                ("owners", models.BooleanField(default=True)),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(condition=OPEN, fields=("realm", "name"), name="one_open_separation_a_name"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("one_object__isnull", True), ("one_privileges__len", 0), ("one_role__isnull", False)),
                            models.Q(
                                ("one_object__isnull", False),
                                ("one_role__isnull", True),
                                models.Q(("one_privileges__len", 0), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="one_side_is_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("other_object__isnull", True), ("other_privileges__len", 0), ("other_role__isnull", False)),
                            models.Q(
                                ("other_object__isnull", False),
                                ("other_role__isnull", True),
                                models.Q(("other_privileges__len", 0), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="other_side_is_whole",
                    ),
                ]
            },
        ),
        migrations.CreateModel(
            name="SeparationException",
            fields=[
                *_fact(),
                ("rule", models.ForeignKey(on_delete=models.PROTECT, related_name="exceptions", to="policies.separationrule")),
                ("person", models.ForeignKey(on_delete=models.PROTECT, related_name="separation_exceptions", to="accounts.principal")),
                ("owner", models.ForeignKey(on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(condition=OPEN, fields=("rule", "person"), name="one_open_exception_a_person"),
                    models.CheckConstraint(condition=models.Q(("valid_until__isnull", False)), name="exception_ends"),
                ]
            },
        ),
        # facts written past the console
        migrations.CreateModel(
            name="UnsealedFact",
            fields=[
                ("id", _key()),
                ("model", models.CharField(max_length=32)),
                ("row", models.BigIntegerField()),
                ("key", models.CharField(max_length=40)),
                ("realm", models.BigIntegerField(null=True)),
                ("content", models.JSONField(default=dict)),
                ("writer", models.CharField(blank=True, max_length=20)),
                ("written", models.DateTimeField(null=True)),
                ("found", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("model", "row"), name="one_unsealed_a_row")],
                "indexes": [models.Index(fields=["key"], name="unsealed_by_key")],
            },
        ),
        # uses
        migrations.CreateModel(
            name="Use",
            fields=[
                ("id", _key()),
                ("run", models.CharField(max_length=200)),
                ("action", models.CharField(max_length=64)),
                ("executed", models.BooleanField()),
                ("at", models.DateTimeField()),
                ("principal", models.ForeignKey(on_delete=models.PROTECT, related_name="uses", to="accounts.principal")),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="uses", to="catalog.realm")),
                ("reporter", models.ForeignKey(on_delete=models.PROTECT, related_name="reports", to="accounts.principal")),
                ("securable", models.ForeignKey(on_delete=models.PROTECT, related_name="uses", to="catalog.securable")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["securable", "-at"], name="uses_of_object"),
                    models.Index(fields=["principal", "-at"], name="uses_of_principal"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("reporter", "realm", "run", "principal", "securable", "action"), name="one_use_a_run")
                ],
            },
        ),
        # sync
        migrations.CreateModel(
            name="Backend",
            fields=[
                ("id", _key()),
                ("kind", models.CharField(max_length=64)),
                ("sealed_url", models.TextField()),
                ("place", models.CharField(max_length=255)),
                ("policy", models.CharField(choices=[("repair", "repair"), ("report", "report only")], default="repair", max_length=8)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("new", "not yet compared"),
                            ("in_sync", "in sync"),
                            ("behind", "behind"),
                            ("failed", "failed"),
                            ("paused", "paused"),
                            ("held", "held"),
                            ("silent", "not answering"),
                        ],
                        default="new",
                        max_length=8,
                    ),
                ),
                ("proved_revision", models.BigIntegerField(default=0)),
                ("proved_at", models.DateTimeField(null=True)),
                ("counts", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("catalog", models.OneToOneField(on_delete=models.PROTECT, related_name="backend", to="catalog.securable")),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="backends", to="catalog.realm")),
                ("confirmed", models.CharField(blank=True, max_length=64)),
                ("error_kind", models.CharField(blank=True, max_length=16)),
                ("paused_at", models.DateTimeField(null=True)),
                ("paused_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.principal")),
                ("paused_until", models.DateTimeField(null=True)),
                ("restored", models.BooleanField(default=False)),
                ("share", models.PositiveSmallIntegerField(default=50)),
                ("compared_at", models.DateTimeField(null=True)),
                ("looked_at", models.DateTimeField(null=True)),
                ("paced_until", models.DateTimeField(null=True)),
                ("rate", models.PositiveIntegerField(default=0)),
                ("seen", models.CharField(blank=True, max_length=64)),
                ("forgotten", models.JSONField(default=dict)),
                ("read_at", models.DateTimeField(null=True)),
                ("read_nightly", models.BooleanField(default=True)),
                ("whole_at", models.DateTimeField(null=True)),
                ("position", models.CharField(blank=True, max_length=64)),
                ("source", models.CharField(blank=True, max_length=255)),
                ("within", ArrayField(models.TextField(), default=list)),
                ("sole", models.BooleanField(default=True)),
                (
                    "awaits",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("new", "an operator has to agree to the new connection"),
                            ("moved", "it leads to another system than before"),
                            ("shared", "another connection governs the same system"),
                        ],
                        max_length=8,
                    ),
                ),
                ("compared_revision", models.BigIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("sole", True), models.Q(("source", ""), _negated=True)),
                        fields=("source",),
                        name="a_source_has_one_connection",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="DatabaseIdentity",
            fields=[("id", _key()), ("identity", models.TextField()), ("since", models.DateTimeField())],
            options={"constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="one_database_identity")]},
        ),
        migrations.CreateModel(
            name="BackendLogins",
            fields=[
                (
                    "backend",
                    models.OneToOneField(
                        on_delete=models.CASCADE, primary_key=True, related_name="logins", serialize=False, to="policies.backend"
                    ),
                ),
                ("names", ArrayField(models.TextField(), default=list)),
            ],
        ),
        migrations.CreateModel(
            name="FoundOwner",
            fields=[
                ("id", _key()),
                ("name", models.TextField()),
                ("backend", models.ForeignKey(on_delete=models.CASCADE, related_name="found_owners", to="policies.backend")),
                ("securable", models.OneToOneField(on_delete=models.CASCADE, related_name="found_owner", to="catalog.securable")),
            ],
            options={"indexes": [models.Index(fields=["backend", "name"], name="found_owners_by_name")]},
        ),
        migrations.CreateModel(
            name="Heartbeat",
            fields=[("name", models.CharField(max_length=16, primary_key=True, serialize=False)), ("at", models.DateTimeField())],
        ),
        migrations.CreateModel(
            name="OutboxEntry",
            fields=[
                ("id", _key()),
                ("key", models.CharField(max_length=32)),
                ("revision", models.BigIntegerField()),
                ("due", models.DateTimeField()),
                ("revokes", models.BooleanField(default=False)),
                ("attempts", models.IntegerField(default=0)),
                ("lease", models.CharField(blank=True, max_length=32)),
                ("parked", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True)),
                ("backend", models.ForeignKey(on_delete=models.CASCADE, related_name="entries", to="policies.backend")),
                ("error_kind", models.CharField(blank=True, max_length=16)),
                ("parked_at", models.DateTimeField(null=True)),
                ("since", models.DateTimeField(null=True)),
            ],
            options={"indexes": [models.Index(condition=models.Q(("parked", False)), fields=["backend", "due"], name="outbox_due")]},
        ),
        migrations.CreateModel(
            name="BackendFinding",
            fields=[
                ("id", _key()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("missing", "missing"),
                            ("extra", "extra"),
                            ("foreign", "foreign"),
                            ("unknown", "unknown"),
                            ("bypass", "bypass"),
                        ],
                        max_length=8,
                    ),
                ),
                ("place", models.TextField(blank=True)),
                ("holder", models.CharField(blank=True, max_length=255)),
                ("what", models.TextField()),
                ("grantor", models.CharField(blank=True, max_length=255)),
                ("first_seen", models.DateTimeField()),
                ("last_seen", models.DateTimeField()),
                ("backend", models.ForeignKey(on_delete=models.CASCADE, related_name="findings", to="policies.backend")),
                ("securable", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="findings", to="catalog.securable")),
                ("accepted_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.principal")),
                ("accepted_reason", models.TextField(blank=True)),
                ("accepted_until", models.DateTimeField(null=True)),
                ("path", models.JSONField(default=list)),
                ("people", ArrayField(models.TextField(), default=list)),
                ("type", models.CharField(blank=True, max_length=16)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("tried_at", models.DateTimeField(null=True)),
                ("error_kind", models.CharField(blank=True, max_length=16)),
                ("error", models.TextField(blank=True)),
                ("concerns", models.JSONField(null=True)),
                ("hindered", models.JSONField(default=dict)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("backend", "kind", "place", "holder", "what", "grantor"), name="one_finding_each")
                ]
            },
        ),
        migrations.CreateModel(
            name="ForeignOrder",
            fields=[
                ("id", _key()),
                ("type", models.CharField(max_length=16)),
                ("path", models.JSONField(default=list)),
                ("right", models.TextField()),
                ("holder", models.CharField(max_length=255)),
                ("grantor", models.CharField(blank=True, max_length=255)),
                ("replaced", models.BooleanField(default=False)),
                ("revision", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("done", models.DateTimeField(null=True)),
                ("error", models.TextField(blank=True)),
                ("backend", models.ForeignKey(on_delete=models.CASCADE, related_name="orders", to="policies.backend")),
                ("by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.principal")),
                ("securable", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to="catalog.securable")),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("tried_at", models.DateTimeField(null=True)),
                ("error_kind", models.CharField(blank=True, max_length=16)),
                ("dropped", models.BooleanField(default=False)),
            ],
            options={"indexes": [models.Index(condition=models.Q(("done__isnull", True)), fields=["backend"], name="orders_open")]},
        ),
        migrations.CreateModel(
            name="SyncRun",
            fields=[
                ("id", _key()),
                ("started", models.DateTimeField()),
                ("ended", models.DateTimeField(null=True)),
                ("revision", models.BigIntegerField(default=0)),
                ("applied", models.IntegerField(default=0)),
                ("counts", models.JSONField(default=dict)),
                ("errors", models.JSONField(default=list)),
                ("backend", models.ForeignKey(on_delete=models.CASCADE, related_name="runs", to="policies.backend")),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("done", models.IntegerField(default=0)),
                ("losing", models.IntegerField(default=0)),
                ("removals", models.IntegerField(default=0)),
                ("removed", models.IntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "running"),
                            ("proved", "proved"),
                            ("unproved", "not yet equal"),
                            ("shown", "only shown"),
                            ("held", "held"),
                            ("failed", "failed"),
                        ],
                        default="running",
                        max_length=8,
                    ),
                ),
                ("total", models.IntegerField(default=0)),
            ],
            options={"indexes": [models.Index(fields=["backend", "-id"], name="runs_latest")]},
        ),
        migrations.CreateModel(
            name="SyncItem",
            fields=[
                ("id", _key()),
                ("number", models.IntegerField()),
                ("step", models.CharField(max_length=16)),
                ("role", models.TextField(blank=True)),
                ("label", models.TextField(blank=True)),
                ("person", models.TextField(blank=True)),
                ("what", models.JSONField(default=dict)),
                ("removes", models.IntegerField(default=0)),
                (
                    "state",
                    models.CharField(
                        choices=[("planned", "planned"), ("done", "done"), ("failed", "failed")], default="planned", max_length=8
                    ),
                ),
                ("error", models.TextField(blank=True)),
                ("error_kind", models.CharField(blank=True, max_length=16)),
                ("at", models.DateTimeField(null=True)),
                ("run", models.ForeignKey(on_delete=models.CASCADE, related_name="items", to="policies.syncrun")),
                ("places", ArrayField(models.TextField(), default=list)),
            ],
            options={
                "indexes": [GinIndex(fields=["places"], name="items_places")],
                "constraints": [models.UniqueConstraint(fields=("run", "number"), name="one_item_each")],
            },
        ),
        migrations.CreateModel(
            name="Discovery",
            fields=[
                ("id", _key()),
                ("by", models.CharField(max_length=40)),
                ("asked", models.DateTimeField(auto_now_add=True)),
                ("started", models.DateTimeField(null=True)),
                ("finished", models.DateTimeField(null=True)),
                ("total", models.IntegerField(default=0)),
                ("done", models.IntegerField(default=0)),
                ("added", models.IntegerField(default=0)),
                ("renamed", models.IntegerField(default=0)),
                ("described", models.IntegerField(default=0)),
                ("vanished", models.IntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                ("backend", models.ForeignKey(on_delete=models.CASCADE, related_name="discoveries", to="policies.backend")),
                ("left_out", ArrayField(models.TextField(), default=list)),
                ("left_out_count", models.IntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="Written",
            fields=[
                ("id", _key()),
                ("mark", models.CharField(max_length=64)),
                ("holder", models.TextField()),
                ("type", models.CharField(max_length=32)),
                ("path", models.JSONField(default=list)),
                ("right", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("giving", "being given"),
                            ("there", "given"),
                            ("taking", "being taken"),
                            ("shared", "given by others too"),
                        ],
                        default="giving",
                        max_length=8,
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("mark", "holder", "type", "path", "right"), name="written_once_each")]
            },
        ),
        migrations.CreateModel(
            name="Peer",
            fields=[
                ("id", _key()),
                ("mark", models.CharField(max_length=64, unique=True)),
                ("site", models.CharField(blank=True, max_length=64)),
                ("source", models.CharField(max_length=255)),
                ("target", models.CharField(max_length=255)),
                ("asked", models.DateTimeField()),
            ],
        ),
        # requests
        migrations.CreateModel(
            name="AccessRequest",
            fields=[
                ("id", _key()),
                ("key", models.CharField(blank=True, max_length=200)),
                ("digest", models.CharField(max_length=64)),
                ("realm_name", models.TextField()),
                ("reason", models.TextField()),
                ("ticket", models.CharField(blank=True, max_length=64)),
                ("lasts", models.CharField(blank=True, max_length=32)),
                ("until", models.DateTimeField(null=True)),
                ("starts", models.DateTimeField(null=True)),
                ("zone", models.CharField(default="UTC", max_length=64)),
                ("via", models.CharField(max_length=40)),
                ("asked_at", models.DateTimeField()),
                ("moved_at", models.DateTimeField()),
                ("lapses_at", models.DateTimeField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asked", "waiting for a decision"),
                            ("asked_back", "waiting for an answer"),
                            ("approved", "approved"),
                            ("approved_less", "approved in part"),
                            ("refused", "refused"),
                            ("withdrawn", "withdrawn"),
                            ("lapsed", "lapsed"),
                        ],
                        default="asked",
                        max_length=16,
                    ),
                ),
                ("asker", models.ForeignKey(on_delete=models.PROTECT, related_name="requests_made", to="accounts.principal")),
                ("holder", models.ForeignKey(on_delete=models.PROTECT, related_name="requests_for", to="accounts.principal")),
                ("realm", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="requests", to="catalog.realm")),
                ("lineage", ArrayField(models.BigIntegerField(), default=list)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["asker", "-id"], name="requests_of_asker"),
                    models.Index(fields=["holder", "-id"], name="requests_of_holder"),
                    models.Index(fields=["realm", "-id"], name="requests_of_realm"),
                    models.Index(
                        condition=models.Q(("state__in", ("asked", "asked_back"))), fields=["lapses_at"], name="requests_to_lapse"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("key", ""), _negated=True), fields=("asker", "key"), name="one_request_a_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RequestWant",
            fields=[
                ("id", _key()),
                ("number", models.IntegerField()),
                ("type", models.CharField(max_length=24)),
                ("name", models.TextField()),
                ("action", models.CharField(max_length=64)),
                ("due", models.DateTimeField(null=True)),
                ("given_at", models.DateTimeField(null=True)),
                ("revision", models.BigIntegerField(null=True)),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_until", models.DateTimeField(null=True)),
                ("request", models.ForeignKey(on_delete=models.CASCADE, related_name="wants", to="policies.accessrequest")),
                ("securable", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="wanted", to="catalog.securable")),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("given_at__isnull", True)), fields=["due"], name="wants_due"),
                    models.Index(fields=["securable", "-id"], name="wants_of_object"),
                ],
                "constraints": [models.UniqueConstraint(fields=("request", "number"), name="one_want_a_number")],
            },
        ),
        migrations.CreateModel(
            name="RequestPart",
            fields=[
                ("id", _key()),
                ("number", models.IntegerField()),
                (
                    "kind",
                    models.CharField(choices=[("privilege", "privileges"), ("membership", "membership"), ("role", "role")], max_length=10),
                ),
                ("type", models.CharField(max_length=24)),
                ("name", models.TextField()),
                ("privileges", ArrayField(models.CharField(max_length=32), default=list)),
                ("places", ArrayField(models.TextField(), default=list)),
                ("addressed", ArrayField(models.TextField(), default=list)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("asked", "waiting for a decision"),
                            ("asked_back", "waiting for an answer"),
                            ("approved", "approved"),
                            ("approved_less", "approved in part"),
                            ("refused", "refused"),
                            ("withdrawn", "withdrawn"),
                            ("lapsed", "lapsed"),
                            ("needless", "not needed any more"),
                        ],
                        default="asked",
                        max_length=16,
                    ),
                ),
                ("escalates_at", models.DateTimeField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("note", models.TextField(blank=True)),
                ("given", ArrayField(models.CharField(max_length=32), default=list)),
                ("lasts", models.CharField(blank=True, max_length=32)),
                ("until", models.DateTimeField(null=True)),
                ("carried", models.BooleanField(default=False)),
                ("decided_by", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("decided_for", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("request", models.ForeignKey(on_delete=models.CASCADE, related_name="parts", to="policies.accessrequest")),
                ("role", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="catalog.securable")),
                ("securable", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="request_parts", to="catalog.securable")),
                ("needed", models.JSONField(default=dict)),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "indexes": [
                    GinIndex(condition=models.Q(("state__in", ("asked", "asked_back"))), fields=["addressed"], name="parts_addressed"),
                    GinIndex(fields=["places"], name="parts_by_place"),
                    models.Index(
                        condition=models.Q(("state__in", ("asked", "asked_back"))), fields=["escalates_at"], name="parts_to_escalate"
                    ),
                    models.Index(fields=["decided_by", "-id"], name="parts_decided"),
                ],
                "constraints": [models.UniqueConstraint(fields=("request", "number"), name="one_part_a_number")],
            },
        ),
        migrations.CreateModel(
            name="RequestStep",
            fields=[
                ("id", _key()),
                ("part", models.IntegerField(null=True)),
                ("move", models.CharField(max_length=16)),
                ("at", models.DateTimeField()),
                ("text", models.TextField(blank=True)),
                ("revision", models.BigIntegerField()),
                ("by", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("on_behalf_of", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("request", models.ForeignKey(on_delete=models.CASCADE, related_name="steps", to="policies.accessrequest")),
            ],
            options={"indexes": [models.Index(fields=["revision"], name="steps_by_revision")]},
        ),
        migrations.CreateModel(
            name="RequestFollow",
            fields=[
                ("id", _key()),
                (
                    "state",
                    models.CharField(
                        choices=[("behind", "on its way"), ("proved", "there"), ("stuck", "stuck")], default="behind", max_length=8
                    ),
                ),
                ("revision", models.BigIntegerField()),
                ("since", models.DateTimeField()),
                ("text", models.TextField(blank=True)),
                ("backend", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to="policies.backend")),
                ("request", models.ForeignKey(on_delete=models.CASCADE, related_name="deliveries", to="policies.accessrequest")),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("state", "proved"), _negated=True), fields=["backend"], name="deliveries_open")
                ],
                "constraints": [models.UniqueConstraint(fields=("request", "backend"), name="one_delivery_a_backend")],
            },
        ),
        migrations.CreateModel(
            name="RequestRule",
            fields=[
                (
                    "securable",
                    models.OneToOneField(
                        on_delete=models.CASCADE, primary_key=True, related_name="request_rule", serialize=False, to="catalog.securable"
                    ),
                ),
                ("min_reason", models.PositiveSmallIntegerField(null=True)),
                ("ticket", models.CharField(max_length=100, null=True)),
                ("escalate_hours", models.PositiveIntegerField(null=True)),
                ("lapse_hours", models.PositiveIntegerField(null=True)),
                ("longest_days", models.PositiveIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Substitute",
            fields=[
                ("id", _key()),
                ("starts", models.DateTimeField()),
                ("ends", models.DateTimeField()),
                ("made_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("deputy", models.ForeignKey(on_delete=models.PROTECT, related_name="substitutions", to="accounts.principal")),
                ("person", models.ForeignKey(on_delete=models.PROTECT, related_name="substitutes", to="accounts.principal")),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("ended_at__isnull", True)), fields=["deputy"], name="substitutions_of"),
                    models.Index(condition=models.Q(("ended_at__isnull", True)), fields=["person"], name="substitutes_of"),
                ]
            },
        ),
        # emergencies
        migrations.CreateModel(
            name="Emergency",
            fields=[
                ("id", _key()),
                ("privileges", ArrayField(models.CharField(max_length=32))),
                ("reason", models.TextField()),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("opened", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("revision", models.BigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "open"), ("ended", "waiting for its review"), ("closed", "reviewed and closed")],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("ended", models.DateTimeField(null=True)),
                ("verdict", models.TextField(blank=True)),
                ("reviewed", models.DateTimeField(null=True)),
                ("person", models.ForeignKey(on_delete=models.PROTECT, related_name="emergencies", to="accounts.principal")),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="emergencies", to="catalog.realm")),
                ("reviewer", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("securable", models.ForeignKey(on_delete=models.PROTECT, related_name="emergencies", to="catalog.securable")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["person", "-id"], name="emergencies_of_person"),
                    models.Index(fields=["securable", "-id"], name="emergencies_of_object"),
                    models.Index(condition=models.Q(("state", "closed"), _negated=True), fields=["until"], name="emergencies_to_review"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "open")), fields=("person", "securable"), name="one_open_emergency"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "closed"), _negated=True),
                            models.Q(("reviewer__isnull", False), models.Q(("verdict", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="emergency_closed_by_somebody",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("reviewer__isnull", True), models.Q(("reviewer", models.F("person")), _negated=True), _connector="OR"
                        ),
                        name="emergency_closed_by_another",
                    ),
                ],
            },
        ),
        # reviews
        migrations.CreateModel(
            name="Review",
            fields=[
                ("id", _key()),
                ("title", models.CharField(max_length=200)),
                ("purpose", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("building", "being prepared"),
                            ("open", "open"),
                            ("closing", "being carried out"),
                            ("proving", "waiting for proof"),
                            ("closed", "closed"),
                            ("cancelled", "called off"),
                        ],
                        default="building",
                        max_length=10,
                    ),
                ),
                ("scope", models.JSONField(default=dict)),
                ("stages", models.JSONField(default=list)),
                ("stage", models.PositiveSmallIntegerField(default=0)),
                (
                    "silence",
                    models.CharField(
                        choices=[("keep", "access stays"), ("remove", "access is removed"), ("escalate", "the starter decides")],
                        default="keep",
                        max_length=8,
                    ),
                ),
                (
                    "reasons",
                    models.CharField(
                        choices=[
                            ("never", "never"),
                            ("changes", "for whatever is not kept"),
                            ("far", "for whatever is not kept, and for what reaches far"),
                            ("always", "always"),
                        ],
                        default="changes",
                        max_length=8,
                    ),
                ),
                ("bulk", models.PositiveSmallIntegerField(default=20)),
                ("pace", models.PositiveSmallIntegerField(default=3)),
                ("sample", models.PositiveSmallIntegerField(default=10)),
                ("revision", models.BigIntegerField()),
                ("started", models.DateTimeField()),
                ("opened", models.DateTimeField(null=True)),
                ("due", models.DateTimeField()),
                ("ended", models.DateTimeField(null=True)),
                ("closed", models.DateTimeField(null=True)),
                ("every", models.PositiveSmallIntegerField(null=True)),
                ("progress", models.JSONField(default=dict)),
                ("lease", models.CharField(blank=True, max_length=32)),
                ("leased", models.DateTimeField(null=True)),
                ("counts", models.JSONField(default=dict)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("reminded", models.JSONField(default=list)),
                ("error", models.TextField(blank=True)),
                ("fallback", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("previous", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="following", to="policies.review")),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="reviews", to="catalog.realm")),
                ("series", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="instances", to="policies.review")),
                ("starter", models.ForeignKey(on_delete=models.PROTECT, related_name="reviews", to="accounts.principal")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["realm", "-id"], name="reviews_of_realm"),
                    models.Index(fields=["state", "due"], name="reviews_due"),
                ]
            },
        ),
        migrations.CreateModel(
            name="ReviewDesk",
            fields=[
                ("id", _key()),
                ("stage", models.PositiveSmallIntegerField(default=0)),
                ("key", models.CharField(max_length=200)),
                ("label", models.TextField(blank=True)),
                ("review", models.ForeignKey(on_delete=models.CASCADE, related_name="desks", to="policies.review")),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("review", "stage", "key"), name="one_desk_a_key")]},
        ),
        migrations.CreateModel(
            name="ReviewSeat",
            fields=[
                ("id", _key()),
                ("ground", models.CharField(max_length=32)),
                ("left", models.DateTimeField(null=True)),
                ("by", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("desk", models.ForeignKey(on_delete=models.CASCADE, related_name="seats", to="policies.reviewdesk")),
                ("reviewer", models.ForeignKey(on_delete=models.PROTECT, related_name="seats", to="accounts.principal")),
            ],
            options={
                "indexes": [models.Index(condition=models.Q(("left__isnull", True)), fields=["reviewer"], name="seats_taken")],
                "constraints": [models.UniqueConstraint(fields=("desk", "reviewer"), name="one_seat_each")],
            },
        ),
        migrations.CreateModel(
            name="ReviewRow",
            fields=[
                ("id", _key()),
                ("number", models.IntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("grant", "direct"),
                            ("role", "through a role"),
                            ("rule", "what a role says"),
                            ("member", "in a group"),
                            ("owner", "as the owner"),
                            ("foreign", "given outside"),
                        ],
                        max_length=8,
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("content", models.CharField(max_length=64)),
                ("role_name", models.CharField(blank=True, max_length=300)),
                ("lineage", ArrayField(models.BigIntegerField(), default=list)),
                ("type", models.CharField(blank=True, max_length=24)),
                ("what", models.TextField(blank=True)),
                ("place", models.CharField(blank=True, max_length=200)),
                ("pattern", models.TextField(blank=True)),
                ("privileges", ArrayField(models.CharField(max_length=32), default=list)),
                ("effect", models.CharField(default="allow", max_length=5)),
                ("gives", models.JSONField(default=list)),
                ("facts", ArrayField(models.CharField(max_length=40), default=list)),
                ("since", models.BigIntegerField(null=True)),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_until", models.DateTimeField(null=True)),
                ("outside", models.JSONField(default=dict)),
                ("people", models.IntegerField(default=0)),
                ("objects_below", models.IntegerField(default=0)),
                ("risks", ArrayField(models.CharField(max_length=16), default=list)),
                ("far", models.BooleanField(default=False)),
                (
                    "rank",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "changed since the last review"), (2, "reaches far"), (3, "unused"), (4, "everything else")], default=4
                    ),
                ),
                ("last_used", models.DateTimeField(null=True)),
                ("uses_told", models.BooleanField(default=False)),
                ("peers_have", models.IntegerField(default=0)),
                ("peers_of", models.IntegerField(default=0)),
                ("change", models.CharField(blank=True, max_length=8)),
                ("advice", models.CharField(blank=True, max_length=8)),
                ("advised", ArrayField(models.CharField(max_length=32), default=list)),
                ("ground", models.CharField(blank=True, max_length=24)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "not decided"),
                            ("decided", "decided"),
                            ("again", "to be looked at again"),
                            ("waiting", "to be carried out"),
                            ("kept", "kept"),
                            ("carried", "carried out"),
                            ("proved", "proved"),
                            ("gone", "ended by others"),
                            ("failed", "not carried out"),
                        ],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("version", models.IntegerField(default=0)),
                (
                    "choice",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("keep", "keep"),
                            ("remove", "remove"),
                            ("reduce", "reduce"),
                            ("end", "end on a date"),
                            ("unsure", "not sure"),
                        ],
                        max_length=8,
                    ),
                ),
                ("takes", ArrayField(models.CharField(max_length=32), default=list)),
                ("until", models.DateTimeField(null=True)),
                ("reason", models.TextField(blank=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("quick", models.BooleanField(default=False)),
                ("seen_twice", models.BooleanField(default=False)),
                ("default", models.BooleanField(default=False)),
                ("outcome", models.TextField(blank=True)),
                ("carried_revision", models.BigIntegerField(null=True)),
                ("carried_at", models.DateTimeField(null=True)),
                ("proved_at", models.DateTimeField(null=True)),
                ("proof", models.JSONField(default=dict)),
                ("decided_by", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("desk", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="rows", to="policies.reviewdesk")),
                ("group", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("holder", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("review", models.ForeignKey(on_delete=models.CASCADE, related_name="rows", to="policies.review")),
                ("role", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="catalog.securable")),
                ("securable", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="catalog.securable")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["review", "rank", "number"], name="review_rows_by_risk"),
                    models.Index(fields=["review", "holder", "number"], name="review_rows_by_holder"),
                    models.Index(fields=["review", "place", "number"], name="review_rows_by_object"),
                    models.Index(fields=["desk", "state"], name="review_rows_of_desk"),
                    models.Index(fields=["review", "state", "number"], name="review_rows_by_state"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("review", "number"), name="one_row_a_number"),
                    models.UniqueConstraint(fields=("review", "key"), name="one_row_a_key"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewDecision",
            fields=[
                ("id", _key()),
                ("stage", models.PositiveSmallIntegerField(default=0)),
                (
                    "choice",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("keep", "keep"),
                            ("remove", "remove"),
                            ("reduce", "reduce"),
                            ("end", "end on a date"),
                            ("unsure", "not sure"),
                        ],
                        max_length=8,
                    ),
                ),
                ("takes", ArrayField(models.CharField(max_length=32), default=list)),
                ("until", models.DateTimeField(null=True)),
                ("reason", models.TextField(blank=True)),
                ("at", models.DateTimeField()),
                ("seconds", models.FloatField(null=True)),
                ("together", models.IntegerField(default=1)),
                ("revision", models.BigIntegerField()),
                ("reviewer", models.ForeignKey(on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
                ("row", models.ForeignKey(on_delete=models.CASCADE, related_name="decisions", to="policies.reviewrow")),
            ],
            options={"indexes": [models.Index(fields=["row", "-id"], name="decisions_latest")]},
        ),
        # notices
        migrations.CreateModel(
            name="Letter",
            fields=[
                ("id", _key()),
                ("channel", models.CharField(max_length=200)),
                ("key", models.CharField(max_length=200)),
                ("data", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("due", "waiting"),
                            ("claimed", "taken up"),
                            ("handing", "on its way"),
                            ("sent", "sent"),
                            ("unsure", "perhaps sent"),
                            ("failed", "given up"),
                            ("dropped", "not needed any more"),
                        ],
                        default="due",
                        max_length=8,
                    ),
                ),
                ("tries", models.SmallIntegerField(default=0)),
                ("due", models.DateTimeField()),
                ("lease", models.DateTimeField(null=True)),
                ("trouble", models.TextField(blank=True)),
                ("made", models.DateTimeField()),
                ("recipient", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="letters", to="accounts.principal")),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("state__in", ("due", "claimed", "handing"))), fields=["due"], name="letters_to_send")
                ],
                "constraints": [models.UniqueConstraint(fields=("channel", "key"), name="one_letter_a_key")],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", _key()),
                ("kind", models.CharField(max_length=40)),
                ("key", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("link", models.CharField(blank=True, max_length=500)),
                ("until", models.DateTimeField(null=True)),
                ("urgent", models.BooleanField(default=False)),
                ("made", models.DateTimeField()),
                ("read", models.DateTimeField(null=True)),
                ("done", models.DateTimeField(null=True)),
                (
                    "how",
                    models.CharField(
                        choices=[
                            ("mail", "inbox, and mail at once"),
                            ("digest", "inbox, and a mail once a day"),
                            ("inbox", "inbox only"),
                            ("nothing", "nothing"),
                        ],
                        max_length=8,
                    ),
                ),
                ("letter", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="notices", to="policies.letter")),
                ("recipient", models.ForeignKey(on_delete=models.PROTECT, related_name="notices", to="accounts.principal")),
                ("who", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="+", to="accounts.principal")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["recipient", "-id"], name="notices_of_person"),
                    models.Index(
                        condition=models.Q(("done__isnull", True), ("read__isnull", True)),
                        fields=["recipient", "-id"],
                        name="notices_to_read",
                    ),
                    models.Index(fields=["key"], name="notices_by_key"),
                    models.Index(
                        condition=models.Q(
                            ("done__isnull", True),
                            ("read__isnull", True),
                            ("letter__isnull", True),
                            models.Q(("how", "inbox"), _negated=True),
                        ),
                        fields=["how", "recipient"],
                        name="notices_to_send",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("recipient", "key"), name="one_notice_a_key")],
            },
        ),
        migrations.CreateModel(
            name="NoticeChoice",
            fields=[
                ("id", _key()),
                ("kind", models.CharField(max_length=40)),
                (
                    "how",
                    models.CharField(
                        choices=[
                            ("mail", "inbox, and mail at once"),
                            ("digest", "inbox, and a mail once a day"),
                            ("inbox", "inbox only"),
                            ("nothing", "nothing"),
                        ],
                        max_length=8,
                    ),
                ),
                ("person", models.ForeignKey(on_delete=models.PROTECT, related_name="notice_choices", to="accounts.principal")),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("person", "kind"), name="one_choice_a_kind")]},
        ),
        # pipelines
        migrations.CreateModel(
            name="PipelineRun",
            fields=[
                ("id", _key()),
                ("name", models.CharField(max_length=32)),
                ("revision", models.BigIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waiting"),
                            ("running", "under way"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("stopped", "stopped"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("asked", models.DateTimeField()),
                ("by", models.CharField(max_length=40)),
                ("wished", models.TextField(blank=True)),
                ("master", models.TextField(blank=True)),
                ("started", models.DateTimeField(null=True)),
                ("told", models.DateTimeField(null=True)),
                ("ended", models.DateTimeField(null=True)),
                ("attempts", models.IntegerField(default=0)),
                ("step", models.CharField(blank=True, max_length=200)),
                ("done", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(default=0)),
                ("trouble", models.TextField(blank=True)),
                ("folder", models.TextField(blank=True)),
                ("result", models.JSONField(default=dict)),
                ("realm", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="pipelines", to="catalog.realm")),
            ],
            options={
                "indexes": [models.Index(fields=["realm", "name", "-revision"], name="pipeline_runs_latest")],
                "constraints": [
                    models.UniqueConstraint(fields=("name", "realm", "revision"), name="one_run_a_revision"),
                    models.UniqueConstraint(
                        condition=models.Q(("realm__isnull", True)), fields=("name", "revision"), name="one_site_run_a_revision"
                    ),
                    models.UniqueConstraint(condition=models.Q(("state", "running")), fields=("realm",), name="one_pipeline_at_a_time"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Figure",
            fields=[
                ("id", _key()),
                (
                    "kind",
                    models.CharField(
                        choices=[("object", "most exposed objects"), ("role", "broadest roles"), ("person", "people who reach most")],
                        max_length=8,
                    ),
                ),
                ("place", models.IntegerField()),
                ("weight", models.BigIntegerField()),
                ("numbers", models.JSONField(default=dict)),
                ("principal", models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="figures", to="accounts.principal")),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="figures", to="catalog.realm")),
                ("securable", models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="figures", to="catalog.securable")),
                ("run", models.ForeignKey(on_delete=models.CASCADE, related_name="figures", to="policies.pipelinerun")),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("realm", "kind", "place"), name="one_figure_a_place")]},
        ),
        migrations.CreateModel(
            name="Hint",
            fields=[
                ("id", _key()),
                ("kind", models.CharField(max_length=24)),
                ("key", models.CharField(max_length=64)),
                ("revision", models.BigIntegerField()),
                ("found", models.DateTimeField()),
                ("seen", models.DateTimeField()),
                ("grant", models.BigIntegerField(null=True)),
                ("pattern", models.TextField(blank=True)),
                ("privilege", models.CharField(blank=True, max_length=32)),
                ("people", models.IntegerField(default=0)),
                ("data", models.JSONField(default=dict)),
                ("dismissed", models.DateTimeField(null=True)),
                ("reason", models.TextField(blank=True)),
                ("dismissed_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.principal")),
                ("holder", models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="hints", to="accounts.principal")),
                (
                    "other_role",
                    models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="hints_of_other_role", to="catalog.securable"),
                ),
                ("realm", models.ForeignKey(on_delete=models.PROTECT, related_name="hints", to="catalog.realm")),
                ("role", models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="hints_of_role", to="catalog.securable")),
                ("securable", models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="hints", to="catalog.securable")),
                ("run", models.ForeignKey(on_delete=models.CASCADE, related_name="hints", to="policies.pipelinerun")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["securable"], name="hints_on_object"),
                    models.Index(fields=["role"], name="hints_on_role"),
                    models.Index(fields=["holder"], name="hints_on_holder"),
                    models.Index(fields=["realm", "-people", "id"], name="hints_weightiest"),
                ],
                "constraints": [models.UniqueConstraint(fields=("realm", "key"), name="one_hint_each")],
            },
        ),
        # what the database enforces
        migrations.RunSQL("".join(map(_sql, ("record", "door", "facts"))), _sql("undo")),
    ]
