"""Which charts there are, and of what."""
from functools import partial

import scale
from bars import Bar, draw as draw_bars
from chart import DARK, LIGHT, Curve, draw as draw_curves


def distribution(results, name, side, label, kind):
    row = results.row(name)
    if not row:
        return []
    values = row[side]["distribution"]
    points = [(percent, value) for percent, value in zip(results.percentiles, values) if value > 0]
    points = [(percent, value) for percent, value in points if 50 <= percent <= 99.99]
    return [Curve(label, points, kind)] if points else []


def latencies(results):
    yield (
        "latency-asleep", "A post to a sleeping process, median to 99.99th percentile",
        distribution(results, "asleep-64", "ours", "Tidings, C", "ours")
        + distribution(results, "asleep-swift", "ours", "Tidings, Swift closure", "ours")
        + distribution(results, "asleep-swift-await", "ours", "Tidings, for await", "ours")
        + distribution(results, "asleep-64", "limit", "bare futex", "limit"),
    )
    yield (
        "latency-awake", "A post to an awake process, median to 99.99th percentile",
        distribution(results, "awake-64-each", "ours", "Tidings, C", "ours")
        + distribution(results, "awake-swift-bitwise", "ours", "Tidings, Swift, bitwise", "ours")
        + distribution(results, "awake-swift", "ours", "Tidings, Swift, 5 fields", "ours")
        + distribution(results, "awake-64-each", "limit", "bare cache line", "limit"),
    )


# Identifier, title, what a bar is the time of, what the rivals' rows compare, the limit's row, and its label.
MEDIANS = [
    ("medians-asleep", "A post to a sleeping process, 64 bytes", "Time one way until the observer runs", "asleep",
     "asleep-64", "bare futex (limit)"),
    ("medians-awake", "A post to an awake process, 64 bytes", "Time one way to an observer that spins", "awake",
     "awake-64-each", "bare cache line (limit)"),
    ("medians-stream", "A lossless stream of 64-byte messages", "Time of a message, from one process to one other", "64",
     "lossless-64", "bare ring (limit)"),
    ("medians-call", "A call to a sleeping server and its reply, 64 bytes",
     "Half of the time until the caller has the reply", "call", "call-asleep", "bare futex (limit)"),
    ("medians-stream-64k", "A lossless stream of 64 KiB messages", "Time of a message, from one process to one other",
     "65536", None, None),
]


# What a reader must know of a rival to compare it.
CAVEATS = {"eventfd": "eventfd, no payload"}


def median_bars(results, compared, limit, limit_label):
    """Lengths are the ratios of the tables. Times of different runs cannot be compared: Tidings' own differ by more
    than some rivals do within a run."""
    found, ours = [], []

    def add(row, label, times, kind):
        ours.append(row["ours"]["median"])
        found.append(Bar(label, times, scale.time(row["limit"]["median"]), scale.time(ours[-1]), kind))

    for row, what in results.rivals():
        if what == compared:
            add(row, CAVEATS.get(row["limitTitle"], row["limitTitle"]), row["ratio"], "rival")
    if not found:
        return []
    row = results.row(limit) if limit else None
    if row:
        # The ratio of a stream is of throughput, the others are of times.
        add(row, limit_label, row["ratio"] if compared.isdigit() else 1 / row["ratio"], "limit")
    low, high = scale.time(min(ours)), scale.time(max(ours))
    return [Bar("Tidings", 1, low if low == high else f"{low} to {high}", kind="ours"), *found]


SIZES = [16, 256, 4096, 65536, 1 << 20, 16 << 20]
COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
FEW = [1, 2, 4, 8, 16]


def sizes():
    return scale.Axis("payload", scale.size, base=2, ticks=SIZES)


def times():
    return scale.Axis("time one way", scale.time)


def post_times():
    return scale.Axis("time of a post", scale.time, logarithmic=False, least=0)


BESIDE_EMPTY = "64 bytes, no observer of the name. Dashed: the same post in an empty center. Lower is faster."


COPIED_UNLESS = "Time one way, payload copied in and out, unless the label says in place. Lower is faster."


def nanoseconds(value, ns):
    return ns


# Identifier, title, subtitle, axes, and what becomes of a figure (value, nanoseconds).
SERIES = {
    "payload-latency-asleep": ("A post to a sleeping process, by payload", COPIED_UNLESS, sizes, times, nanoseconds),
    "payload-latency-awake": ("A post to an awake process, by payload", COPIED_UNLESS, sizes, times, nanoseconds),
    "payload-throughput": (
        "A lossless stream to one observer, by payload",
        "Bytes per second, payload copied in and out. Higher is faster.",
        sizes, lambda: scale.Axis("bytes per second", scale.bytes_per_second), lambda value, ns: value * 1e9 / ns),
    "fan-out": (
        "A post to many processes asleep on its name",
        "Time until the last process runs, and time of the post itself. Lower is faster.",
        lambda: scale.Axis("processes asleep on the name", base=2, ticks=COUNTS),
        lambda: scale.Axis("time", scale.time), nanoseconds),
    "names": (
        "A post, by the number of names in the center", BESIDE_EMPTY,
        lambda: scale.Axis("names registered"), post_times, nanoseconds),
    "observers": (
        "A post while observers of other names sleep", BESIDE_EMPTY,
        lambda: scale.Axis("observers asleep on other names"), post_times, nanoseconds),
    "processes": (
        "A post while processes sleep on other names", BESIDE_EMPTY,
        lambda: scale.Axis("processes asleep on other names"), post_times, nanoseconds),
}
for name, title, label in (
    ("throughput-1-n", "Throughput of one poster", "observers"),
    ("throughput-n-1", "Throughput to one observer", "posters"),
    ("throughput-n-n", "Throughput of as many posters as observers", "posters, and as many observers"),
):
    SERIES[name] = (
        title, "Notifications of 64 bytes per second; all processes share the machine’s processors. Higher is faster.",
        lambda label=label: scale.Axis(label, base=2, ticks=FEW),
        lambda: scale.Axis("notifications per second", scale.rate), lambda value, ns: 1e9 / ns)

# Curves of a limit.
LIMITS = ("FUTEX_WAKE", "copy", "in an empty center")
# Labels of curves whose recorded titles do not name the system.
LABELS = {
    "the last runs": "Tidings: the last runs", "the post takes": "Tidings: the post",
    "FUTEX_WAKE takes": "FUTEX_WAKE: the call",
}


def series_curves(series, figure, least):
    for curve in series["curves"]:
        points = [(point["value"], figure(point["value"], point["median"])) for point in curve["points"]]
        points = [(x, y) for x, y in points if x >= least and y > 0]
        if points:
            title = curve["title"]
            yield Curve(LABELS.get(title, title), points, "limit" if title.startswith(LIMITS) else "ours")


INDEX = """# Plots

`Benchmarks/plot` draws these from [recorded results](../../Benchmarks/Results). Dashed: the limit, the same work
without any library. [Benchmarks](../../Benchmarks/README.md) describes each bar and each curve.
"""
SHOWN = """
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="{name}~dark.svg">
  <img alt="{title}" src="{name}.svg">
</picture>
"""


def charts(results):
    """Every chart that there is something for: identifier, title, and what draws it in given colors."""
    for name, title, what, compared, *limit in MEDIANS:
        bars = median_bars(results, compared, *limit)
        if bars:
            subtitle = f"{what}, as a multiple of Tidings’ in the same run. Shorter is faster."
            yield name, title, partial(draw_bars, title, subtitle, results.where, bars)
    for name, title, curves in latencies(results):
        if curves:
            subtitle = "Time one way. In C, 64 bytes. Dashed: the machine without any library. Lower is faster."
            axes = scale.Percentiles(), times()
            yield name, title, partial(draw_curves, title, subtitle, results.where, *axes, curves)
    for name, (title, subtitle, x_axis, y_axis, figure) in SERIES.items():
        series = results.series.get(name)
        curves = list(series_curves(series, figure, 16 if name.startswith("payload") else 1)) if series else []
        if curves:
            yield name, title, partial(draw_curves, title, subtitle, results.where, x_axis(), y_axis(), curves)


def files(results):
    """Name and content of every file of Docs/Plots: each chart, light and dark, and the page that shows them."""
    shown = []
    for name, title, draw_in in charts(results):
        shown.append(SHOWN.format(name=name, title=title))
        for colors, suffix in ((LIGHT, ""), (DARK, "~dark")):
            yield f"{name}{suffix}.svg", draw_in(colors)
    yield "README.md", INDEX + "".join(shown)


def draw(results, into):
    """Writes these files; yields the paths."""
    for name, content in files(results):
        (into / name).write_text(content)
        yield into / name


def differing(results, folder):
    """The files there that are missing, not those of the recorded results, or of no chart."""
    expected = dict(files(results))
    there = {path.name: path.read_text() for path in folder.iterdir() if path.suffix in (".svg", ".md")}
    return sorted(name for name in {*expected, *there} if expected.get(name) != there.get(name))
