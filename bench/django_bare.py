"""A bare Django view that does the same work as the door."""

from __future__ import annotations

import json

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from .django_project import application
from .targets import answer

__all__ = ["bare"]


@csrf_exempt
def add(request: HttpRequest) -> JsonResponse:
    """Parse, add, serialise, as a view of Django does it."""
    return JsonResponse(answer(json.loads(request.body)))


bare = application(add)
