from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0005_children_in_order'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='detail',
            index=models.Index(condition=models.Q(('content__has_key', 'storageLocations'), ('content__properties__has_key', 'location'), _connector='OR'), fields=['securable'], name='details_with_a_location'),
        ),
        migrations.AddIndex(
            model_name='placement',
            index=models.Index(condition=models.Q(('name__contains', ':'), ('type', 'schema')), fields=['securable'], name='schemas_with_a_colon'),
        ),
    ]
