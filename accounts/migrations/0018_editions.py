from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0017_token_addresses")]

    operations = [
        migrations.AddField(
            "principal", "edition", models.PositiveIntegerField(db_default=0, default=0, editable=False)
        ),
    ]
