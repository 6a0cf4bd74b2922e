"""Access in the admin: users, groups, projects, keys, policies, the audit trail, and the way in."""

from soat.tenancy.admin import access, audit, login, policies

__all__ = ["access", "audit", "login", "policies"]
