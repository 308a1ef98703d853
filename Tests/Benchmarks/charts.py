#!/usr/bin/python3
"""Draws the charts of the manual again, from the figures in Tests/Benchmarks/figures, into Sources/Manual/pictures.

The figures come from `Tests/Benchmarks/run PART --json Tests/Benchmarks/figures/PART.json`.
"""

import html
import json

from contenders import HERE, ROOT
from forecast import DAY

FIGURES, PICTURES = HERE / "figures", ROOT / "Sources/Manual/pictures"
COLORS = ("#3b6fb6", "#e0a030", "#7a8f3c")
LEFT, WIDTH, BAR, GAP, TOP = 170, 460, 16, 8, 56


def text(x, y, content, attributes=""):
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{html.escape(content)}</text>'


def bars(title, parts, groups, form="{:,.0f}"):
    """A chart of stacked bars. `groups` are lists of (label, values); a gap separates them."""
    largest = max(sum(values) for group in groups for _, values in group)
    lines, y = [text(10, 20, title, ' font-weight="bold"')], TOP
    for place, part in enumerate(parts):
        lines += [f'<rect x="{LEFT + 130 * place}" y="31" width="10" height="10" fill="{COLORS[place]}"/>', text(LEFT + 15 + 130 * place, 40, part)]
    for group in groups:
        for label, values in group:
            lines.append(text(LEFT - 8, y + 12, label, ' text-anchor="end"'))
            x = LEFT
            for color, value in zip(COLORS, values):
                width = value / largest * WIDTH
                lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{color}"/>')
                x += width
            lines.append(text(x + 5, y + 12, form.format(sum(values))))
            y += BAR + 4
        y += GAP
    size = f'width="{LEFT + WIDTH + 70}" height="{y}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">', f"<title>{html.escape(title)}</title>",
                      f'<rect {size} fill="#ffffff"/>', *lines, "</svg>", ""])


def requests(tables):
    groups = {}
    for method, connections, program, _, handler, database, *_ in tables[0]["rows"]:
        groups.setdefault((method, connections), []).append((f"{method} ×{connections}, {program}", (handler, database)))
    return bars("CPU µs for each request; ×16: of 16 clients", ("handler", "MariaDB"), groups.values())


def capacity(tables):
    """The last size is the largest."""
    found = {unit: (devices, values[:3]) for unit, devices, *values in tables[0]["rows"]}
    rows = [(f"{DAY[unit]:g} × {unit}", [value * DAY[unit] / 1000 for value in values]) for unit, (_, values) in found.items()]
    devices = max(devices for devices, _ in found.values())
    return bars(f"CPU ms for one device a day, with {devices:,} devices", ("responder", "companion", "MariaDB"), [[row] for row in rows], "{:.1f}")


def main():
    PICTURES.mkdir(exist_ok=True)
    for draw in (requests, capacity):
        figures = json.loads((FIGURES / f"{draw.__name__}.json").read_text())
        (PICTURES / f"{draw.__name__}.svg").write_text(draw(figures["tables"]))


if __name__ == "__main__":
    main()
