"""`GET /.well-known/security.txt`: where to report vulnerabilities of this site, as RFC 9116 writes it."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

GOOD_FOR = timedelta(days=180)
"""Who reads it later asks again: the file is to expire within a year."""


@require_safe
def security_txt(request: HttpRequest) -> HttpResponse:
    """Open to everyone; there is none where no contact is set."""
    if not settings.LAKEWARDEN_SECURITY_CONTACT:
        raise Http404
    expires = (timezone.now() + GOOD_FOR).replace(hour=0, minute=0, second=0, microsecond=0)
    lines = [
        f"Contact: {settings.LAKEWARDEN_SECURITY_CONTACT}",
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
        f"Preferred-Languages: {', '.join(code for code, _ in settings.LANGUAGES)}",
    ]
    if settings.LAKEWARDEN_URL:
        lines.append(f"Canonical: {settings.LAKEWARDEN_URL.rstrip('/')}{reverse('security-txt')}")
    return HttpResponse("\n".join([*lines, ""]), content_type="text/plain; charset=utf-8")
