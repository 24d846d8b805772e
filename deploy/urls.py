"""Every path of the product."""

from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from deploy import health

urlpatterns = [
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.metrics),
    path("api/schema", SpectacularAPIView.as_view(authentication_classes=[]), name="schema"),
    path(
        "api/docs",
        SpectacularSwaggerView.as_view(url_name="schema", authentication_classes=[]),
        name="docs",
    ),
    path("api/v1/", include("tenants.api")),
    path("api/v1/", include("memory.api")),
]

handler400 = "deploy.problems.bad_request"
handler403 = "deploy.problems.forbidden"
handler404 = "deploy.problems.not_found"
handler500 = "deploy.problems.server_error"
