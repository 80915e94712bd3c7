"""Where objects open whose realm gives rights on names: on the page of the name."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from catalog.nodes import Node
from lakewarden.law import dialects


def text_of(node: Node) -> str:
    """dataset:ns1.orders"""
    return f"{node.type}:{'.'.join(node.names[1:])}"


def page_of_name(node: Node, page: str = "cdap_text") -> str:
    """The page about an object's name; nothing where rights are given on the object itself."""
    if not dialects.get(node.kind).by_text:
        return ""
    root = next(iter(node.above()), node)
    if root.id == node.id:
        return reverse("console:instance" if page == "cdap_text" else f"console:{page}", args=[root.id])
    return f"{reverse(f'console:{page}', args=[root.id])}?{urlencode({'text': text_of(node)})}"
