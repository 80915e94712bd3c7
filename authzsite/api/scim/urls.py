"""One address for all of SCIM; which call it is, the package tells by the rest."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import re_path
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
def scim(request: HttpRequest, path: str) -> HttpResponseBase:
    """Loaded when a directory first calls: its packages take longer to load than all of the rest."""
    from authzsite.api.scim.views import Scim

    answer: HttpResponseBase = Scim.as_view()(request, path=path)
    return answer


urlpatterns = [re_path(r"^scim/v2(?P<path>(?:/.*)?)$", scim, name="scim")]
