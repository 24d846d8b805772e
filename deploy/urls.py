"""Every path of the product."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from deploy import health
from deploy.schema import Docs, Schema

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.metrics),
    path("api/schema", Schema.as_view(), name="schema"),
    path(
        "api/docs",
        Docs.as_view(url_name="schema", authentication_classes=[]),
        name="docs",
    ),
    path("api/v1/", include("tenants.api")),
    # Before the memories': conflicts/resolve is no conflict's id.
    path("api/v1/", include("reviews.api")),
    path("api/v1/", include("memory.api")),
    path("api/v1/", include("memory.exchange.api")),
    path("api/v1/", include("memory.pushes.api")),
    path("api/v1/", include("hygiene.api")),
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path(
        "favicon.ico",
        RedirectView.as_view(url=f"{settings.STATIC_URL}palimpsest/favicon.svg", permanent=True),
    ),
]

handler400 = "deploy.problems.bad_request"
handler403 = "deploy.problems.forbidden"
handler404 = "deploy.problems.not_found"
handler500 = "deploy.problems.server_error"
