"""The addresses of this area."""

from django.urls import path

from authzsite.console.emergency import emergency
from authzsite.console.emergency import views as emergency_views

urlpatterns = [
    path("emergency", emergency_views.EmergenciesView.as_view(), name="emergencies"),
    path("emergency.csv", emergency_views.as_csv, name="emergencies_csv"),
    path("emergency/<number:id>", emergency.EmergencyView.as_view(), name="emergency"),
]
