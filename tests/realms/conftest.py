"""Who looks at the site, and the database behind a catalog."""

from tests.console.conftest import signed_in  # noqa: F401 -- a fixture
from tests.sync.conftest import source  # noqa: F401 -- a fixture
