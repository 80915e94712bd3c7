"""The addresses of this area."""

from django.urls import path

from authzsite.console.inbox import settings
from authzsite.console.inbox import views as inbox_views

urlpatterns = [
    path("inbox", inbox_views.notice_list, name="inbox"),
    path("inbox/settings", settings.NoticeSettingsView.as_view(), name="inbox_settings"),
]
