"""Settings of the tests: servers and keys of their own, so that a running `make run` is not disturbed."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path


def _clear(folder: Path, maker: int) -> None:
    """The servers go with the session, and so does their folder."""
    from authzsite import embedded
    from authzsite.demo import shop

    if os.getpid() == maker:
        for server in (embedded.console_database(folder), shop.server(folder)):
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if "LAKEWARDEN_VAR" not in os.environ:  # set once, so that subprocesses and parallel workers share it
    os.environ["LAKEWARDEN_VAR"] = tempfile.mkdtemp(prefix="lakewarden-tests-")
    atexit.register(_clear, Path(os.environ["LAKEWARDEN_VAR"]), os.getpid())

from authzsite.settings import *  # noqa: E402, F403

if "LAKEWARDEN_TESTS_SECONDS_AHEAD" in os.environ:
    from tests import another_day

    another_day.move()

# a worker that a test starts takes no tasks of another pytest worker, nor does emptying Redis take its counts
BROKER = embedded.redis(VAR / f"broker-{os.environ.get('PYTEST_XDIST_WORKER', '')}")  # noqa: F405
if not ENVIRONMENT.redis_url:  # noqa: F405
    REDIS_URL = BROKER.url
    CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)

# the real hasher takes a tenth of a second on purpose; its own test asks for it by name
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.Argon2PasswordHasher",
]
# every test has a record of its own, and a file of checkpoints belongs to one
LAKEWARDEN_CHECKPOINTS = ()
# what tests give, they gave a moment ago; the age has tests of its own
LAKEWARDEN_UNUSED_AFTER = 0
# the servers that tests govern listen on sockets in folders of their own
LAKEWARDEN_CONNECT_SOCKETS = (tempfile.gettempdir(), os.environ["LAKEWARDEN_VAR"])
# tests begin sessions by force, without a proof of who it is; asking for one has tests of its own
LAKEWARDEN_STEP_UP = 0
# a server that is taken down waits for the calls it answers
LAKEWARDEN_STREAM_SECONDS = 3
# most tests call without a Redis, and some call often
LAKEWARDEN_CALLS_A_MINUTE = 0
LAKEWARDEN_SIGN_INS_A_MINUTE = 0
