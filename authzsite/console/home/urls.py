"""The addresses of this area: Home and the first steps."""

from django.urls import path

from authzsite.console.home import first_steps
from authzsite.console.home import views as home_views

urlpatterns = [
    path("", home_views.home_page, name="home"),
    path("first", first_steps.first_steps_page, name="first"),
]
