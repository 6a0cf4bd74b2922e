import django.contrib.postgres.search
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("documents", "0002_cascade_in_the_database")]

    operations = [
        migrations.AddField(
            model_name="documentchunk",
            name="lexemes",
            field=django.contrib.postgres.search.SearchVectorField(editable=False, null=True),
        ),
    ]
