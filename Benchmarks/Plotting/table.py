"""The tables of the README and of Docs/Benchmarks.md, from recorded results."""
import sys
import textwrap

import scale

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
NONE = "–"


def ratio(row):
    return f"{row['ratio']:.2f} ×"


def ours(row):
    return scale.time(row["ours"]["median"])


def percentile(row):
    return scale.time(row["ours"]["p99"])


def kibibytes(row):
    value = row["ours"]["median"]
    return f"{value / 1024:.2g} MiB" if value >= 1024 else f"{value:g} KiB"


def count(row):
    return f"{row['ours']['greatest']:.0f}"


# What, and for each figure: its row, how it is shown, the goal, and whether it is met.
def most(goal, unit="×"):
    return f"≤ {goal} {unit}", lambda row: row["ratio"] <= goal


def least(goal):
    return f"≥ {goal} ×", lambda row: row["ratio"] >= goal


def within(goal, unit, each):
    return f"≤ {goal} {unit}", lambda row: row["ours"]["median"] <= goal * each


def within_percentile(goal, unit, each):
    return f"≤ {goal} {unit}", lambda row: row["ours"]["p99"] <= goal * each


ZERO = ("0", lambda row: row["ours"]["greatest"] == 0)

TABLE = [
    ("C post, 64 B, no observer", "`fetch_add`", [("post-64", ratio, most(3.5))]),
    ("C post, 64 B, while 1; 3 observers follow", NONE,
     [("post-followed-64", ours, within(25, "ns", 1)), ("post-followed-3", ours, within(30, "ns", 1))]),
    ("lossless 1 → 1, 64 B: single messages; batches of 16; of 64", "single-producer ring of 4,096",
     [("lossless-64", ratio, least(0.35)), ("lossless-64-batches-16", ratio, least(0.6)),
      ("lossless-64-batches-64", ratio, least(0.6))]),
    ("lossless 1 → 1, 4 KiB; 1 MiB", "copy in, copy out", [("lossless-4k", ratio, least(0.7)), ("lossless-1m", ratio, least(0.7))]),
    ("lossless 1 → 1, 64 KiB; 1 MiB, built in place and summed once", "the same, copied in and out",
     [("lossless-in-place-64k", ratio, least(2)), ("lossless-in-place-1m", ratio, least(2))]),
    ("lossless 1 → 1, 64 KiB; 1 MiB, built and checked in place", "iceoryx",
     [("rival-iceoryx-stream-65536", ratio, least(1.3)), ("rival-iceoryx-stream-1048576", ratio, least(1.3))]),
    ("4 posters → 1 observer, a processor each; on the available processors", "one poster alone",
     [("posters-4", ratio, least(1)), ("posters-4-shared", ratio, least(1))]),
    ("to a sleeping process: C; Swift closure; `for await`", "futex",
     [("asleep-64", ratio, most(1.1)), ("asleep-swift", ratio, most(1.25)), ("asleep-swift-await", ratio, most(2))]),
    ("to a sleeping process, C, built and read in place: 1 MiB; 16 MiB", "the same with 64 B",
     [("asleep-in-place-1m", ratio, most(1.15)), ("asleep-in-place-16m", ratio, most(1.15))]),
    ("8 receivers of 16 MiB, built in place: memory; until the last has it", "one payload; a single receiver",
     [("receivers-8-memory", ratio, most(1.05)), ("receivers-8", ratio, most(1.5))]),
    ("to a spinning process: C; Swift, bitwise; five fields", "cache line",
     [("awake-64", ratio, most(1.5)), ("awake-swift-bitwise", ratio, most(4)), ("awake-swift", ratio, most(4))]),
    ("a Codable struct of five fields: encode and post; decode", NONE,
     [("swift-post", ours, within(270, "ns", 1)), ("swift-decode", ours, within(450, "ns", 1))]),
    ("the same with the coder that `@Message` makes", NONE,
     [("swift-post-generated", ours, within(80, "ns", 1)), ("swift-decode-generated", ours, within(160, "ns", 1))]),
    ("delivery to a closure, bitwise, of a backlog of 1,000", NONE,
     [("swift-delivery-bitwise", ours, within(60, "ns", 1))]),
    ("post while 256 processes sleep on other names, 100,000 names; system calls", "empty center",
     [("sleepers-256", ratio, most(1.1)), ("sleepers-256-system-calls", count, ZERO)]),
    ("100 processes asleep on this name: until the last runs; the post itself", "one `FUTEX_WAKE` of 100",
     [("wake-100", ratio, most(1.3)), ("wake-100-poster", ratio, most(1.3))]),
    ("half a call, asleep: C; Swift, five fields", "futex",
     [("call-asleep", ratio, most(1.25)), ("call-swift", ratio, most(1.6))]),
    ("half a call, both spinning", "a post, one way", [("call-awake", ratio, most(2.5))]),
    ("10,000 calls in flight, 8 callers, 4 servers", "a lossless stream there, one back", [("calls-10000", ratio, least(0.5))]),
    ("99th percentile after `SIGKILL`: a server's caller, in C; in Swift; the notice of a death", NONE,
     [(row, percentile, within_percentile(5, "ms", 1e6))
      for row in ("call-server-killed", "call-server-killed-swift", "presence-died")]),
    ("open a center; create one", NONE, [("open", ours, within(60, "µs", 1e3)), ("create", ours, within(400, "µs", 1e3))]),
    ("a process's first post; its page faults", NONE,
     [("first-post", ours, within(20, "µs", 1e3)), ("first-post-faults", count, within(15, "", 1))]),
    ("memory: a default center; an observing process; the library beyond a bare Swift program", NONE,
     [("memory-center", kibibytes, within(4096, "KiB", 1)), ("memory-observer", kibibytes, within(64, "KiB", 1)),
      ("memory-library", kibibytes, within(1024, "KiB", 1))]),
    ("100 observers asleep for a minute: context switches; CPU time", NONE, [("idle-swift", count, ZERO), ("idle-swift-cpu", count, ZERO)]),
]


def line(results, what, limit, figures):
    goals, found = [], []
    for name, show, (goal, met) in figures:
        goals.append(goal.strip())
        row = results.row(name)
        if row:
            found.append(show(row) if met(row) else f"**{show(row)}**")
        else:
            found.append(NONE)
    return f"| {what} | {limit} | {'; '.join(goals)} | {'; '.join(found)} |"


def rival_lines(results):
    """One line a rival: how many times ours it takes, of the rows of the same run."""
    found = {}
    for row, column in results.rivals():
        if column == "call":
            continue
        # The row's ratio is of throughput: ours to the rival's, or how many times ours the rival takes.
        found.setdefault(row["limitTitle"], {})[column] = row["ratio"]
    columns = ["asleep", "awake", "64", "4096", "65536"]
    for title in sorted(found, key=lambda title: found[title].get("asleep", 1e9)):
        cells = [f"{scale.shorten(found[title][column])} ×" if column in found[title] else NONE for column in columns]
        yield f"| {title} | " + " | ".join(cells) + " |"


def call_lines(results):
    calls = [row for row, what in results.rivals() if what == "call"]
    for row in sorted(calls, key=lambda row: row["ratio"]):
        yield f"| {row['limitTitle']} | {scale.shorten(row['ratio'])} × |"


def distance(results):
    """A host places a virtual machine's processors near each other or far apart, and moves them during a run."""
    rows = [row for row in map(results.row, results.rows) if row]
    medians = [
        row["limit"]["median"] for row in rows
        if row["limitTitle"].startswith("cache line,") or row["id"] == "limit-line"
    ]
    if not medians or max(medians) < 1.5 * min(medians):
        return ""
    return (
        f" During the run a cache line took {scale.time(min(medians))} to {scale.time(max(medians))} from one processor to"
        " the other, because the host moved them. The nearer the processors, the larger are the ratios to a cache line.")


def full(results):
    """Every row with its goal, and the other systems: for Docs/Benchmarks.md."""
    lines = ["| what | limit | goal | measured |", "|---|---|---|---|"]
    lines += [line(results, *entry) for entry in TABLE]
    lines += ["", "Bold: misses the goal. –: needs more processors than this machine has, or was not measured."]
    others = list(rival_lines(results))
    if others:
        lines += [
            "", "Other systems, as multiples of the time that Tidings takes in the same run (above 1: slower than Tidings):",
            "", "| | asleep, 64 B, one way | awake | lossless, 64 B | 4 KiB | 64 KiB |", "|---|---|---|---|---|---|",
            *others]
    calls = list(call_lines(results))
    if calls:
        lines += ["", "| | a call and its reply, both asleep, 64 B |", "|---|---|", *calls]
    lines += ["", textwrap.fill(f"Measured on a {results.where}.{distance(results)}", 119)]
    return "\n".join(lines)


# What, its rows with what each ratio is a multiple of.
ESSENCE = [
    ("C post, 64 B, no observer", [("post-64", "a locked addition")]),
    ("to a sleeping process: C; Swift closure", [("asleep-64", NONE), ("asleep-swift", "a bare futex")]),
    ("to a spinning process: C; Swift closure, five fields", [("awake-64", NONE), ("awake-swift", "a bare cache line")]),
    ("lossless stream, a message of 64 B; of 1 MiB",
     [("lossless-64", "the throughput of a single-producer ring"), ("lossless-1m", "that of copying in and out")]),
    ("C post while 256 processes sleep on other names", [("sleepers-256", "a post in an empty center")]),
    ("wake 100 processes, until the last one runs", [("wake-100", "one `FUTEX_WAKE` of 100")]),
]
COMPARED = {
    "Unix datagram socket": "a Unix socket", "iceoryx2, Python": "iceoryx2 (from Python)", "Redis pub/sub": "Redis",
    "D-Bus signal": "D-Bus",
}


def essence(results):
    """Six rows for the README."""
    lines = ["| what | Tidings | beside the machine's limit |", "|---|---|---|"]
    for what, figures in ESSENCE:
        rows = [(results.row(name), limit) for name, limit in figures]
        times = [ours(row) if row else NONE for row, _ in rows]
        ratios = [(ratio(row) if row else NONE) + (f" {limit}" if limit != NONE else "") for row, limit in rows]
        lines.append(f"| {what} | {'; '.join(times)} | {'; '.join(ratios)} |")
    others = [
        (row["ratio"], f"{COMPARED[row['limitTitle']]} {scale.shorten(row['ratio'])} ×")
        for row, compared in results.rivals() if compared == "asleep" and row["limitTitle"] in COMPARED]
    text = f"Measured on a {results.where}."
    if others:
        multiples = ", ".join(multiple for _, multiple in sorted(others))
        text += f" To a sleeping process, as multiples of the time of Tidings in the same run: {multiples}."
    return "\n".join([*lines, "", textwrap.fill(text, 119)])


# Which page has which tables between its two markers.
PAGES = {"README.md": essence, "Docs/Benchmarks.md": full}


def replaced(path, text):
    """The page with this text between its markers."""
    whole = path.read_text()
    if BEGIN not in whole or END not in whole:
        sys.exit(f"{path} has no line {BEGIN} and {END}")
    before, rest = whole.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}"


def put(root, results):
    for page, table in PAGES.items():
        (root / page).write_text(replaced(root / page, table(results)))


def differing(root, results):
    """The pages whose tables are not those of the recorded results."""
    return [page for page, table in PAGES.items() if (root / page).read_text() != replaced(root / page, table(results))]
