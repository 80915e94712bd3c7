from django.db import migrations, models

from accounts.fact_content import content, plain
from accounts.migrations._beside_older import AddFieldOnce, NotByOlder
from accounts.migrations._seal_once import SealOnce
from accounts.seals import seal

OVER = ("closed", "cancelled")
ROW = ("desk_id", "choice", "takes", "until", "decided_by_id", "default")


def seal_all(apps, editor):
    """What is there when seals come is taken as it stands, of the reviews that are not over."""
    review, row = (apps.get_model("policies", name) for name in ("review", "reviewrow"))
    for item in review.objects.filter(seal=None).exclude(state__in=OVER).order_by("pk"):
        values = (item.realm_id, item.starter_id, item.silence)
        review.objects.filter(pk=item.pk).update(seal=seal(content("review", item.pk, 0, None, *values)))
    for item in row.objects.filter(seal=None).exclude(review__state__in=OVER).order_by("pk").iterator(chunk_size=2000):
        row.objects.filter(pk=item.pk).update(seal=seal(_content(item)))


def _content(row):
    about = (row.kind, row.holder_id, row.group_id, row.role_id, row.securable_id, row.pattern)
    ends = (row.effect, sorted(row.privileges), sorted(row.facts))
    decided = ("", [], None, None)
    if row.choice and not row.default:
        decided = (row.choice, sorted(row.takes), plain(row.until), row.decided_by_id)
    return content("reviewrow", row.review_id, row.number, None, *about, *ends, *decided)


class Migration(migrations.Migration):
    atomic = False  # a table is not locked while its rows are sealed
    dependencies = [("policies", "0046_seals_of_connections")]

    operations = [
        NotByOlder("policies_review", ("realm_id", "starter_id", "silence", "stages", "fallback_id"), 1),
        NotByOlder("policies_reviewrow", ROW, 1),
        AddFieldOnce("review", "seal", models.BinaryField(null=True, editable=False)),
        AddFieldOnce("reviewrow", "seal", models.BinaryField(null=True, editable=False)),
        SealOnce(seal_all, ("policies_review", "policies_reviewrow")),
    ]
