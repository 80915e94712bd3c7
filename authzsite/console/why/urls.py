"""The addresses of this area: Explanations."""

from django.urls import path

from authzsite.console.why import check_as
from authzsite.console.why import views as why_views

urlpatterns = [
    path("people/<number:id>/sees", check_as.check_as_page, name="person_sees"),
    path("why", why_views.why_page, name="why"),
]
