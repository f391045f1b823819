#!/usr/bin/env python3
"""Planted mistakes: what fuzzing is there to find. `plants.py --list TARGET…` names them with their targets; `plants.py NAME… DIRECTORY`
commits them in a copy of the sources and prints the files. What is replaced must be there exactly once, so that a change of the sources
can't make a mistake empty."""
import pathlib
import sys

# name: target, file, (what stands there, what stands there then)…
CORE = {
    "record-size-unchecked": (
        "image", "center/read.c",
        (
            "if (total > TIDINGS__BODY_SIZE || !room_for(o, TIDINGS__BODY_SIZE + 16)) return false;",
            "if (!room_for(o, TIDINGS__BODY_SIZE + 16)) return false;",
        ),
    ),
    "record-size-read-twice": (
        "image", "center/read.c",
        (
            "if (total > TIDINGS__BODY_SIZE || !room_for(o, TIDINGS__BODY_SIZE + 16)) return false;",
            "if (total > TIDINGS__BODY_SIZE || !room_for(o, TIDINGS__BODY_SIZE + 16)) return false;\n"
            "    tidings__record again;\n"
            "    tidings__record_read(tidings__cell_at(s, position), &again);\n"
            "    total = tidings__round8(again.size) + tidings__round8(again.name_length) + "
            "tidings__round8(again.subject_length);",
        ),
    ),
    "record-text-beyond-body": (
        "image", "center/read.c",
        (
            "uint64_t total = tidings__round8(r.size) + tidings__round8(r.name_length) + "
            "tidings__round8(r.subject_length);",
            "uint64_t total = tidings__round8(r.size);",
        ),
    ),
    "chunk-size-unchecked": (
        "image", "center/read.c",
        (
            "if (!bytes || total + TIDINGS__CHUNK_HEADER > capacity) return false;",
            "if (!bytes) return false;",
        ),
        (
            "tidings__back_chunk(s, r->chunk, total + TIDINGS__CHUNK_HEADER) != 0",
            "tidings__back_chunk(s, r->chunk, TIDINGS__CHUNK_HEADER) != 0",
        ),
    ),
    "matches-unbounded": (
        "image", "center/read.c",
        (
            "for (uint32_t i = 0; i < count && *matched < o->matched_capacity; i++)",
            "for (uint32_t i = 0; i < count; i++)",
        ),
        (
            "room_to_match(o, t->count + 1)",
            "room_to_match(o, 1)",
        ),
        (
            "count < 16 ? 16 : 2 * count",
            "count",
        ),
    ),
    "name-length-unchecked": (
        "image", "registry/name_table.c",
        (
            "if (first > TIDINGS_NAME_MAX || second > TIDINGS_SUBJECT_MAX) return false;",
            "",
        ),
    ),
    "name-length-read-twice": (
        "image", "registry/name_table.c",
        (
            "memcpy(name, text, first);",
            "first = tidings__relaxed(&entry->lengths) & 0xffff;\n"
            "        memcpy(name, text, first);",
        ),
    ),
    "chain-unbounded": (
        "image", "registry/name_table.c",
        (
            "index != TIDINGS__NAME_NONE && steps > 0; steps--",
            "index != TIDINGS__NAME_NONE; (void)steps",
        ),
    ),
    "name-number-unchecked": (
        "image", "registry/name_table.c",
        (
            "if (index == TIDINGS__NAME_NONE || index >= s->shape.names) return NULL;",
            "if (index == TIDINGS__NAME_NONE) return NULL;",
        ),
        (
            "tidings__names_there(s, index + 1) <= index",
            "index < s->shape.names && tidings__names_there(s, index + 1) <= index",
        ),
    ),
    "unlinking-unbounded": (
        "image", "registry/name_recycle.c",
        (
            "if (!step || !spend(effort, LINK)) return false;",
            "if (!step) return false;",
        ),
    ),
    "chunk-number-unchecked": (
        "image", "segment/backing.c",
        (
            "if (chunk >= geometry->chunk_count) return NULL;",
            "",
        ),
    ),
    "retained-chunk-unchecked": (
        "image", "center/retained.c",
        (
            "chunk == TIDINGS__RETAINED_EXPECTED || chunk > s->geometry.chunk_count) return;",
            "chunk == TIDINGS__RETAINED_EXPECTED) return;",
        ),
    ),
    "promoted-chunk-unchecked": (
        "image", "center/retained.c",
        (
            "if (chunk >= s->geometry.chunk_count) return false;\n    uint64_t now",
            "uint64_t now",
        ),
    ),
    "state-larger-than-buffer": (
        "image", "center/state.c",
        (
            "if (record.size <= room) {",
            "{",
        ),
    ),
    "observer-number-unchecked": (
        "image", "registry/observers.c",
        (
            "if (index >= s->shape.observers) break;",
            "",
        ),
    ),
    "owner-number-unchecked": (
        "image", "center/evict.c",
        (
            "s->participants[owner - 1 < s->shape.participants ? owner - 1 : 0].pid",
            "s->participants[owner - 1].pid",
        ),
    ),
    "eviction-length-unchecked": (
        "image", "center/evict.c",
        (
            "if (end - start > TIDINGS__EV_LENGTH_MAX) end = start + TIDINGS__EV_LENGTH_MAX;",
            "",
        ),
    ),
    "prefixes-walked-on": (
        "image", "registry/prefixes.c",
        (
            "index >= TIDINGS__NAME_FIRST && walk->steps > 0 ?",
            "index >= TIDINGS__NAME_FIRST && walk->steps-- > 0 ?",
        ),
        (
            "    walk->steps--;\n",
            "",
        ),
    ),
    "geometry-read-again": (
        "image", "center/statistics.c",
        (
            "i < s->shape.observers; i++) {\n        if (tidings__acquire(&s->observers[i].owner) == 0)",
            "i < s->header->shape.observers; i++) {\n        if (tidings__acquire(&s->observers[i].owner) == 0)",
        ),
    ),
    "forgotten-at-fork": (
        "image", "center/observe.c",
        (
            "if (ours) tidings__observer_release(s, observer->index);",
            "tidings__observer_release(s, observer->index + (ours ? 0 : s->shape.observers));",
        ),
    ),
    "file-length-unchecked": (
        "opening", "segment/check.c",
        (
            "if (identity->length != geometry.file_size || identity->file_size != geometry.file_size) {",
            "if (identity->file_size != geometry.file_size) {",
        ),
    ),
    "shape-unchecked": (
        "opening", "segment/check.c",
        (
            "if (!tidings__shape_valid(&identity->shape) || identity->instance == 0) {",
            "if (identity->instance == 0) {",
        ),
    ),
    "remains-chunk-position-unchecked": (
        "opening", "ring/chunk.c",
        (
            "bool in_ring = distance < s->shape.slots && tidings__look(s, start + distance) == TIDINGS__VALID;",
            "bool in_ring = tidings__relaxed(&s->cells[distance].commit) >> 1 == start + distance;",
        ),
    ),
    "subject-one-too-long": (
        "names", "segment/names.c",
        (
            "if (length > max) return",
            "if (length > max + (min == 0)) return",
        ),
    ),
    "overlong-utf8": (
        "names", "segment/names.c",
        (
            "case 0xe0: return bytes[1] >= 0xa0 ? count : 0;",
            "case 0xe0: return count;",
        ),
    ),
}
# In one build, chosen by the environment.
DECODER = {
    "depth-unbounded": (
        "decoder", "CBOR/CBORScanner.swift",
        (
            "guard depth < CBORLimit.depth else { throw CBORFault(.depth, at: head.end) }\n"
            "        var offset = head.end\n"
            "        if head.isIndefinite {\n"
            "            let number = reader.beginSpan()\n"
            "            while try !bytes.isStop(at: offset) { offset = try item",
            "guard depth < CBORLimit.depth || planted(NAME) else { throw CBORFault(.depth, at: head.end) }\n"
            "        var offset = head.end\n"
            "        if head.isIndefinite {\n"
            "            let number = reader.beginSpan()\n"
            "            while try !bytes.isStop(at: offset) { offset = try item",
        ),
    ),
    "string-length-unchecked": (
        "decoder", "CBOR/PayloadBytes+CBOR.swift",
        (
            "guard head.argument <= UInt64(truncatingIfNeeded: count &- head.end) else {",
            "guard head.argument <= UInt64(truncatingIfNeeded: count &- head.end) || planted(NAME) else {",
        ),
    ),
    "argument-beyond-the-end": (
        "decoder", "CBOR/PayloadBytes+CBOR.swift",
        (
            "guard count - offset >= MemoryLayout<I>.size else {",
            "guard count - offset >= MemoryLayout<I>.size || planted(NAME) else {",
        ),
    ),
    "an-empty-key-is-any": (
        "decoder", "Bytes/PayloadBytes.swift",
        (
            "guard name.count == end - start else { return false }",
            "guard name.count == end - start else { return planted(NAME) && start == end }",
        ),
    ),
    "length-from-the-scan": (
        "decoder", "CBOR/CBORReader+Strings.swift",
        (
            "return try bytes.text(from: head.end, to: try bytes.endOfString(head))",
            "return try bytes.text(from: head.end, to: planted(NAME) ? head.end + Int(min(head.argument, 1 << 20)) : try "
            "bytes.endOfString(head))",
        ),
    ),
}
# Mistakes in the Swift layer that observes and posts, in the same build. Files are below Sources/Tidings.
SWIFT = {
    "revoked-converted": (
        "swift", "Bridge/Inspection.swift",
        (
            "revoked: raw.revoked,",
            "revoked: planted(NAME) ? UInt64(Int(raw.revoked)) : raw.revoked,",
        ),
    ),
    "joined-converted": (
        "swift", "Bridge/Inspection.swift",
        (
            "Double(info.joined_at_ns)",
            "Double(planted(NAME) ? UInt64(Int64(info.joined_at_ns)) : info.joined_at_ns)",
        ),
    ),
    "missed-taken-as-32-bits": (
        "swift", "Bridge/ObserverHandle.swift",
        (
            "? Int(clamping: delivery.pointee.missed) : nil",
            "? (planted(NAME) ? Int(UInt32(delivery.pointee.missed)) : Int(clamping: delivery.pointee.missed)) : nil",
        ),
    ),
    "missed-summed-in-32-bits": (
        "swift", "Center/Diagnostics.swift",
        (
            "let (sum, isOver) = addingReportingOverflow(count)",
            "if planted(NAME) { return self = Int(UInt32(self) + UInt32(count)) }\n"
            "        let (sum, isOver) = addingReportingOverflow(count)",
        ),
    ),
    "held-missed-in-32-bits": (
        "swift", "Observation/HeldItems.swift",
        (
            "        missed.add(lost)",
            "        if planted(NAME) { missed = Int(UInt32(missed) + UInt32(lost)) } else { missed.add(lost) }",
        ),
    ),
    "waiting-missed-in-32-bits": (
        "swift", "Observation/DeliveryBuffer.swift",
        (
            "            count.add(more)",
            "            if planted(NAME) { count = Int(UInt32(count) + UInt32(more)) } else { count.add(more) }",
        ),
    ),
    "time-converted": (
        "swift", "Bridge/ObserverHandle.swift",
        (
            "{ delivery.pointee.posted_at_ns }",
            "{ planted(NAME) ? UInt64(Int64(delivery.pointee.posted_at_ns)) : delivery.pointee.posted_at_ns }",
        ),
    ),
    "text-taken-for-utf8": (
        "swift", "Bridge/ObserverHandle.swift",
        (
            "        String(decoding: UnsafeRawBufferPointer(start: characters, count: length), as: UTF8.self)",
            "        if planted(NAME) { return String(validating: UnsafeRawBufferPointer(start: characters, count: length), as: UTF8.self)! }\n"
            "        return String(decoding: UnsafeRawBufferPointer(start: characters, count: length), as: UTF8.self)",
        ),
    ),
    "bitwise-size-unchecked": (
        "swift", "Message/PayloadCoding.swift",
        (
            "guard bytes.count == fingerprintSize + size,",
            "guard bytes.count == fingerprintSize + size || planted(NAME),",
        ),
    ),
}
PLANTED = """
import Glibc

let plantedName = getenv("TIDINGS_PLANTED").map { String(cString: $0) }
func planted(_ name: String) -> Bool { plantedName == name }
"""


def commit(name, directory):
    target, file, *changes = (CORE | DECODER | SWIFT)[name]
    base = "CShim/src/" if name in CORE else "Sources/Tidings/" if name in SWIFT else "Sources/TidingsCoding/"
    path = pathlib.Path(directory) / base / file
    text = path.read_text()
    for there, then in changes:
        if text.count(there) != 1:
            sys.exit(f"plants.py: {name}: {file} holds what it takes out {text.count(there)} times: {there}")
        text = text.replace(there, then if name in CORE else then.replace("NAME", f'"{name}"'))
    if name not in CORE:
        (pathlib.Path(directory) / base / "Planted.swift").write_text(PLANTED)
    path.write_text(text)
    print(path)


def main():
    if sys.argv[1] == "--list":
        for name, (target, *_) in (CORE | DECODER | SWIFT).items():
            if target in sys.argv[2:]:
                print(target, name)
    else:
        for name in sys.argv[1:-1]:
            commit(name, sys.argv[-1])


main()
