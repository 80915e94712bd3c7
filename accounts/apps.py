from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Who: principals, the accounts that sign in as them, their tokens and groups."""

    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed

        # load models, which a package cannot at first
        from accounts.languages import note_browser_language
        from accounts.session_limits import note_beginning
        from accounts.sign_in_log import note_entry, note_leaving, note_refusal

        user_logged_in.connect(note_beginning, dispatch_uid="accounts.session_limits")
        user_logged_in.connect(note_browser_language, dispatch_uid="accounts.languages")
        user_logged_in.connect(note_entry, dispatch_uid="accounts.sign_in_log")
        user_logged_out.connect(note_leaving, dispatch_uid="accounts.sign_in_log")
        user_login_failed.connect(note_refusal, dispatch_uid="accounts.sign_in_log")
