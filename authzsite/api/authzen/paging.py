"""Pages of a search, and the tokens that lead from one to the next.

A token is signed and holds the question's digest, the limit that was sent and where to go on, so it is good
for nothing but the rest of that very search.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.core import signing

from authzsite.api.authzen.questions import BadQuestion

MOST = 1000
SALT = "authzen.search"


class Page(NamedTuple):
    """What part of the results is wanted: at most `limit` of those after the number `after`.

    `sent` is the limit as the caller wrote it, None when it was left out.
    """

    asked: bool
    question: str
    sent: int | None = None
    after: int = 0

    @property
    def limit(self) -> int:
        return MOST if self.sent is None else min(self.sent, MOST)


def digest(*asked: object) -> str:
    """What two questions have in common exactly when they are the same."""
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def read_page(body: Mapping[str, Any], question: str) -> Page:
    """The page that was asked for.  Raises BadQuestion, for a token of another question too."""
    page = body.get("page", {})
    if not isinstance(page, dict):
        raise BadQuestion("page must be an object")
    if not isinstance(page.get("properties", {}), dict):
        raise BadQuestion("page.properties must be an object")
    sent, token = _limit(page), page.get("token", "")
    if not isinstance(token, str):
        raise BadQuestion("page.token must be a string")
    if not token:
        return Page("page" in body, question, sent)
    of, first, after = _opened(token)
    if of != question:
        raise BadQuestion("page.token belongs to another question")
    if sent is not None and sent != first:
        raise BadQuestion("page.limit is not the one that page.token was made for")
    return Page(True, question, first, after)


def answered(page: Page, results: Sequence[object], after: int | None) -> dict[str, Any]:
    """The answer, with the page first when it was asked for or is not the last."""
    if not page.asked and after is None:
        return {"results": results}
    token = "" if after is None else signing.dumps([page.question, page.sent, after], salt=SALT)
    return {"page": {"next_token": token, "count": len(results)}, "results": results}


def _limit(page: Mapping[str, Any]) -> int | None:
    if "limit" not in page:
        return None
    limit = page["limit"]
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise BadQuestion("page.limit must be a whole number from 1")
    return limit


def _opened(token: str) -> tuple[str, int | None, int]:
    try:
        question, sent, after = signing.loads(token, salt=SALT)
    except (signing.BadSignature, ValueError):
        raise BadQuestion("page.token was not issued here") from None
    return question, sent, after
