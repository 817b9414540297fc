"""The page: its tabs and how it is launched."""

from importlib.util import find_spec
from pathlib import Path

import gradio as gr

from playground import environment
from playground.denoisers import zoo
from playground.interfaces import api
from playground.studies.race import FEWEST, contenders
from playground.ui import batch, blend, compare, edit, plots, race, server, token_canvas, watch
from playground.ui.theme import CSS, theme

TITLE = """# Diffusion LM Playground
Watch a small language model write a whole text at once, step by step, out of noise. It runs live, here, on a CPU."""
TABS = f"<script>{Path(__file__).with_name('tabs.js').read_text(encoding='utf-8')}</script>"
SESSIONS = 500  # whose knobs Gradio remembers, in 0.4 MB each; anybody can make up new ones


def build() -> gr.Blocks:
    """All tabs. Nothing a visitor does is kept on the server; the knobs are kept in the browser."""
    with gr.Blocks(
        title="Diffusion LM Playground", analytics_enabled=False, fill_width=True, delete_cache=(3600, 3600)
    ) as page:
        tabs = ("", "-edit", "-blend", "-compare", "-race", "-batch")
        watched, edited, blended, compared, raced, batched = (_settings("diffusion-lm-playground" + t) for t in tabs)
        calls = {"generate": (watched, watch.call), "stream": (watched, watch.call), "infill": (edited, edit.call)}
        gr.Markdown(TITLE, elem_id="title")
        with gr.Tabs(elem_id="tabs"):
            with gr.Tab("Watch"):
                watch.build(watched, page)
            with gr.Tab("Edit"):
                edit.build(edited, page)
            if "continuous" in zoo.catalogue().values():  # a path needs embeddings
                with gr.Tab("Blend"):
                    blend.build(blended, page)
                calls["interpolate"] = (blended, blend.call)
            with gr.Tab("Compare") as tab:
                compare.build(compared, page, tab)
            calls["compare"] = (compared, compare.call)
            if len(contenders()) >= FEWEST:
                with gr.Tab("Race"):
                    race.build(raced, page)
                calls["race"] = (raced, race.call)
            with gr.Tab("API") as tab:  # a longer name would push others into a menu on a phone
                batch.build(batched, page, tab, calls)
        api.publish()
    return page.queue(max_size=environment.count("PLAYGROUND_QUEUE"), default_concurrency_limit=1, api_open=False)


def _settings(key: str) -> gr.BrowserState:
    """The knobs of a tab, kept in the visitor's browser. In a tab itself it would be read too late."""
    return gr.BrowserState(None, storage_key=key, secret="settings-are-not-secret")


def launch(page: gr.Blocks, port: int | None = None, host: str | None = None, **options):
    """Serve the page, on 127.0.0.1 unless `host` or GRADIO_SERVER_NAME says otherwise (hosts set it), and its API to
    MCP clients too where the package mcp is installed."""
    return page.launch(
        server_name=host or environment.text("GRADIO_SERVER_NAME"), server_port=port, theme=theme(), css=CSS,
        head=token_canvas.head() + plots.head() + TABS, app_kwargs=server.app_kwargs(page),
        mcp_server=find_spec("mcp") is not None, ssr_mode=False, run_history=False, show_error=False,
        max_file_size=environment.count("PLAYGROUND_UPLOAD_BYTES"), enable_monitoring=False,
        footer_links=["api", "settings"], state_session_capacity=SESSIONS,
        _frontend=False,  # else Gradio asks for the page, and gives up where a busy machine takes over three seconds
        **options,
    )  # fmt: skip
