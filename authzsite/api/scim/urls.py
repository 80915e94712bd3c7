"""One address for all of SCIM; which call it is, the package tells by the rest."""

from django.urls import re_path

from authzsite.api.scim.views import Scim

urlpatterns = [re_path(r"^scim/v2(?P<path>(?:/.*)?)$", Scim.as_view(), name="scim")]
