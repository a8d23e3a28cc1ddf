"""Recommendations over HTTP: a model file as a service, and as an ASGI app for people who have a server.

everypair serve model.ep          the service: loaded and warmed once, forked on one socket
everypair.serve.app("model.ep")   the app alone
"""

try:
    import msgspec  # noqa: F401
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as missing:
    raise ImportError('serving needs the extra serve: pip install "everypair[serve]".') from missing

from everypair.serve.routes import app

__all__ = ["app"]
