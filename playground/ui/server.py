"""The web server around the page: what is handed to the application below Gradio."""

from playground.interfaces import health


def app_kwargs() -> dict:
    """Arguments of the FastAPI application: its routes come before Gradio's."""
    return {"routes": health.routes()}
