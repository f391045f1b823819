"""Which charts there are, and of what."""
import scale
from chart import DARK, LIGHT, Curve, draw as draw_chart


def distribution(results, name, side, label, kind):
    row = results.row(name)
    if not row:
        return []
    values = row[side]["distribution"]
    points = [(percent, value) for percent, value in zip(results.percentiles, values) if 5 <= percent <= 99.99 and value > 0]
    return [Curve(f"{label}: {scale.time(dict(points)[50])}", points, kind)] if points else []


def rivals(results, awake):
    """What others do, of the rows that have it as the limit."""
    found = []
    for name, row in results.rows.items():
        if not name.startswith("rival-") or "-stream-" in name or "foundation" in name or not results.row(name):
            continue
        if name.endswith("-awake") == awake:
            found += distribution(results, name, "limit", row["limitTitle"], "rival")
    return found


def latencies(results):
    yield (
        "latency-asleep", "One way to a process that sleeps, 64 bytes: distribution and median",
        distribution(results, "asleep-64", "ours", "Tidings, C", "ours")
        + distribution(results, "asleep-swift", "ours", "Tidings, Swift closure", "ours")
        + distribution(results, "asleep-swift-await", "ours", "Tidings, for await", "ours")
        + distribution(results, "asleep-64", "limit", "limit, futex", "limit") + rivals(results, awake=False),
    )
    yield (
        "latency-awake", "One way to a spinning process, 64 bytes: distribution and median",
        distribution(results, "awake-64-each", "ours", "Tidings, C", "ours")
        + distribution(results, "awake-swift-bitwise", "ours", "Tidings, Swift, bitwise", "ours")
        + distribution(results, "awake-swift", "ours", "Tidings, Swift, five fields", "ours")
        + distribution(results, "awake-64-each", "limit", "limit, cache line", "limit") + rivals(results, awake=True),
    )


SIZES = [16, 256, 4096, 65536, 1 << 20, 16 << 20]
COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
FEW = [1, 2, 4, 8, 16]


def sizes():
    return scale.Axis("payload", scale.size, base=2, ticks=SIZES)


def times():
    return scale.Axis("time one way", scale.time)


# Identifier, title, axes, and what becomes of a figure (value, nanoseconds).
SERIES = {
    "payload-latency-asleep": ("One way to a process that sleeps, by payload", sizes, times, lambda value, ns: ns),
    "payload-latency-awake": ("One way to a spinning process, by payload", sizes, times, lambda value, ns: ns),
    "payload-throughput": (
        "Lossless throughput to one observer, by payload", sizes,
        lambda: scale.Axis("bytes per second", scale.bytes_per_second), lambda value, ns: value * 1e9 / ns),
    "fan-out": (
        "A post to a number of sleeping processes", lambda: scale.Axis("processes asleep on the name", base=2, ticks=COUNTS),
        lambda: scale.Axis("time", scale.time), lambda value, ns: ns),
    "names": (
        "A post in a center, by the number of names", lambda: scale.Axis("names registered"),
        lambda: scale.Axis("time of a post", scale.time, logarithmic=False, least=0), lambda value, ns: ns),
    "observers": (
        "A post while observers of other names sleep", lambda: scale.Axis("observers asleep"),
        lambda: scale.Axis("time of a post", scale.time, logarithmic=False, least=0), lambda value, ns: ns),
    "processes": (
        "A post while processes sleep on other names", lambda: scale.Axis("processes asleep"),
        lambda: scale.Axis("time of a post", scale.time, logarithmic=False, least=0), lambda value, ns: ns),
}
for name, title, label in (
    ("throughput-1-n", "Throughput of one poster, 64 bytes", "observers"),
    ("throughput-n-1", "Throughput to one observer, 64 bytes", "posters"),
    ("throughput-n-n", "Throughput of as many posters as observers, 64 bytes", "posters, and as many observers"),
):
    SERIES[name] = (
        title, lambda label=label: scale.Axis(label, base=2, ticks=FEW),
        lambda: scale.Axis("notifications per second", scale.rate), lambda value, ns: 1e9 / ns)

# Curves that aren't ours.
LIMITS = ("FUTEX_WAKE", "copy", "in an empty center")


def series_curves(series, figure, least):
    for curve in series["curves"]:
        points = [(point["value"], figure(point["value"], point["median"])) for point in curve["points"]]
        points = [(x, y) for x, y in points if x >= least and y > 0]
        if points:
            yield Curve(curve["title"], points, "limit" if curve["title"].startswith(LIMITS) else "ours")


INDEX = """# Plots

`Benchmarks/plot` draws these from [recorded results](../../Benchmarks/Results): {where}.
A dashed curve is the limit: the same work without any library. [Benchmarks](../../Benchmarks/README.md) describes each
curve.
"""
SHOWN = """
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="{name}~dark.svg">
  <img alt="{title}" src="{name}.svg">
</picture>
"""


def draw(results, into):
    """Writes every chart that there is something for; yields the paths."""
    charts = []
    for name, title, curves in latencies(results):
        if curves:
            charts.append((name, title, scale.Percentiles, times, curves))
    for name, (title, x_axis, y_axis, figure) in SERIES.items():
        series = results.series.get(name)
        curves = list(series_curves(series, figure, 16 if name.startswith("payload") else 1)) if series else []
        if curves:
            charts.append((name, title, x_axis, y_axis, curves))
    for name, title, x_axis, y_axis, curves in charts:
        for colors, suffix in ((LIGHT, ""), (DARK, "~dark")):
            path = into / f"{name}{suffix}.svg"
            path.write_text(draw_chart(title, results.where, x_axis(), y_axis(), curves, colors))
            yield path
    index = into / "README.md"
    index.write_text(INDEX.format(where=results.where) + "".join(SHOWN.format(name=name, title=title) for name, title, *_ in charts))
    yield index
