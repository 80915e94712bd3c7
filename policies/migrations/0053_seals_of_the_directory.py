from django.db import migrations

from accounts.fact_content import content
from accounts.migrations._seal_once import SealOnce
from accounts.seals import is_sealed, seal


def seal_with_numbers(apps, editor):
    """What the directory said of groups is sealed with the number of its row, so that the record can tell its end."""
    rows = apps.get_model("accounts", "directorymember").objects
    for row in rows.order_by("pk").iterator(chunk_size=2000):
        if is_sealed(f"directorymember {row.group_id} {row.member_id}".encode(), row.seal):
            new = content("directorymember", row.pk, 0, None, row.group_id, row.member_id)
            rows.filter(pk=row.pk).update(seal=seal(new))


def seal_without(apps, editor):
    rows = apps.get_model("accounts", "directorymember").objects
    for row in rows.order_by("pk").iterator(chunk_size=2000):
        if is_sealed(content("directorymember", row.pk, 0, None, row.group_id, row.member_id), row.seal):
            rows.filter(pk=row.pk).update(seal=seal(f"directorymember {row.group_id} {row.member_id}".encode()))


class Migration(migrations.Migration):
    dependencies = [("policies", "0052_touches_by_realm"), ("accounts", "0018_editions")]

    operations = [SealOnce(seal_with_numbers, ("accounts_directorymember",), form=2, undo=seal_without)]
