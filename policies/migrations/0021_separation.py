"""Rules of separation of duties and exceptions from them, as facts that are only opened and closed."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

TABLES = ("policies_separationrule", "policies_separationexception")
TRIGGERS = """
CREATE TRIGGER only_close BEFORE UPDATE ON {0} FOR EACH ROW EXECUTE FUNCTION lakewarden_only_close();
CREATE TRIGGER no_delete BEFORE DELETE ON {0} FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON {0} FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_refuse();
"""
UNDO = "".join(
    f"DROP TRIGGER IF EXISTS {name} ON {table};"
    for table in TABLES
    for name in ("only_close", "no_delete", "no_truncate")
)
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


def _fact():
    return [
        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
        ("opened", models.BigIntegerField()),
        ("closed", models.BigIntegerField(null=True)),
        ("valid_from", models.DateTimeField(null=True)),
        ("valid_until", models.DateTimeField(null=True)),
        ("origin", models.CharField(choices=ORIGINS, default="hand", max_length=16)),
    ]


def _to(model, name="+", *, null=False):
    return models.ForeignKey(
        null=null, on_delete=django.db.models.deletion.PROTECT, related_name=name, to=model
    )


def _side(name):
    codes = django.contrib.postgres.fields.ArrayField(
        base_field=models.CharField(max_length=32), blank=True, default=list, size=None
    )
    return [
        (f"{name}_role", _to("catalog.securable", null=True)),
        (f"{name}_object", _to("catalog.securable", null=True)),
        (f"{name}_privileges", codes),
    ]


def _whole(name):
    role, thing, codes = f"{name}_role__isnull", f"{name}_object__isnull", f"{name}_privileges__len"
    return Q(**{role: False, thing: True, codes: 0}) | (Q(**{role: True, thing: False}) & ~Q(**{codes: 0}))


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_unread"),
        ("catalog", "0006_located"),
        ("policies", "0020_requests_needed"),
    ]

    operations = [
        migrations.CreateModel(
            name="SeparationRule",
            fields=[
                *_fact(),
                ("realm", _to("catalog.realm", "separations")),
                ("name", models.CharField(max_length=100)),
                *_side("one"),
                *_side("other"),
            ],
        ),
        migrations.CreateModel(
            name="SeparationException",
            fields=[
                *_fact(),
                ("rule", _to("policies.separationrule", "exceptions")),
                ("person", _to("accounts.principal", "separation_exceptions")),
                ("owner", _to("accounts.principal")),
            ],
        ),
        migrations.AddConstraint(
            model_name="separationrule",
            constraint=models.UniqueConstraint(
                condition=Q(closed__isnull=True), fields=("realm", "name"), name="one_open_separation_a_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="separationrule",
            constraint=models.CheckConstraint(condition=_whole("one"), name="one_side_is_whole"),
        ),
        migrations.AddConstraint(
            model_name="separationrule",
            constraint=models.CheckConstraint(condition=_whole("other"), name="other_side_is_whole"),
        ),
        migrations.AddConstraint(
            model_name="separationexception",
            constraint=models.UniqueConstraint(
                condition=Q(closed__isnull=True),
                fields=("rule", "person"),
                name="one_open_exception_a_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="separationexception",
            constraint=models.CheckConstraint(condition=Q(valid_until__isnull=False), name="exception_ends"),
        ),
        migrations.RunSQL("".join(TRIGGERS.format(table) for table in TABLES), UNDO),
    ]
