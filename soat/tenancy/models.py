"""Users, projects and API keys."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.utils import timezone

from soat.core.ids import PublicIdField
from soat.core.models import TimeStamped
from soat.engine.lexical import TEXT_SEARCH_CONFIGS
from soat.tenancy.resources import ResourceKind


class Role(models.TextChoices):
    """What a user is on the wire."""

    ADMIN = "admin"
    USER = "user"


class UserManager(BaseUserManager["User"]):
    """Makes users with a hashed password."""

    def create_user(self, username: str, password: str | None = None, role: str = Role.USER, **fields: Any) -> "User":
        """Create a user; the password is hashed, None makes it unusable."""
        fields.setdefault("is_staff", role == Role.ADMIN)
        user = self.model(username=username, role=role, is_superuser=role == Role.ADMIN, **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, username: str, password: str | None = None, **fields: Any) -> "User":
        """Create an admin (the ``createsuperuser`` command calls this)."""
        return self.create_user(username, password, Role.ADMIN, **fields)


class User(AbstractBaseUser, PermissionsMixin, TimeStamped):
    """A person or a service that logs in.

    ``token_epoch`` is part of every JWT: raising it, as a new password does, ends all sessions.
    """

    resource: ClassVar = ResourceKind(type="user", reads=("users:GetUser",), project=None)

    public_id = PublicIdField(prefix="user")
    username = models.CharField(max_length=150, unique=True)
    role = models.CharField(max_length=8, choices=Role.choices, default=Role.USER)
    is_staff = models.BooleanField("may use the admin", default=False)
    is_active = models.BooleanField(default=True)
    policies: "models.ManyToManyField[Policy, Any]" = models.ManyToManyField("Policy", blank=True, related_name="users")
    token_epoch = models.PositiveIntegerField(default=0, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(role=Role.ADMIN, is_superuser=True) | models.Q(role=Role.USER, is_superuser=False),
                name="user_admin_role_is_superuser",
            )
        ]

    def __str__(self) -> str:
        return self.username

    def check_password(self, raw_password: str | None) -> bool:
        """Tell whether the password is right; an old hash that is renewed on the way ends no session."""
        epoch = self.token_epoch
        is_right = super().check_password(raw_password)
        self.token_epoch = epoch
        return is_right

    def set_password(self, raw_password: str | None) -> None:
        """Set the password and end every session that an older one opened."""
        super().set_password(raw_password)
        if self.pk is not None:
            self.token_epoch += 1


class Project(TimeStamped):
    """A tenant. Every row that belongs to one carries its key.

    From ``deleting_at`` on it is gone for every caller, while a task removes what stands in it.
    """

    resource: ClassVar = ResourceKind(type="project", reads=("projects:GetProject",), project="id")

    public_id = PublicIdField(prefix="proj")
    name = models.CharField(max_length=255)
    text_search_config = models.CharField(
        "language of the texts",
        max_length=20,
        blank=True,
        choices=[(config, config) for config in TEXT_SEARCH_CONFIGS],
        help_text="How full-text search takes words; simple: as they are. Empty: the server's own setting.",
    )
    deleting_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        indexes: ClassVar = [
            models.Index(fields=["id"], name="project_deleting", condition=models.Q(deleting_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name


class LexemeRefresh(models.Model):
    """A project of which the words are to be taken anew: the table that is being gone through, and up to which key.

    It stands there until all is done, so that nothing is lost with a worker or a message.
    """

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True, related_name="+")
    table = models.CharField(max_length=63, blank=True)
    after = models.BigIntegerField(default=0)
    requested_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.table} after {self.after}"


class LoginAttempts(models.Model):
    """The failed logins of one account name or one address; ``subject`` is a hash of it."""

    subject = models.BinaryField(max_length=32, unique=True, editable=False)
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField(db_index=True)
    blocked_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.failures} failures"


class ProjectMembership(models.Model):
    """A project whose knowledge a staff user curates in the admin; a superuser has all of them without any."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = "project to curate"
        verbose_name_plural = "projects to curate"
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "project"], name="membership_unique")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"


class Policy(TimeStamped):
    """A document of statements that allow or deny; it holds for the users and keys that it is attached to."""

    resource: ClassVar = ResourceKind(type="policy", reads=("policies:GetPolicy",), project=None)

    public_id = PublicIdField(prefix="pol")
    name = models.CharField(max_length=255, null=True, blank=True)  # noqa: DJ001  (the contract tells null from "")
    description = models.TextField(null=True, blank=True)  # noqa: DJ001
    document = models.JSONField()

    class Meta:
        ordering: ClassVar = ["-created_at", "-id"]
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return self.name or self.public_id


class ApiKey(TimeStamped):
    """A long random credential of a user, optionally bound to one project.

    Only its SHA-256 is stored: the key is 256 random bits, so a slow hash would protect nothing.
    ``is_restricted`` says that it was given policies of its own; it stays when these are deleted, so
    that a key never gets wider by it.
    """

    resource: ClassVar = ResourceKind(type="api-key", reads=("api-keys:GetApiKey",))

    public_id = PublicIdField(prefix="key")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, blank=True, related_name="api_keys")
    name = models.CharField(max_length=255)
    policies = models.ManyToManyField(Policy, blank=True, related_name="api_keys")
    is_restricted = models.BooleanField(default=False, editable=False)
    rate_limit = models.PositiveIntegerField(
        "requests a minute", null=True, blank=True, help_text="Empty: the server's own limit. 0: none."
    )
    key_prefix = models.CharField(max_length=8, editable=False)
    key_hash = models.BinaryField(max_length=32, unique=True, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = "API key"
        ordering: ClassVar = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.key_prefix}…)"
