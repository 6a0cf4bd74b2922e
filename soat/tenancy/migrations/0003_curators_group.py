"""The group of staff users who look after the knowledge of the projects that they are given."""

from django.db import migrations

NAME = "curators"
ALL = ("view", "add", "change", "delete")
RIGHTS = [
    ("memories", "memory", "memory", ALL),
    ("memories", "memoryentry", "memory entry", ALL),
    ("documents", "document", "document", ALL),
    ("files", "file", "file", ALL),
    ("documents", "documentpage", "document page", ("view",)),
    ("documents", "documentchunk", "document chunk", ("view",)),
    ("documents", "ingestionattempt", "ingestion attempt", ("view",)),
]


def create_group(apps, schema_editor):
    """Create the group with its rights.

    Django makes permissions after the migrations only, and leaves those alone that are there already:
    so they are made here, as it would make them.
    """
    content_types = apps.get_model("contenttypes", "ContentType").objects
    permissions = apps.get_model("auth", "Permission").objects
    granted = []
    for app, model, name, actions in RIGHTS:
        content_type, _ = content_types.get_or_create(app_label=app, model=model)
        for action in actions:
            permission, _ = permissions.get_or_create(
                content_type=content_type, codename=f"{action}_{model}", defaults={"name": f"Can {action} {name}"}
            )
            granted.append(permission)
    group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=NAME)
    group.permissions.set(granted)


def delete_group(apps, schema_editor):
    """Delete the group; who was in it stays."""
    apps.get_model("auth", "Group").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("tenancy", "0002_project_memberships"),
    ]

    operations = [migrations.RunPython(create_group, delete_group)]
