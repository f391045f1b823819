"""The code of a Markdown page: its fenced blocks, and the programs that these blocks form."""
import re


class Block:
    def __init__(self, line, language, code):
        self.line, self.language, self.code = line, language, code


def blocks(text):
    """Every fenced block of a page, in order. Its line is the one after the fence."""
    block = None
    for number, line in enumerate(text.split("\n"), 1):
        fence = re.match(r"\s*```(\S*)", line)
        if block is None and fence:
            block, lines = Block(number + 1, fence.group(1), ""), []
        elif block is not None and line.strip() == "```":
            block.code = "\n".join(lines)
            yield block
            block = None
        elif block is not None:
            lines.append(line)


class Program:
    """Swift blocks that are compiled as one program, and the output that the page states for it so far."""

    def __init__(self, block):
        self.blocks, self.output, self.runs = [block], [], []

    @property
    def is_manifest(self):
        return self.blocks[0].code.startswith("// swift-tools-version")

    @property
    def has_imports(self):
        return self.blocks[0].code.startswith("import ")

    @property
    def needs_macros(self):
        return any(re.search(r"@Message\b|@NotificationProtocol\b", block.code) for block in self.blocks)

    @property
    def trait(self):
        """The trait of the package that the program needs; None: none."""
        if self.needs_macros:
            return "Macros"
        for trait in ("GRDB", "Service", "Relay"):
            if any(re.search(rf"^import Tidings{trait}$", block.code, re.M) for block in self.blocks):
                return trait
        return None

    def code(self, file, count=None):
        """The first `count` blocks; errors name the page and its lines."""
        return "\n".join(
            f'#sourceLocation(file: "{file}", line: {block.line})\n{block.code}\n' for block in self.blocks[:count])


def programs(text):
    """The Swift programs of a page.

    A block that begins with `import` begins a program. A manifest is a program of its own. Any other block continues
    the program before it, as top-level code that uses the declarations of the earlier blocks. A block of `text` after
    a Swift block is what the program so far prints. `runs` has for each how many Swift blocks that are, and the lines.
    """
    found, current = [], None
    for block in blocks(text):
        if block.language == "swift":
            begun = Program(block)
            if begun.is_manifest:
                found.append(begun)
            elif current and not begun.has_imports:
                current.blocks.append(block)
            else:
                current = begun
                found.append(begun)
        elif block.language == "text" and current:
            current.output += block.code.split("\n")
            current.runs.append((len(current.blocks), list(current.output)))
    return found


def self_test():
    page = (
        "```swift\nimport A\na()\n```\n```text\n1\n```\nText.\n```swift\nb()\n```\n"
        "```c\nint c;\n```\n```swift\nimport B\n```\n")
    first, second = programs(page)
    assert [block.code for block in first.blocks] == ["import A\na()", "b()"] and len(second.blocks) == 1
    assert first.runs == [(1, ["1"])] and first.blocks[1].line == 10
    assert first.code("P.md", 1) == '#sourceLocation(file: "P.md", line: 2)\nimport A\na()\n'
    assert [block.code for block in blocks(page) if block.language == "c"] == ["int c;"]
    first, manifest = programs("```swift\na()\n```\n```swift\n// swift-tools-version: 6.2\n```\n```swift\nb()\n```\n")
    assert manifest.is_manifest and [block.code for block in first.blocks] == ["a()", "b()"] and not first.has_imports
