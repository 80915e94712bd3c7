"""CDAP's paths.  Its client writes two slashes before `privileges`; however many there are, they are one."""

from django.urls import re_path

from authzsite.api.cdap.call import NotHere
from authzsite.api.cdap.execute import Enforce, IsVisible
from authzsite.api.cdap.privileges import Grant, Privileges, Revoke
from authzsite.api.cdap.roles import HeldRole, HeldRoles, Role, Roles

_BASE = r"^/*v3/+security/+authorization"
_WHO = r"(?P<kind>[^/]+)/+(?P<name>.+?)"

urlpatterns = [
    re_path(rf"{_BASE}/+privileges/+grant/*$", Grant.as_view()),
    re_path(rf"{_BASE}/+privileges/+revoke/*$", Revoke.as_view()),
    re_path(rf"{_BASE}/+roles/*$", Roles.as_view()),
    re_path(rf"{_BASE}/+roles/+(?P<role>.+?)/*$", Role.as_view()),
    re_path(rf"{_BASE}/+{_WHO}/+privileges/*$", Privileges.as_view()),
    re_path(rf"{_BASE}/+{_WHO}/+roles/+(?P<role>.+?)/*$", HeldRole.as_view()),
    re_path(rf"{_BASE}/+{_WHO}/+roles/*$", HeldRoles.as_view()),
    re_path(rf"{_BASE}(?:/.*)?$", NotHere.as_view()),
    re_path(r"^/*v1/+execute/+enforce/*$", Enforce.as_view()),
    re_path(r"^/*v1/+execute/+isVisible/*$", IsVisible.as_view()),
    re_path(r"^/*v1/+execute(?:/.*)?$", NotHere.as_view()),
]
