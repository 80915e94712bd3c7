"""Where the live history of a realm begins."""

from __future__ import annotations

from django.db.models import Max
from django.utils.translation import gettext

from policies.errors import Archived
from policies.models import Archive


def floor(realm_id: int) -> int:
    """Before this revision the facts of a realm are in the archive, or about to be; 0 when all are live."""
    moved = Archive.objects.filter(realm=realm_id).exclude(state="written")
    return moved.aggregate(last=Max("upto"))["last"] or 0


def must_be_live(realm_id: int, revision: int | None) -> None:
    """Raises Archived where a past state can no longer be told from the live tables."""
    if revision is not None:
        check(revision, floor(realm_id))


def check(revision: int, first: int) -> None:
    """The same where it is known from which revision on everything is live."""
    if revision < first:
        raise Archived(
            gettext(
                "What was true at revision %(revision)s is in the archive: the live history begins "
                "at revision %(first)s. Search the archive, or ask for a later date."
            )
            % {"revision": revision, "first": first}
        )
