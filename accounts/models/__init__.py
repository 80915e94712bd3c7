"""Principals, the users behind them, memberships, tokens, and sign-ins."""

from accounts.models.directory import DirectoryEntry, DirectoryMember
from accounts.models.external_sign_ins import ExternalSignIn
from accounts.models.keeping import Keeping
from accounts.models.list_views import ListView
from accounts.models.membership import Membership
from accounts.models.principals import Principal
from accounts.models.sign_ins import SignIn
from accounts.models.tokens import Token
from accounts.models.users import User

__all__ = [
    "DirectoryEntry",
    "DirectoryMember",
    "ExternalSignIn",
    "Keeping",
    "ListView",
    "Membership",
    "Principal",
    "SignIn",
    "Token",
    "User",
]
