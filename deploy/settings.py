"""Every setting, read from the environment once; safe by default."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf.global_settings import LANGUAGES
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse_lazy

from hygiene.judge import RULES, must_name_a_judge

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = Path(os.environ.get("DATA_DIR", BASE_DIR / "var")).resolve()


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    try:
        return int(text) if text else default
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {text!r}") from None


def _amount(name: str) -> float:
    text = os.environ.get(name, "")
    try:
        amount = float(text) if text else 0.0
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise ImproperlyConfigured(f"{name} must be an amount, as in 2.50, not {text!r}")
    return amount


def _language() -> str:
    code = os.environ.get("MEMORY_LANGUAGE") or "en"
    if code not in dict(LANGUAGES):
        raise ImproperlyConfigured(
            f"MEMORY_LANGUAGE must be the code of a language, as de or pt-br, not {code!r}"
        )
    return code


def _secret_key() -> str:
    """Return the signing key: from the environment, or the one that `make up` made in DATA_DIR."""
    key = os.environ.get("SECRET_KEY", "")
    kept = DATA_DIR / "secret_key"
    if not key and kept.is_file():
        key = kept.read_text(encoding="ascii").strip()
    if len(key) < 40:
        raise ImproperlyConfigured(
            f"SECRET_KEY must have at least 40 characters. `make up` makes one in {kept}; "
            "elsewhere set it in the environment."
        )
    return key


def _database(url: str, application: str) -> dict[str, Any]:
    """Return Django's form of a libpq URL."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "palimpsest",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", None) or unquote(parts.hostname or ""),
        "PORT": query.pop("port", None) or str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {
            **query,
            "application_name": application,
            "options": _SESSION,
            "prepare_threshold": None,
            "connect_timeout": 5,
        },
    }


# Said by the connection, because a role may change its own defaults.
_SESSION = " ".join(
    f"-c {setting}"
    for setting in (
        "search_path=public,pg_temp",
        "row_security=on",
        f"statement_timeout={_number('STATEMENT_TIMEOUT_MS', 5000)}",
        "lock_timeout=2000",
        "idle_in_transaction_session_timeout=15000",
        "timezone=UTC",
        "jit=off",
    )
)

SECRET_KEY = _secret_key()
DEBUG = False
PORT = _number("PORT", 8000)
MCP_PORT = _number("MCP_PORT", PORT + 1)
ALLOWED_HOSTS = os.environ.get("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",")
PUBLIC_URL = os.environ.get("PUBLIC_URL", f"http://127.0.0.1:{PORT}")
# What agents' clients are told to connect to, and who gives them tokens if somebody does (OAuth).
MCP_URL = os.environ.get("MCP_URL", f"http://127.0.0.1:{MCP_PORT}/mcp")
MCP_AUTHORIZATION_SERVER = os.environ.get("MCP_AUTHORIZATION_SERVER", "")
# How many proxies stand in front and add to X-Forwarded-For; none by default, so that a header
# that anybody can send says nothing.
PROXIES = _number("PROXIES", 0)
SERVED_OVER_TLS = PUBLIC_URL.startswith("https://")

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "deploy.apps.DeployConfig",
    "deploy.apps.AdminSiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "guardian",
    "axes",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "tenants.apps.TenantsConfig",
    "memory.apps.MemoryConfig",
    "hygiene.apps.HygieneConfig",
    "reviews.apps.ReviewsConfig",
]

MIDDLEWARE = [
    "deploy.problems.RequestId",
    "deploy.health.Metered",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "tenants.admin_door.AdminDoor",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "deploy.urls"
WSGI_APPLICATION = "deploy.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
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

# The login of web, MCP and worker. `make up` fills it in; unset means the embedded PostgreSQL.
DATABASES = {
    "default": _database(
        os.environ.get("DATABASE_URL", "postgresql://palimpsest_runtime@/palimpsest"), "palimpsest"
    )
}
DATABASES["default"]["OPTIONS"]["pool"] = {
    "min_size": 1,
    "max_size": _number("DATABASE_POOL", 16),
    "timeout": 5,
}
# The owner of the tables: for migrating and seeding, in no server process.
if os.environ.get("OWNER_DATABASE_URL"):
    DATABASES["owner"] = _database(os.environ["OWNER_DATABASE_URL"], "palimpsest-owner")
    DATABASES["owner"]["OPTIONS"]["options"] = "-c search_path=public,pg_temp -c timezone=UTC"

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "tenants.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_URL = "admin:login"

# Guardian narrows inside a tenant by direct foreign-key rows; nobody anonymous, no groups.
ANONYMOUS_USER_NAME = None
GUARDIAN_RAISE_403 = False

AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_IPWARE_PROXY_COUNT = PROXIES or None
AXES_IPWARE_META_PRECEDENCE_ORDER = (
    ["HTTP_X_FORWARDED_FOR", "REMOTE_ADDR"] if PROXIES else ["REMOTE_ADDR"]
)
AXES_DISABLE_ACCESS_LOG = True
AXES_LOCKOUT_TEMPLATE = "palimpsest/locked.html"
AXES_ENABLE_ACCESS_FAILURE_LOG = False
AXES_VERBOSE = False
# What was typed there may be a password, or a code that is right in half a minute.
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "code"]

OTP_TOTP_ISSUER = "Palimpsest"
# Counted by log-in and address instead (tenants/second_factor.py).
OTP_TOTP_THROTTLE_FACTOR = 0
OTP_STATIC_THROTTLE_FACTOR = 0

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["tenants.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "deploy.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
    "NUM_PROXIES": PROXIES,
    "DATETIME_FORMAT": "%Y-%m-%dT%H:%M:%S.%fZ",
    "COERCE_DECIMAL_TO_STRING": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Palimpsest",
    "DESCRIPTION": "Shared long-term memory for teams of AI agents and people.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
    "COMPONENT_SPLIT_REQUEST": True,
    # Choices stay where they are used: their names would collide (kind, type, state).
    "POSTPROCESSING_HOOKS": ["tenants.openapi.close_bodies"],
    "APPEND_COMPONENTS": {
        "securitySchemes": {
            "bearer": {
                "type": "http",
                "scheme": "bearer",
                "bearerFormat": "plm_...",
                "description": "A token of a person, an agent or a watcher.",
            }
        }
    },
    "SECURITY": [{"bearer": []}],
}

# Limits of the contract.
LONGEST_BODY = 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = LONGEST_BODY
RATE_LIMIT = _number("RATE_LIMIT", 1200)  # requests a minute and token
FAILED_LOGIN_LIMIT = _number("FAILED_LOGIN_LIMIT", 60)  # a minute and address
MEMORIES_PER_DAY = _number("MEMORIES_PER_DAY", 0)  # new ones of one tenant; 0: no limit

EMBEDDER = os.environ.get("EMBEDDER", "bundled")
EMBEDDER_BASE_URL = os.environ.get("EMBEDDER_BASE_URL", "")
EMBEDDER_API_KEY = os.environ.get("EMBEDDER_API_KEY", "")
EMBEDDER_THREADS = _number("EMBEDDER_THREADS", 2)
JUDGE = os.environ.get("JUDGE") or RULES
JUDGE_BASE_URL = os.environ.get("JUDGE_BASE_URL", "")
JUDGE_API_KEY = os.environ.get("JUDGE_API_KEY", "")
must_name_a_judge(JUDGE, JUDGE_BASE_URL, JUDGE_API_KEY)
JUDGE_TOKENS_PER_DAY = _number("JUDGE_TOKENS_PER_DAY", 2_000_000)  # of one tenant; 0: no limit
# What a tenant's judging may cost in a day, in the currency of the prices; 0: no limit. Prices are
# of a million tokens, of questions and of answers.
JUDGE_MONEY_PER_DAY = _amount("JUDGE_MONEY_PER_DAY")
JUDGE_PRICE_IN = _amount("JUDGE_PRICE_IN")
JUDGE_PRICE_OUT = _amount("JUDGE_PRICE_OUT")
if JUDGE_MONEY_PER_DAY and not JUDGE_PRICE_IN and not JUDGE_PRICE_OUT:
    raise ImproperlyConfigured("JUDGE_MONEY_PER_DAY needs JUDGE_PRICE_IN or JUDGE_PRICE_OUT")
SWEEP_EVERY = _number("SWEEP_EVERY", 24)  # hours between sweeps by themselves; 0: none
BROKER_URL = os.environ.get("BROKER_URL", "")
QUEUE_DATABASE_URL = os.environ.get("QUEUE_DATABASE_URL", "")
WORKER_THREADS = _number("WORKER_THREADS", 4)
WORKER_GRACE_SECONDS = _number("WORKER_GRACE_SECONDS", 25)
JOB_LEASE_SECONDS = _number("JOB_LEASE_SECONDS", 50)
JOBS_AT_ONCE = _number("JOBS_AT_ONCE", 16)  # of one tenant
JOB_BACKOFF_SECONDS = _number("JOB_BACKOFF_SECONDS", 5)

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
WHITENOISE_USE_FINDERS = True
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

ADMIN_IDLE_MINUTES = _number("ADMIN_IDLE_MINUTES", 30)
ADMIN_SESSION_HOURS = _number("ADMIN_SESSION_HOURS", 12)
SESSION_COOKIE_AGE = ADMIN_SESSION_HOURS * 3600
SESSION_COOKIE_SECURE = SERVED_OVER_TLS
CSRF_COOKIE_SECURE = SERVED_OVER_TLS
CSRF_COOKIE_HTTPONLY = True
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if SERVED_OVER_TLS else []
SECURE_SSL_REDIRECT = False  # the proxy's task; /healthz must answer plainly
SECURE_HSTS_SECONDS = 31536000 if SERVED_OVER_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SERVED_OVER_TLS
SECURE_HSTS_PRELOAD = SERVED_OVER_TLS
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if PROXIES:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LANGUAGE_CODE = "en"
# In which language memories are spoken of; what its catalogue lacks is said in English.
MEMORY_LANGUAGE = _language()
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "deploy.logs.OneLine"}},
    "filters": {"reticent": {"()": "deploy.logs.Reticent"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["reticent"],
        }
    },
    # A line for every refused request would be an access log; ours are the events, and who was not
    # let in is told by tenants.refused_entries, which sums up a flood.
    "loggers": {"django.request": {"level": "ERROR"}, "axes": {"level": "ERROR"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("LOG_LEVEL", "WARNING")},
}


def _page(title: str, icon: str, to: str, permission: str = "is_seated") -> dict[str, Any]:
    """Return an entry of the admin's side bar, shown to the seats that may use it."""
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(to),
        "permission": f"deploy.seats.{permission}",
    }


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Palimpsest",
    "SITE_HEADER": "Palimpsest",
    "SITE_SUBHEADER": "deploy.seats.tenant_name",
    "SITE_SYMBOL": "history_edu",
    "SITE_URL": None,
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": f"{STATIC_URL}palimpsest/favicon.svg"}
    ],
    "STYLES": [f"{STATIC_URL}palimpsest/colours.css", f"{STATIC_URL}palimpsest/palimpsest.css"],
    "SCRIPTS": [f"{STATIC_URL}palimpsest/palimpsest.js"],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SIDEBAR": {
        "navigation": [
            {
                "items": [
                    _page("Overview", "dashboard", "admin:index"),
                    _page("Memories", "history_edu", "admin:memory_memory_changelist")
                    | {"active": "deploy.seats.is_about_memories"},
                    _page(
                        "Needs verification", "verified", "admin:memory_memory_needs_verification"
                    )
                    | {"counts": "needs verification", "badge_variant": "warning"},
                    _page("Subjects", "account_tree", "admin:memory_memory_subjects"),
                    _page("Conflicts", "compare_arrows", "admin:memory_conflict_changelist")
                    | {"active": "deploy.seats.is_about_disputes"},
                    _page("Review statistics", "monitoring", "admin:memory_conflict_statistics"),
                    _page("Judge", "balance", "admin:hygiene_judgement_changelist"),
                ]
            },
            {
                "title": "Administration",
                "separator": True,
                "items": [
                    _page("Projects", "folder", "admin:tenants_project_changelist", "administers"),
                    _page("Members", "group", "admin:tenants_member_changelist", "administers"),
                    _page("Agents", "smart_toy", "admin:tenants_agent_changelist", "administers"),
                    _page("Tokens", "key", "admin:tenants_token_changelist", "administers"),
                    _page(
                        "Push sources",
                        "webhook",
                        "admin:memory_pushsource_changelist",
                        "administers",
                    ),
                    _page("Jobs", "work_history", "admin:tenants_job_changelist", "administers"),
                    _page("Audit", "policy", "admin:tenants_event_changelist", "administers"),
                ],
            },
            {"separator": True, "items": [_page("API documentation", "api", "docs")]},
        ]
    },
}
