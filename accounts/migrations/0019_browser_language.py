from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0018_editions")]

    operations = [
        migrations.AddField(
            "user",
            "browser_language",
            models.CharField(blank=True, db_default="", default="", max_length=16),
        ),
    ]
