"""Django's settings. Without a database no application is installed and no connection configured."""

import os
import pathlib

DEBUG = False
SECRET_KEY = os.environ.get("SECRET_KEY", "no cookie or token of this server is signed")
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "urls"
WSGI_APPLICATION = "wsgi.application"
MIDDLEWARE = []
APPEND_SLASH = False
USE_I18N = False
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [pathlib.Path(__file__).with_name("templates")],
    }
]

if "DATABASE" in os.environ:
    INSTALLED_APPS = ["worlds"]
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": os.environ["DATABASE_HOST"],
            "PORT": os.environ["DATABASE_PORT"],
            "NAME": os.environ["DATABASE_NAME"],
            "USER": os.environ["DATABASE_USER"],
            "PASSWORD": os.environ["DATABASE_PASSWORD"],
            # Each worker keeps its connection.
            "CONN_MAX_AGE": None,
        }
    }
