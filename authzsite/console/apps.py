"""Lets Django find the console's template tags."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "authzsite.console"
    label = "console"
