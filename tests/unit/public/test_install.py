#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` puts into a prefix is enough to build programs with reeve's SDKs, in C and
in C++, and libreeve.so exports what its headers declare and nothing else."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("REEVE_SOURCE_DIR") or pathlib.Path(__file__).parents[3])
BUILD = pathlib.Path(os.environ.get("REEVE_BUILD_DIR") or ROOT / "build" / "dev")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
C = ["gcc", "-std=c17", "-D_GNU_SOURCE", *WARNINGS]
CXX = ["g++", "-std=c++17", "-pthread", *WARNINGS]
EXAMPLES = ["examples/agent/tax_agent.c", "examples/leader/nightly.c"]


def run(*command, **options):
    """What the command prints; its errors if it fails."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                            check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def code_of(header):
    """The text of a header without its comments."""
    return re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)


class Install(unittest.TestCase):
    """One prefix for all tests; nothing below refers to the source tree but for the examples."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("REEVE_TEST_DIR")))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.headers = sorted((cls.prefix / "include" / "reeve").glob("*.h"))
        cls.library = next(cls.prefix.rglob("libreeve.so")).resolve()
        package = next(cls.prefix.rglob("reeve.pc"))
        cls.env = dict(os.environ, PKG_CONFIG_PATH=str(package.parent),
                       LD_LIBRARY_PATH=str(cls.library.parent))
        cls.flags = run("pkg-config", "--cflags", "--libs", "reeve", env=cls.env).split()
        # A library that was built with a sanitizer is only usable by a program that has it as well.
        cache = (BUILD / "CMakeCache.txt").read_text()
        cls.sanitizers = re.search(r"^REEVE_SANITIZE:\w+=(.+)$", cache, re.M)
        if cls.sanitizers:
            cls.flags.append(f"-fsanitize={cls.sanitizers.group(1)}")

    def declared(self):
        """The functions that the headers declare."""
        return {name for header in self.headers
                for name in re.findall(r"^REEVE_API [^;(]*?(\w+)\(", code_of(header), re.M)}

    def build(self, compiler, source, language):
        program = self.folder / f"{pathlib.Path(source).stem}-{compiler[0]}"
        named = program.with_suffix({"c": ".c", "c++": ".cc"}[language])
        shutil.copy(source, named)
        run(*compiler, named, *self.flags, "-o", program, cwd=self.folder)
        return program

    def pages(self):
        """What the program prints of itself, which one with a sanitizer is not asked for."""
        if self.sanitizers:
            return set()
        nouns = [line.split("\t")[0] for line in
                 run(self.prefix / "bin" / "reeve", "completion", "words", "--", "").splitlines()]
        return {f"share/man/man1/{name}.1.gz"
                for name in ["reeve"] + [f"reeve-{noun}" for noun in nouns]} | {
                    "share/bash-completion/completions/reeve",
                    "share/zsh/vendor-completions/_reeve",
                    "share/fish/vendor_completions.d/reeve.fish"}

    def test_installs_what_an_installation_needs_and_nothing_else(self):
        found = {str(p.relative_to(self.prefix)) for p in self.prefix.rglob("*") if not p.is_dir()}
        headers = {f"include/reeve/{h.name}" for h in (ROOT / "include" / "reeve").glob("*.h")}
        lib = self.library.parent.relative_to(self.prefix)
        version = run("pkg-config", "--modversion", "reeve", env=self.env).strip()
        names = {"libreeve.so", f"libreeve.so.{version.split('.')[0]}", f"libreeve.so.{version}",
                 "pkgconfig/reeve.pc"}
        units = {f"lib/systemd/system/reeve-{name}.service"
                 for name in ("agent", "console", "scheduler", "submission", "supervisor")}
        examples = {f"share/reeve/{folder}/{path.name}" for folder in ("workflows", "cookbook")
                    for path in (ROOT / "examples" / folder).iterdir()}
        examples |= {f"share/reeve/{file}" for file in (
            "agent/tax_agent.c", "exec/pack.py", "leader/nightly.c", "services/payment.py",
            "services/fastapi/payment.py", "services/go/payment.go", "services/java/pom.xml",
            "services/java/src/main/java/shop/Payment.java", "services/node/payment.js",
            "third_party_client/order.json")}
        licences = {f"share/doc/{package}/copyright"
                    for package in ("reeve", "libreeve0", "libreeve-dev")}
        self.assertEqual(found, {"bin/reeve", "etc/reeve/reeve.properties",
                                 "lib/systemd/system/reeve.target"} | headers | units | examples
                         | licences | self.pages() | {f"{lib}/{name}" for name in names})

    def test_names_its_major_version_in_the_soname(self):
        soname = re.search(r"SONAME.*\[(.+)\]", run("readelf", "-d", self.library)).group(1)
        self.assertEqual(soname, "libreeve.so.0")

    def test_exports_what_the_headers_declare_and_nothing_else(self):
        listing = run("nm", "-D", "--defined-only", "--format=posix", self.library)
        exported = {line.split()[0] for line in listing.splitlines()}
        self.assertEqual(exported, self.declared())

    def test_prefixes_every_name_of_the_headers(self):
        for header in self.headers:
            code = code_of(header)
            names = re.findall(r"^(?:struct|enum) (\w+)", code, re.M)
            names += re.findall(r"^#define (\w+)", code, re.M)
            names += re.findall(r"^typedef .*\(\*(\w+)\)", code, re.M)
            for body in re.findall(r"\benum (?:\w+ )?\{(.*?)\}", code, re.S):
                names += re.findall(r"\w+(?=\s*(?:=|,|$))", re.sub(r"=[^,]*", "", body).strip())
            for name in names:
                with self.subTest(header=header.name, name=name):
                    self.assertRegex(name, r"^(reeve_|REEVE_)")

    def test_includes_the_c_library_and_public_headers_only(self):
        allowed = {"stdbool.h", "stddef.h", "stdint.h", "string.h"}
        allowed |= {f"reeve/{header.name}" for header in self.headers}
        for header in self.headers:
            found = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', code_of(header), re.M)
            self.assertLessEqual(set(found), allowed, header.name)

    def test_compiles_each_header_alone(self):
        include = f"-I{self.prefix / 'include'}"
        for header in self.headers:
            for compiler, language in ((["gcc", "-std=c17"], "c"), (["clang", "-std=c17"], "c"),
                                       (["g++", "-std=c++17"], "c++"),
                                       (["clang++", "-std=c++17"], "c++")):
                with self.subTest(header=header.name, compiler=compiler[0]):
                    source = f"#include <reeve/{header.name}>\nextern int unused;\n"
                    run(*compiler, *WARNINGS, "-fsyntax-only", include, "-x", language, "-",
                        input=source, cwd=self.folder)

    def test_builds_the_examples_as_c_and_as_cxx(self):
        for example in EXAMPLES:
            for compiler, language in ((C, "c"), (CXX, "c++")):
                with self.subTest(example=example, compiler=compiler[0]):
                    program = self.build(compiler, ROOT / example, language)
                    text = run(program, "--help", env=self.env)
                    self.assertIn("--data-dir", text)
                    self.assertTrue(text.startswith(f"{program.name} --config"), text[:100])

    def test_builds_a_cxx_program_that_uses_every_function(self):
        source = pathlib.Path(__file__).with_name("every_function.cc")
        used = set(re.findall(r"\breeve_\w+", source.read_text()))
        self.assertLessEqual(self.declared(), used)
        compilers = [CXX]
        if not any("-fsanitize" in flag for flag in self.flags):  # they are gcc's
            compilers.append(["clang++", *CXX[1:]])
        for compiler in compilers:
            with self.subTest(compiler=compiler[0]):
                program = self.build(compiler, source, "c++")
                for sdk in ("agent", "leader"):
                    text = run(program, sdk, "--help", env=self.env)
                    self.assertIn("--data-dir", text)
                    self.assertEqual("--every-url" in text, sdk == "agent")


if __name__ == "__main__":
    unittest.main()
