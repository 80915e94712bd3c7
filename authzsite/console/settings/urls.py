"""The addresses of this area: Realms and how each is run."""

from django.urls import path

from authzsite.console.kit import large_effect
from authzsite.console.settings import (
    duties,
    members,
    policy_file,
    realm,
    realm_generation,
    realm_settings,
    realms,
    repair,
    retention,
)

urlpatterns = [
    path("objects/<number:id>/duties", duties.duty_list, name="object_duties"),
    path("objects/<number:id>/duties.csv", duties.as_csv, name="duties_csv"),
    path("objects/<number:id>/duties/give", duties.GiveView.as_view(), name="object_duty_give"),
    path("objects/<number:id>/duties/take", duties.TakeView.as_view(), name="object_duty_take"),
    path("realms", realms.realm_list, name="realms"),
    path("realms/new", realms.NewRealmView.as_view(), name="realm_new"),
    path("realms/<number:id>", realm.realm_detail, name="realm"),
    path("realms/<number:id>/mode", realm_settings.ModeView.as_view(), name="realm_mode"),
    path("realms/<number:id>/settings", realm_settings.SettingsView.as_view(), name="realm_settings"),
    path("realms/<number:id>/raise", realm_generation.RaiseView.as_view(), name="realm_raise"),
    path("realms/<number:id>/policies", policy_file.PolicyFileView.as_view(), name="policy_file"),
    path("effects/<number:id>", large_effect.progress, name="effect"),
    path("realms/<number:id>/policies.yaml", policy_file.download, name="policy_file_text"),
    path("realms/<number:id>/retention", retention.RetentionView.as_view(), name="realm_retention"),
    path("realms/<number:id>/members/add", members.AddMemberView.as_view(), name="member_add"),
    path("realms/<number:id>/members/remove", members.RemoveMemberView.as_view(), name="member_remove"),
    path("realms/<number:id>/repair", repair.RepairRealmView.as_view(), name="realm_repair"),
]
