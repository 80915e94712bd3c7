"""A change of one object: looked up by its number, shown with the realm and the revision it was seen at."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from authzsite.console.kit.change_view import ChangeView
from authzsite.console.kit.display import terms
from authzsite.console.kit.page import page
from authzsite.console.objects.access import get_object_or_404
from policies.decisions.lookups.visible_objects import givable


class ObjectChangeView(ChangeView):
    """`self.object` is the object as the asker meets it; hidden and absent ones are the same Http404."""

    section = "catalog"

    def get_object(self) -> Any:
        return get_object_or_404(self.request, self.kwargs["id"])

    def lead(self) -> str:
        return terms.place_words(self.object.node)

    def draw(self, context: dict[str, Any], status: int) -> HttpResponse:
        return page(
            self.request,
            self.template_name,
            context,
            section=self.section,
            realm=self.object.node.realm,
            revision=self.object.slice.revision,
            status=status,
        )

    def offer_members(self, field: Any) -> None:
        """Let a field choose among the people and groups to whom something can be given in the realm."""
        node = self.object.node
        root = next(iter(node.above()), node)
        field.among(lambda text: givable(root, text), node.realm)


class PlannedObjectView(ObjectChangeView):
    """A form beside what it would change."""

    template_name = "console/kit/planned.html"
    looks_first = True


class ConfirmObjectView(ObjectChangeView):
    """What is taken away, then it is done."""

    template_name = "console/kit/confirm.html"
