from django.apps import AppConfig


class PoliciesConfig(AppConfig):
    """Who may do what: every write that can change an answer is in here."""

    name = "policies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from accounts import people
        from policies.record import invariants
        from policies.separation import invariant
        from policies.services import accounts
        from policies.sync.backends import kinds

        invariants.register(invariant.check)
        people.register_naming(accounts.show_as)
        kinds.register()
