"""The addresses of this area."""

from django.urls import path

from authzsite.console.separation import exceptions, files, new_rule, rule
from authzsite.console.separation import views as separation_views

urlpatterns = [
    path("realms/<number:id>/separation", separation_views.rule_list, name="separation"),
    path("realms/<number:id>/separation.csv", files.of_rules, name="separation_csv"),
    path("realms/<number:id>/separation/new", new_rule.NewRuleView.as_view(), name="separation_new"),
    path("separation/<number:id>", rule.rule_detail, name="separation_rule"),
    path("separation/<number:id>/conflicts.csv", files.of_conflicts, name="separation_rule_csv"),
    path("separation/<number:id>/end", rule.EndRuleView.as_view(), name="separation_end"),
    path("separation/<number:id>/let", exceptions.NewExceptionView.as_view(), name="separation_let"),
    path("separation/<number:id>/let/end", exceptions.EndExceptionView.as_view(), name="separation_let_end"),
]
