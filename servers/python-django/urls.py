"""The paths of the workloads."""

from django.conf import settings
from django.urls import path

import views

urlpatterns = [
    path("hello", views.hello),
    path("byte", views.byte),
    path("page", views.whole_page),
    path("json", views.json),
    path("plaintext", views.plaintext),
    path("home", views.home),
    path("tetra/<str:digits>", views.tetra),
]
if "worlds" in settings.INSTALLED_APPS:
    from worlds import views as database_views

    urlpatterns += [
        path("db", database_views.one_world),
        path("queries", database_views.many_worlds),
        path("updates", database_views.updates),
        path("fortunes", database_views.fortunes),
    ]
