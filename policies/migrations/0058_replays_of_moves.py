from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("policies", "0057_words_of_choices"),
    ]

    operations = [
        migrations.AddField("discovery", "moved", models.IntegerField(db_default=0, default=0)),
        migrations.AddField("discovery", "replays", models.JSONField(db_default=[], default=list)),
    ]
