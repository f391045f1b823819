#!/usr/bin/env python3
"""Writes the seeds: `seeds.py DIRECTORY` makes DIRECTORY/image, /opening, /names (programs as Core/script.c reads them) /decoder (CBOR), /swift
(scripts) and /link (frames, parts, checkpoints, scripts)."""
import pathlib
import random
import sys

# Codes of Core/script.c, by what they do: (first, last).
POST, POSTS, NEXT, WAIT, OBSERVE, REMOVE, CLOSE, STATE, LOOK, RECLAIM, BUILD, AGAIN, CLOSE_SECOND, REMOVE_CENTER, REOPEN = (
    (128, 159), (160, 167), (168, 191), (192, 195), (196, 211), (212, 214), (215, 217), (218, 221), (222, 224), (225, 227),
    (228, 234), (235, 237), (238, 240), (241, 242), (243, 246))
USES = [POST] * 4 + [POSTS, NEXT, NEXT, NEXT, WAIT, OBSERVE, OBSERVE, REMOVE, CLOSE, STATE, LOOK, RECLAIM, BUILD, BUILD, AGAIN, CLOSE_SECOND, REMOVE_CENTER, REOPEN]
WITH = {0: 8, 11: 8, 5: 4, 4: 2, 10: 2, 6: 0, 7: 0}  # bytes that a change's `how` takes; others 1


def change(r, how=None):
    how = r.randrange(12) if how is None else how
    return bytes([r.randrange(16), how]) + r.randrange(400).to_bytes(2, "little") + r.randbytes(WITH.get(how, 1))


KINDS = 42  # of words, in Core/words.h; one more is a word of the sizes


def word(r):
    return bytes([r.choice([KINDS, r.randrange(KINDS + 1)])]) + r.randrange(32).to_bytes(2, "little") + r.randbytes(3)


def armed(r):
    mode = r.choice([0, 1, 1, 5, 9, 13, 12])
    return bytes([mode, r.randrange(200)]) + (r.randbytes(1) if mode & 4 else b"") + (bytes([r.choice([0, 1, 4])]) if mode & 8 else b"") + change(r)


def use(r):
    first, last = r.choice(USES)
    return bytes([r.randint(first, last), r.randrange(256)])


def call(r):
    return bytes([251, 30 | r.randrange(8) << 5]) + r.randbytes(5)


def program(r, steps):
    requests = r.choice([0, 0, 128])
    out = bytes([r.choice([1, 3, 5, 7]) | r.choice([0, 0, 8, 16, 48, 32, 80]) | requests])
    for _ in range(steps):
        kind = r.random()
        if kind < 0.3:
            out += bytes([r.randrange(80)]) + change(r)
        elif kind < 0.45:
            out += bytes([r.randrange(80, 128)]) + armed(r)
        elif requests and kind < 0.85:
            out += call(r) if r.random() < 0.4 else bytes([251, r.choice([24, 24, 24, 27, 27, 28, 29]) | r.randrange(8) << 5])
        else:
            out += use(r)
    return out


def opening(r, steps):
    kind = r.choice([0, 1, 32, 32, 65, 97, 128, 160, 225, 0xF3])
    if kind == 0xF3:
        return bytes([kind]) + b"Tidings\0" + r.randbytes(90)
    changes = r.randrange(8)
    return bytes([kind]) + (r.randbytes(2) if kind & 1 else b"") + bytes([changes]) + b"".join(word(r) if kind & 32 else change(r) for _ in range(changes)) + \
        (bytes([0, r.choice([1, 1, 1, 0, 17, 33, 65, 129, 3]) | r.choice([0, 4])]) if kind & 128 else b"") + program(r, steps)


# Around each line of the table of well-formed UTF-8: the first and last that is, and what is next to it.
EDGES = [bytes.fromhex(it) for it in (
    "00 01 7f 80 bf c0af c180 c1bf c280 dfbf df c2c2 e08080 e09fbf e0a080 e0a0 ed9fbf eda080 edbfbf ee8080 efbfbf efbf efbfc0 "
    "f0808080 f08fbfbf f0908080 f09080 f48fbfbf f4908080 f5808080 ff").split()]


def text(r):
    it = r.choice(["", "a", "com.example.changed", "äöü", "日本", "\N{PILE OF POO}", "x" * 254, "x" * 255, "x" * 255, "x" * 256, "ö" * 127 + "x", "../a", ".a"]).encode()
    it = r.choice([it, it, it, it[:-1], it + r.choice(EDGES), r.choice(EDGES), it[: len(it) // 2] + r.choice(EDGES) + b"x"])
    return len(it).to_bytes(2, "little") + it


def names(r):
    kind = r.randrange(2)
    sizes = b"" if kind == 0 else r.randbytes(2) + b"".join(r.choice([0, n, r.getrandbits(32)]).to_bytes(4, "little") for n in (256, 4, 4, 256)) + text(r)
    return bytes([kind]) + sizes + text(r) + text(r) + bytes([r.randrange(2), r.randrange(2)])


def head(major, n):
    for size, more in ((24, None), (1 << 8, 24), (1 << 16, 25), (1 << 32, 26), (1 << 64, 27)):
        if n < size:
            return bytes([major << 5 | n]) if more is None else bytes([major << 5 | more]) + n.to_bytes(1 << more - 24, "big")


KEYS = ["name", "age", "mail", "born", "home", "friends", "a", "b", "c", "d", "e", "bytes", "id", "amount", "when", "place", "leaf", "branch", "left", "right", "_0", "x"]


def item(r, depth=0):
    kind = r.randrange(8 if depth < 4 else 5)
    if kind == 0:
        return head(r.randrange(2), r.getrandbits(r.choice([3, 8, 16, 32, 64])))
    if kind == 1:
        return r.choice([b"\xf4", b"\xf5", b"\xf6", b"\xf7", b"\xf9\x3c\x00", b"\xfa" + r.randbytes(4), b"\xfb" + r.randbytes(8)])
    if kind in (2, 3):
        it = r.choice(KEYS + ["äöü", "2013-03-21T20:04:00Z", "http://example.com/"]).encode()
        return r.choice([head(3, len(it)) + it, head(2, len(it)) + it, b"\x7f" + head(3, len(it)) + it + b"\xff"])
    if kind == 4:
        return head(6, r.choice([0, 1, 2, 4, 32, 37, 55799])) + item(r, depth + 1)
    count = r.randrange(5)
    key = [head(3, len(k)) + k.encode() for k in r.sample(KEYS, count)] if kind > 5 else [b""] * count
    inside = b"".join(k + item(r, depth + 1) for k in key)
    major = 5 if kind > 5 else 4
    return bytes([major << 5 | 31]) + inside + b"\xff" if r.random() < 0.2 else head(major, count) + inside


# As deep as may be, and a little deeper.
def nested(r):
    depth = r.choice([126, 127, 128, 129, 130, 200, 500])
    around = r.choice([[b"\x81"], [b"\x9f"], [b"\xa1\x61a"], [b"\xa1\x00"], [b"\xc1\x81"], [b"\x81", b"\xa1\x61b"], [b"\xa1\x64left"], [b"\xa1\x67friends\x81"]])
    return b"".join(r.choice(around) for _ in range(depth)) + r.choice([b"\x00", b"\x60", b"\xf6", b"\x80"]) + b"\xff" * (depth if around == [b"\x9f"] else 0)


def surface(r, steps):
    """A script of the target `swift`: one byte, then steps of eight (Decoder/Sources/surface/Script.swift). A step from 128 on is a use."""
    out = bytes([r.choice([0, 1, 3, 3, 67])])
    for _ in range(steps):
        change = r.random() < 0.4
        arguments = bytes(r.choice([r.randrange(8), r.randrange(256)]) for _ in range(7))
        out += bytes([r.randrange(128) if change else r.randrange(128, 256)]) + (r.randbytes(7) if change else arguments)
    return out


def leb(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + leb(n >> 7)


def link_text(r):
    it = r.choice(["", "a", "a.1", "b.1", "tidings.a", "äöü", "x" * 255]).encode()
    return leb(len(it)) + it


def link_origin(r):
    return r.randrange(8).to_bytes(8, "little") + link_text(r) + link_text(r)


def link_number(r):
    return leb(r.choice([0, 1, 2, r.randrange(200), (1 << 62) - 1, 1 << 62, r.getrandbits(63)]))


def frame(r):
    """A frame (Sources/TidingsLink/FrameCoding.swift, ItemCoding.swift)."""
    def many(make):
        count = r.randrange(4)
        return leb(count) + b"".join(make() for _ in range(count))

    def numbers(count):
        return b"".join(link_number(r) for _ in range(count))

    def mark():
        return link_origin(r) + link_text(r) + numbers(4)

    def version():
        return r.choice([b"\0", b"\1" + numbers(2) + b"\0"])

    def payload():
        return leb(3) + r.randbytes(3)

    def item():
        flags = r.randrange(32)
        return bytes([flags]) + leb(0) + (b"" if flags & 2 else leb(r.randrange(4))) + \
            (link_origin(r) + link_text(r) + numbers(2) if flags & 1 else b"") + (b"" if flags & 16 else numbers(1)) + numbers(1) + \
            (r.randrange(1 << 60).to_bytes(8, "little") if flags & 4 else b"") + r.randbytes(17) + b"\2" + leb(3) + b"s1" + r.randbytes(3)

    def message():
        kind = r.randrange(1, 12)
        person = leb(r.randrange(9)) + numbers(2) + link_text(r) + link_text(r)
        after = {1: lambda: many(lambda: link_text(r)), 2: lambda: numbers(1) + link_text(r) + b"\1\1" + payload(), 5: lambda: numbers(1) + leb(9) + b"\1" + payload(), 6: lambda: numbers(1) + leb(9) + b"\1" + payload(), 9: lambda: leb(1) + person, 10: lambda: person, 11: lambda: numbers(1) + b"\1"}
        return bytes([kind]) + after.get(kind, lambda: numbers(1))()

    kind = r.randrange(1, 10)
    count = r.randrange(1, 5)
    body = {
        1: lambda: leb(1) + link_text(r) + link_origin(r) + numbers(1) + b"".join(many(lambda: link_text(r)) for _ in range(4)),
        2: lambda: leb(1) + numbers(2) + leb(1) + numbers(3),
        3: lambda: bytes(4) + r.randrange(9).to_bytes(8, "little") + count.to_bytes(4, "little") + b"".join(item() for _ in range(count)),
        4: lambda: leb(1) + b"\1" + numbers(1),
        5: lambda: leb(1) + many(lambda: mark() + version()) + numbers(3),
        6: lambda: leb(1) + many(lambda: link_text(r)),
        7: lambda: leb(1) + numbers(1) + mark() + version() + b"\0" + link_text(r) + b"\1" + leb(1) + leb(1) + r.randbytes(8) + payload(),
        8: lambda: leb(1),
        9: lambda: numbers(2) + b"\1" + numbers(2) + many(message),
    }[kind]()
    return b"\xa7" + bytes([2]) + bytes(7) + bytes([1]) + bytes(7) + bytes([kind]) + body


def link(r, n):
    """The first byte says what the others are (Link/Target.swift)."""
    if n % 4 == 0:
        return b"\0" + frame(r)
    if n % 16 == 1:
        parts = [b"\xa8" + (1).to_bytes(8, "little") + i.to_bytes(4, "little") + (2).to_bytes(4, "little") + r.randbytes(9) for i in range(2)]
        return bytes([32]) + b"".join(bytes([len(it)]) + it for it in parts)
    if n % 16 == 5:
        account = leb(3) + b"a.1" + b"".join(link_number(r) for _ in range(8))
        return bytes([48, 1, 0xC1]) + leb(9) + leb(0) + leb(1) + leb(1) + link_text(r) + link_text(r) + leb(1) + account + leb(1) + b"\3a.1" + \
            leb(5) + leb(1) + leb(3) + leb(0) + leb(2) + leb(1) + leb(1) + b"\1L" + leb(2) + leb(4) + leb(0)
    if n % 16 == 9:
        # Items define slots and are refused; then items of these slots. An 8 is a small number wherever it is read.
        count = r.randrange(1, 7)
        define = b"".join(bytes([17, i, 5, i, 0, 0, 0, 0, 0]) for i in range(count))
        use = b"".join(bytes([16, i, r.randrange(3), 0, 0]) for i in range(count))
        return bytes([r.choice([66, 70])]) + bytes([8] * r.randrange(6, 16)) + bytes([48, 0, 0, count]) + define + bytes([18]) + \
            bytes([8] * r.randrange(4)) + bytes([48, 0, 0, count]) + use + bytes([18])
    if n % 16 == 13:
        # Messages that come again and again: requests with their cancellations, lists, participants.
        messages = r.sample([bytes([5, 1, 3, 0, 0]), bytes([5, 2]), bytes([5, 0, 2, 1, 2]), bytes([5, 0, 1, 3]), bytes([5, 6, 2, 0, 0]), bytes([5, 7, 2, 1])], 2)
        return bytes([66]) + bytes([8] * r.randrange(6, 16)) + bytes([r.choice([46, 47]), 1, 2]) + b"".join(messages) + bytes([r.randrange(32), r.randrange(32)])
    # A script: a byte, then steps (Link/Session.swift). In most, both links have peers.
    steps = b"".join(bytes([r.choice([r.randrange(64), r.randrange(48, 64), 2 * r.choice([6, 9, 11, 13])])]) + r.randbytes(r.randrange(24)) for _ in range(2 + n % 24))
    return bytes([r.choice([66, 66, 67, 64])]) + steps


def main():
    directory, r = pathlib.Path(sys.argv[1]), random.Random(3)
    for target, make in (("image", lambda n: program(r, 2 + n % 40)), ("opening", lambda n: opening(r, n % 25)), ("names", lambda n: names(r)), ("decoder", lambda n: nested(r) if n % 10 == 0 else item(r)), ("swift", lambda n: surface(r, 2 + n % 24)), ("link", lambda n: link(r, n))):
        (directory / target).mkdir(parents=True, exist_ok=True)
        for n in range(1000 if target == "names" else 60 if target == "swift" else 200):
            (directory / target / f"seed{n:03}").write_bytes(make(n))


main()
