import django.db.models.functions.comparison
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0004_names_by_pieces'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='placement',
            index=models.Index(models.F('parent'), django.db.models.functions.comparison.Collate(django.db.models.functions.text.Upper('name'), 'C'), models.F('id'), condition=models.Q(('closed__isnull', True)), name='children_in_order'),
        ),
    ]
