from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("policies", "0026_forgotten_runs")]

    operations = [
        migrations.AlterField("backend", "kind", models.CharField(max_length=64)),
    ]
