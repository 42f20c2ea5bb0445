# SPDX-License-Identifier: Apache-2.0
"""The HTTP routes of the services, read from the sources."""

import re

from .paths import ROOT

SERVICES = ("submission", "scheduler", "supervisor", "agent", "console")
FOLDERS = {"services/submission": ["submission"], "services/agent": ["agent"],
           "services/console": ["console"], "platform/http/session.c": ["console"],
           "replica/view_report.c": ["scheduler", "supervisor", "console"],
           "replica/service_main.c": list(SERVICES), "platform/http": list(SERVICES)}


def patterns(text, expression):
    """The paths that the third argument of http_server_route() stands for in its file."""
    if expression.startswith('"'):
        return [expression.strip('"')]
    if expression == "pages[i]":
        return re.findall(r'"(/[^"]*)"', re.search(r"pages\[\] = \{(.*?)\};", text, re.S)[1])
    if expression == "SESSION_PATH":
        return re.findall(r'#define SESSION_PATH "(.*)"', text)
    if expression == "callbacks->pattern":
        return [re.search(r'"(/v1/callbacks/[^"]*)"', text)[1].replace("%s", "{agent}")]
    raise AssertionError(f"unknown pattern {expression}: teach this library about it")


def table_rows(text):
    """(method, path, query parameters) of the rows of the console's tables of routes."""
    text = text.replace("\\\n", " ")
    macros = dict(re.findall(r"^#define (\w+) +(\".*)$", text, re.M))
    for method, path, names in re.findall(
            r'\{"([A-Z]+)",\s*((?:"[^"]*"|\w+)(?: "[^"]*")?),\s*\w+,\s*\{([^}]*)\}', text):
        path, names = [re.sub(r"\b[A-Z]{2,}\b", lambda word: macros.get(word[0], word[0]), part)
                       for part in (path, names)]
        yield method, "".join(re.findall(r'"([^"]*)"', path)), re.findall(r'"([^"]*)"', names)


def sources():
    """(name, text, services) of each file that has routes."""
    for folder in ("services", "platform", "replica", "leader", "kafka"):
        for source in sorted((ROOT / folder).rglob("*.c")):
            name = str(source.relative_to(ROOT))
            owners = next((FOLDERS[key] for key in FOLDERS if name.startswith(key)), None)
            yield name, source.read_text(encoding="utf-8"), owners


def read_routes():
    """(service, method, path) of each route."""
    for name, text, owners in sources():
        found = []
        for call in re.findall(r"(?<!void )http_server_route\(([^;]*)\);", text):
            method, expression = [part.strip() for part in call.split(",")[1:3]]
            if method != "routes[i].method":  # the tables of the console's API
                found += [(method.strip('"'), path) for path in patterns(text, expression)]
        if name.startswith("services/console/"):
            found += [row[:2] for row in table_rows(text)]
        assert owners or not found, f"{name} has routes: of which services?"
        for method, path in found:
            yield from ((service, method, path) for service in owners)


def read_parameters():
    """The query parameters of the console's routes, by (method, path)."""
    return {row[:2]: set(row[2]) for name, text, _ in sources()
            if name.startswith("services/console/") for row in table_rows(text)}
