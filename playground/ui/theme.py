"""Look of the page: Gradio's base theme with system fonts and one accent, and the CSS of the layout."""

import gradio as gr

ACCENT = gr.themes.Color(
    c50="#fdf5ec", c100="#fae5cd", c200="#f4c99b", c300="#f0ae68", c400="#f4a259", c500="#c2701c", c600="#a8480a",
    c700="#8c3c09", c800="#6d2f08", c900="#4d2206", c950="#331604", name="amber-ink",
)  # fmt: skip

SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "sans-serif"]

CSS = """
.gradio-container main {
  width: 100%; max-width: 1360px !important; margin-inline: auto !important; padding-block: 8px !important;
}
#title h1 { font: 600 1.35rem/1.2 Georgia, 'Iowan Old Style', serif; margin: 4px 0 0; }
#title p { color: var(--body-text-color-subdued); margin: 2px 0 0; }
.dark [role=tab][aria-selected=true] { color: #f4a259; border-color: #f4a259; }
.stage { padding-inline-end: 12px; }
#watch-canvas .dlm-host, #blend-canvas .dlm-host, #race-canvas .dlm-host { min-height: 320px; }
.run-row button { min-height: 44px; }
.dark input[type=range] { --neutral-200: #3a465a; }
#seed-row { align-items: end; }
#seed-row button { min-width: 44px; min-height: 44px; padding-inline: 8px; font-size: .9rem; }
#kept { align-self: start; width: auto; min-height: 28px; padding: 2px 10px; font-weight: 400; }
.honest p { color: var(--body-text-color-subdued); font-size: .85rem; line-height: 1.5; max-width: 68em; }
.sampler-help p { color: var(--body-text-color-subdued); font-size: .75rem; line-height: 1.4; margin: 0; }
#knob-prompt textarea, #race-prompt textarea, #blend-a textarea, #blend-b textarea, #blend-c textarea {
  font: 400 1.05rem/1.6 Georgia, 'Iowan Old Style', serif;
}
.dlm-kept-compare-canvas :is(#compare-said, .dlm-compare-figure),
.dlm-kept-blend-canvas :is(#blend-figure, #blend-map) {
  display: none; /* of the recorded example, not of what the visitor made */
}
#compare-estimate { overflow: visible !important; }
#compare-estimate .wrap { overflow: visible; } /* the place in the queue */
#compare-estimate :is(.error, .clear-status) { display: none; } /* a badge and its cross over the sentence */
#compare-estimate .progress-text { color: var(--body-text-color); font-size: .75rem; inset: -4px 0 auto auto; }
body:not(.dark) .cm-line span { filter: brightness(.55) saturate(1.5); } /* Gradio's colours are too light on white */
.desk { gap: 10px; }
.block:not(:focus-within) > .container .options { display: none; } /* a dropdown that Tab has left */
.desk .form { background: none; border: 0; gap: 8px; }
.desk .gallery { gap: 6px; }
.desk .gallery-item { font-size: .82rem; padding: 2px 8px; }
.desk .gallery-item div { padding: 0 !important; }
@media (max-width: 900px) {
  .tab-container button { padding-inline: 6px !important; font-size: .86rem !important; } /* all tabs in one row */
  .gradio-container { padding: 8px !important; }
  .stage, .desk { min-width: 100% !important; padding-inline-end: 0; }
  .run-row { position: fixed; inset: auto 0 0 0; z-index: 60; padding: 8px; background: var(--body-background-fill);
    border-top: 1px solid var(--border-color-primary); }
  footer .divider { display: none !important; } /* between what a phone does not show and the rest */
  #kept { position: fixed; inset: auto auto 68px 8px; z-index: 20; }
  .gradio-container { padding-bottom: 104px !important; }
}
"""


def theme() -> gr.themes.Base:
    return gr.themes.Base(
        primary_hue=ACCENT, neutral_hue="slate", font=SANS, font_mono=["ui-monospace", "monospace"], radius_size="sm"
    ).set(
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="*primary_600",
        button_primary_text_color="white",
        body_background_fill_dark="#0b0f19",
        block_border_width="0px",
        block_background_fill="transparent",
        block_background_fill_dark="transparent",
        block_shadow="none",
        block_padding="4px 0",
        block_info_text_size="*text_xs",
        # Small print at 4.5:1 and more on both pages.
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        color_accent="*primary_600",
    )
