"""Room for the seal of an approval; what was approved before for a later time has to be approved again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0043_states_of_items")]

    operations = [
        migrations.AddField("requestpart", "seal", models.BinaryField(max_length=36, null=True)),
    ]
