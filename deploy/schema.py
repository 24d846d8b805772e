"""The OpenAPI document, made once a process."""

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views import View
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

# Swagger UI writes styles into the page, and draws with them.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


class Schema(View):
    """Gives the document, in JSON, to anybody: it says nothing about anyone's data."""

    http_method_names = ["get", "head"]

    def get(self, _request: HttpRequest, *_args: Any) -> HttpResponse:
        """Answer with the document."""
        return HttpResponse(_document(), content_type="application/json")


@cache
def _document() -> bytes:
    generator: Any = SchemaGenerator
    made = generator().get_schema(request=None, public=True)
    return bytes(OpenApiJsonRenderer().render(made))


class Docs(SpectacularSwaggerSplitView):
    """Shows the document to people; no script runs that stands in the page."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **options: Any) -> Response:
        """Answer with the page, or with its script."""
        response: Response = super().get(request, *args, **options)  # type: ignore[no-untyped-call]
        response["Content-Security-Policy"] = CONTENT_SECURITY_POLICY
        return response
