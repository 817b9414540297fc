import xml.etree.ElementTree as ET

from playground.training.figure import draw

SVG = "{http://www.w3.org/2000/svg}"


def answer(name: str, *rows: tuple[float, float, float]) -> dict:
    keys = ("temperature", "distinct_2", "perplexity")
    return {
        "model": {"name": name}, "real": {"distinct_2": 0.5, "perplexity": 14.0},
        "rows": [dict(zip(keys, row, strict=True)) for row in rows],
    }  # fmt: skip


def test_every_point_is_drawn_in_its_place():
    svg = ET.fromstring(draw([answer("a", (0.7, 0.3, 25.0), (1.0, 0.5, 60.0)), answer("b", (0.7, 0.4, 18.0))]))
    circles = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter(f"{SVG}circle")]
    assert len(circles) == 3
    (x1, y1), (x2, y2), (x3, y3) = circles
    assert x1 < x3 < x2  # by distinct-2
    assert y2 < y1 < y3  # less perplexity is further down
    texts = [t.text for t in svg.iter(f"{SVG}text")]
    assert {"a", "b", "real texts", "T 0.7", "T 1"} <= set(texts)


def test_a_name_is_only_text():
    svg = draw([answer("<script>", (0.7, 0.3, 25.0))])
    assert "<script>" not in svg and ET.fromstring(svg) is not None
