"""How the admin looks: the settings of its theme. The settings import this, so it imports nothing."""

from typing import Any

THEME: dict[str, Any] = {
    "SITE_TITLE": "SOAT",
    "SITE_HEADER": "SOAT",
    "SITE_SUBHEADER": "Memory and knowledge",
    "SITE_URL": "/docs",
    "SITE_SYMBOL": "neurology",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "soat.desk.navigation.favicon"}],
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": ["soat.desk.navigation.style"],
    "DASHBOARD_CALLBACK": "soat.desk.dashboard.front_page",
    "SIDEBAR": {"navigation": "soat.desk.navigation.navigation"},
    "COLORS": {
        "primary": {
            "50": "#f0fdfa",
            "100": "#ccfbf1",
            "200": "#99f6e4",
            "300": "#5eead4",
            "400": "#2dd4bf",
            "500": "#14b8a6",
            "600": "#0f766e",
            "700": "#0f766e",
            "800": "#115e59",
            "900": "#134e4a",
            "950": "#042f2e",
        },
    },
}
