"""A change in a Herd: looked up by its number, shown under the banner of the Herd."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from authzsite.console.herd.context import HerdContext, herd_at
from authzsite.console.herd.views import show
from authzsite.console.kit.change_view import ChangeView


class HerdChangeView(ChangeView):
    """`self.object` is the Herd as the asker meets it, if a page does not look up something in it."""

    def get_object(self) -> Any:
        return herd_at(self.request, self.kwargs["id"])

    @property
    def desk(self) -> HerdContext:
        context: HerdContext = self.object
        return context

    def may_undo(self) -> bool:
        return False

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return show(self.request, self.template_name, self.desk, context, status=status)
