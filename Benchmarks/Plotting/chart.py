"""One chart as SVG: curves with their labels at their right ends, no legend."""
from html import escape

# GitHub shows a page some 830 pixels wide; a wider chart would be shrunk, its text too.
WIDTH, HEIGHT = 830, 440
LEFT, RIGHT, TOP, BOTTOM = 78, 230, 70, 76
MOST_CURVES = 4
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

LIGHT = {
    "background": "#ffffff", "ink": "#1f2328", "quiet": "#59636e", "grid": "#e3e7eb", "limit": "#6e7781", "bar": "#b7c0ca",
    "ours": ["#0969da", "#1a7f37", "#8250df", "#bf3989"],
}
DARK = {
    "background": "#0d1117", "ink": "#e6edf3", "quiet": "#9198a1", "grid": "#262c34", "limit": "#9198a1", "bar": "#4b545f",
    "ours": ["#4493f8", "#3fb950", "#ab7df8", "#db61a2"],
}


class Curve:
    """`kind`: "ours" or "limit"; each has its own look."""

    def __init__(self, label, points, kind="ours"):
        self.label, self.points, self.kind = label, points, kind


def apart(places, gap, low, high):
    """Moves labels up and down so that none covers another; returns where each goes, in the order given."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = [places[index] for index in order]
    for _ in range(200):
        still = True
        for i in range(1, len(moved)):
            overlap = gap - (moved[i] - moved[i - 1])
            if overlap > 0.01:
                moved[i - 1] -= overlap / 2
                moved[i] += overlap / 2
                still = False
        if moved and moved[0] < low:
            moved[0] = low
        if moved and moved[-1] > high:
            moved[-1] = high
        if still:
            break
    result = [0.0] * len(places)
    for place, index in zip(moved, order):
        result[index] = place
    return result


def text(x, y, content, color, size=13, anchor="start", weight=400, more=""):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}"{more}>{escape(content)}</text>'
    )


def opening(title, subtitle, height, colors):
    """The elements that every chart begins with."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="{FONT}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(subtitle)}</desc>",
        f'<rect width="{WIDTH}" height="{height}" fill="{colors["background"]}"/>',
        text(16, 30, title, colors["ink"], 18, weight=600),
        text(16, 51, subtitle, colors["quiet"], 12),
    ]


def close(elements):
    return "\n".join([*elements, "</svg>\n"])


def draw(title, subtitle, where, x_axis, y_axis, curves, colors):
    if len(curves) > MOST_CURVES:
        raise ValueError(f"{title}: {len(curves)} curves; a reader tells {MOST_CURVES} apart")
    x_axis.fit([x for curve in curves for x, _ in curve.points])
    y_axis.fit([y for curve in curves for _, y in curve.points])
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x_at(value):
        return LEFT + (right - LEFT) * x_axis.place(value)

    def y_at(value):
        return bottom - (bottom - TOP) * y_axis.place(value)

    out = opening(title, subtitle, HEIGHT, colors)
    for tick in y_axis.ticks():
        y = y_at(tick)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{colors["grid"]}"/>')
        out.append(text(LEFT - 8, y + 4, y_axis.write(tick), colors["quiet"], 12, "end"))
    last = -1000.0
    for tick in x_axis.ticks():
        x = x_at(tick)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="{colors["grid"]}"/>')
        if x - last >= 44:  # or else it would run into the one before
            out.append(text(x, bottom + 18, x_axis.write(tick), colors["quiet"], 12, "middle"))
            last = x
    out.append(text((LEFT + right) / 2, bottom + 38, x_axis.label, colors["ink"], 13, "middle"))
    turned = f' transform="rotate(-90 18 {(TOP + bottom) / 2:.0f})"'
    out.append(text(18, (TOP + bottom) / 2, y_axis.label, colors["ink"], 13, "middle", more=turned))

    out.append(text(16, HEIGHT - 12, where, colors["quiet"], 11))

    ends = [y_at(curve.points[-1][1]) for curve in curves]
    labels = apart(ends, 18, TOP, bottom)
    ours = 0
    for curve, end, label in sorted(zip(curves, ends, labels), key=lambda item: item[0].kind == "ours"):
        if curve.kind == "ours":
            color, look = colors["ours"][ours % len(colors["ours"])], 'stroke-width="2.5"'
            ours += 1
        else:
            color, look = colors["limit"], 'stroke-width="2" stroke-dasharray="6 4"'
        path = " ".join(f"{x_at(x):.1f},{y_at(y):.1f}" for x, y in curve.points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" {look} stroke-linejoin="round"/>')
        if len(curve.points) < 14:
            for x, y in curve.points:
                out.append(f'<circle cx="{x_at(x):.1f}" cy="{y_at(y):.1f}" r="2.6" fill="{color}"/>')
        at = x_at(curve.points[-1][0])
        out.append(f'<line x1="{at + 3:.1f}" y1="{end:.1f}" x2="{right + 16}" y2="{label:.1f}" stroke="{color}" stroke-width="0.7"/>')
        out.append(text(right + 20, label + 4, curve.label, color, 13, weight=600 if curve.kind == "ours" else 400))
    return close(out)
