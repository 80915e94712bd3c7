"""The one way out by HTTP: followers of the record, stores of checkpoints and chats are all reached by it.

It goes where the operator said and nowhere else: an answer that sends it on is no answer.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from standardwebhooks.webhooks import Webhook

TIMEOUT = 20  # seconds
PLAIN = {"Content-Type": "text/plain"}


class NotTaken(Exception):
    """The place did not take it; the message says why and holds no secret."""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirection: nobody here named its target."""


_opener = urllib.request.build_opener(_Stay)


def send(url: str, body: str, headers: Mapping[str, str], *, method: str = "POST") -> None:
    """Hand a text to an address that environment.py admitted.  Raises NotTaken."""
    request = urllib.request.Request(url, body.encode(), dict(headers), method=method)  # noqa: S310 - http(s) alone
    try:
        _opener.open(request, timeout=TIMEOUT).close()
    except urllib.error.HTTPError as error:
        error.close()
        raise NotTaken(f"it answered {error.code}") from None
    except (OSError, ValueError):
        raise NotTaken("it cannot be reached") from None


def signed(number: str, body: str, secret: str, at: datetime) -> dict[str, str]:
    """The headers of a JSON text that Standard Webhooks asks for.

    `number` stays the same when it is sent again, so that a receiver knows one that it had.
    """
    return {
        "Content-Type": "application/json",
        "webhook-id": number,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(number, at, body),
    }
