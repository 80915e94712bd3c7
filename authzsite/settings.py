"""Settings of the site.  The environment is read once, here; `authzsite/environment.py` judges it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from celery.schedules import crontab
from csp.constants import NONE, SELF
from kombu import Exchange, Queue

import lakewarden
from authzsite import embedded
from authzsite.demo import passwords, shop
from authzsite.environment import CHECKOUT, read_or_exit
from authzsite.runtime.telemetry import logs

ENVIRONMENT = read_or_exit()

BASE_DIR = CHECKOUT
VAR = ENVIRONMENT.var
DEBUG = ENVIRONMENT.debug
SECRET_KEY, *SECRET_KEY_FALLBACKS = ENVIRONMENT.secret_key.split(",")
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)
PUBLIC = ENVIRONMENT.public

LAKEWARDEN_AUTHENTICATORS = ENVIRONMENT.authenticators
LAKEWARDEN_INSECURE = ENVIRONMENT.insecure
LAKEWARDEN_PROXY_ADDRESSES = ENVIRONMENT.proxies
LAKEWARDEN_PROXY_HEADERS = ENVIRONMENT.proxy_headers
LAKEWARDEN_PROXY_SIGN_OUT = ENVIRONMENT.proxy_sign_out
LAKEWARDEN_OIDC = ENVIRONMENT.oidc
LAKEWARDEN_SECOND_FACTOR = ENVIRONMENT.second_factor
LAKEWARDEN_STEP_UP = ENVIRONMENT.step_up
LAKEWARDEN_SESSION_IDLE = ENVIRONMENT.session_idle
LAKEWARDEN_CALLS_A_MINUTE = ENVIRONMENT.calls_a_minute
# a stream of changes ends after so long, and its program asks again, as who it then is
LAKEWARDEN_STREAM_SECONDS = 55
LAKEWARDEN_SIGN_INS_A_MINUTE = ENVIRONMENT.sign_ins_a_minute
LAKEWARDEN_MONITOR_ADDRESSES = ENVIRONMENT.monitors
LAKEWARDEN_SERVICE_ADMINS = ENVIRONMENT.service_admins
LAKEWARDEN_DIRECTORIES = ENVIRONMENT.directories
LAKEWARDEN_HERD_REALM = ENVIRONMENT.herd_realm
LAKEWARDEN_CDAP_REALM = ENVIRONMENT.cdap_realm
LAKEWARDEN_AUTHORIZERS = ENVIRONMENT.authorizers
LAKEWARDEN_CONNECT_ALLOW = ENVIRONMENT.connect_allow
# the shop of the demo listens nowhere else; nobody has a demo on a public host
LAKEWARDEN_CONNECT_SOCKETS = () if PUBLIC else (str(shop.server(VAR).socket_dir),)
LAKEWARDEN_SECRET_KEYS = ENVIRONMENT.secret_keys
LAKEWARDEN_SIGNING_KEYS = ENVIRONMENT.signing_keys
LAKEWARDEN_CHECKPOINTS = ENVIRONMENT.checkpoints
LAKEWARDEN_CHECKPOINT_EVERY = ENVIRONMENT.checkpoint_every
LAKEWARDEN_AUDIT_FEEDS = ENVIRONMENT.audit_feeds
LAKEWARDEN_AUDIT_FEED_SECRET = ENVIRONMENT.audit_feed_secret
LAKEWARDEN_EMERGENCY_HOURS = ENVIRONMENT.emergency_hours
LAKEWARDEN_RUNS_KEPT = ENVIRONMENT.runs_kept
LAKEWARDEN_UNUSED_AFTER = ENVIRONMENT.unused_after
LAKEWARDEN_URL = ENVIRONMENT.site
LAKEWARDEN_SECURITY_CONTACT = ENVIRONMENT.security_contact
LAKEWARDEN_CHAT_HOOKS = ENVIRONMENT.chat_hooks
LAKEWARDEN_CHAT_SECRET = ENVIRONMENT.chat_secret
SPARK_MASTER = ENVIRONMENT.spark_master
# the door names the people of the demo, never their passwords
LAKEWARDEN_DEMO_SIGN_INS = () if PUBLIC else passwords.users(VAR)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "authzsite",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "guardian",
    "rest_framework",
    "axes",
    "csp",
    "django_htmx",
    # for its parts, which the console's own pages use; none of its pages is mounted
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.mfa",
    "accounts",
    "catalog",
    "policies",
    "authzsite.console",
]

LAKEWARDEN_TRACES = ENVIRONMENT.traces
LAKEWARDEN_TRACES_SHARE = ENVIRONMENT.traces_share

MIDDLEWARE = [
    "authzsite.runtime.telemetry.request_id.request_id",
    *(["authzsite.runtime.telemetry.traces.request_span"] if LAKEWARDEN_TRACES else []),
    "authzsite.api.gravitino.entry.outside",
    "django.middleware.security.SecurityMiddleware",
    "authzsite.runtime.static_files.bundles.serve_bundles",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "authzsite.runtime.static_files.bundles.CompressedPages",
    "csp.middleware.CSPMiddleware",
    "authzsite.api.call_limits.CallLimits",
    "authzsite.runtime.middleware.page_headers",
    "authzsite.runtime.direct.PastPages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "accounts.session_limits.SessionLimits",
    "authzsite.console.kit.languages.PageLanguage",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "authzsite.console.accounts.proxy_sign_in.ProxySignIn",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "authzsite.runtime.middleware.BusyAnswers",
]

ROOT_URLCONF = "authzsite.urls"
DEFAULT_EXCEPTION_REPORTER_FILTER = "authzsite.runtime.error_reports.WithoutSecrets"
WSGI_APPLICATION = "authzsite.wsgi.application"
ASGI_APPLICATION = "authzsite.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False
# a site has no path of its own; else gunicorn takes one from a header of whoever comes from this machine, and
# pages pass for what machines ask, where no session ends
FORCE_SCRIPT_NAME = ""

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [CHECKOUT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            # every template says words
            "builtins": ["django.templatetags.i18n", "authzsite.console.templatetags.translations"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# PostgreSQL


def _connected(parts: Mapping[str, str], limits: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Django's settings of a connection; `parts` are libpq's words, over which `limits` go."""
    # keepalive finds a peer that went without a word
    options: dict[str, Any] = {"connect_timeout": 3, "keepalives_idle": 30}
    # the statements of a check are few and come again and again: parsed and planned once for each connection
    options |= {"server_side_binding": True, "prepare_threshold": 5}
    named = {name.upper(): parts.get(name, "") for name in ("host", "port", "user", "password")}
    further = {name: value for name, value in parts.items() if name.upper() not in named and name != "dbname"}
    return {
        "ENGINE": "authzsite.bounded_database",
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "ATOMIC_REQUESTS": False,
        "OPTIONS": {**options, **further, **limits},
        "NAME": parts["dbname"],
        **named,
    }


def _databases() -> dict[str, Any]:
    if not ENVIRONMENT.database:
        server = embedded.console_database(VAR)
        parts = {"host": str(server.socket_dir), "user": embedded.CONSOLE, "dbname": embedded.CONSOLE}
        # starts the server with the first connection
        return {"default": _connected(parts) | {"ENGINE": "authzsite.embedded_database"}}
    databases = {"default": _connected(ENVIRONMENT.database)}
    if ENVIRONMENT.replica:
        # a check does not wait for it long, as the primary can be asked
        bounds = "-c statement_timeout=2000 -c default_transaction_read_only=on"
        short = {"connect_timeout": 1, "tcp_user_timeout": 2000, "options": bounds}
        databases["replica"] = _connected(ENVIRONMENT.replica, short)
    return databases


DATABASES = _databases()
LAKEWARDEN_DATABASE_OWNER = _connected(ENVIRONMENT.database_owner) if ENVIRONMENT.database_owner else None
"""As whom commands that alter tables enter the database, where the site may not."""

# Redis and Celery
# The broker only nudges: what is to be done stands in the database; a dead Redis costs time, never a grant.

REDIS_URL = ENVIRONMENT.redis_url or embedded.redis(VAR).url

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_TIMEOUT = 1
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 1,
    "socket_timeout": 5,
    "visibility_timeout": 300,
    "max_retries": 0,  # a publish tries once: a web request never waits for a dead Redis
}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
# what takes access away waits behind nothing else; a worker without --queues serves all three
CELERY_TASK_QUEUES = [
    Queue(name, Exchange("lakewarden"), routing_key=name) for name in ("urgent", "work", "looks")
]
CELERY_TASK_DEFAULT_QUEUE = CELERY_TASK_DEFAULT_ROUTING_KEY = "work"
CELERY_TASK_DEFAULT_EXCHANGE = "lakewarden"
CELERY_TASK_ROUTES = {
    f"policies.tasks.{name}": {"queue": "looks"}
    for name in (
        "look",
        "compare",
        "discover",
        "pipelines",
        "build_review",
        "calculate",
        "forget_runs",
        "verify",
        "verify_hourly",
    )
}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
# in memory: a file that a killed beat left half-written would stop every later one
CELERY_BEAT_SCHEDULER = "authzsite.runtime.beat:LockedScheduler"
CELERY_BEAT_SCHEDULE = {
    "deliver": {"task": "policies.tasks.deliver_due", "schedule": 5.0, "options": {"expires": 5.0}},
    "look": {"task": "policies.tasks.look_again", "schedule": 60.0, "options": {"expires": 60.0}},
    "compare": {
        "task": "policies.tasks.compare_nightly",
        "schedule": 300.0,
        "options": {"expires": 300.0},
    },
    "forget_runs": {
        "task": "policies.tasks.forget_runs",
        "schedule": crontab(hour=5, minute=30),
        "options": {"expires": 3600.0},
    },
    "emergencies": {
        "task": "policies.tasks.end_emergencies",
        "schedule": 30.0,
        "options": {"expires": 30.0},
    },
    "post": {"task": "policies.tasks.post", "schedule": 5.0, "options": {"expires": 5.0}},
    "forget_notices": {
        "task": "policies.tasks.forget_notices",
        "schedule": 86400.0,
        "options": {"expires": 3600.0},
    },
    "facts": {"task": "policies.tasks.hold_facts", "schedule": 3600.0, "options": {"expires": 3600.0}},
    "ended_facts": {
        "task": "policies.tasks.hold_ended_facts",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "begin": {"task": "policies.tasks.begin", "schedule": 30.0, "options": {"expires": 30.0}},
    "remind": {"task": "policies.tasks.remind", "schedule": 3600.0, "options": {"expires": 3600.0}},
    "requests": {"task": "policies.tasks.requests", "schedule": 30.0, "options": {"expires": 30.0}},
    "verify": {"task": "policies.tasks.verify_hourly", "schedule": 300.0, "options": {"expires": 300.0}},
    "calculate": {"task": "policies.tasks.calculate", "schedule": 10.0, "options": {"expires": 10.0}},
    "feed": {"task": "policies.tasks.feed", "schedule": 5.0, "options": {"expires": 5.0}},
    "sign": {"task": "policies.tasks.sign", "schedule": 60.0, "options": {"expires": 60.0}},
    "uses": {"task": "policies.tasks.forget_uses", "schedule": 86400.0, "options": {"expires": 3600.0}},
    "pipelines": {"task": "policies.tasks.pipelines", "schedule": 60.0, "options": {"expires": 60.0}},
    "nightly": {
        "task": "policies.tasks.pipelines_nightly",
        "schedule": crontab(hour=2, minute=15),
        "options": {"expires": 3600.0},
    },
    **{
        f"alive_{name}": {
            "task": "policies.tasks.alive",
            "args": [name],
            "schedule": 15.0,
            "options": {"queue": name, "expires": 15.0},
        }
        for name in ("urgent", "work", "looks")
    },
    "reviews": {"task": "policies.tasks.reviews", "schedule": 30.0, "options": {"expires": 30.0}},
    "bootstrap": {"task": "policies.tasks.bootstrap", "schedule": 20.0, "options": {"expires": 20.0}},
}

# People and sessions

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
    "accounts.backends.Proxy",
    "accounts.backends.OpenIDConnect",
]
PASSWORD_HASHERS = ["accounts.sign_in_limits.Hasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),  # twenty thousand that were found in breaches
    )
]
ANONYMOUS_USER_NAME = None  # guardian: a duty belongs to somebody
GUARDIAN_AUTO_PREFETCH = False

LOGIN_URL = "console:sign_in"
LOGIN_REDIRECT_URL = "console:home"
LOGOUT_REDIRECT_URL = "console:sign_in"

ACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10
MFA_ADAPTER = "authzsite.console.accounts.mfa.Adapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_TOTP_TOLERANCE = 1  # half a minute by which clocks may differ

SESSION_COOKIE_AGE = ENVIRONMENT.session_hours * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
# the prefix binds a cookie to this very host, and browsers take it over TLS alone
_HOST_ONLY = "__Host-" if PUBLIC and not DEBUG else ""
SESSION_COOKIE_NAME = f"{_HOST_ONLY}lakewarden_session"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = f"{_HOST_ONLY}lakewarden_csrf"
CSRF_FAILURE_VIEW = "authzsite.console.kit.error_pages.csrf_failure"

AXES_HANDLER = "accounts.sign_in_limits.Limits"  # holds without Redis and across processes
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # more limits: accounts/sign_in_limits.py
AXES_CLIENT_IP_CALLABLE = "accounts.addresses.address_of"
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "authzsite.console.accounts.sign_in.locked_out"
AXES_ENABLE_ACCESS_FAILURE_LOG = False
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False

# What a browser is told

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
# a public host is served behind TLS; the demo on loopback is not
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC and not DEBUG
SECURE_HSTS_SECONDS = 30 * 86400 if PUBLIC and not DEBUG else 0
CSRF_TRUSTED_ORIGINS = [
    f"https://{host.replace('.', '*.', 1) if host.startswith('.') else host}"
    for host in ALLOWED_HOSTS
    if host != "*"
]

DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000

# Static files: no collecting step, see storage.py

STATIC_URL = "/static/"
STATICFILES_DIRS = [CHECKOUT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "authzsite.runtime.static_files.storage.VersionedStatic"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_MAX_AGE = 0 if DEBUG else 3600

# HTTP surfaces

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "authzsite.api.v1.describing.CallSchema",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Lakewarden",
    "VERSION": lakewarden.__version__,
    "OAS_VERSION": "3.1.0",
    "APPEND_COMPONENTS": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "POSTPROCESSING_HOOKS": [],
}

# Mail

globals().update(ENVIRONMENT.mail)
DEFAULT_FROM_EMAIL = SERVER_EMAIL = ENVIRONMENT.mail_from

# Language, time, log

LANGUAGE_CODE = "en"
LANGUAGES = ENVIRONMENT.languages
LOCALE_PATHS = [CHECKOUT / "authzsite" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = logs.settings(ENVIRONMENT.log_format)
