"""People, groups and service accounts, and how they sign in: the tables of 0.1.0 as one migration.

Memberships and keepings are facts: the triggers that guard them are made by policies, see
policies/migrations/sql/facts.sql.
"""

import datetime

from django.conf import settings
from django.contrib.auth.models import UserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models.functions import Coalesce, Upper
from django.utils import timezone

from accounts.models.principals import make_pseudonym

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
        ("accounts", name)
        for name in (
            "0001_initial",
            "0002_names_in_any_case",
            "0003_runs",
            "0004_keepers_and_sign_ins",
            "0005_erased",
            "0006_unread",
            "0007_origins",
            "0008_readings",
            "0009_emergency_until",
            "0010_session_salt",
            "0011_seals",
        )
    ]

    dependencies = [("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.CreateModel(
            name="Principal",
            fields=[
                ("id", _key()),
                (
                    "kind",
                    models.CharField(
                        choices=[("user", "person"), ("group", "group"), ("service", "service account"), ("pattern", "name pattern")],
                        max_length=8,
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                ("display_name", models.CharField(blank=True, max_length=255)),
                ("pseudonym", models.CharField(default=make_pseudonym, max_length=16, unique=True)),
                ("erased", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("kind", "name"), name="one_principal_a_name")],
                "indexes": [models.Index(Upper("name"), name="principals_in_any_case")],
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("id", _key()),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False, help_text="Designates whether the user can log into this admin site.", verbose_name="staff status"
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=timezone.now, verbose_name="date joined")),
                (
                    "theme",
                    models.CharField(
                        choices=[("system", "as the system"), ("light", "light"), ("dark", "dark")], default="system", max_length=8
                    ),
                ),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
                ("principal", models.OneToOneField(null=True, on_delete=models.PROTECT, related_name="account", to="accounts.principal")),
                ("formats", models.CharField(default="en-gb", max_length=8)),
                ("unread", models.IntegerField(default=0)),
                ("emergency_until", models.DateTimeField(null=True)),
                ("session_salt", models.CharField(blank=True, default="", max_length=32)),
            ],
            options={"verbose_name": "user", "verbose_name_plural": "users", "abstract": False},
            managers=[("objects", UserManager())],
        ),
        migrations.CreateModel(
            name="Token",
            fields=[
                ("id", _key()),
                ("prefix", models.CharField(max_length=12)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("scopes", ArrayField(models.CharField(max_length=16), default=list)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("expires", models.DateTimeField(null=True)),
                ("last_used", models.DateTimeField(null=True)),
                ("revoked", models.DateTimeField(null=True)),
                ("principal", models.ForeignKey(on_delete=models.PROTECT, related_name="tokens", to="accounts.principal")),
                ("realm", models.BigIntegerField(null=True)),
                ("run", models.CharField(blank=True, max_length=16)),
                ("starter", models.ForeignKey(null=True, on_delete=models.PROTECT, related_name="started", to="accounts.principal")),
                ("revision", models.BigIntegerField(null=True)),
                ("view", models.CharField(blank=True, max_length=16)),
            ],
        ),
        migrations.CreateModel(
            name="SignIn",
            fields=[
                ("id", _key()),
                ("key", models.CharField(max_length=40, unique=True)),
                ("begun", models.DateTimeField(auto_now_add=True)),
                ("seen", models.DateTimeField()),
                ("agent", models.CharField(blank=True, max_length=200)),
                ("address", models.CharField(blank=True, max_length=45)),
                ("account", models.ForeignKey(on_delete=models.CASCADE, related_name="sign_ins", to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                *_fact(),
                ("group", models.ForeignKey(on_delete=models.PROTECT, related_name="memberships_of", to="accounts.principal")),
                ("member", models.ForeignKey(on_delete=models.PROTECT, related_name="memberships", to="accounts.principal")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("group"), models.F("member"), models.F("origin"), STARTS, ENDS, condition=OPEN, name="one_open_membership"
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="Keeping",
            fields=[
                *_fact(),
                ("keeper", models.ForeignKey(on_delete=models.PROTECT, related_name="keepings", to="accounts.principal")),
                ("service", models.ForeignKey(on_delete=models.PROTECT, related_name="keepings_of", to="accounts.principal")),
                ("seal", models.BinaryField(max_length=36, null=True)),
            ],
            options={"constraints": [models.UniqueConstraint(condition=OPEN, fields=("service",), name="one_open_keeper")]},
        ),
    ]
