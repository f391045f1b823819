#!/usr/bin/env python3
"""Checks Tidings' CBOR against cbor2, an implementation that shares nothing with it.

    cbor_check.py read FILE       every line of FILE is a name, the hex of an encoding by Tidings, and what it must
                                  mean, as JSON (see `plain`), separated by tabs. Also requires shortest heads.
    cbor_check.py write FILE      writes the same kind of lines, encoded by cbor2: plainly, canonically, with tags and
                                  with indefinite lengths, for Tidings to read.

Exits with 0 if all is well, with 1 and a line for each difference if not. Needs the package cbor2.
"""

import datetime
import decimal
import json
import math
import sys
import uuid

import cbor2


def plain(value):
    """A value as JSON can say it; what JSON lacks becomes an object with one key that begins with `$`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else {"$int": str(value)}
    if isinstance(value, float):
        if math.isnan(value):
            return {"$float": "nan"}
        return {"$float": value.hex() if math.isfinite(value) else str(value)}
    if isinstance(value, bytes):
        return {"$bytes": value.hex()}
    if isinstance(value, decimal.Decimal):
        return {"$decimal": format(value, "f")}
    if isinstance(value, datetime.datetime):
        return {"$date": value.timestamp()}
    if isinstance(value, uuid.UUID):
        return {"$uuid": str(value)}
    if isinstance(value, cbor2.CBORTag):
        return {"$tag": value.tag, "value": plain(value.value)}
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    if isinstance(value, dict):
        return {str(key): plain(element) for key, element in value.items()}
    return {"$unknown": repr(value)}


def require_shortest_heads(data):
    """One item of definite lengths, every head in shortest form, and nothing behind it."""
    at = 0
    stack = [1]
    while stack:
        if stack[-1] == 0:
            stack.pop()
            continue
        stack[-1] -= 1
        major, info = data[at] >> 5, data[at] & 31
        at += 1
        argument = info
        if info >= 24:
            size = 1 << (info - 24)
            assert info < 28, "a reserved value or an indefinite length"
            argument = int.from_bytes(data[at:at + size], "big")
            at += size
            if major != 7:
                least = [24, 2**8, 2**16, 2**32][info - 24]
                assert argument >= least, f"{argument} is not in shortest form"
        if major in (2, 3):
            at += argument
        elif major == 4:
            stack.append(argument)
        elif major == 5:
            stack.append(2 * argument)
        elif major == 6:
            stack.append(1)
    assert at == len(data), "the end is not where it should be"


def read(path):
    failures = 0
    count = 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, encoded, expected = line.rstrip("\n").split("\t")
            count += 1
            try:
                data = bytes.fromhex(encoded)
                require_shortest_heads(data)
                found = plain(cbor2.loads(data))
                wanted = json.loads(expected)
                if found != wanted:
                    raise AssertionError(f"means {json.dumps(found)}, not {expected}")
            except Exception as error:  # whatever goes wrong is a difference
                failures += 1
                print(f"{name}: {encoded}: {error}", file=sys.stderr)
    if count == 0:
        print("no lines", file=sys.stderr)
        failures += 1
    # Without a difference it prints nothing: `swift test` shows the test runner's lines only.
    if failures:
        print(f"{count} encodings read by cbor2, {failures} differences", file=sys.stderr)
    return 1 if failures else 0


def indefinite(value):
    """The same value with indefinite lengths wherever there can be."""
    if isinstance(value, dict):
        pairs = b"".join(indefinite(key) + indefinite(element) for key, element in value.items())
        return b"\xbf" + pairs + b"\xff"
    if isinstance(value, (list, tuple)):
        return b"\x9f" + b"".join(indefinite(element) for element in value) + b"\xff"
    if isinstance(value, str):
        middle = len(value) // 2
        return b"\x7f" + cbor2.dumps(value[:middle]) + cbor2.dumps(value[middle:]) + b"\xff"
    if isinstance(value, bytes):
        return b"\x5f" + cbor2.dumps(value[:1]) + cbor2.dumps(value[1:]) + b"\xff"
    return cbor2.dumps(value)


def write(path):
    record = {
        "integers": [0, -1, 23, 24, -25, 255, 256, 65535, 65536, 2**32, -2**63, 2**63 - 1],
        "text": "Grüße, 世界 👋",
        "bytes": bytes(range(40)),
        "flag": True,
        "nothing": None,
        "number": 0.1,
        "nested": {"a": {"b": {"c": [[], {}, [[1]]]}}},
        "many": {f"key {number}": number for number in range(100)},
    }
    moment = datetime.datetime(2013, 3, 21, 20, 4, 0, 500000, tzinfo=datetime.timezone.utc)
    special = {
        "textDate": moment,
        "uuid": uuid.UUID("01234567-89ab-cdef-0123-456789abcdef"),
        "decimal": decimal.Decimal("-273.15"),
        "bigDecimal": decimal.Decimal("12345678901234567890123456789.5"),
        "big": 2**100,
        "small": -(2**100),
        "half": 1.5,
    }
    with open(path, "w", encoding="utf-8") as lines:
        def line(name, data, value):
            lines.write(f"{name}\t{data.hex()}\t{json.dumps(plain(value), ensure_ascii=True)}\n")

        line("record", cbor2.dumps(record), record)
        line("record", cbor2.dumps(record, canonical=True), record)
        line("record", indefinite(record), record)
        line("record", cbor2.dumps(cbor2.CBORTag(55799, record)), record)
        line("special", cbor2.dumps(special), special)
        line("special", cbor2.dumps(special, canonical=True), special)
        line("special", cbor2.dumps(special, date_as_datetime=True, datetime_as_timestamp=True), special)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("read", "write"):
        print(__doc__, file=sys.stderr)
        sys.exit(64)
    sys.exit(read(sys.argv[2]) if sys.argv[1] == "read" else write(sys.argv[2]))
