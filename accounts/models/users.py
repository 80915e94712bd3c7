"""Who can sign in or hold a token."""

from __future__ import annotations

from django.contrib.auth.hashers import check_password
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.crypto import salted_hmac

from accounts.models.principals import Principal


class User(AbstractUser):
    """An account, bound to one principal by an administrator or the identity provider.

    A session holds while the password, the principal and `session_salt` are what they were when it began.
    `unread` is how many notices wait, `emergency_until` until when emergency access is open:
    both kept here so that no page has to look for them.  `language` is "" while the browser says it;
    `browser_language` is what it said at the last sign-in, for mails.
    """

    class Theme(models.TextChoices):
        SYSTEM = "system", "as the system"
        LIGHT = "light", "light"
        DARK = "dark", "dark"

    principal = models.OneToOneField(Principal, models.PROTECT, null=True, related_name="account")
    theme = models.CharField(max_length=8, choices=Theme, default=Theme.SYSTEM)
    time_zone = models.CharField(max_length=64, default="UTC")
    language = models.CharField(max_length=16, blank=True, default="", db_default="")
    browser_language = models.CharField(max_length=16, blank=True, default="", db_default="")
    formats = models.CharField(max_length=8, blank=True, default="")
    """A code of those known to the console; without one as the language does."""
    compact_lists = models.BooleanField(default=False, db_default=False)
    unread = models.IntegerField(default=0)
    emergency_until = models.DateTimeField(null=True)

    session_salt = models.CharField(max_length=32, blank=True, default="")

    def __str__(self) -> str:
        return self.username

    def check_password(self, raw_password: str | None) -> bool:
        """Whether it is the password; never stored anew on the way, as the record holds a mark of what is."""
        return check_password(raw_password, self.password)

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        held = f"{self.password}|{self.principal_id}|{self.session_salt}"
        return salted_hmac("accounts.session", held, secret=secret, algorithm="sha256").hexdigest()
