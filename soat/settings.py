"""Every setting of SOAT, read from the environment here and nowhere else.

A value that cannot be right raises ``ImproperlyConfigured`` with one sentence that names the
variable, so that a server never starts half configured.
"""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import environ
from botocore.config import Config as S3Config
from celery.schedules import schedule
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from soat.desk.theme import THEME
from soat.engine.fusion import Fusion, Ranking
from soat.engine.lexical import TEXT_SEARCH_CONFIGS
from soat.operations.logs import logging_settings

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")


def _text(name: str, default: str = "") -> str:
    """Return a value as it is (``$`` has no meaning in it); one that is set to nothing is not set."""
    return str(env.ENVIRON.get(name, "")).strip() or default


def _flag(name: str, default: bool) -> bool:
    raw = _text(name, "true" if default else "false").lower()
    if raw in {"true", "1", "yes", "on"}:
        return True
    if raw in {"false", "0", "no", "off", ""}:
        return False
    raise ImproperlyConfigured(f"{name} must be true or false; it is {raw!r}.")


def _whole(name: str, default: int, *, minimum: int = 0, maximum: int | None = None) -> int:
    raw = _text(name, str(default)) or str(default)
    bounds = f"at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    try:
        value = int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, {bounds}; it is {raw!r}.") from None
    if value < minimum or (maximum is not None and value > maximum):
        raise ImproperlyConfigured(f"{name} must be {bounds}; it is {value}.")
    return value


def _number(name: str, default: float, *, maximum: float | None = None) -> float:
    bounds = "0 or more" if maximum is None else f"from 0 to {maximum:g}"
    raw = _text(name, str(default))
    try:
        value = float(raw)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0 or (maximum is not None and value > maximum):
        raise ImproperlyConfigured(f"{name} must be a number, {bounds}; it is {raw!r}.")
    return value


def _choice(name: str, default: str, choices: Sequence[str]) -> str:
    value = _text(name, default)
    if value not in choices:
        raise ImproperlyConfigured(
            f"{name} must be one of {', '.join(c or '(empty)' for c in choices)}; it is {value!r}."
        )
    return value


def _url(name: str, default: str = "") -> str:
    value = _text(name, default).rstrip("/")
    parts = _parts(value)
    if value and (parts is None or parts.scheme not in {"http", "https"} or not parts.netloc):
        raise ImproperlyConfigured(f"{name} must be an http or https address; it is {value!r}.")
    return value


def _plain_url(name: str) -> str:
    """Return an address that stands in messages and logs: none that could hold a secret."""
    value = _url(name)
    parts = urlsplit(value)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ImproperlyConfigured(f"{name} must be an address without user name, password, query or fragment.")
    return value


def _header_value(name: str) -> str:
    """Return a secret that is sent in a header. It is not shown; HTTP libraries would show it in their errors."""
    value = _text(name)
    if value and (not value.isascii() or not value.isprintable() or " " in value):
        raise ImproperlyConfigured(f"{name} must be printable ASCII characters without white space.")
    return value


def _parts(address: str) -> SplitResult | None:
    """Return the parts of an address, None if it has a host or a port that cannot be."""
    try:
        parts = urlsplit(address)
        _ = parts.port  # it is checked when it is read
    except ValueError:
        return None
    return parts


def _database_url(name: str, default: str) -> dict[str, Any]:
    """Return Django's form of a database address. The address is not shown: it may hold a password."""
    value = _text(name, default)
    try:
        config: dict[str, Any] = env.db_url_config(value) if urlsplit(value).scheme else {}
    except ValueError:
        config = {}
    if config.get("ENGINE") != "django.db.backends.postgresql" or not config.get("NAME"):
        raise ImproperlyConfigured(
            f"{name} must be a PostgreSQL address, postgres://user:password@host:5432/name:"
            " SOAT keeps its vectors in pgvector."
        )
    return config


def _redis_url(name: str, default: str) -> str:
    """Return the address of a broker, or several with ``;`` between them. It is not shown either."""
    value = _text(name, default)
    for address in value.split(";"):
        parts = _parts(address)
        if parts is None or parts.scheme not in {"redis", "rediss", "redis+socket", "sentinel"}:
            raise ImproperlyConfigured(f"{name} must be a redis:// address, of a Redis or Valkey server.")
    return value


def _list(name: str) -> list[str]:
    return [item.strip() for item in _text(name).split(",") if item.strip()]


def _origins(name: str) -> list[str]:
    """Return origins as browsers name them: a scheme, a host, a port, and nothing behind."""
    origins = [origin.rstrip("/") for origin in _list(name)]
    for origin in origins:
        parts = _parts(origin)
        if parts is None or parts.scheme not in {"http", "https"} or origin != f"{parts.scheme}://{parts.netloc}":
            raise ImproperlyConfigured(f"{name} must be origins such as https://app.example.com; {origin!r} is none.")
    return origins


# --- The process -----------------------------------------------------------------------------

STANDALONE = _flag("SOAT_STANDALONE", False)
DEBUG = _flag("DEBUG", False)
LOG_LEVEL = _choice("LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR"])
LOG_FORMAT = _choice("LOG_FORMAT", "console", ["console", "json"])

SECRET_KEY = _text("SECRET_KEY")
if not SECRET_KEY:
    if not (STANDALONE or DEBUG):
        raise ImproperlyConfigured(
            "SECRET_KEY is not set: give it a long random value (only `manage.py standalone` and DEBUG do without)."
        )
    SECRET_KEY = "insecure-only-for-debug-and-the-supervisor-of-the-standalone-stack"  # noqa: S105

FIELD_ENCRYPTION_KEYS = _list("FIELD_ENCRYPTION_KEYS")
for _key in FIELD_ENCRYPTION_KEYS:
    try:
        Fernet(_key)
    except ValueError:
        raise ImproperlyConfigured(
            "FIELD_ENCRYPTION_KEYS must be a comma-separated list of Fernet keys "
            "(32 bytes in URL-safe base64), the newest first."
        ) from None

BASE_URL = _url("SOAT_BASE_URL")
_base = urlsplit(BASE_URL)
_base_host = f"[{_base.hostname}]" if ":" in (_base.hostname or "") else _base.hostname
ALLOWED_HOSTS = _list("ALLOWED_HOSTS") or [*filter(None, [_base_host]), "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = [f"{_base.scheme}://{_base.netloc}"] if BASE_URL else []

# The web server (soat/gunicorn.py).
WEB_BIND = _text("WEB_BIND", "127.0.0.1:5047")
WEB_WORKERS = _whole("WEB_WORKERS", 2, minimum=1)
WEB_THREADS = _whole("WEB_THREADS", 16, minimum=1)
WEB_GRACEFUL_SECONDS = _whole("WEB_GRACEFUL_SECONDS", 30, minimum=1)
WEB_SILENCE_SECONDS = _whole("WEB_SILENCE_SECONDS", 20, minimum=1, maximum=3_600)

# TLS ends before the web server, so an https address means a proxy that says how it was called.
_https = _base.scheme == "https"
SECURE_SSL_REDIRECT = _flag("SECURE_SSL_REDIRECT", _https)
SECURE_REDIRECT_EXEMPT = [r"^health(/ready)?$", r"^metrics$"]
_proxy_header = _text("SECURE_PROXY_SSL_HEADER", "X-Forwarded-Proto" if _https else "none")
if _proxy_header.lower() != "none":
    SECURE_PROXY_SSL_HEADER = (f"HTTP_{_proxy_header.upper().replace('-', '_')}", "https")
SECURE_HSTS_SECONDS = _whole("SECURE_HSTS_SECONDS", 31_536_000 if _https else 0)
SECURE_HSTS_INCLUDE_SUBDOMAINS = _flag("SECURE_HSTS_INCLUDE_SUBDOMAINS", False)
SECURE_HSTS_PRELOAD = _flag("SECURE_HSTS_PRELOAD", False)
# Both promise something for a whole domain, which is for its owner to decide and not for a server in it.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _https
# The admin's forms carry their token themselves: no script has to read a cookie.
CSRF_COOKIE_HTTPONLY = True

# So many proxies in front are trusted to say where a request comes from (X-Forwarded-For).
TRUSTED_PROXIES = _whole("TRUSTED_PROXIES", 0, maximum=10)
# Requests a minute of one key, or of one user's sessions; 0: no limit.
RATE_LIMIT_PER_MINUTE = _whole("RATE_LIMIT_PER_MINUTE", 0)
# Web pages of these origins may call the API from a browser.
CORS_ALLOWED_ORIGINS = _origins("CORS_ALLOWED_ORIGINS")
CORS_URLS_REGEX = r"^/api/"
CORS_ALLOW_CREDENTIALS = False
CORS_ALLOW_HEADERS = ["accept", "authorization", "content-type", "range", "x-request-id"]
CORS_EXPOSE_HEADERS = [
    *("X-Request-Id", "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
    *("ETag", "Content-Disposition", "Content-Range", "Accept-Ranges"),
]

AUDIT_ENABLED = _flag("AUDIT_ENABLED", True)
AUDIT_RETENTION_DAYS = _whole("AUDIT_RETENTION_DAYS", 365, minimum=1)

METRICS_TOKEN = _text("METRICS_TOKEN")
METRICS_DIR = BASE_DIR / _text("METRICS_DIR") if _text("METRICS_DIR") else None
METRICS_WORKER_PORT = _whole("METRICS_WORKER_PORT", 0, maximum=65_535)
if METRICS_WORKER_PORT and not (METRICS_DIR and METRICS_TOKEN):
    raise ImproperlyConfigured("METRICS_WORKER_PORT needs METRICS_DIR and METRICS_TOKEN.")
if METRICS_DIR:
    # prometheus_client looks here, once, when it is imported.
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS_DIR)

# --- Database and broker ---------------------------------------------------------------------

_database = _database_url("DATABASE_URL", "postgres://soat@localhost:5432/soat")
_given = _database.get("OPTIONS", {}).get("options", "")
DATABASE_POOL_MAX = _whole("DATABASE_POOL_MAX", 20, minimum=1)
DATABASE_PREPARED_STATEMENTS = _flag("DATABASE_PREPARED_STATEMENTS", True)
LOCK_TIMEOUT_MS = _whole("LOCK_TIMEOUT_MS", 5_000, minimum=1)

DATABASES = {
    "default": {
        **_database,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **_database.get("OPTIONS", {}),
            # The pool checks a connection before it hands it out, so a restarted database heals by itself.
            "pool": {"min_size": 0, "max_size": DATABASE_POOL_MAX, "timeout": 5},
            # A statement of a search that a connection runs for the fifth time is prepared.
            "prepare_threshold": 5 if DATABASE_PREPARED_STATEMENTS else None,
            # Iterative index scans keep a filtered search from coming back short. The strict order would drop
            # near rows that are met late; the searches order what they get by the exact distance anyway. A scan goes
            # on past ef_search for as long as rows are wanted, within four times work_mem, for 20,000 vectors.
            "options": f"{_given} -c hnsw.iterative_scan=relaxed_order"
            " -c hnsw.ef_search=400 -c hnsw.scan_mem_multiplier=4".strip(),
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CELERY_BROKER_URL = _redis_url("CELERY_BROKER_URL", "redis://localhost:6379/0")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {"documents.tasks.ingest": {"queue": "ingestion"}}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# A publish must never hang a request: what the broker did not take, the sweep publishes again.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.1, "interval_max": 0.1}
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {"socket_timeout": 10, "socket_connect_timeout": 3}
CELERY_BROKER_MASTER_NAME = _text("CELERY_BROKER_MASTER_NAME")
if CELERY_BROKER_URL.startswith("sentinel://"):
    if not CELERY_BROKER_MASTER_NAME:
        raise ImproperlyConfigured(
            "CELERY_BROKER_URL must be accompanied by CELERY_BROKER_MASTER_NAME, what its sentinels watch."
        )
    CELERY_BROKER_TRANSPORT_OPTIONS["master_name"] = CELERY_BROKER_MASTER_NAME
CELERY_TIMEZONE = "UTC"
SWEEP_INTERVAL_SECONDS = _whole("SWEEP_INTERVAL_SECONDS", 10, minimum=1)
BACKFILL_INTERVAL_SECONDS = _whole("BACKFILL_INTERVAL_SECONDS", 30, minimum=1)
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    **{
        task: {"task": task, "schedule": schedule(60), "options": {"expires": 60}}
        for task in (
            "soat.tenancy.tasks.purge_left",
            "soat.tenancy.tasks.refresh_lexemes_left",
            "soat.files.tasks.discard_released",
            "soat.files.tasks.delete_old_tokens",
            "soat.audit.tasks.delete_expired",
            "soat.tenancy.tasks.forget_attempts",
        )
    },
    # One that was not taken before the next is sent is of no use any more.
    "sweep-ingestion": {
        "task": "documents.tasks.sweep",
        "schedule": schedule(SWEEP_INTERVAL_SECONDS),
        "options": {"expires": SWEEP_INTERVAL_SECONDS},
    },
    **{
        f"backfill-{app}": {
            "task": f"{app}.tasks.backfill",
            "schedule": schedule(BACKFILL_INTERVAL_SECONDS),
            "options": {"expires": BACKFILL_INTERVAL_SECONDS},
        }
        for app in ("documents", "memories")
    },
}

# --- Embeddings ------------------------------------------------------------------------------

EMBEDDING_PROVIDER = _choice("EMBEDDING_PROVIDER", "", ["", "local", "ollama", "openai", "bedrock"])
EMBEDDING_MODEL = _text("EMBEDDING_MODEL")
EMBEDDING_DIMENSIONS = _whole("EMBEDDING_DIMENSIONS", 0, maximum=4_000)
EMBEDDING_API_KEY = _text("EMBEDDING_API_KEY")
EMBEDDING_BASE_URL = _url("EMBEDDING_BASE_URL")
EMBEDDING_REGION = _text("EMBEDDING_REGION")
OLLAMA_BASE_URL = _url("OLLAMA_BASE_URL", "http://localhost:11434")
EMBEDDING_CONCURRENCY = _whole("EMBEDDING_CONCURRENCY", 5, minimum=1)
EMBEDDING_THREADS = _whole("EMBEDDING_THREADS", 2, minimum=1)
EMBEDDING_TIMEOUT_MS = _whole("EMBEDDING_TIMEOUT_MS", 60_000, minimum=100)
EMBEDDING_QUERY_TIMEOUT_MS = _whole("EMBEDDING_QUERY_TIMEOUT_MS", 10_000, minimum=100)
# So many of the latest questions keep their vectors in each process.
EMBEDDING_QUERY_MEMORY = _whole("EMBEDDING_QUERY_MEMORY", 0)
if EMBEDDING_PROVIDER and EMBEDDING_MODEL and not EMBEDDING_DIMENSIONS:
    raise ImproperlyConfigured(
        "EMBEDDING_DIMENSIONS is not set: give the number of dimensions that EMBEDDING_MODEL answers with."
    )

# --- Search ----------------------------------------------------------------------------------

KNOWLEDGE_RANKING = _choice("KNOWLEDGE_RANKING", "cosine", [*Ranking])
# How a hybrid ranking makes one score of cosine and words; the values are chosen by `make eval`.
KNOWLEDGE_FUSION = _choice("KNOWLEDGE_FUSION", "weighted", [*Fusion])
KNOWLEDGE_WORDS_WEIGHT = _number("KNOWLEDGE_WORDS_WEIGHT", 0.45, maximum=1)
KNOWLEDGE_COSINE_FLOOR = _number("KNOWLEDGE_COSINE_FLOOR", 0, maximum=0.99)
KNOWLEDGE_RECENCY_HALF_LIFE_DAYS = _number("KNOWLEDGE_RECENCY_HALF_LIFE_DAYS", 0)
KNOWLEDGE_RECENCY_WEIGHT = _number("KNOWLEDGE_RECENCY_WEIGHT", 0.1, maximum=1)
# How words are taken in projects that say nothing else.
KNOWLEDGE_TEXT_SEARCH_CONFIG = _choice("KNOWLEDGE_TEXT_SEARCH_CONFIG", "simple", TEXT_SEARCH_CONFIGS)
# A server that reads the best results together with the question, where a search asks for it.
KNOWLEDGE_RERANK_URL = _plain_url("KNOWLEDGE_RERANK_URL")
KNOWLEDGE_RERANK_MODEL = _text("KNOWLEDGE_RERANK_MODEL")
KNOWLEDGE_RERANK_API_KEY = _header_value("KNOWLEDGE_RERANK_API_KEY")
KNOWLEDGE_RERANK_TIMEOUT_MS = _whole("KNOWLEDGE_RERANK_TIMEOUT_MS", 2_000, minimum=100, maximum=60_000)
KNOWLEDGE_RERANK_DEPTH = _whole("KNOWLEDGE_RERANK_DEPTH", 50, minimum=1, maximum=200)
if KNOWLEDGE_RERANK_URL and not KNOWLEDGE_RERANK_MODEL:
    raise ImproperlyConfigured("KNOWLEDGE_RERANK_MODEL is not set: the server at KNOWLEDGE_RERANK_URL asks for one.")

# --- Files -----------------------------------------------------------------------------------

FILES_STORAGE_PROVIDER = _choice("FILES_STORAGE_PROVIDER", "local", ["local", "s3"])
FILES_STORAGE_DIR = BASE_DIR / _text("FILES_STORAGE_DIR", "var/files")
FILES_S3_BUCKET = _text("FILES_S3_BUCKET")
if FILES_STORAGE_PROVIDER == "s3" and not FILES_S3_BUCKET:
    raise ImproperlyConfigured("FILES_S3_BUCKET is not set: FILES_STORAGE_PROVIDER=s3 needs the bucket's name.")
FILES_S3_ACCESS_KEY_ID = _text("FILES_S3_ACCESS_KEY_ID")
FILES_S3_SECRET_ACCESS_KEY = _text("FILES_S3_SECRET_ACCESS_KEY")
if bool(FILES_S3_ACCESS_KEY_ID) != bool(FILES_S3_SECRET_ACCESS_KEY):
    raise ImproperlyConfigured(
        "FILES_S3_ACCESS_KEY_ID and FILES_S3_SECRET_ACCESS_KEY must be set both, or neither (then boto3 finds its own)."
    )
MAX_UPLOAD_BYTES = _whole("MAX_UPLOAD_BYTES", 1_073_741_824, minimum=1)
MAX_REQUEST_BYTES = _whole("MAX_REQUEST_BYTES", 33_554_432, minimum=1_024)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_REQUEST_BYTES
FILE_UPLOAD_HANDLERS = ["soat.files.api.forms.SentFileHandler"]

_local_storage = {
    "BACKEND": "django.core.files.storage.FileSystemStorage",
    "OPTIONS": {
        "location": str(FILES_STORAGE_DIR),
        "directory_permissions_mode": 0o700,
        "file_permissions_mode": 0o600,
    },
}
_s3_storage = {
    "BACKEND": "storages.backends.s3.S3Storage",
    "OPTIONS": {
        "bucket_name": FILES_S3_BUCKET,
        "location": _text("FILES_S3_PREFIX"),
        "region_name": _text("FILES_S3_REGION") or None,
        "endpoint_url": _url("FILES_S3_ENDPOINT_URL") or None,
        "access_key": FILES_S3_ACCESS_KEY_ID or None,
        "secret_key": FILES_S3_SECRET_ACCESS_KEY or None,
        "security_token": None,
        "file_overwrite": False,
        "default_acl": None,
        # What a worker reads lies in a temporary file from this size on; without it all is held in memory.
        "max_memory_size": 5_242_880,
        # A request waits for the storage, so it is given up soon; other servers than Amazon's know no new checksums.
        "client_config": S3Config(
            connect_timeout=5,
            read_timeout=30,
            retries={"mode": "standard", "total_max_attempts": 3},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    },
}
STORAGES = {
    "default": _s3_storage if FILES_STORAGE_PROVIDER == "s3" else _local_storage,
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}

# --- Ingestion -------------------------------------------------------------------------------

SYNC_INGESTION_MAX_BYTES = _whole("SYNC_INGESTION_MAX_BYTES", 10_485_760, minimum=1)
SYNC_WAIT_TIMEOUT_MS = _whole("SYNC_WAIT_TIMEOUT_MS", 120_000, minimum=1)
INGESTION_STALL_TIMEOUT_MS = _whole("INGESTION_STALL_TIMEOUT_MS", 300_000, minimum=1_000)
CONVERSION_STALL_TIMEOUT_MS = _whole("CONVERSION_STALL_TIMEOUT_MS", 1_800_000, minimum=1_000)
INGESTION_LEASE_SECONDS = _whole("INGESTION_LEASE_SECONDS", 30, minimum=1)

# --- Measurements ----------------------------------------------------------------------------

# Where `manage.py evaluate_retrieval` finds the data sets of others.
EVALUATION_DATA = Path(_text("SOAT_EVAL_DATA")) if _text("SOAT_EVAL_DATA") else None

# --- Django ----------------------------------------------------------------------------------

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "soat",
    "soat.operations",
    "soat.audit",
    "soat.tenancy",
    "soat.files",
    "embeddings",
    "documents",
    "memories",
    "knowledge",
    "soat.evaluation",
    "soat.api",
    "soat.standalone",
]

MIDDLEWARE = [
    "soat.operations.middleware.RequestObserver",
    "soat.api.middleware.ReadableCharset",
    "corsheaders.middleware.CorsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "soat.api.middleware.AnnouncedLength",
]
ROOT_URLCONF = "soat.urls"
WSGI_APPLICATION = "soat.wsgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
STATIC_URL = "static/"
# Standalone serves the packages' own files; production collects them once (`manage.py collectstatic`).
WHITENOISE_USE_FINDERS = STANDALONE or DEBUG
STATIC_ROOT = None if WHITENOISE_USE_FINDERS else BASE_DIR / _text("STATIC_ROOT", "staticfiles")
WHITENOISE_AUTOREFRESH = DEBUG

AUTH_USER_MODEL = "tenancy.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
JWT_TTL_SECONDS = _whole("JWT_TTL_SECONDS", 604_800, minimum=60)

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = "soat.formats"
CSRF_FAILURE_VIEW = "soat.desk.errors.csrf_failed"
UNFOLD = THEME

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["soat.tenancy.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["soat.core.parsers.StrictJSONParser", "soat.core.parsers.BoundedFormParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "soat.api.negotiation.LenientNegotiation",
    "URL_FORMAT_OVERRIDE": None,
    "EXCEPTION_HANDLER": "soat.api.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "SOAT",
    "DESCRIPTION": "Memory and knowledge for AI agents.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"persistAuthorization": True, "displayOperationId": True, "docExpansion": "none"},
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "EntrySourceTypeEnum": "memories.models.SourceType.choices",
        "DocumentStatusEnum": "documents.models.DocumentStatus.choices",
        "WriteActionEnum": "memories.services.WriteAction",
        "UserRoleEnum": "soat.tenancy.models.Role.choices",
    },
    "SORT_OPERATION_PARAMETERS": False,
}

LOGGING = logging_settings(level=LOG_LEVEL, style=LOG_FORMAT)
