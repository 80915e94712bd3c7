"""What gunicorn serves."""

import gc
import os

from django.core.wsgi import get_wsgi_application

from authzsite.runtime.at_root import at_root
from authzsite.runtime.telemetry import traces

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
application = at_root(get_wsgi_application())
traces.start("web")

# what is loaded by now stays, and a page makes a hundred thousand objects that go with it: looking for cycles
# among all of them after each few hundred took up to a third of a large page's time
gc.freeze()
gc.set_threshold(50_000, 20, 10)
