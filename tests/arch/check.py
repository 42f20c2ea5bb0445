#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the source tree that no compiler makes: layers, purity of the engine, sizes, layout.

    tests/arch/check.py [--build BUILD] [--tally FILE] [CHECK ...]

Each function decorated with @check is one test case; it yields findings (path, line, what), printed
as `path:line: what`. BUILD is a folder with the built engine, whose symbols are checked. A line
"PASSED FAILED SKIPPED" is appended to FILE.
"""

import argparse
import bisect
import itertools
import pathlib
import re
import subprocess
import sys

import arrows  # noqa: F401 (checks of its own)
import codes  # noqa: F401
import exports  # noqa: F401
import parts  # noqa: F401
from tree import (ARROWS, FOLDERS, LAYERS, OFFERED, ROOT, blank_comments, blank_out, c_files, calls,
                  check, checks, code_of, files, includes, line_at, tracked_files)
from words import WORDS

# The one file that knows both: it makes the table of commands of the binary.
MAIN = "cli/main.c"
SETTINGS = "replica/service/settings.c"
TOP_LEVEL = {path.split("/")[0] for path in FOLDERS} | {
    "compose", "docs", ".clang-format", ".clang-tidy", ".dockerignore", ".gitignore",
    "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "LICENSE",
    "README.md", "SECURITY.md"}


def reached_from(layer):
    """The layers that may be included, itself apart."""
    return {name for near in ARROWS[layer] for name in {near, *reached_from(near)}}


# The engine's own diet of system headers.
ENGINE_HEADERS = {
    "assert.h", "ctype.h", "inttypes.h", "limits.h", "stdalign.h", "stdarg.h", "stdbool.h",
    "stddef.h", "stdint.h", "stdio.h", "stdnoreturn.h", "string.h",
}

# A foreign library is known in one layer only; the others use that layer's interface.
FOREIGN_HOMES = {
    r"librdkafka/": {"kafka", "tools"},  # the bench compares reeve with the bare library
    r"rocksdb/": {"statestore"},
    r"avro(/|\.h)": {"schemas"},
    r"yaml\.h": {"workflow", "cli"},
    r"microhttpd\.h": {"platform"},
}

# Who reads and writes what an order's row has of a step's wait; the others ask step_wait().
WAIT_HOMES = {
    "engine/order.h", "engine/apply_order.c", "engine/apply_step.c", "schemas/binding_order.c",
}

# The engine carries what is ordered: who copies it there, and who shows it to expressions.
GOODS_HOMES = {"engine/order.c", "engine/order_members.c"}

# String and format functions, and where an assert ends.
ENGINE_SYMBOLS = {
    "bcmp", "memchr", "memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp", "strcspn",
    "strlen", "strncmp", "strnlen", "strrchr", "strspn", "strstr", "snprintf", "vsnprintf",
    "__ctype_b_loc", "__assert_fail", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail",
}

BANNED = {
    "strcpy": "use a bounded copy",
    "strcat": "use a bounded copy",
    "sprintf": "use snprintf",
    "vsprintf": "use vsnprintf",
    "gets": "use a bounded read",
    "strtok": "use strspn and strcspn",
    "atoi": "use a parser that reports errors",
    "atol": "use a parser that reports errors",
    "atof": "use a parser that reports errors",
    "rand": "randomness is an argument",
    "srand": "randomness is an argument",
    "random": "randomness is an argument",
    "drand48": "randomness is an argument",
}
CLOCK_HOME = "platform/clock.c"
CLOCK_CALLS = ("time", "gettimeofday", "clock_gettime", "localtime", "ftime")
SLEEP_CALLS = ("sleep", "usleep", "nanosleep")
ENDING_CALLS = ("exit", "_exit", "abort", "quick_exit")
# The crash that a failpoint asks for; a process that could not become another program.
ENDING_HOMES = {"platform/failpoint.c", "platform/spawn.c"}

FUNCTION_LINES_MAX = 70
FILE_LINES_WARN = 600
COLUMNS_MAX = 100

# ---- layers --------------------------------------------------------------------------------------


@check
def includes_follow_the_arrows():
    for path, text in c_files(LAYERS):
        layer = path.split("/")[0]
        for line, name in includes(text, r'"([^"]+)"'):
            target = name.split("/")[0]
            if "/" not in name or target not in LAYERS:
                yield path, line, f'"{name}" is not a path from the root of the tree'
            elif path == MAIN and target == "tools":
                continue
            elif target != layer and target not in reached_from(layer):
                yield path, line, f"{layer} must not include {target}: {name}"
            elif target != layer and name not in OFFERED.get(target, {name}):
                offered = ", ".join(sorted(OFFERED[target]))
                yield path, line, f"of {target}, other layers include only {offered}: not {name}"


@check
def cmake_links_follow_the_arrows():
    for path in sorted(ROOT.glob("*/CMakeLists.txt")) + sorted(ROOT.glob("services/*/*.txt")):
        layer = path.relative_to(ROOT).parts[0]
        if layer not in LAYERS:
            continue
        name = path.relative_to(ROOT)
        for call in re.finditer(r"reeve_library\(([^)]*)\)", path.read_text()):
            for target in re.findall(r"\breeve-(\w+)", call.group(1))[1:]:
                if (ROOT / "services" / target).exists():
                    target = "services"
                if target not in reached_from(layer):
                    line = line_at(path.read_text(), call.start())
                    yield str(name), line, f"{layer} must not link to {target}"


@check
def struct_and_enum_tags_are_unique():
    homes = {}
    for path, text in c_files(LAYERS):
        for match in re.finditer(r"^(?:static |typedef )*(struct|enum|union) (\w+)\s*\{",
                                 code_of(text), re.M):
            home = (path, line_at(text, match.start()))
            other = homes.setdefault(match.group(2), home)
            if other != home:
                yield *home, f"{match.group(2)} is also defined at {other[0]}:{other[1]}"


@check
def only_the_fold_knows_how_a_wait_is_stored():
    for path, text in c_files(LAYERS):
        for match in re.finditer(r"\bwait\.(retry_at|queued_at)\b", code_of(text)):
            if path not in WAIT_HOMES:
                yield path, line_at(text, match.start()), "ask step_wait()"


@check
def the_engine_carries_goods_unread():
    for path, text in c_files(("engine",)):
        for line, name in includes(text, r'"([^"]+)"'):
            if name == "base/goods.h" and path not in GOODS_HOMES:
                yield path, line, "what is ordered is for submission and agents"


@check
def foreign_libraries_stay_in_their_layer():
    for path, text in c_files(LAYERS):
        layer = path.split("/")[0]
        for line, name in includes(text, r"<([^>]+)>"):
            for pattern, homes in FOREIGN_HOMES.items():
                if re.match(pattern, name) and layer not in homes:
                    yield path, line, f"<{name}> belongs to {', '.join(sorted(homes))}"


@check
def engine_includes_only_pure_headers():
    for path, text in c_files(("engine",)):
        for line, name in includes(text, r"<([^>]+)>"):
            if name not in ENGINE_HEADERS:
                yield path, line, f"the engine must not include <{name}>"


@check
def engine_links_only_string_and_format_functions():
    if args.build is None:
        return
    # The engine, and those members of base that it pulls in.
    needs, homes, wanted = {}, {}, []
    for layer in ("base", "engine"):
        archive = args.build / layer / f"libreeve-{layer}.a"
        if not archive.exists():
            yield str(archive), 0, "not built"
            return
        listing = subprocess.run(
            ["nm", "-A", archive], capture_output=True, text=True, check=True
        ).stdout
        for member, kind, name in re.findall(r"^\S*?:([^:]+):\S*\s+(\w) (\S+)$", listing, re.M):
            source = f"{layer}/{member.removesuffix('.o')}"
            if kind in "Uw":
                needs.setdefault(source, []).append(name)
            elif kind.isupper():
                homes[name] = source
            if layer == "engine" and source not in wanted:
                wanted.append(source)
    for source in wanted:
        for name in needs.get(source, []):
            if name in homes:
                if homes[name] not in wanted:
                    wanted.append(homes[name])
            elif name not in ENGINE_SYMBOLS:
                yield source, 0, f"the engine must not need {name}"


# Where expressions are evaluated: in decisions, by the lint and the command that try one, and for
# the input of a schedule's order, before that order exists.
EVALUATES = re.compile(r"engine/(decide|kinds/|expression/)|workflow/|schedule/|cli/workflow/")
EVALUATOR = "engine/expression/"
# Folds and the emitter: they take what follows from the events, and never decide.
FOLDS = re.compile(r"engine/(apply|effects|deadlines)|replica/fold/|services/scheduler/emitter/")
DECIDES = re.compile(r"engine/(decide|kinds/|expression/)")
# Names and checks of all commands are in one table; a registry of workflows compiles them.
TABLES = re.compile(r"engine/command\.c|workflow/")


def built_symbols():
    """(source, kind, name) of each symbol of each object that was built; none without a build."""
    if args.build is None:
        return []
    objects = {}
    for path in args.build.glob("*/**/CMakeFiles/reeve-*.dir/**/*.c.o"):
        folder, _, below = str(path.relative_to(args.build)).partition("/CMakeFiles/")
        source = f"{folder}/{below.partition('/')[2].removesuffix('.o')}"
        if source.split("/")[0] in LAYERS:
            objects[str(path)] = source
    if not any(source.startswith(EVALUATOR) for source in objects.values()):
        return []
    listing = subprocess.run(["nm", "-A", *objects], capture_output=True, text=True,
                             check=True).stdout
    return [(objects[path], kind, name)
            for path, kind, name in re.findall(r"^(\S+?\.o):\S*\s+(\w) (\S+)$", listing, re.M)]


def is_defined(kind):
    return kind.isupper() and kind != "U"


@check
def only_decisions_evaluate():
    """What follows from an expression is in its event: a fold, an emitter or a page needs none."""
    symbols = built_symbols()
    if args.build is not None and not symbols:
        yield str(args.build), 0, "not built"
    evaluator = {name for source, kind, name in symbols
                 if is_defined(kind) and source.startswith(EVALUATOR)}
    for source, kind, name in symbols:
        if kind == "U" and name in evaluator and not EVALUATES.match(source):
            yield source, 0, f"{name}() belongs to decisions: take its result from the event"


@check
def folds_and_the_emitter_reach_no_decision():
    """Whatever they call calls none either (I30), so the evaluator is out of their reach."""
    symbols = built_symbols()
    homes = {name: source for source, kind, name in symbols if is_defined(kind)}
    uses = {}
    for source, kind, name in symbols:
        if kind == "U" and name in homes and not TABLES.match(source):
            uses.setdefault(source, {})[homes[name]] = name
    reached = {source: source for source, _, _ in symbols if FOLDS.match(source)}
    waiting = list(reached)
    while waiting:
        source = waiting.pop()
        for home, name in uses.get(source, {}).items():
            if DECIDES.match(home) and not TABLES.match(home):
                yield source, 0, (f"{name}() belongs to decisions, and {reached[source]} gets "
                                  "there")
            elif home not in reached:
                reached[home] = reached[source]
                waiting.append(home)


def readelf(*arguments):
    return subprocess.run(
        ["readelf", "--wide", *arguments], capture_output=True, text=True, check=True
    ).stdout


@check
def the_release_is_hardened():
    if args.release is None:
        return
    binary = args.release / "bin" / "reeve"
    if not binary.exists():
        yield str(binary), 0, "not built"
        return
    needed = {
        "is position-independent (PIE)": (r"Type:\s+DYN ", readelf("--file-header", binary)),
        "has read-only relocations (RELRO)": (r"GNU_RELRO", readelf("--segments", binary)),
        "binds all symbols at its start (BIND_NOW)": (
            r"BIND_NOW|FLAGS.*\bNOW\b", readelf("--dynamic", binary)),
        "has no executable stack": (r"GNU_STACK\s.*\bRW\s", readelf("--segments", binary)),
        "has stack canaries": (r" __stack_chk_fail\b", readelf("--dyn-syms", binary)),
        "checks the bounds of copies (FORTIFY)": (
            r" __(memcpy|snprintf|vsnprintf|read)_chk\b", readelf("--dyn-syms", binary)),
    }
    for what, (pattern, text) in needed.items():
        if re.search(pattern, text) is None:
            yield str(binary), 0, f"expected that it {what}"


# ---- calls ---------------------------------------------------------------------------------------


@check
def no_banned_call():
    for path, text in c_files():
        for line, name in calls(text, BANNED):
            yield path, line, f"{name}(): {BANNED[name]}"


@check
def clock_is_read_in_its_one_home():
    for path, text in c_files(LAYERS):
        if path != CLOCK_HOME:
            for line, name in calls(text, CLOCK_CALLS):
                yield path, line, f"{name}(): only {CLOCK_HOME} reads the clock"


@check
def libraries_do_not_end_the_process():
    for path, text in c_files(tuple(layer for layer in LAYERS if layer != "cli")):
        for line, name in calls(text, ENDING_CALLS):
            if path not in ENDING_HOMES:
                yield path, line, f"{name}(): libraries return errors"


@check
def no_sleep():
    for path, text in c_files():
        for line, name in calls(text, SLEEP_CALLS):
            yield path, line, f"{name}(): wait for a condition with a deadline"
    for path, text in files(".py", folders=("tests",)):
        if path.startswith(("tests/kafka/lib/", "tests/arch/")):
            continue
        for match in re.finditer(r"\btime\.sleep\(", text):
            line = line_at(text, match.start())
            yield path, line, "sleep(): wait for a condition with a deadline"


# ---- sizes and layout ----------------------------------------------------------------------------


def functions(text):
    """(first line, number of lines, name) of the functions, whose braces stand in column one."""
    lines = code_of(text).split("\n")
    for at, line in enumerate(lines):
        if line.rstrip() != "{" or at == 0:
            continue
        first = at
        while first > 0 and re.match(r"\s*[^\s#}].*[^;{}\s]\s*$", lines[first - 1]):
            first -= 1
        ends = (i for i in range(at, len(lines)) if lines[i].startswith("}"))
        last = next(ends, len(lines) - 1)
        name = re.search(r"(\w+)\s*\(", " ".join(lines[first:at]))
        yield first + 1, last - first + 1, name.group(1) if name else "?"


@check
def guards_are_named_after_their_path():
    for path, text in c_files():
        guard = re.sub(r"\W", "_", path.removeprefix("include/")).upper()
        if path.endswith(".h") and f"\n#ifndef {guard}\n#define {guard}\n" not in text:
            yield path, 0, f"its guard is not {guard}"


@check
def functions_fit_a_screen():
    for path, text in c_files():
        for line, length, name in functions(text):
            if length > FUNCTION_LINES_MAX:
                yield path, line, f"{name}() has {length} lines, more than {FUNCTION_LINES_MAX}"


@check
def lines_fit_100_columns():
    for path, text in files(".c", ".h", ".def", ".py", ".sh", ".cmake", ""):
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > COLUMNS_MAX:
                yield path, number, f"{len(line)} columns, more than {COLUMNS_MAX}"


GENERATED_BLOCK = re.compile(r"^<!-- (?!end)\w+ -->$.*?^<!-- end -->$", re.M | re.S)
FENCED_BLOCK = re.compile(r"^\s*```.*?^\s*```$", re.M | re.S)


def cannot_wrap(line):
    """Of Markdown: tables, code and the output of programs, a link or an image by itself."""
    return line.startswith(("|", "    ")) or re.fullmatch(r"!?\[[^]]*\]\([^)]*\)", line)


@check
def prose_fits_100_columns():
    """Of Markdown. Pages or blocks that a program writes are as it writes them."""
    for path in tracked_files():
        if not path.endswith(".md") or path == "docs/reference/records.md":
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        for block in (GENERATED_BLOCK, FENCED_BLOCK):
            text = block.sub(blank_out, text)
        for number, line in enumerate(text.split("\n"), 1):
            if len(line.rstrip()) > COLUMNS_MAX and not cannot_wrap(line):
                yield path, number, f"{len(line)} columns, more than {COLUMNS_MAX}: wrap it"


@check
def layout_is_that_of_clang_format():
    paths = [path for path, _ in c_files()]
    if not paths:
        return
    result = subprocess.run(
        ["clang-format", "--dry-run", "--style=file", *paths],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )
    reported = set()
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: \w+: ", result.stderr, re.M):
        if path not in reported:
            reported.add(path)
            yield path, int(line), "not as clang-format lays it out (first place)"
    if result.returncode != 0 and not reported:
        yield ".clang-format", 0, result.stderr.strip()


@check
def mutants_change_lines_that_exist():
    done = subprocess.run([str(ROOT / "scripts" / "mutants"), "--check"], capture_output=True,
                          text=True, check=False)
    for line in done.stdout.splitlines()[:-1]:
        path, number, what = line.split(":", 2)
        yield path, int(number), what.strip()


@check
def changes_have_their_form():
    done = subprocess.run([str(ROOT / "scripts" / "changelog"), "--check"], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        yield "docs/changes", 0, done.stderr.strip()


@check
def the_version_is_one():
    """Of the newest release, until the next is prepared."""
    def read(path):
        return (ROOT / path).read_text(encoding="utf-8")

    version = re.search(r"project\(reeve VERSION ([0-9.]+)", read("CMakeLists.txt"))[1]
    for path, pattern in (("packaging/helm/reeve/Chart.yaml", r"^version: ([0-9.]+)$"),
                          ("packaging/helm/reeve/Chart.yaml", r"^appVersion: ([0-9.]+)$"),
                          ("CHANGELOG.md", r"^## ([0-9.]+) \(")):
        found = re.search(pattern, read(path), re.M)
        if found is None or found[1] != version:
            yield path, 0, f"does not name version {version}, as CMakeLists.txt does"


@check
def nothing_stray_is_at_the_top():
    """What a tool left in its working folder is easily committed with the rest."""
    for name in sorted({path.split("/")[0] for path in tracked_files()}):
        if name not in TOP_LEVEL:
            yield name, 0, "not a part of the tree: remove it, or name it in TOP_LEVEL"


@check
def sources_name_their_licence():
    for path, text in files(".c", ".h", ".py", ".sh", ".cmake", ""):
        if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.split("\n")[:3]):
            yield path, 1, "no SPDX-License-Identifier: Apache-2.0 in the first lines"


# ---- language ------------------------------------------------------------------------------------

# Data, records of former versions, the list itself, and the licence.
WORDS_EXEMPT = ("examples/data/", "tests/golden/old/", "tests/arch/words.py", "LICENSE")


SOURCES = (".c", ".h", ".py", ".js", ".sh")


# Between two lines of one paragraph, also of a comment.
LINE_BREAK = re.compile(r"(?<=\S)\n[ \t]*(?:\*|//|#)?[ \t]*(?=\w)")


def words_of(path, text):
    """Of a source, identifiers as words: each underscore between letters becomes a space. The lines
    of a paragraph are joined; returns the positions of these joints as well."""
    if path.endswith(SOURCES):
        text = re.sub(r"(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])", " ", text)
    parts = LINE_BREAK.split(text)
    joints = list(itertools.accumulate(len(part) + 1 for part in parts))
    return " ".join(parts), joints


@check
def text_is_in_the_words_of_the_field():
    for path in tracked_files():
        if path.startswith(WORDS_EXEMPT):
            continue
        try:
            text, joints = words_of(path, (ROOT / path).read_text(encoding="utf-8"))
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for pattern, instead in WORDS.items():
            for match in re.finditer(pattern, text, re.M):
                line = line_at(text, match.start()) + bisect.bisect(joints, match.start())
                yield path, line, f'"{match.group(0)}": {instead}'


@check
def messages_name_what_they_mean():
    """<prefix>.schemas is right on a page; a message names the topic."""
    for path, text in c_files(LAYERS):
        if path == SETTINGS:  # descriptions, for a page
            continue
        for match in re.finditer(r'"(?:\\.|[^"\\\n])*<(?:prefix|p)>', text):
            if blank_comments(text)[match.start()] == '"':
                yield path, line_at(text, match.start()), "a message says <prefix>: name the topic"


def warnings():
    """What a reviewer should look at; fails nothing."""
    for path, text in c_files():
        count = text.count("\n")
        if count > FILE_LINES_WARN:
            yield path, 1, f"{count} lines: does it still have one subject?"


def main():
    passed = failed = 0
    for function in checks:
        if args.checks and function.__name__ not in args.checks:
            continue
        findings = list(function())
        for path, line, what in findings:
            print(f"{path}:{line}: {what}" if line else f"{path}: {what}")
        print(f"{'FAILED' if findings else 'ok':6} arch/{function.__name__}")
        if findings:
            failed += 1
        else:
            passed += 1
    for path, line, what in warnings():
        print(f"{path}:{line}: warning: {what}")
    if args.tally:
        with open(args.tally, "a", encoding="utf-8") as tally:
            tally.write(f"{passed} {failed} 0\n")
    else:
        print(f"{passed} passed, {failed} failed")
        sys.exit(1 if failed else 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--release", type=pathlib.Path, help="the build folder of the release")
    parser.add_argument("--tally")
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    args = parser.parse_args()
    main()
