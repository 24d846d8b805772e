"""Every path of the product."""

from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("tenants.api")),
    path("api/v1/", include("memory.api")),
]

handler400 = "deploy.problems.bad_request"
handler403 = "deploy.problems.forbidden"
handler404 = "deploy.problems.not_found"
handler500 = "deploy.problems.server_error"
