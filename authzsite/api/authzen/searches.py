"""The three searches: who may, on what, and what may be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from authzsite.api.authentication import RunAuthentication, SessionAuthentication
from authzsite.api.authzen.paging import Page, answered, digest, read_page
from authzsite.api.authzen.questions import (
    Question,
    read_action_search,
    read_resource_search,
    read_subject_search,
)
from authzsite.api.authzen.search_results import Found, Search
from authzsite.api.strictjson import read_object
from authzsite.api.surface import Surface, respond


class Searching(Surface):
    authentication_classes = [RunAuthentication, SessionAuthentication]
    read: Callable[[Mapping[str, Any]], Question]
    find: Callable[[Search, Page], Found]

    def post(self, request: Request) -> HttpResponse:
        caller = self.require_scope("check")
        body = read_object(request._request)
        question = type(self).read(body)
        same = digest(type(self).__name__, caller.principal.pk, question, body.get("context", {}))
        page = read_page(body, same)
        search = Search(caller.principal, question, now=timezone.now(), run=caller.run)
        result_page = type(self).find(search, page)
        return respond(answered(page, result_page.results, result_page.next))


class Subjects(Searching):
    """`POST /access/v1/search/subject`"""

    read = staticmethod(read_subject_search)
    find = staticmethod(Search.subjects)


class Resources(Searching):
    """`POST /access/v1/search/resource`"""

    read = staticmethod(read_resource_search)
    find = staticmethod(Search.resources)


class Actions(Searching):
    """`POST /access/v1/search/action`"""

    read = staticmethod(read_action_search)
    find = staticmethod(Search.actions)
