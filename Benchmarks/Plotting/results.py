"""Recorded results: several runs of the driver, taken together."""
import json
import sys


class Results:
    def __init__(self):
        self.rows = {}
        self.series = {}
        self.percentiles = []
        self.machine = {}
        self.dates = set()

    def row(self, name):
        """A row that was measured, or None."""
        row = self.rows.get(name)
        return row if row and row.get("ours") and row.get("limit") else None

    def rivals(self):
        """Each measured row of another system, and what it compares: asleep, awake, call, or the size of a stream."""
        for name in self.rows:
            rival, _, what = name.removeprefix("rival-").partition("-")
            row = self.row(name)
            if row and name.startswith("rival-") and rival != "foundation":
                yield row, what.removeprefix("stream-") or "asleep"

    @property
    def where(self):
        """The machine and the day, in words."""
        machine = self.machine
        count = machine.get("processors", 0)
        kind = "virtual machine, " if machine.get("isVirtual") else ""
        processors = f"{count} processor{'s' if count != 1 else ''}"
        days = sorted(self.dates)
        when = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        return f"{kind}{machine.get('processor', 'unknown')}, {processors}, Linux {machine.get('kernel', 'unknown')}, {when}"


def read(paths):
    """A row of a later file takes the place of the same row of an earlier one."""
    found = Results()
    for path in paths:
        recording = json.loads(path.read_text())
        if found.machine and recording["machine"] != found.machine:
            sys.exit(f"{path}: recorded on another machine than the others")
        if found.percentiles and recording["percentiles"] != found.percentiles:
            sys.exit(f"{path}: has other percentiles than the others")
        found.machine = recording["machine"]
        found.percentiles = recording["percentiles"]
        found.dates.add(recording["date"])
        found.rows.update({row["id"]: row for row in recording["rows"]})
        found.series.update({series["id"]: series for series in recording["series"]})
    if not found.machine:
        sys.exit("no results: tidings-benchmarks --json FILE records them")
    return found
