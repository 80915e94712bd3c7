"""Who answers for service accounts, where people are signed in, and how they want dates and numbers."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

TRIGGERS = """
CREATE TRIGGER only_close BEFORE UPDATE ON accounts_keeping
    FOR EACH ROW EXECUTE FUNCTION lakewarden_only_close();
CREATE TRIGGER no_delete BEFORE DELETE ON accounts_keeping
    FOR EACH ROW EXECUTE FUNCTION lakewarden_refuse();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON accounts_keeping
    FOR EACH STATEMENT EXECUTE FUNCTION lakewarden_refuse();
"""
ORIGINS = [
    ("hand", "by hand"),
    ("api", "through an API"),
    ("command", "by command"),
    ("discovered", "read from the source"),
    ("adopted", "adopted from a backend"),
    ("system", "by the system"),
]


def _key() -> models.BigAutoField:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


def _to(model: str, name: str, *, on_delete: object = django.db.models.deletion.PROTECT) -> models.ForeignKey:
    return models.ForeignKey(on_delete=on_delete, related_name=name, to=model)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_runs"),
        ("policies", "0002_append_only"),  # has the functions of the triggers
    ]
    operations = [
        migrations.AddField("user", "formats", models.CharField(default="en-gb", max_length=8)),
        migrations.CreateModel(
            "Keeping",
            [
                ("id", _key()),
                ("opened", models.BigIntegerField()),
                ("closed", models.BigIntegerField(null=True)),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_until", models.DateTimeField(null=True)),
                ("origin", models.CharField(choices=ORIGINS, default="hand", max_length=16)),
                ("keeper", _to("accounts.principal", "keepings")),
                ("service", _to("accounts.principal", "keepings_of")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed__isnull", True)),
                        fields=("service",),
                        name="one_open_keeper",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            "SignIn",
            [
                ("id", _key()),
                ("key", models.CharField(max_length=40, unique=True)),
                ("begun", models.DateTimeField(auto_now_add=True)),
                ("seen", models.DateTimeField()),
                ("agent", models.CharField(blank=True, max_length=200)),
                ("address", models.CharField(blank=True, max_length=45)),
                (
                    "account",
                    _to(settings.AUTH_USER_MODEL, "sign_ins", on_delete=django.db.models.deletion.CASCADE),
                ),
            ],
        ),
        migrations.RunSQL(
            TRIGGERS,
            "".join(
                f"DROP TRIGGER IF EXISTS {name} ON accounts_keeping;"
                for name in ("only_close", "no_delete", "no_truncate")
            ),
        ),
    ]
