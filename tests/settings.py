"""Settings of the tests: servers and keys of their own, so that a running `make run` is not disturbed."""

import os
import tempfile

if "LAKEWARDEN_VAR" not in os.environ:  # set once, so that subprocesses and parallel workers share it
    os.environ["LAKEWARDEN_VAR"] = tempfile.mkdtemp(prefix="lakewarden-tests-")

from authzsite.settings import *  # noqa: F403

# the real hasher takes a tenth of a second on purpose; its own test asks for it by name
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.Argon2PasswordHasher",
]
