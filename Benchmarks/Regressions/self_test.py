"""Is what `count` is there for found?"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import tempfile

from callgrind import count, run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COMPILE = ["clang", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-fPIC", "-fno-omit-frame-pointer"]

# A function of the core that gets slower by some thirty instructions, and which operations must be found to take more.
PLANTED = [("tidings_post", {"post_64"}), ("tidings_next", {"next_64"})]
SLOWER = "\n    for (volatile int planted = 0; planted < 6; planted++) {}"


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


def compile_core(folder, sources, objects, names):
    def compile_one(name):
        # Files of different folders may have the same name.
        made = objects / f"{name.parent.name}-{name.stem}.o"
        run(COMPILE + [f"-I{sources}", f"-I{ROOT}/CShim/include", f"-I{HERE}/Counting/include", "-c", name, "-o", made])

    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        list(pool.map(compile_one, names))
    program = folder / "CoreOperations"
    run(["clang", *sorted(objects.glob("*.o")), "-lpthread", "-o", program])
    return program


def planted():
    """Slow-downs planted in a copy of the core are found, where they are and nowhere else."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sources, objects = folder / "src", folder / "objects"
        shutil.copytree(ROOT / "CShim/src", sources)
        objects.mkdir()
        everything = [*sources.glob("*/*.c"), *HERE.glob("Core/*.c"), *HERE.glob("Counting/*.c")]
        program = compile_core(folder, sources, objects, everything)
        looked_at = ["post_64", "next_64"]
        before = {name: count(program, name) for name in looked_at}
        for function, expected in PLANTED:
            begins = re.compile(rf"^int {function}\([^)]*\)\s*\{{", re.M)
            places = [file for file in sources.glob("*/*.c") if begins.search(file.read_text())]
            must(len(places) == 1, f"{function} was found {len(places)} times")
            [place], text = places, places[0].read_text()
            place.write_text(begins.sub(lambda found: found.group() + SLOWER, text))
            program = compile_core(folder, sources, objects, [place])
            found = {name for name in looked_at if count(program, name) > 1.03 * before[name]}
            must(found == expected, f"planted in {function}: found to take more: {found or 'nothing'}; expected: {expected}")
            place.write_text(text)
            compile_core(folder, sources, objects, [place])
    return f"{len(PLANTED)} slow-downs planted in copies of the core"


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
        for each in (comparing(counting), planted(), repeatable(counting.programs())):
            print("found:" if "planted" in each else "good:", each)
    except Wrong as wrong:
        print(f"not so: {wrong}")
        return 1
    return 0
