# SPDX-License-Identifier: Apache-2.0
"""Names with external linkage that only their own file uses.

The compiler demands a declaration for each of them (-Wmissing-prototypes), so the headers name them
all. A name counts as used if another source or header of the product has it, also as an argument of
a macro. What only tests use needs a comment, or a heading of its section (/* ---- ... ---- */),
that says "for tests". include/reeve/ is exempt: its users are programs of other people.
"""

import re

from tree import LAYERS, ROOT, blank_out, c_files, check, code_of, files, line_at

# `type name(parameters)`, `extern type name[]`: the name.
FUNCTION = re.compile(r"[\w\s*]*?[\s*](\w+)\s*\(")
OBJECT = re.compile(r"extern\b[^=(]*?(\w+)\s*(?:\[[^]]*\]\s*)*$")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)(?!\s*\))", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# Neither a member nor a tag, which may have the name of a function.
IDENTIFIER = re.compile(r"(?<![\w.>])(?<!struct )(?<!enum )(?<!union )[A-Za-z_]\w*")
FOR_TESTS = re.compile(r"\bfor[\s*]+tests\b", re.I)


def outside_of_braces(code):
    """Code whose blocks are blank; each ends with a semicolon, as declarations do."""
    kept, depth = [], 0
    for character in code:
        depth += character == "{"
        inside = depth > 0
        depth -= character == "}"
        if character == "}" and depth == 0:
            kept.append(";")
        else:
            kept.append(character if not inside or character == "\n" else " ")
    return "".join(kept)


def declarations(text):
    """(name, position) of the functions and objects that a header declares for other files."""
    code = outside_of_braces(DIRECTIVE.sub(blank_out, code_of(text)))
    for match in re.finditer(r"[^;\s][^;]*;", ATTRIBUTE.sub(blank_out, code)):
        statement = match.group(0)[:-1].rstrip()
        if re.match(r"(static|typedef|_Static_assert)\b", statement):
            continue
        name = FUNCTION.match(statement) or OBJECT.match(statement)
        if name:
            yield name.group(1), match.start() + name.start(1)


def is_for_tests(text, position):
    """The last comment of the paragraph, one at the end of the line, or the section's heading."""
    end = text.find("\n", position)
    above = [comment for comment in COMMENT.finditer(text, 0, end)]
    near = [comment.group(0) for comment in above
            if comment.end() > position or "\n\n" not in text[comment.end():position]]
    headings = [comment.group(0) for comment in above if comment.group(0).startswith("/* ----")]
    return any(FOR_TESTS.search(comment) for comment in near[-1:] + headings[-1:])


def words_by_file(folders):
    return {path: IDENTIFIER.findall(code_of(text))
            for path, text in files(".c", ".h", ".def", folders=folders)}


def is_written_by_a_script(path, text):
    """The definitions for the header are: it names the script, which is in its folder."""
    folder = (ROOT / path).parent
    return any((folder / name).exists() for name in re.findall(r"\w+\.(?:py|cmake)\b", text))


def pasted(words):
    """Of `decide_##name` with the rows of a .def file: a function that tells whether it makes a
    name."""
    prefixes, rows = set(), set()
    for path, text in files(".c", ".h", ".def", folders=LAYERS):
        prefixes |= set(re.findall(r"\b(\w+)##", text))
        if path.endswith(".def"):
            rows |= set(words[path])
    return lambda name: any(name.startswith(prefix) and name[len(prefix):] in rows
                            for prefix in prefixes)


@check
def exported_names_are_used_by_another_file():
    words = words_by_file(LAYERS)
    makes = pasted(words)
    homes = {}
    for path, own in words.items():
        for word in set(own):
            homes.setdefault(word, []).append(path)
    in_tests = {word for own in words_by_file(("tests",)).values() for word in own}
    for path, text in c_files(LAYERS):
        if not path.endswith(".h"):
            continue
        for name, position in declarations(text):
            # One of them is the file that defines it.
            others = len(homes[name]) - 1 + is_written_by_a_script(path, text)
            if others > 1 or words[path].count(name) > 1 or makes(name):
                continue
            where = path, line_at(text, position)
            if name not in in_tests:
                yield *where, f"only its own file uses {name}, if any: make it static or remove it"
            elif not is_for_tests(text, position):
                yield *where, f'only tests use {name}: say "for tests" in its comment, or remove it'
