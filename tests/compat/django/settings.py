"""Settings of Django's own suite: an account that has rights on databases whose names begin with `test_`, and on no other.

It comes over a socket, or over TCP and TLS, to a server whose authority has this certificate.
"""

import os

from django.db.backends.mysql.features import DatabaseFeatures


def way():
    ca = os.environ.get("LIMPID_CA")
    if ca is None:
        return {"HOST": os.environ["LIMPID_SOCKET"], "OPTIONS": {"charset": "utf8mb4"}}
    secured = {"charset": "utf8mb4", "ssl_mode": "VERIFY_IDENTITY", "ssl": {"ca": ca}}
    return {"HOST": "127.0.0.1", "PORT": os.environ["LIMPID_PORT"], "OPTIONS": secured}


def database(name):
    return {
        "ENGINE": "django.db.backends.mysql",
        "NAME": name,
        "USER": "django",
        "PASSWORD": "django",
        **way(),
    }


DATABASES = {"default": database("one"), "other": database("two")}
SECRET_KEY = "django_tests_secret_key"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False

# Instead of utf8mb4_esperanto_ci, as languages have no collations here: without it no table of the whole suite would be made.
OTHER = "utf8mb4_unicode_520_ci"
DatabaseFeatures.test_collations = {
    "ci": "utf8mb4_general_ci",
    "non_default": OTHER,
    "swedish_ci": "utf8mb4_swedish_ci",
    "virtual": OTHER,
}
