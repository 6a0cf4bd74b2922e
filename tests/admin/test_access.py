"""Users, projects and keys in the admin: what they give away, and what keeps people from locking themselves out."""

import json
import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from soat.tenancy.models import ApiKey, Policy, Project, ProjectMembership, Role, User
from soat.tenancy.tasks import refresh_lexemes_left
from soat.tenancy.tokens import hash_api_key
from tests.admin.conftest import Desk
from tests.admin.test_knowledge import act, errors_of, messages_of
from tests.admin.test_pages import page
from tests.conftest import PASSWORD, client_with
from tests.tenancy.lexemes import wrong_rows

NO_PROJECTS = {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}


def user_form(user: User, **changes: Any) -> dict[str, Any]:
    """Return what a browser sends for a user's form."""
    form = {"username": user.username, "role": user.role, "is_active": "on", "is_staff": "on", **NO_PROJECTS, **changes}
    return {name: value for name, value in form.items() if value is not None}


def test_secret_is_shown_once_and_opens_the_project(desk: Desk) -> None:
    form = {"name": "ci", "user": desk.root.pk, "project": desk.a.project.pk}
    answer = desk.admin.post(page(ApiKey, "add"), form)
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    found = re.search(r"sk_[0-9a-f]{64}", answer.content.decode())
    assert found is not None
    secret = found.group()
    key = ApiKey.objects.get(name="ci")
    assert bytes(key.key_hash) == hash_api_key(secret)
    listed = client_with(secret).get("/api/v1/projects").json()["data"]
    assert [project["id"] for project in listed] == [desk.a.project.public_id]
    for url in (page(ApiKey, "change", key.pk), page(ApiKey, "history", key.pk), page(ApiKey, "changelist")):
        assert secret not in desk.admin.get(url).content.decode()
    assert not LogEntry.objects.filter(object_repr__contains=secret[8:]).exists()
    assert not desk.admin.cookies["messages"].value if "messages" in desk.admin.cookies else True


def test_key_is_renamed_bound_and_revoked(desk: Desk) -> None:
    key = desk.a.key
    form = {"name": "renamed", "project": desk.b.project.pk, "user": desk.curator_user.pk}
    assert desk.admin.post(page(ApiKey, "change", key.pk), form).status_code == 302
    key.refresh_from_db()
    assert (key.name, key.project, key.user) == ("renamed", desk.b.project, desk.root)
    assert "name" in errors_of(desk.admin.post(page(ApiKey, "change", key.pk), {"name": " ", "project": ""}))
    desk.admin.post(page(ApiKey, "delete", key.pk), {"post": "yes"})
    assert not ApiKey.objects.filter(pk=key.pk).exists()


def test_user_is_made_with_a_hashed_password_and_the_rights_of_the_role(desk: Desk) -> None:
    form = {"username": "Jose\u0301", "role": "admin", "is_staff": "on", "usable_password": "true"}
    weak = desk.admin.post(page(User, "add"), {**form, "password1": "password", "password2": "password"})
    assert "common" in errors_of(weak)
    made = desk.admin.post(page(User, "add"), {**form, "password1": PASSWORD, "password2": PASSWORD})
    assert made.status_code == 302
    user = User.objects.get(username="Jos\u00e9")
    assert user.is_superuser
    assert user.check_password(PASSWORD)


def test_role_and_superuser_go_together(desk: Desk) -> None:
    user = desk.curator_user
    for role, is_superuser in ((Role.ADMIN, True), (Role.USER, False)):
        assert desk.admin.post(page(User, "change", user.pk), user_form(user, role=role)).status_code == 302
        user.refresh_from_db()
        assert (user.role, user.is_superuser) == (role, is_superuser)


def test_curators_get_projects_on_the_user_page(desk: Desk) -> None:
    user = desk.curator_user
    own = ProjectMembership.objects.get(user=user)
    projects = {
        "memberships-TOTAL_FORMS": 2,
        "memberships-INITIAL_FORMS": 1,
        "memberships-0-id": own.pk,
        "memberships-0-user": user.pk,
        "memberships-0-project": desk.a.project.pk,
        "memberships-0-DELETE": "on",
        "memberships-1-user": user.pk,
        "memberships-1-project": desk.b.project.pk,
    }
    groups = list(user.groups.values_list("pk", flat=True))
    form = {**user_form(user), **projects, "groups": groups}
    assert desk.admin.post(page(User, "change", user.pk), form).status_code == 302
    assert [member.project for member in user.memberships.all()] == [desk.b.project]
    assert desk.curator.get("/admin/memories/memory/").context["cl"].result_count == 1


@pytest.mark.parametrize("change", [{"role": "user"}, {"is_active": None}, {"is_staff": None}])
def test_nobody_locks_themselves_out(desk: Desk, change: dict[str, Any]) -> None:
    answer = desk.admin.post(page(User, "change", desk.root.pk), user_form(desk.root, **change))
    assert "ask another admin" in errors_of(answer)
    desk.root.refresh_from_db()
    assert desk.root.is_superuser
    assert desk.root.is_active


def test_nobody_deletes_themselves(desk: Desk) -> None:
    assert desk.admin.post(page(User, "delete", desk.root.pk), {"post": "yes"}).status_code == 403
    form = {"action": "delete_selected", "_selected_action": [desk.root.pk, desk.curator_user.pk], "post": "yes"}
    said = desk.admin.post(page(User, "changelist"), form, follow=True)
    assert "cannot delete yourself" in messages_of(said)
    assert list(User.objects.order_by("pk").values_list("username", flat=True)) == ["root", "outsider"]


def test_new_password_ends_the_sessions_of_a_user(desk: Desk) -> None:
    epoch = User.objects.get(pk=desk.curator_user.pk).token_epoch
    url = f"/admin/tenancy/user/{desk.curator_user.pk}/password/"
    assert desk.admin.get(url).status_code == 200
    new = "another-horse-staple"
    form = {"password1": new, "password2": new, "usable_password": "true", "set-password": "1"}
    assert desk.admin.post(url, form).status_code == 302
    user = User.objects.get(pk=desk.curator_user.pk)
    assert user.check_password(new)
    assert user.token_epoch == epoch + 1
    assert desk.curator.get("/admin/").status_code == 302


def test_project_is_made_renamed_and_deleted_when_it_is_empty(desk: Desk) -> None:
    assert desk.admin.post(page(Project, "add"), {"name": "New"}).status_code == 302
    project = Project.objects.get(name="New")
    desk.admin.post(page(Project, "change", project.pk), {"name": "Newer"})
    project.refresh_from_db()
    assert project.name == "Newer"
    desk.admin.post(page(Project, "delete", project.pk), {"post": "yes"})
    assert not Project.objects.filter(pk=project.pk).exists()


def test_project_with_something_in_it_stays(desk: Desk) -> None:
    url = page(Project, "delete", desk.a.project.pk)
    question = desk.admin.get(url).content.decode()
    for name in ("memories", "documents", "files"):
        assert name in question
    desk.admin.post(url, {"post": "yes"})
    form = {"action": "delete_selected", "_selected_action": [desk.a.project.pk], "post": "yes"}
    said = desk.admin.post(page(Project, "changelist"), form, follow=True)
    assert "not empty" in messages_of(said)
    assert Project.objects.filter(pk=desk.a.project.pk).exists()


def test_history_says_who_changed_what(desk: Desk) -> None:
    desk.admin.post(page(Project, "change", desk.a.project.pk), {"name": "Renamed"})
    history = desk.admin.get(page(Project, "history", desk.a.project.pk)).content.decode()
    assert "Changed Name" in history
    assert "root" in history
    assert " UTC" in history


def test_pages_for_people_and_answers_for_programs(desk: Desk) -> None:
    assert Client().get("/admin").headers["Location"] == "/admin/"
    assert Client().get("/admin/").headers["Location"] == "/admin/login/?next=/admin/"
    missing = desk.admin.get("/admin/nothing/here/")
    assert (missing.status_code, "There is nothing here" in missing.content.decode()) == (404, True)
    assert desk.admin.get("/nothing").json()["error"]["code"] == "RESOURCE_NOT_FOUND"
    forbidden = desk.curator.get(page(User, "changelist"))
    assert (forbidden.status_code, "not open to you" in forbidden.content.decode()) == (403, True)
    strict = Client(enforce_csrf_checks=True)
    refused = strict.post("/admin/login/", {"username": "root", "password": PASSWORD})
    assert (refused.status_code, "out of date" in refused.content.decode()) == (403, True)
    strict.force_login(desk.root)
    for url in (page(Project, "add"), page(Project, "delete", desk.a.project.pk), page(Project, "changelist")):
        assert strict.post(url, {"name": "x", "post": "yes"}).status_code == 403
    assert desk.admin.get("/admin/search/", {"s": "a", "page": "x"}).status_code == 404


def test_a_user_without_the_staff_flag_stays_outside(desk: Desk) -> None:
    outsider = Client()
    outsider.force_login(User.objects.get(username="outsider"))
    for url in ("/admin/", page(Project, "changelist"), f"/admin/files/file/{desk.a.file.pk}/download/"):
        assert outsider.get(url).status_code == 302


def test_front_page_counts_what_is_there(desk: Desk) -> None:
    context = desk.admin.get("/admin/").context
    numbers = {number.title: number.value for number in context["numbers"]}
    assert numbers == {
        "Documents": "2",
        "Files": "4",
        "Memories": "2",
        "Valid entries": "2",
        "Entries waiting for vectors": "0",
        "Chunks waiting for vectors": "0",
        "Runs waiting or at work": "0",
    }
    assert {state.name: state.number for state in context["states"]}["Ready"] == "2"
    assert "in use" in context["space"]
    for number in context["numbers"]:
        assert desk.admin.get(number.url).status_code == 200


def test_front_page_says_what_is_wrong_with_the_space(desk: Desk, settings: Any) -> None:
    settings.EMBEDDING_MODEL = "another"
    assert "the settings name another model" in desk.admin.get("/admin/").content.decode()
    settings.EMBEDDING_MODEL = ""
    assert "no embedder is configured" in desk.admin.get("/admin/").content.decode()


def test_staff_without_rights_are_told_so(desk: Desk) -> None:
    user = User.objects.create_user("new", None, Role.USER, is_staff=True)
    client = Client()
    client.force_login(user)
    answer = client.get("/admin/")
    assert answer.status_code == 200
    assert "nothing that you may see" in answer.content.decode()


def test_bulk_action_is_refused_without_the_right(desk: Desk) -> None:
    desk.curator_user.groups.clear()
    assert act(desk.curator, ApiKey, "delete_selected", [desk.a.key.pk]).status_code == 403
    assert ApiKey.objects.filter(pk=desk.a.key.pk).exists()


def test_policy_is_made_and_given_to_a_user_and_a_key(desk: Desk) -> None:
    document = '{"statement": [{"effect": "Allow", "action": ["memories:*"]}]}'
    form = {"name": "readers", "description": "", "document": document}
    assert desk.admin.post(page(Policy, "add"), form).status_code == 302
    made = Policy.objects.get(name="readers")
    for broken in ("", "{}", "[]", "{", '{"statement": [{"effect": "Maybe"}]}'):
        answer = desk.admin.post(page(Policy, "change", made.pk), {**form, "document": broken})
        assert errors_of(answer), broken
    made.refresh_from_db()
    assert made.document == json.loads(document)
    user, key = desk.curator_user, desk.a.key
    desk.admin.post(page(User, "change", user.pk), user_form(user, policies=[made.pk]))
    assert list(user.policies.all()) == [made]
    shown = {"name": key.name, "project": desk.a.project.pk}
    desk.admin.post(page(ApiKey, "change", key.pk), {**shown, "policies": [made.pk]})
    key.refresh_from_db()
    assert (list(key.policies.all()), key.is_restricted) == ([made], True)
    listed = desk.admin.get(page(Policy, "change", made.pk)).content.decode()
    assert user.username in listed
    assert key.key_prefix in listed
    desk.admin.post(page(ApiKey, "change", key.pk), shown)
    key.refresh_from_db()
    assert (key.policies.exists(), key.is_restricted) == (False, False)


def test_language_of_a_project_is_changed(desk: Desk) -> None:
    form = {"name": desk.a.project.name, "text_search_config": "english"}
    assert desk.admin.post(page(Project, "change", desk.a.project.pk), form).status_code == 302
    assert Project.objects.get(pk=desk.a.project.pk).text_search_config == "english"
    assert wrong_rows() != []
    refresh_lexemes_left()
    assert wrong_rows() == []
    desk.admin.post(page(Project, "change", desk.a.project.pk), {**form, "text_search_config": ""})
    assert Project.objects.get(pk=desk.a.project.pk).text_search_config == ""
    assert b"klingon" in desk.admin.post(page(Project, "add"), {**form, "text_search_config": "klingon"}).content
    desk.admin.post(page(Project, "add"), {"name": "Neu", "text_search_config": "german"})
    assert Project.objects.get(name="Neu").text_search_config == "german"
