"""What the compiler has against a program that uses what `swift build` has built. As far as SIL, where it finds out what one thread passes to another."""
import os
import subprocess
import tempfile


def errors_of(modules, imports, code, *options):
    """Its lines that say `error`, of a file that begins with a line for each import; None: it compiles."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "main.swift")
        with open(path, "w") as file:
            file.write("".join(f"import {module}\n" for module in imports) + code + "\n")
        command = ["swiftc", "-emit-sil", "-o", os.devnull, "-swift-version", "6", *options, "-module-cache-path", os.path.join(modules, "ModuleCache"), "-I", os.path.join(modules, "Modules"),
                   "-I", os.path.join(modules, "CTidings.build"), path]
        tool = os.path.join(modules, "TidingsMacros-tool")
        if os.path.exists(tool):
            command += ["-load-plugin-executable", tool + "#TidingsMacros"]
        result = subprocess.run(command, capture_output=True, text=True)
        return "\n".join(line for line in result.stderr.split("\n") if ": error: " in line) if result.returncode else None
