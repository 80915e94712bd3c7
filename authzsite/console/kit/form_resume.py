"""Forms that outlive a session: what was typed is kept, shown again after signing in, never sent by itself.

Until then it travels as a signed hidden field of the sign-in page; nothing is stored for somebody unknown.
"""

from __future__ import annotations

from typing import Any

from django.core import signing
from django.http import HttpResponse, QueryDict
from django.utils.http import url_has_allowed_host_and_scheme

from authzsite.console.kit.http import Request

SALT = "authzsite.console.kit.form_resume"
HOURS = 2
LONGEST = 20_000
SESSION_KEY = "kept"
LEFT_OUT = ("csrfmiddlewaretoken", "password", "kept", "next", "nonce")


def pack(request: Request) -> str:
    """What a POST carried, signed; empty when there is nothing to keep or too much of it."""
    if request.POST.get("kept"):
        return earlier(request)
    form = {name: values for name, values in request.POST.lists() if name not in LEFT_OUT}
    if request.method != "POST" or not form:
        return ""
    packed = signing.dumps({"to": request.get_full_path(), "form": form}, salt=SALT, compress=True)
    return packed if len(packed) <= LONGEST else ""


def earlier(request: Request) -> str:
    """The form kept before that a sign-in carries on; the sign-in itself is none to keep."""
    packed = request.POST.get("kept", "")
    return packed if packed and _opened(packed) else ""


def _opened(packed: str) -> dict[str, Any] | None:
    try:
        opened: dict[str, Any] = signing.loads(packed, salt=SALT, max_age=HOURS * 3600)
    except signing.BadSignature:
        return None
    return opened


def restore(request: Request, packed: str) -> str:
    """Lay a kept form into the session of who is signed in now; answers where it belongs, or ""."""
    kept = _opened(packed) if packed else None
    if kept is None or not is_own(request, kept["to"]):
        return ""
    request.session[SESSION_KEY] = kept
    return str(kept["to"])


def take(request: Request) -> QueryDict | None:
    """The kept form of this very address, once."""
    form = kept_form(request)
    if form is not None:
        del request.session[SESSION_KEY]
    return form


def kept_form(request: Request) -> QueryDict | None:
    """The kept form of this very address, which stays kept."""
    kept = request.session.get(SESSION_KEY)
    if not kept or kept["to"] != request.get_full_path():
        return None
    form = QueryDict(mutable=True)
    for name, values in kept["form"].items():
        form.setlist(name, values)
    return form


def is_whole(request: Request) -> bool:
    """Whether htmx sent a form itself, and would put the answer in the place of all that was typed."""
    return bool(getattr(request, "htmx", False)) and request.method == "POST" and not request.htmx.target


def in_place_of_the_page(request: Request, response: HttpResponse) -> HttpResponse:
    """The whole page that answers a form, shown as one also when htmx sent it."""
    if is_whole(request):
        response["HX-Retarget"], response["HX-Reswap"] = "body", "innerHTML"
    return response


def is_own(request: Request, address: str) -> bool:
    """Whether an address leads to a page of this site."""
    return url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ) and address.startswith("/")
