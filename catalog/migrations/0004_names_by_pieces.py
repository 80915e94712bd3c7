import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.functions.comparison
import django.db.models.functions.text
from django.db import migrations, models

# what pg_trgm does, for servers that do not have it
FUNCTION = """
CREATE FUNCTION name_pieces(name text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
SELECT ARRAY(SELECT DISTINCT substr(upper(name), at, 3) FROM generate_series(1, length(upper(name)) - 2) AS at)
$$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0003_names_in_any_case'),
    ]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION name_pieces(text)"),
        migrations.AddIndex(
            model_name='placement',
            index=models.Index(django.db.models.functions.comparison.Collate(django.db.models.functions.text.Upper('name'), 'C'), models.F('id'), condition=models.Q(('closed__isnull', True)), name='names_in_order'),
        ),
        migrations.AddIndex(
            model_name='placement',
            index=django.contrib.postgres.indexes.GinIndex(models.Func(models.F('name'), function='name_pieces', output_field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)), condition=models.Q(('closed__isnull', True)), name='names_by_pieces'),
        ),
    ]
