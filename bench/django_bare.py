"""A bare Django view that does the same work as the door."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from .django_project import application
from .targets import answer

__all__ = ["bare"]


@csrf_exempt
def add(request: HttpRequest) -> HttpResponse:
    """Read the body, parse, add, serialise."""
    return HttpResponse(answer(request.body), content_type="application/json")


bare = application(add)
