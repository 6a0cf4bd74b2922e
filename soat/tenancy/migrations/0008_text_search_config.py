import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenancy", "0007_btree_gin_extension")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="text_search_config",
            field=models.CharField(
                blank=True,
                choices=[
                    ("simple", "simple"),
                    ("arabic", "arabic"),
                    ("armenian", "armenian"),
                    ("basque", "basque"),
                    ("catalan", "catalan"),
                    ("danish", "danish"),
                    ("dutch", "dutch"),
                    ("english", "english"),
                    ("estonian", "estonian"),
                    ("finnish", "finnish"),
                    ("french", "french"),
                    ("german", "german"),
                    ("greek", "greek"),
                    ("hindi", "hindi"),
                    ("hungarian", "hungarian"),
                    ("indonesian", "indonesian"),
                    ("irish", "irish"),
                    ("italian", "italian"),
                    ("lithuanian", "lithuanian"),
                    ("nepali", "nepali"),
                    ("norwegian", "norwegian"),
                    ("portuguese", "portuguese"),
                    ("romanian", "romanian"),
                    ("russian", "russian"),
                    ("serbian", "serbian"),
                    ("spanish", "spanish"),
                    ("swedish", "swedish"),
                    ("tamil", "tamil"),
                    ("turkish", "turkish"),
                    ("yiddish", "yiddish"),
                ],
                default="",
                help_text="How full-text search takes words; simple: as they are. Empty: the server's own setting.",
                max_length=20,
                verbose_name="language of the texts",
            ),
            preserve_default=False,
        ),
        migrations.CreateModel(
            name="LexemeRefresh",
            fields=[
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="tenancy.project",
                    ),
                ),
                ("table", models.CharField(blank=True, max_length=63)),
                ("after", models.BigIntegerField(default=0)),
                ("requested_at", models.DateTimeField(db_index=True)),
            ],
        ),
    ]
