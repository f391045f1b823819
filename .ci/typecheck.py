"""What the compiler says about a program that uses what `swift build` has built."""
import glob
import os
import re
import subprocess
import tempfile


# The public headers of the C modules: a header of CTidingsExtensions includes those of two folders.
HEADERS = [option for folder in ("CShim/include", "CShim/extensions/include")
           for option in ("-I", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), folder))]


def of_modules(modules):
    """Options that let a program import the libraries."""
    options = ["-swift-version", "6", "-module-cache-path", os.path.join(modules, "ModuleCache"),
               "-I", os.path.join(modules, "Modules"), "-I", os.path.join(modules, "CTidings.build"),
               "-I", os.path.join(modules, "CTidingsExtensions.build"), *HEADERS]
    # With the trait GRDB: the module of SQLite is in the package that SwiftPM fetched.
    options += of_grdb(modules) + of_service(modules)
    tool = os.path.join(modules, "TidingsMacros-tool")
    if os.path.exists(tool):
        options += ["-load-plugin-executable", tool + "#TidingsMacros"]
    return options


def of_grdb(modules):
    """Options that let a program import GRDB and TidingsGRDB, if the build has them."""
    scratch = os.path.dirname(os.path.dirname(os.path.realpath(modules)))
    folders = [os.path.join(scratch, "checkouts/GRDB.swift/Sources/GRDBSQLite"), os.path.join(modules, "CTidingsGRDB.build"),
               os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "CShim/grdb/include")]
    return [option for folder in folders if os.path.exists(folder) for option in ("-I", folder)]


def of_service(modules):
    """Options that let a program import TidingsService and what it connects to, if the build has them: the C modules of
    the packages that SwiftPM fetched."""
    scratch = os.path.dirname(os.path.dirname(os.path.realpath(modules)))
    if not os.path.exists(os.path.join(scratch, "checkouts/swift-service-lifecycle")):
        return []
    maps = sorted(glob.glob(os.path.join(scratch, "checkouts/*/Sources/*/include/module.modulemap")))
    # SwiftPM writes those of SwiftNIO and of TidingsRelay's client of NATS.
    maps += sorted(glob.glob(os.path.join(modules, "CNIO*.build/module.modulemap")))
    maps += glob.glob(os.path.join(modules, "CTidingsNATS.build/module.modulemap"))
    return [option for path in maps for option in ("-I", os.path.dirname(path))]


def errors_of(modules, imports, code, *options):
    """The lines that say `error`, for a file that begins with one line for each import; None: it compiles.

    The compiler goes as far as SIL: there it finds what one thread passes to another.
    """
    return run(["-emit-sil", "-o", os.devnull, *of_modules(modules), *options], imports, code)


def errors_of_manifest(code):
    """The same for a Package.swift."""
    swiftc = os.path.realpath(subprocess.run(["which", "swiftc"], capture_output=True, text=True).stdout.strip())
    library = os.path.join(os.path.dirname(os.path.dirname(swiftc)), "lib/swift/pm/ManifestAPI")
    return run(["-typecheck", "-package-description-version", "6.2.0", "-I", library], [], code)


def errors_of_c(root, code):
    """The same for a C program that uses the public headers; a warning is an error."""
    command = ["clang", "-fsyntax-only", "-std=gnu17", "-Wall", "-Wextra", "-Werror", *headers(root), "-x", "c", "-"]
    return errors(subprocess.run(command, input=code, capture_output=True, text=True))


def built(modules, code, program):
    """Links a Swift program with the libraries of a debug build, into the file `program`."""
    objects = [path for target in ("Tidings", "TidingsAdministration", "TidingsCoding", "TidingsDistributed",
                                      "TidingsFoundation", "CTidings")
               for path in glob.glob(os.path.join(modules, f"{target}.build", "**", "*.o"), recursive=True)]
    found = run(["-o", program, *of_modules(modules), *objects], [], code)
    if found is not None:
        raise SystemExit(f"{os.path.basename(program)} is not built:\n{found}")


def built_c(root, modules, code, program):
    """Links a C program with the core of a debug build."""
    objects = glob.glob(os.path.join(modules, "CTidings.build", "**", "*.o"), recursive=True)
    command = ["clang", "-std=gnu17", *headers(root), "-x", "c", "-", "-x", "none", *objects, "-lpthread"]
    command += ["-o", program]
    found = errors(subprocess.run(command, input=code, capture_output=True, text=True))
    if found is not None:
        raise SystemExit(f"{os.path.basename(program)} is not built:\n{found}")


def headers(root):
    return [option for folder in ("include", "extensions/include", "notify/include", "sqlite/include")
            for option in ("-I", os.path.join(root, "CShim", folder))]


def run(options, imports, code):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "main.swift")
        with open(path, "w") as file:
            file.write("".join(f"import {module}\n" for module in imports) + code + "\n")
        return errors(subprocess.run(["swiftc", *options, path], capture_output=True, text=True))


def errors(result):
    if result.returncode == 0:
        return None
    lines = [line for line in result.stderr.split("\n") if re.search(r"(^|:\d+: )error: ", line)]
    return "\n".join(lines) or result.stderr
