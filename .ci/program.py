"""A program that runs, and the lines that it prints."""
import os
import pty
import re
import subprocess
import threading


class Program:
    """One that runs, and what it has printed so far. On a terminal, so that it prints line by line."""

    def __init__(self, *arguments, **environment):
        end, terminal = pty.openpty()
        self.name = " ".join([os.path.basename(arguments[0]), *arguments[1:]])
        self.lines, self.said = [], threading.Condition()
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=terminal, stderr=terminal,
            env={**os.environ, **environment})
        os.close(terminal)
        threading.Thread(target=self._read, args=(end,), daemon=True).start()

    def _read(self, end):
        rest = b""
        while True:
            try:
                rest += os.read(end, 4096)
            except OSError:  # every process that had the terminal open has closed it
                break
            *lines, rest = rest.split(b"\n")
            with self.said:
                self.lines += [line.decode(errors="replace").strip() for line in lines]
                self.said.notify_all()
        with self.said:
            self.lines.append(None)
            self.said.notify_all()

    def says(self, pattern):
        """Waits for a line that matches; each line counts once."""
        with self.said:
            while True:
                while not self.lines:
                    self.said.wait()
                line = self.lines.pop(0)
                if line is None:
                    raise SystemExit(f"{self.name}: ended without saying {pattern}")
                if re.search(pattern, line):
                    return line

    def says_next(self, expected, what=lambda line: line):
        """Waits for the next line: it must be this one."""
        line = self.says("")
        if what(line) != what(expected):
            raise SystemExit(f"{self.name}: printed {line!r}, and the docs say {expected!r}")

    def rest(self):
        """Waits until each process that had the terminal has ended, and returns the lines that did not count yet."""
        with self.said:
            self.said.wait_for(lambda: self.lines and self.lines[-1] is None)
            return self.lines[:-1]

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def ends_well(self):
        self.process.stdin.close()
        status = self.process.wait()
        if status != 0:
            raise SystemExit(f"{self.name}: ended with {status}: {' / '.join(line for line in self.lines if line)}")

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
