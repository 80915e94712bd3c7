"""Where somebody is signed in, so that they can end it."""

from __future__ import annotations

from django.db import models

from accounts.models.users import User


class SignIn(models.Model):
    """One browser in which an account is signed in; `key` is that of its session."""

    account = models.ForeignKey(User, models.CASCADE, related_name="sign_ins")
    key = models.CharField(max_length=40, unique=True)
    begun = models.DateTimeField(auto_now_add=True)
    seen = models.DateTimeField()
    agent = models.CharField(max_length=200, blank=True)
    address = models.CharField(max_length=45, blank=True)

    def __str__(self) -> str:
        return f"{self.account} since {self.begun}"
