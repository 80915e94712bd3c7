import json

from django.db import migrations, models

from accounts.fact_content import content, plain
from accounts.migrations._beside_older import AddFieldOnce, NotByOlder
from accounts.migrations._seal_once import SealOnce
from accounts.seals import is_sealed, seal

OVER = ("closed", "cancelled")
DESK = ("review_id", "stage", "key")
SEAT = ("desk_id", "reviewer_id", "left")
SEATS = ("policies_reviewdesk", "policies_reviewseat", "policies_substitute", "policies_reviewrow.desk")
SUBSTITUTE = ("person_id", "deputy_id", "starts", "ends", "ended_at")


def _seal_rows(model, columns):
    for row in model.objects.filter(seal=None).order_by("pk").iterator(chunk_size=2000):
        values = (plain(getattr(row, column)) for column in columns)
        sealed = seal(content(model._meta.model_name, row.pk, 0, None, *values))
        model.objects.filter(pk=row.pk).update(seal=sealed)


def seal_seats(apps, editor):
    """Who is asked when seals come is taken as it stands, in reviews that are not over."""
    desk, seat, row = (apps.get_model("policies", name) for name in ("reviewdesk", "reviewseat", "reviewrow"))
    _seal_rows(desk, DESK)
    _seal_rows(seat, SEAT)
    _seal_rows(apps.get_model("policies", "substitute"), SUBSTITUTE)
    placed = (
        row.objects.filter(desk_seal=None)
        .exclude(review__state__in=OVER)
        .filter(desk__isnull=False)
        .order_by("pk")
    )
    for item in placed.only("pk", "review_id", "number", "desk_id").iterator(chunk_size=2000):
        place = content("reviewplace", item.review_id, item.number, None, item.desk_id)
        row.objects.filter(pk=item.pk).update(desk_seal=seal(place))


def seal_more(apps, editor):
    """Seals that now cover more: those that were good are made anew."""
    reviews = apps.get_model("policies", "review").objects
    for item in reviews.exclude(state__in=OVER).order_by("pk"):
        values = (item.realm_id, item.starter_id, item.silence)
        if is_sealed(content("review", item.pk, 0, None, *values), item.seal):
            stages = json.loads(json.dumps(item.stages, sort_keys=True))
            new = content("review", item.pk, 0, None, *values, stages, item.fallback_id)
            reviews.filter(pk=item.pk).update(seal=seal(new))
    duties = apps.get_model("policies", "groupduty").objects
    for duty in duties.select_related("permission", "group").order_by("pk"):
        about = (duty.group_id, duty.permission.codename, duty.content_object_id)
        if is_sealed(content("groupduty", duty.pk, 0, None, *about), duty.seal):
            new = content("groupduty", duty.pk, 0, None, *about, duty.group.name)
            duties.filter(pk=duty.pk).update(seal=seal(new))


class Migration(migrations.Migration):
    atomic = False  # a table is not locked while its rows are sealed
    dependencies = [("policies", "0047_seals_of_reviews")]

    operations = [
        NotByOlder("policies_reviewdesk", DESK, 1),
        NotByOlder("policies_reviewseat", SEAT, 1),
        NotByOlder("policies_substitute", SUBSTITUTE, 1),
        NotByOlder("policies_groupduty", ("group_id", "permission_id", "content_object_id"), 1),
        AddFieldOnce("reviewdesk", "seal", models.BinaryField(null=True, editable=False)),
        AddFieldOnce("reviewseat", "seal", models.BinaryField(null=True, editable=False)),
        AddFieldOnce("substitute", "seal", models.BinaryField(null=True, editable=False)),
        AddFieldOnce("reviewrow", "desk_seal", models.BinaryField(null=True, editable=False)),
        SealOnce(seal_seats, SEATS),
        SealOnce(seal_more, ("policies_review", "policies_groupduty"), form=2),
    ]
