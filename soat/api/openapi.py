"""What the OpenAPI document says beyond the views: how a caller proves who it is."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the package has no types
    """``Authorization: Bearer`` with a JWT or an API key."""

    target_class = "soat.tenancy.authentication.BearerAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """Return the scheme."""
        return {"type": "http", "scheme": "bearer", "description": "A JWT of loginUser, or an API key (sk_…)."}
