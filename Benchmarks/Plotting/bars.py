"""One chart of horizontal bars as SVG: a row for each system, its name on the left, its multiple at the bar's end."""
import math

import scale
from chart import WIDTH, close, opening, text

LEFT, RIGHT = 196, 524  # of the bars; the multiple of the longest one follows
MEDIAN, BESIDE = 676, WIDTH - 16  # right ends of the two columns of times
TOP, PITCH, THICK = 92, 27, 17
LINEAR_MOST = 100  # if a bar is longer than so many of Tidings', Tidings' own could not be seen on a linear scale


class Bar:
    """`multiple`: of Tidings' time. `median`, `beside`: this system's time, and Tidings' in the same run, in words."""

    def __init__(self, label, multiple, median, beside="", kind="rival"):
        self.label, self.multiple, self.median, self.beside, self.kind = label, multiple, median, beside, kind


def axis_for(multiples):
    """Not fitted: the longest bar takes all the width."""
    low, high = min(multiples), max(multiples)
    axis = scale.Axis("", logarithmic=high > LINEAR_MOST)
    axis.low, axis.high = (math.floor(math.log10(low / 1.5)), math.log10(high)) if axis.logarithmic else (0, high)
    return axis


def draw(title, subtitle, where, bars, colors):
    bars = sorted(bars, key=lambda bar: bar.multiple)
    axis = axis_for([bar.multiple for bar in bars])
    bottom = TOP + PITCH * len(bars)
    height = bottom + 56

    def x_at(multiple):
        return LEFT + (RIGHT - LEFT) * axis.place(multiple)

    out = opening(title, subtitle, height, colors)
    out.append(text(MEDIAN, TOP - 10, "median", colors["quiet"], 12, "end"))
    out.append(text(BESIDE, TOP - 10, "Tidings, same run", colors["quiet"], 12, "end"))
    for tick in axis.ticks():
        x = x_at(tick)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="{colors["grid"]}"/>')
        out.append(text(x, bottom + 16, f"{tick:,g} ×", colors["quiet"], 11, "middle"))
    if axis.logarithmic:
        out.append(text(LEFT - 30, bottom + 16, "logarithmic scale", colors["quiet"], 11, "end"))
    # Bars that end before this line are faster than Tidings.
    one = x_at(1)
    out.append(
        f'<line x1="{one:.1f}" y1="{TOP}" x2="{one:.1f}" y2="{bottom}" stroke="{colors["ours"][0]}" '
        'stroke-width="1" stroke-dasharray="2 3"/>')
    # Keeps that line, and the grid, out of the figures.
    halo = f' stroke="{colors["background"]}" stroke-width="5" paint-order="stroke"'
    for index, bar in enumerate(bars):
        y = TOP + PITCH * index + (PITCH - THICK) / 2
        base = y + THICK / 2 + 4.5
        wide = max(x_at(bar.multiple) - LEFT, 1.5)
        ours = bar.kind == "ours"
        ink, weight = (colors["ours"][0], 700) if ours else (colors["ink"], 400)
        if bar.kind == "limit":  # dashed, as the curves of limits are
            look = f'fill="{colors["background"]}" stroke="{colors["limit"]}" stroke-width="1.5" stroke-dasharray="4 3"'
        else:
            look = f'fill="{colors["ours"][0] if ours else colors["bar"]}"'
        out.append(text(LEFT - 10, base, bar.label, ink, 13, "end", weight))
        out.append(f'<rect x="{LEFT}" y="{y:.1f}" width="{wide:.1f}" height="{THICK}" rx="1.5" {look}/>')
        out.append(text(LEFT + wide + 7, base, f"{scale.shorten(bar.multiple)} ×", ink, 13, "start", 600, halo))
        out.append(text(MEDIAN, base, bar.median, ink if ours else colors["quiet"], 12, "end"))
        out.append(text(BESIDE, base, bar.beside, colors["quiet"], 12, "end"))
    out.append(text(16, height - 12, where, colors["quiet"], 11))
    return close(out)
