from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0009_emergency_until"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="session_salt",
            field=models.CharField(blank=True, default="", max_length=32),
        ),
    ]
