"""Lets Django find the console's template tags, and its addresses hold numbers."""

from django.apps import AppConfig
from django.urls import register_converter


class Number:
    """A number that the database can hold; a longer one is no address."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class ConsoleConfig(AppConfig):
    name = "authzsite.console"
    label = "console"

    def ready(self) -> None:
        register_converter(Number, "number")  # before the first of the areas' addresses is read
