import django.contrib.postgres.search
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("memories", "0002_cascade_in_the_database")]

    operations = [
        migrations.AddField(
            model_name="memoryentry",
            name="lexemes",
            field=django.contrib.postgres.search.SearchVectorField(editable=False, null=True),
        ),
    ]
