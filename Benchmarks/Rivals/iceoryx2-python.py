#!/usr/bin/env python3
"""iceoryx2, by its Python binding, the one form of it that a package registry has: samples loaned and sent, with an event for who sleeps.

The same orders and answers as the other rivals', see rival.c; only that messages are filled in and compared as Python can: the number first and last,
a fixed pattern between. Each step of a message is a call from Python, which a program in Rust or C++ wouldn't pay.
"""
import ctypes
import gc
import importlib.metadata
import os
import signal
import socket
import struct
import sys
import time

import iceoryx2

QUEUE = 128
MARKER = 0xFFFFFFFF
SIZE_MAXIMUM = 1 << 20
libc = ctypes.CDLL(None, use_errno=True)


def fail(text):
    print(f"iceoryx2: {text}", file=sys.stderr, flush=True)
    os._exit(1)


def system(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        fail(f"{name}: {os.strerror(ctypes.get_errno())}")


def die_with_parent(parent):
    PR_SET_PDEATHSIG = 1
    system("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def private_mounts():
    """A /tmp and /dev/shm of our own, so that nothing is left behind: they go with the last process that has them."""
    NEWNS, NEWUSER, REC, PRIVATE = 0x20000, 0x10000000, 0x4000, 1 << 18
    user, group = os.geteuid(), os.getegid()
    system("unshare", NEWNS if user == 0 else NEWNS | NEWUSER)
    if user != 0:
        for file, text in (("uid_map", f"{user} {user} 1"), ("setgroups", "deny"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{file}", "w") as output:
                output.write(text)
    system("mount", None, b"/", None, REC | PRIVATE, None)
    for path in (b"/tmp", b"/dev/shm"):
        system("mount", b"tmpfs", path, b"tmpfs", 0, None)


class Side:
    def __init__(self, index):
        self.received = None
        self.awake = False
        self.pattern = bytes(i * 151 & 0xFF for i in range(251)) * (SIZE_MAXIMUM // 251 + 1)
        names = ("ping", "pong") if index == 0 else ("pong", "ping")
        self.node = iceoryx2.NodeBuilder.new().create(iceoryx2.ServiceType.Ipc)
        self.publisher = (self.publishing(names[0]).publisher_builder().initial_max_slice_len(SIZE_MAXIMUM // 8)
                          .backpressure_strategy(iceoryx2.BackpressureStrategy.RetryUntilDelivered).create())
        self.subscriber = self.publishing(names[1]).subscriber_builder().buffer_size(QUEUE).create()
        self.notifier = self.waking(names[0]).notifier_builder().create()
        self.listener = self.waking(names[1]).listener_builder().create()

    def publishing(self, name):
        builder = self.node.service_builder(iceoryx2.ServiceName.new(name)).publish_subscribe(iceoryx2.Slice[ctypes.c_uint8])
        return builder.enable_safe_overflow(False).subscriber_max_buffer_size(QUEUE).history_size(0).open_or_create()

    def waking(self, name):
        return self.node.service_builder(iceoryx2.ServiceName.new(name)).event().open_or_create()

    def message(self, number, size):
        word = struct.pack("<Q", number)
        return word if size == 8 else word + self.pattern[:size - 16] + word

    def post(self, number, size):
        sample = self.publisher.loan_slice_uninit(size)
        ctypes.memmove(sample.payload_ptr, self.message(number, size), size)
        sample.assume_init().send()
        if not self.awake:
            self.notifier.notify()

    def receive(self):
        sample = self.subscriber.receive()
        while sample is None:
            if not self.awake:
                self.listener.blocking_wait()
            sample = self.subscriber.receive()
        return ctypes.string_at(sample.payload_ptr, sample.payload().len())

    def next(self, generation, size):
        """The next message of this order; markers of earlier ones may still be on their way."""
        while True:
            found = self.receive()
            number = struct.unpack_from("<Q", found)[0]
            if number >> 32 != generation:
                if number & MARKER == MARKER and number >> 32 < generation:
                    continue
                fail(f"message {number:x} in order {generation:x}")
            if found != self.message(number, size):
                fail(f"message {number:x}: wrong contents")
            return number & MARKER


def serve(side, control):
    while order := control.recv(64):
        stream, awake, generation, count, size = struct.unpack("<BBIII", order)
        side.awake = bool(awake)
        control.send(b"r")
        if not stream:
            for index in range(count):
                if side.next(generation, size) != index:
                    fail(f"something in place of message {index}")
                side.post(generation << 32 | index, size)
            continue
        arrived = 0
        following = 0
        while (number := side.next(generation, size)) != MARKER:
            if number < following:
                fail(f"message {number} after {following - 1}")
            following = number + 1
            arrived += 1
            if arrived == count:
                control.send(struct.pack("<QQ", arrived, time.perf_counter_ns()))
        if arrived < count:
            control.send(struct.pack("<QQ", arrived, time.perf_counter_ns()))
    os._exit(0)


class Orders:
    def __init__(self, side, control):
        self.side, self.control, self.generation = side, control, 0

    def begin(self, stream, awake, count, size):
        self.generation += 1
        self.side.awake = awake
        self.control.send(struct.pack("<BBIII", stream, awake, self.generation, count, size))
        if self.control.recv(1) != b"r":
            fail("the other side ended by itself")

    def latency(self, count, size, awake):
        warm = count // 10
        self.begin(False, awake, count + warm, size)
        samples = []
        for index in range(count + warm):
            start = time.perf_counter_ns()
            self.side.post(self.generation << 32 | index, size)
            if self.side.next(self.generation, size) != index:
                fail(f"something in place of message {index}")
            samples.append((time.perf_counter_ns() - start) // 2)
        return "".join(f"{sample}\n" for sample in samples[warm:]) + "\n"

    def stream(self, count, size):
        self.begin(True, False, count, size)
        start = time.perf_counter_ns()
        for index in range(count):
            self.side.post(self.generation << 32 | index, size)
        self.side.post(self.generation << 32 | MARKER, size)
        arrived, end = struct.unpack("<QQ", self.control.recv(64))
        return arrived, end - start

    def throughput(self, count, size):
        self.stream(count // 10 + 1, size)
        arrived, nanoseconds = self.stream(count, size)
        return f"{nanoseconds}{f' {arrived}' if arrived < count else ''}\n"

    def obey(self, words):
        verb, count, size = words[0], int(words[1]), int(words[2])
        if verb == "throughput":
            return self.throughput(count, size)
        if verb not in ("latency", "latency-awake"):
            fail(f"what is \"{verb}\"?")
        return self.latency(count, size, verb == "latency-awake")


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "--cpus":
        fail("usage: iceoryx2 --cpus A,B")
    cores = [int(core) for core in sys.argv[2].split(",")]
    die_with_parent(os.getppid())
    version = importlib.metadata.version("iceoryx2")  # this checkout may be in /tmp, too
    signal.alarm(30)  # a peer that doesn't answer would leave the whole run waiting
    private_mounts()
    die_with_parent(os.getppid())  # forgotten with a change of credentials
    iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    owner = os.getpid()
    peer = os.fork()
    index = 1 if peer == 0 else 0
    if index == 1:
        die_with_parent(owner)
    else:
        # Side 1's end is side 0's: nothing waits for one that is gone. Not a handler in Python, which a wait in the binding would put off.
        libc.signal(signal.SIGCHLD, libc._exit)
    ends[1 - index].close()
    control = ends[index]
    os.sched_setaffinity(0, {cores[index]})
    gc.disable()
    side = Side(index)
    control.send(b"r")
    control.recv(1)
    if index == 1:
        serve(side, control)
    print("ready iceoryx2", version, flush=True)
    signal.alarm(0)
    orders = Orders(side, control)
    for line in sys.stdin:
        if line.strip() == "quit":
            break
        sys.stdout.write(orders.obey(line.split()))
        sys.stdout.flush()
    libc.signal(signal.SIGCHLD, None)
    os.kill(peer, signal.SIGKILL)
    os.waitpid(peer, 0)
    os._exit(0)


main()
