"""Is what `count` is there for found?"""
import concurrent.futures
import os
import pathlib
import re
import tempfile

from callgrind import count, run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMPILE = ["clang", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", "-fno-omit-frame-pointer"]

# A mutant makes a function of the core slower by some thirty instructions, and names the operation that must take more.
MUTANT = re.compile(r"MUTANT_(\w+) +// Found by: instructions (\w+)$", re.M)
LOOKED_AT = ["post_64", "next_64"]


class Wrong(Exception):
    pass


def must(condition, what):
    if not condition:
        raise Wrong(what)


def comparing(counting):
    """The comparison itself, on numbers of our own."""
    recorded = {"a": 100.0, "b": 200.0}
    cases = [
        ("the same", {"a": 100.0, "b": 200.0}, True, True, ""),
        ("2.9 % more", {"a": 102.9, "b": 200.0}, True, True, ""),
        ("3.1 % more", {"a": 100.0, "b": 206.2}, True, False, "MORE than 3%"),
        ("4 % less", {"a": 96.0, "b": 200.0}, True, True, "less: --record"),
        ("one that isn't recorded", {"a": 100.0, "b": 200.0, "c": 1.0}, True, False, "NOT RECORDED"),
        ("one that isn't counted", {"a": 100.0}, True, False, "NOT COUNTED"),
        ("24 % more with another compiler", {"a": 124.0, "b": 200.0}, False, True, ""),
        ("26 % more with another compiler", {"a": 126.0, "b": 200.0}, False, False, "MORE than 25%"),
    ]
    for what, counts, same, expected, said in cases:
        lines, good = counting.compare(recorded, counts, same)
        must(good == expected and said in "\n".join(lines), f"{what}: {lines}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "recorded")
        counting.write(path, "x, y z", recorded)
        must(counting.read(path) == ("x, y z", recorded), "what is recorded can't be read again")
    return f"{len(cases)} comparisons"


def compile_core(folder, objects, names, *flags):
    sources = ROOT / "CShim/src"

    def compile_one(name):
        # Files of different folders may have the same name.
        made = objects / f"{name.parent.name}-{name.stem}.o"
        includes = [f"-I{sources}", f"-I{ROOT}/CShim/include", f"-I{HERE}/Counting/include"]
        run(COMPILE + [*flags, *includes, "-c", name, "-o", made])

    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(compile_one, names))
    program = folder / "CoreOperations"
    run(["clang", *sorted(objects.glob("*.o")), "-lpthread", "-o", program])
    return program


def mutants():
    """Mutants of the core that are slower are found, by the operation that they name and by no other."""
    files = {file: file.read_text() for file in (ROOT / "CShim/src").glob("*/*.c")}
    found = [(name, operation, file) for file, text in files.items() for name, operation in MUTANT.findall(text)]
    without = set(LOOKED_AT) - {operation for _, operation, _ in found}
    must(not without, f"no mutant is slower in {without}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        objects = folder / "objects"
        objects.mkdir()
        program = compile_core(folder, objects, [*files, *HERE.glob("Core/*.c"), *HERE.glob("Counting/*.c")])
        before = {name: count(program, name) for name in LOOKED_AT}
        for name, operation, file in found:
            program = compile_core(folder, objects, [file], f"-DMUTANT_{name}")
            more = {each for each in LOOKED_AT if count(program, each) > 1.03 * before[each]}
            must(more == {operation}, f"MUTANT_{name}: {more or 'nothing'} takes more; expected: {operation}")
            compile_core(folder, objects, [file])
    return f"{len(found)} mutants of the core that are slower"


def repeatable(programs):
    """The same twice: in another directory, with a larger environment, without address randomisation."""
    for program, name in zip(programs, ("open", "notify_post", "swift_decode")):
        first = count(program, name)
        with tempfile.TemporaryDirectory(prefix="another-place-with-a-longer-name.") as place:
            second = count(program, name, place=place, environment={"MUCH_MORE": "x" * 3000})
        must(abs(second / first - 1) < 0.002, f"{name} took {first:.2f} instructions, then {second:.2f}")
    return "the same counts elsewhere"


def run_all(counting):
    try:
        for each in (comparing(counting), mutants(), repeatable(counting.programs())):
            print("found:" if "mutants" in each else "good:", each)
    except Wrong as wrong:
        print(f"not so: {wrong}")
        return 1
    return 0
