"""The addresses of this area: signing in, profiles, accounts, service accounts."""

from django.urls import path

from authzsite.console.accounts import (
    account,
    again,
    oidc,
    profile,
    second_factor,
    second_step,
    service_account,
    sign_in,
    welcome,
)
from authzsite.console.accounts import views as accounts_views

urlpatterns = [
    path("sign-in", sign_in.sign_in, name="sign_in"),
    path("sign-in/with/<slug:name>", oidc.begin, name="oidc_begin"),
    path("sign-in/with/<slug:name>/callback", oidc.callback, name="oidc_callback"),
    path("sign-in/second", second_step.second_step, name="second_step"),
    path("sign-in/again", again.again, name="again"),
    path("sign-out", sign_in.sign_out, name="sign_out"),
    path("resume", sign_in.resume, name="resume"),
    path("preferences", sign_in.preferences, name="preferences"),
    path("keys", sign_in.keys, name="keys"),
    path("accounts", accounts_views.account_list, name="accounts"),
    path("accounts/new", accounts_views.NewAccountView.as_view(), name="account_new"),
    path("accounts/<number:id>", account.account_detail, name="account"),
    path("accounts/<number:id>/disable", account.DisableAccountView.as_view(), name="account_disable"),
    path("accounts/<number:id>/bind", account.BindAccountView.as_view(), name="account_bind"),
    path("services/new", service_account.NewServiceView.as_view(), name="service_new"),
    path("services/<number:id>", service_account.service_detail, name="service"),
    path("services/<number:id>/keeper", service_account.KeeperView.as_view(), name="service_keeper"),
    path(
        "services/<number:id>/disable", service_account.DisableServiceView.as_view(), name="service_disable"
    ),
    path("welcome/<str:who>/<str:token>", welcome.welcome, name="welcome"),
    path("profile/second-factor", second_factor.second_factor, name="second_factor"),
    path("profile", profile.profile_page, name="profile"),
]
