#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what a program is made of, in the JSON of SPDX 2.3: itself, and the packages of all shared
libraries that it loads.

    sbom.py PROGRAM VERSION ARCHITECTURE
"""

import hashlib
import json
import os
import pathlib
import re
import sys
import time

from linked import libraries

UNKNOWN = "NOASSERTION"


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def purl(library):
    return f"pkg:deb/debian/{library.package}@{library.version.replace('+', '%2B')}"


def package(library):
    return {"SPDXID": identifier(library.package), "name": library.package,
            "versionInfo": library.version, "downloadLocation": UNKNOWN, "filesAnalyzed": False,
            "licenseConcluded": UNKNOWN, "licenseDeclared": UNKNOWN, "copyrightText": UNKNOWN,
            "supplier": "Organization: Debian", "sourceInfo": f"source package {library.source}",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": purl(library)}]}


def created():
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def main(program, version, architecture):
    digest = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
    packages = {library.package: library for library in libraries(program, architecture)}
    reeve = {"SPDXID": "SPDXRef-reeve", "name": "reeve", "versionInfo": version,
             "downloadLocation": UNKNOWN, "filesAnalyzed": False, "licenseConcluded": "Apache-2.0",
             "licenseDeclared": "Apache-2.0", "copyrightText": UNKNOWN,
             "checksums": [{"algorithm": "SHA256", "checksumValue": digest}]}
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": "SPDXRef-reeve"}]
    relations += [{"spdxElementId": "SPDXRef-reeve", "relationshipType": "DYNAMIC_LINK",
                   "relatedSpdxElement": identifier(name)} for name in sorted(packages)]
    json.dump({"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
               "name": f"reeve-{version}-{architecture}",
               "documentNamespace": f"urn:reeve:{version}:{architecture}:{digest}",
               "creationInfo": {"creators": ["Tool: reeve packaging/sbom.py"],
                                "created": created()},
               "packages": [reeve] + [package(packages[name]) for name in sorted(packages)],
               "relationships": relations}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
