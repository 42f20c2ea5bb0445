#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stand-in for Grafana: reads the provisioning, checks it, and says at /api/health whether it is
right. GET /report shows of each dashboard's queries how many series they found.
"""

import http.server
import json
import os
import pathlib
import re
import urllib.parse
import urllib.request

import yaml

PROVISIONING = pathlib.Path("/etc/grafana/provisioning")


def provisioned(kind, key):
    """The entries of all files of one kind."""
    for path in sorted((PROVISIONING / kind).glob("*.y*ml")):
        content = yaml.safe_load(path.read_text())
        assert content["apiVersion"] == 1, path
        yield from content[key]


def sources():
    found = {}
    for source in provisioned("datasources", "datasources"):
        assert source["type"] == "prometheus" and source["access"] == "proxy", source
        found[source["uid"]] = source["url"]
    assert found, "no data source"
    return found


def dashboards():
    for provider in provisioned("dashboards", "providers"):
        paths = sorted(pathlib.Path(provider["options"]["path"]).glob("*.json"))
        assert paths, f"no dashboard for {provider['name']}"
        yield from (json.loads(path.read_text()) for path in paths)


def ask(url, expr):
    """How many series the query finds now; raises if Prometheus does not understand it."""
    expr = re.sub(r"\$__(rate_)?interval", "1m", expr)
    query = urllib.parse.urlencode({"query": expr})
    with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=10) as answer:
        return len(json.load(answer)["data"]["result"])


def report():
    urls = sources()
    found = {}
    for dashboard in dashboards():
        ids = [panel["id"] for panel in dashboard["panels"]]
        assert len(ids) == len(set(ids)), "panel ids are not unique"
        for panel in dashboard["panels"]:
            for target in panel.get("targets", []):
                url = urls[target["datasource"]["uid"]]
                found[f"{dashboard['title']}: {panel['title']}: {target['expr']}"] = ask(
                    url, target["expr"])
    return found


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status, body = 200, {"database": "ok"} if self.path == "/api/health" else report()
            if self.path == "/api/health":
                report()
        except Exception as error:  # whatever it is, it is the answer
            status, body = 503, {"error": repr(error)}
        data = json.dumps(body, indent=1).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    assert pathlib.Path(os.environ["GF_SECURITY_ADMIN_PASSWORD__FILE"]).read_text().strip()
    home = os.environ["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert json.loads(pathlib.Path(home).read_text())["title"]
    pathlib.Path("/var/lib/grafana/written").write_text("its folder can be written to")
    http.server.ThreadingHTTPServer(("0.0.0.0", 3000), Handler).serve_forever()
