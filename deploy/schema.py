"""The OpenAPI document, made once a process."""

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views import View
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer


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
