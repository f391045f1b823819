"""Runs one operation of a counted program under callgrind. What the count may depend on is fixed here."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

# The C library chooses among its copies of memcpy and the like by what the processor can do, and they differ in instructions: all machines take
# the plain one.
TUNABLES = "glibc.cpu.hwcaps=" + ",".join("-" + feature for feature in (
    "AVX512F AVX512VL AVX512BW AVX2 AVX AVX_Fast_Unaligned_Load ERMS FSRM SSSE3 SSE4_1 SSE4_2 BMI2 MOVBE RTM").split())


class Failed(Exception):
    """Says what could not be counted, and why."""


def run(command, **options):
    try:
        words = [str(part) for part in command]
        return subprocess.run(words, check=True, capture_output=True, text=True, errors="replace", timeout=300, **options).stdout
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        said = f"{failure.stdout or ''}{failure.stderr or ''}".strip()[-2000:]
        raise Failed(f"{' '.join(map(str, command))}: {failure}\n{said}") from None
    except FileNotFoundError:
        raise Failed(f"{command[0]} is missing: .ci/run install") from None


def operations(program):
    return run([program]).split()


def count(program, operation, place=None, environment=None, instructions=None):
    """Instructions per operation. `instructions`: a file for a profile by address."""
    # Not the caller's environment: its size moves the stack. And a copy without debug information, which older valgrinds can't read (and give up).
    inherited = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    fixed = {"GLIBC_TUNABLES": TUNABLES, "SWIFT_DETERMINISTIC_HASHING": "1", "LC_ALL": "C"}
    shared = place or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    # Not in shared memory, from which programs may not be allowed to run; and not in $TMPDIR: the library looks at its program's path, whose
    # length counts.
    folder = tempfile.TemporaryDirectory(prefix="tidings-count.", dir="/tmp")
    with folder as directory, tempfile.TemporaryDirectory(prefix="tidings-count.", dir=shared) as room:
        bare = pathlib.Path(directory, "program")
        profile = pathlib.Path(directory, "profile")
        run(["strip", "--strip-debug", "-o", bare, program])
        said = run(
            ["valgrind", "-q", "--tool=callgrind", "--toggle-collect=counting_collect", f"--callgrind-out-file={profile}"]
            + (["--dump-instr=yes", "--compress-strings=no", "--compress-pos=no"] if instructions else [])
            + [bare, room, operation],
            env=inherited | fixed | (environment or {}))
        total = re.search(r"^(?:totals|summary): (\d+)", profile.read_text(), re.M)
        times = int(said)
        if not total or times < 1 or int(total.group(1)) == 0:
            raise Failed(f"{program} {operation}: nothing was counted")
        if instructions:
            shutil.copy(profile, instructions)
        return int(total.group(1)) / times
