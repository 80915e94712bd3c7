from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_runs'),
        ('catalog', '0003_names_in_any_case'),
        ('policies', '0008_changes_by_time'),
    ]

    operations = [
        migrations.CreateModel(
            name='Use',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run', models.CharField(max_length=200)),
                ('action', models.CharField(max_length=64)),
                ('executed', models.BooleanField()),
                ('at', models.DateTimeField()),
                ('principal', models.ForeignKey(on_delete=models.deletion.PROTECT, related_name='uses', to='accounts.principal')),
                ('realm', models.ForeignKey(on_delete=models.deletion.PROTECT, related_name='uses', to='catalog.realm')),
                ('reporter', models.ForeignKey(on_delete=models.deletion.PROTECT, related_name='reports', to='accounts.principal')),
                ('securable', models.ForeignKey(on_delete=models.deletion.PROTECT, related_name='uses', to='catalog.securable')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['securable', '-at'], name='uses_of_object'),
                    models.Index(fields=['principal', '-at'], name='uses_of_principal'),
                ],
                'constraints': [
                    models.UniqueConstraint(fields=('reporter', 'realm', 'run', 'principal', 'securable', 'action'), name='one_use_a_run'),
                ],
            },
        ),
    ]
