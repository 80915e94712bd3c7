"""What Django's page for developers shows of the settings when something fails (`DEBUG=1`)."""

from __future__ import annotations

import re

from django.views.debug import SafeExceptionReporterFilter


class WithoutSecrets(SafeExceptionReporterFilter):
    """Leaves out addresses too: passwords stand in those of the broker, of hooks and of feeds."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|_URL|HOOKS|FEEDS|ENVIRONMENT", re.IGNORECASE
    )
