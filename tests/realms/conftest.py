"""Who looks at the site."""

from tests.pages.conftest import signed_in  # noqa: F401 -- a fixture
