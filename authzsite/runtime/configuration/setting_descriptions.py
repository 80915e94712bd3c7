"""What each variable of the environment means, and what is dangerous about it: for docs/settings.md.

`scripts/settings_reference.py` writes the page; defaults that the code has are read from the code.
"""

from __future__ import annotations

from dataclasses import dataclass

MADE = "made in `var/`"
NONE = "none"


@dataclass(frozen=True)
class Description:
    """One variable; an empty `default` is the one that the code has, `danger` is what can go wrong."""

    name: str
    meaning: str
    danger: str = ""
    default: str = ""


CONSOLE: dict[str, tuple[Description, ...]] = {
    "Database, broker, files": (
        Description(
            "DATABASE_URL",
            "where the console keeps its facts: `postgresql://user:password@host:port/database`",
            "The embedded server is for trying out: it has no backup. Another database is another site.",
            "embedded, under `var/`",
        ),
        Description(
            "DATABASE_REPLICA_URL",
            "a streaming replica of that database, from which the facts of checks are read while it has the "
            "last change ([Read replicas](deploying.md#read-replicas)): "
            "`postgresql://user:password@host:port/database`",
            "It holds everything that the console stores, so protect it like the primary.",
            NONE,
        ),
        Description(
            "DATABASE_OWNER_URL",
            "the same database as another user, who owns its tables: `manage.py migrate` and "
            "`manage.py facts --set-right` enter as that user, and `migrate` gives the user of "
            "`DATABASE_URL` what the site needs "
            "([An owner of the tables](deploying.md#an-owner-of-the-tables))",
            "Set it for commands alone: the site's processes must not have it.",
            NONE,
        ),
        Description(
            "REDIS_URL",
            "signals for the workers, and counters for limits; no fact is stored there alone",
            "Anyone who can write there can reset the counters of sign-ins and calls.",
            "embedded, under `var/`",
        ),
        Description(
            "LAKEWARDEN_VAR",
            "the folder for files that the site creates: keys, mail, logs, embedded servers",
            "Keys are stored in it unless they are set. Give each site its own folder, on a permanent disk.",
            "`var/` in the checkout",
        ),
        Description("PORT", "the port of `make run`", default="`8000`"),
    ),
    "Keys": (
        Description(
            "SECRET_KEY",
            "signs sessions and links (Django's `SECRET_KEY`); of several, comma-separated, the first signs "
            "and the others still count, so put a new one first and remove the old one a day later",
            "On a public host the site does not start with a missing, short or well-known key. Anyone who "
            "has it can create links that set passwords. Without the old key every session ends.",
            MADE,
        ),
        Description(
            "LAKEWARDEN_SECRET_KEYS",
            "Fernet keys for connection secrets, second factors and the "
            "[seals of facts](backup.md#seals-of-facts), comma-separated, newest first",
            "Lost keys cannot be replaced: connections and second factors have to be set up again, and facts "
            "sealed again. Keep them apart from the database and its copies.",
            MADE,
        ),
        Description(
            "LAKEWARDEN_SIGNING_KEYS",
            "Ed25519 keys that sign the audit log, newest first (`manage.py audit_key --new`)",
            "Anyone who has a key and the database can forge the history. Keep them apart.",
            MADE,
        ),
    ),
    "Hosts and proxies": (
        Description(
            "ALLOWED_HOSTS",
            "the host names of the site, comma-separated (Django's `ALLOWED_HOSTS`)",
            "`*` accepts any host name; on a public host the site does not start with it.",
        ),
        Description(
            "LAKEWARDEN_SECURITY_CONTACT",
            "where people report vulnerabilities of this site: `mailto:…`, `https://…` or `tel:+…`, shown to "
            "everyone at `/.well-known/security.txt` (RFC 9116)",
            default=NONE,
        ),
        Description(
            "LAKEWARDEN_URL",
            "the console's own address; links in mail begin with it",
            "",
            "the first of `ALLOWED_HOSTS`, else loopback",
        ),
        Description(
            "LAKEWARDEN_PROXY_ADDRESSES",
            "addresses and networks of the proxies in front, comma-separated. `X-Forwarded-For` is "
            "trusted only from these, read from its end",
            "If too wide, clients can choose their own address, past limits and the addresses of tokens. "
            "If not set behind a proxy, everyone has the proxy's address.",
            NONE,
        ),
        Description(
            "LAKEWARDEN_MONITOR_ADDRESSES",
            "addresses and networks, comma-separated, that may read `/metrics` and the details of "
            "`/health/ready` without a token",
            default=NONE,
        ),
        Description(
            "DEBUG",
            "`1`: detailed error pages (Django's `DEBUG`)",
            "Shows internals to strangers; on a public host the site does not start with it.",
        ),
        Description(
            "LAKEWARDEN_INSECURE",
            "`1`: start on a public host even with `simple`, `DEBUG=1` or `ALLOWED_HOSTS=*`",
            "Removes the protection against each of these. Never use it on a site with data.",
        ),
    ),
    "Sign-in": (
        Description(
            "LAKEWARDEN_AUTHENTICATORS",
            "how people and programs sign in. `proxy`: "
            "[a proxy names them](sign-in.md#a-proxy-that-signs-people-in). `oidc`: "
            "[an identity provider](sign-in.md#openid-connect)",
            "For development and tests only: `simple` trusts any name that a program sends, and works from "
            "this machine only while every page shows a warning; `anonymous` admits calls to `/api` "
            "without a "
            "name.",
        ),
        Description(
            "LAKEWARDEN_PROXY_USER_HEADER",
            "with `proxy`: the header in which the proxy names the person",
            "The proxy must remove this header from requests of clients.",
            "`X-Forwarded-User`",
        ),
        Description(
            "LAKEWARDEN_PROXY_NAME_HEADER", "with `proxy`: the header with the display name", "", NONE
        ),
        Description(
            "LAKEWARDEN_PROXY_MAIL_HEADER", "with `proxy`: the header with the mail address", "", NONE
        ),
        Description(
            "LAKEWARDEN_PROXY_GROUPS_HEADER",
            "with `proxy`: the header with the groups, comma-separated. Only headers named here are read",
            "Anyone who can send it through the proxy chooses their own groups.",
            NONE,
        ),
        Description(
            "LAKEWARDEN_PROXY_SIGN_OUT",
            "with `proxy`: where the proxy ends its own session, such as `/oauth2/sign_out`; *Sign "
            "out* leads "
            "there",
            "",
            NONE,
        ),
        Description(
            "LAKEWARDEN_OIDC_<NAME>_ISSUER",
            "with `oidc`: the address of the [identity provider](sign-in.md#openid-connect); `<NAME>` is of "
            "your choice, and there can be several",
            "Its operators can sign in as anyone it can name.",
            NONE,
        ),
        Description("LAKEWARDEN_OIDC_<NAME>_CLIENT_ID", "the console's id there", "", NONE),
        Description("LAKEWARDEN_OIDC_<NAME>_CLIENT_SECRET", "the console's secret there", "", NONE),
        Description("LAKEWARDEN_OIDC_<NAME>_TITLE", "the text of the sign-in button", "", "the name"),
        Description(
            "LAKEWARDEN_OIDC_<NAME>_USER_CLAIM",
            "the claim with the name of the person",
            "People must not be able to change it at the provider.",
            "`preferred_username`",
        ),
        Description(
            "LAKEWARDEN_OIDC_<NAME>_GROUPS_CLAIM",
            "the claim with their groups; empty: none are read",
            "",
            NONE,
        ),
        Description(
            "LAKEWARDEN_OIDC_<NAME>_SCOPES",
            "the scopes to request, separated by spaces; some providers send groups only with `groups`",
            "",
            "`openid profile email`",
        ),
        Description(
            "LAKEWARDEN_OIDC_<NAME>_DOMAINS",
            "only people with a confirmed mail address in one of these domains can sign in",
            "Without it everyone known to the provider can sign in, without access.",
            "any",
        ),
        Description(
            "LAKEWARDEN_OIDC_<NAME>_JOINS",
            "`1`: at the first sign-in the name also joins an account that has a password here",
            "Anyone who can choose a name at the provider takes over the account of that name.",
            "`0`",
        ),
        Description(
            "LAKEWARDEN_SECOND_FACTOR",
            "who must have a [second factor](sign-in.md#second-factors) besides a password: `duties` (site "
            "admins and holders of the console's duties) or `everybody`",
            "Without it a guessed or stolen password is enough to sign in.",
            NONE,
        ),
        Description(
            "LAKEWARDEN_STEP_UP",
            "minutes after which people must prove again who they are before a sensitive change: tokens, "
            "duties, emergency access, connections, bindings, password links, second factors; `0`: never. "
            "They use their second factor, else their password, else their provider. Their input "
            "is kept. "
            "Tokens, and people whom a proxy names, are not asked",
            "`0`: anyone at an open session can grant themselves lasting access.",
        ),
        Description("LAKEWARDEN_SESSION_HOURS", "hours after which a session ends in any case, 1 to 24"),
        Description(
            "LAKEWARDEN_SESSION_IDLE",
            "minutes after which an unused session ends, give or take ten, `0`: never",
        ),
        Description(
            "LAKEWARDEN_SERVICE_ADMINS",
            "user names of the site admins, comma-separated: they create realms, accounts and groups, and "
            "repair a lock-out",
            "A name here that has no account yet is an admin as soon as it has one.",
            NONE,
        ),
        Description(
            "LAKEWARDEN_DIRECTORIES",
            "names of service accounts, comma-separated, that [keep people and groups](directory.md) by SCIM "
            "at `/scim/v2`",
            "They decide who is in the groups of the directory, and can end the access of its people.",
            NONE,
        ),
    ),
    "Limits": (
        Description(
            "LAKEWARDEN_CALLS_A_MINUTE",
            "calls a token may make in a minute, `0`: any number. Answers say how many are left "
            "(`RateLimit`, "
            "`RateLimit-Policy`); further calls get 429 with `Retry-After`. Calls with a token that was "
            "never made count together for their address. Counted in Redis; while it is "
            "away, each process counts by itself",
            "`0`: one program can keep all others waiting.",
        ),
        Description(
            "LAKEWARDEN_SIGN_INS_A_MINUTE",
            "sign-ins by password per minute on the whole site, a fifth of them from one "
            "address and "
            "a twentieth for one name, `0`: any number. Counted in Redis before a password is checked; "
            "while Redis is away, nobody can sign in with a password (503)",
            "`0`: only the limits on wrong passwords protect against guessing.",
        ),
        Description(
            "LAKEWARDEN_EMERGENCY_HOURS", "the maximum duration of emergency access in hours, 1 to 24"
        ),
        Description(
            "LAKEWARDEN_CONNECT_ALLOW",
            "hosts, networks and folders that connections may reach. In a folder, file connections may write "
            "access lists, and sockets may be connected to. Checked at each connect, by the host's real "
            "addresses and the folder's real path. Loopback and link-local addresses need an entry of their "
            "own, even if a listed host name resolves to them",
            "Owners of realms can make the console connect to everything listed here.",
            "loopback",
        ),
    ),
    "Record and retention": (
        Description(
            "LAKEWARDEN_CHECKPOINTS",
            "where signed checkpoints are sent, comma-separated: `file:/path`, `mailto:address`, "
            "`https://store/…` (PUT)",
            "If all are on the database's machine, an attacker there can cut off the end of the audit log.",
            "`file:var/checkpoints.txt`",
        ),
        Description(
            "LAKEWARDEN_CHECKPOINT_EVERY",
            "seconds between two checkpoints",
            "Entries after the last checkpoint can be cut off the audit log unnoticed.",
        ),
        Description(
            "LAKEWARDEN_AUDIT_FEEDS",
            "where the audit log is sent: `file:/path`, `https://…`, each with `?format=json`, `ocsf-1.8` or "
            "`ocsf-1.9`, comma-separated",
            "Anyone who reads it learns who may do what.",
            NONE,
        ),
        Description("LAKEWARDEN_AUDIT_FEED_SECRET", "`whsec_…` signs webhooks of the audit log", "", NONE),
        Description(
            "LAKEWARDEN_RUNS_KEPT", "how many days sync runs that changed something, or failed, are kept"
        ),
        Description(
            "LAKEWARDEN_UNUSED_AFTER",
            "how many days access must have been granted, and uses reported, before a hint calls it unused",
        ),
    ),
    "Logs and traces": (
        Description(
            "LAKEWARDEN_LOG_FORMAT",
            "the format of log lines on standard error: `plain`, or `json` with one object per line "
            "([Logs and traces](outages.md#logs-and-traces))",
        ),
        Description(
            "LAKEWARDEN_TRACES",
            "where an OpenTelemetry collector takes spans over HTTP: `http://collector:4318/v1/traces`. A "
            "header with its key comes from `OTEL_EXPORTER_OTLP_HEADERS`",
            "Spans name routes and numbers, never people or objects; without TLS others can read them.",
            NONE,
        ),
        Description(
            "LAKEWARDEN_TRACES_SHARE",
            "percentage of traces to send, 0 to 100; all processes choose the same ones",
            "On a busy site `100` sends a span for each SQL statement of each call.",
        ),
    ),
    "Mail and chat": (
        Description(
            "EMAIL_URL",
            "the mail server: `smtp://user:password@host:25`, `smtp+tls://…` (STARTTLS, 587), `smtps://…` "
            "(465), `file:/path`, `console:`",
            "`smtp://` sends the password and every notice in the clear.",
            "files in `var/mail`",
        ),
        Description("EMAIL_FROM", "the sender of mail", "", "`Lakewarden <lakewarden@localhost>`"),
        Description(
            "LAKEWARDEN_CHAT_HOOKS",
            "addresses of chat systems, separated by spaces, each with `?hears=request,emergency` for "
            "the kinds of notices to send",
            "",
            NONE,
        ),
        Description("LAKEWARDEN_CHAT_SECRET", "`whsec_…` signs the calls to chat systems", "", NONE),
        Description(
            "LAKEWARDEN_LANGUAGES",
            "which languages people may choose for pages and mails, such as `en,de`; until a person "
            "chooses, the browser's language applies; for mails, that of the last sign-in. `en` keeps "
            "all pages English. "
            "Programs always get English",
        ),
    ),
    "Realms, pipelines": (
        Description("LAKEWARDEN_HERD_REALM", "the realm behind `/herd-app/rest`"),
        Description(
            "LAKEWARDEN_CDAP_REALM",
            "the realm behind `/v3/security/authorization` and `/v1/execute`",
        ),
        Description(
            "LAKEWARDEN_AUTHORIZERS",
            "the absolute path of a file that assigns [authorizers](cdap.md#authorizers) to CDAP "
            "realms, whose privileges they manage",
            "The file decides about access in those realms: let only operators write it.",
            NONE,
        ),
        Description("SPARK_MASTER", "where the pipelines run: `local[*]`, `spark://…`, `yarn`, `k8s://…`"),
    ),
}
"""By section, in the order of the page."""

PROGRAMS = (
    Description("LAKEWARDEN_URL", "the console's address", "", NONE),
    Description(
        "LAKEWARDEN_TOKEN",
        "the token; scopes `check` and `report` are enough for jobs",
        "Anyone who can read the process environment has it. Bind it to [addresses](sign-in.md#tokens).",
        NONE,
    ),
    Description("LAKEWARDEN_CA", "a file with certificate authorities of your own", "", "the system's"),
    Description("LAKEWARDEN_RUN", "the name of a job's run in its reports", "", "Spark's application"),
    Description(
        "LAKEWARDEN_SPOOL",
        "the folder for reports of use while the console does not answer",
        "",
        "`~/.local/state/lakewarden`",
    ),
)
"""What the client, the guard and the command read where jobs and services run."""
