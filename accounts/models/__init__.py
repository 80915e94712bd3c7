from accounts.models.membership import Membership
from accounts.models.principals import Principal
from accounts.models.tokens import Token
from accounts.models.users import User

__all__ = ["Membership", "Principal", "Token", "User"]
