"""`{% icon "key" %}` draws from the sprite; `{% part shown %}` draws a value of `kit.display.parts`."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, cast
from urllib.parse import urlencode

from django import template
from django.conf import settings
from django.template.base import Template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from authzsite.console.help import glossary
from authzsite.console.kit.display import terms, words
from authzsite.console.kit.inputs.date_presets import WAYS

register = template.Library()
register.filter("number", words.number)
register.filter("moment", words.moment)
register.filter("day", words.day)
register.filter("type_of", terms.type_of)
register.filter("within", terms.lower)
register.filter("in_language", gettext)


@register.simple_tag
def icon(name: str, look: str = "") -> SafeString:
    """An icon of static/icons.svg; `look` "s" is the small one."""
    return _drawn(_sprite(settings.STATIC_URL), name, look)


@lru_cache(1000)
def _drawn(sprite: str, name: str, look: str) -> SafeString:
    # a page of a hundred lines has a thousand icons, of a few kinds
    classes = f"i i-{look}" if look else "i"
    return format_html('<svg class="{}" aria-hidden="true"><use href="{}#{}"/></svg>', classes, sprite, name)


@cache
def _sprite(_static_url: str) -> str:
    return static("icons.svg")


@register.simple_tag
def term(code: str) -> SafeString:
    """A question mark beside a concept that leads to its word on the help page."""
    meaning = gettext("What “%(word)s” means") % {"word": gettext(glossary.WORDS[code].word)}
    text = '<a class="hint" href="{}#{}">?<span class="sr"> {}</span></a>'
    return format_html(text, reverse("console:help"), code, meaning)


@register.simple_tag(takes_context=True)
def part(context: template.Context, shown: Any) -> str:
    """Draw a part by its own template; nothing for None."""
    if not shown:
        return ""
    # a page of a hundred lines has thousands of parts: each template is looked up once for it
    of_page = cast("dict[str, Any]", context.render_context.dicts[0])
    ready: dict[str, Template] = of_page.setdefault("parts", {})
    if shown.template not in ready:
        ready[shown.template] = cast("Template", context.template).engine.get_template(shown.template)
    return ready[shown.template].render(context.new({"it": shown}))


@register.inclusion_tag("console/kit/presets.html", takes_context=True)
def dates_for(context: dict[str, Any], id: str, way: str, name: str = "") -> dict[str, Any]:
    """Dates to choose from beside the field of that id; `way` is `since`, `then`, `begins` or `ahead`.

    With the `name` of the field in an address they are links that keep the rest of that address.
    """
    presets = list(WAYS[way]())
    if not name:
        return {"id": id, "presets": presets}
    query = context["request"].GET
    rest = [(key, value) for key, value in query.items() if key not in (name, "before", "after")]
    links = [
        {
            "label": preset.label,
            "url": f"?{urlencode([*rest, (name, preset.value)])}",
            "current": query.get(name) == preset.value,
        }
        for preset in presets
    ]
    return {"id": id, "presets": links, "links": True}
