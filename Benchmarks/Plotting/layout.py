"""Whether the texts of a chart overlap or leave its width, by an estimate of how wide text is."""
import re
from html import unescape

TEXT = re.compile(
    r'<text x="([\d.-]+)" y="([\d.-]+)" fill="[^"]*" font-size="(\d+)" text-anchor="(\w+)" '
    r'font-weight="(\d+)"([^>]*)>([^<]*)<')
WIDE, BOLD = 0.6, 0.66  # of the font size, a character: DejaVu Sans, wider than the fonts of most browsers


def boxes(svg):
    """(left, top, right, bottom, content) of each horizontal text."""
    for x, y, size, anchor, weight, more, content in TEXT.findall(svg):
        if "rotate" in more:
            continue
        content = unescape(content)
        wide = len(content) * int(size) * (BOLD if int(weight) >= 600 else WIDE)
        left = float(x) - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        yield left, float(y) - 0.75 * int(size), left + wide, float(y) + 0.2 * int(size), content


def mistakes(svg, width):
    """In words, one for each text that leaves the chart and each two that overlap."""
    found = list(boxes(svg))
    for index, (left, top, right, bottom, content) in enumerate(found):
        if left < 0 or right > width:
            yield f"“{content}” leaves the chart"
        for other in found[:index]:
            if left < other[2] and other[0] < right and top < other[3] and other[1] < bottom:
                yield f"“{content}” overlaps “{other[4]}”"
