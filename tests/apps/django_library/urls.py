"""URLs of the library."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def home(request: HttpRequest) -> HttpResponse:
    """Greet a reader."""
    return HttpResponse("<h1>Library</h1>")


urlpatterns = [path("", home), path("", include("mcp_wsgi.django.urls"))]
