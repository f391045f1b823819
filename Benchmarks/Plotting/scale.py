"""Axes: from values to places, with ticks and what to write at them."""
import math


def shorten(value):
    """Three digits at most, without zeros at the end."""
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def time(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{shorten(nanoseconds / size)} {unit}"
    return f"{shorten(nanoseconds)} ns"


def size(value):
    for unit, each in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= each:
            return f"{shorten(value / each)} {unit}"
    return f"{shorten(value)} B"


def number(value):
    return shorten(value)


def rate(value):
    for unit, each in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= each:
            return f"{shorten(value / each)} {unit}/s"
    return f"{shorten(value)} /s"


def bytes_per_second(value):
    for unit, each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= each:
            return f"{shorten(value / each)} {unit}/s"
    return f"{shorten(value)} B/s"


class Axis:
    def __init__(self, label, write=number, logarithmic=True, base=10, ticks=None, least=None):
        self.label, self.write, self.logarithmic, self.base = label, write, logarithmic, base
        self.given, self.least = ticks, least

    def fit(self, values):
        """Takes the range, and so the ticks, from what there is to draw."""
        values = [value for value in values if value > 0 or not self.logarithmic]
        low, high = min(values), max(values)
        if self.least is not None:
            low = self.least
        if self.logarithmic:
            self.low, self.high = math.log(low, self.base), math.log(high, self.base)
            if self.given is None:
                # Whole steps on the side that has the ticks; a little room otherwise.
                self.low, self.high = self.low - 0.04 * (self.high - self.low + 0.1), self.high + 0.04 * (self.high - self.low + 0.1)
        else:
            self.low, self.high = low, high + 0.05 * (high - low or 1)
        return self

    def place(self, value):
        """0 at the low end, 1 at the high end."""
        at = math.log(max(value, 1e-300), self.base) if self.logarithmic else value
        return (at - self.low) / (self.high - self.low or 1)

    def ticks(self):
        if self.given is not None:
            return self.given
        if not self.logarithmic:
            step = 10 ** math.floor(math.log10((self.high - self.low) / 4 or 1))
            step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (self.high - self.low) / (step * factor) <= 6)
            first = math.ceil(self.low / step)
            return [step * i for i in range(first, math.floor(self.high / step) + 1)]
        decades = self.high - self.low
        factors = (1,) if decades > 2.2 else (1, 2, 5) if decades > 0.8 else (1, 1.5, 2, 3, 5, 7)
        exponents = range(math.floor(self.low), math.ceil(self.high) + 1)
        ticks = [factor * self.base**exponent for exponent in exponents for factor in factors]
        return [tick for tick in ticks if -1e-9 <= self.place(tick) <= 1 + 1e-9]


class Percentiles(Axis):
    """From the median up, every nine as wide as the one before: the tail is what one looks at."""

    def __init__(self):
        super().__init__("of all samples are quicker", lambda value: f"{value:g} %", logarithmic=False)

    def fit(self, values):
        return self

    def place(self, value):
        nines = [-math.log10(max(1 - percent / 100, 1e-9)) for percent in (50, value, 99.99)]
        return min((nines[1] - nines[0]) / (nines[2] - nines[0]), 1)

    def ticks(self):
        return [50, 90, 99, 99.9, 99.99]
