"""Who looks at the site."""

from tests.console.conftest import signed_in  # noqa: F401 -- a fixture
