from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Who: principals, the accounts that sign in as them, their tokens and groups."""

    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"
