// SPDX-License-Identifier: Apache-2.0
// Prints the conformance cases of CEL, one JSON object a line: a SimpleTest in protobuf's JSON form,
// with the `path` of its suites. NODE_PATH is where the packages of package.json are.
"use strict";

const { tests } = require("@bufbuild/cel-spec/testdata/conformance.js");

function print(suite, path) {
  for (const test of suite.tests || [])
    console.log(JSON.stringify({ path: path.join("/"), ...test.original }));
  for (const child of suite.suites || []) print(child, [...path, child.name]);
}

print(tests, []);
