// SPDX-License-Identifier: Apache-2.0
// Runs the test cases of a program one after another and reports them in the Test Anything
// Protocol, which scripts/test-suite counts.
'use strict';

const CASE_MS = 100000; // a second or two each, unless the machine is busy
const cases = [];

exports.test = (name, body) => cases.push({ name, body });

async function within(ms, what, promise) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not finished after ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

// world: {start(), stop(), each(body)}; `each` gives a case what it needs. With a word on the
// command line, only the cases whose name contains it run.
exports.run = async (world) => {
  const chosen = cases.filter(({ name }) => name.includes(process.argv[2] ?? ''));
  console.log(`1..${chosen.length}`);
  process.exitCode = 1;
  try {
    await within(120000, 'start', world.start());
    let failed = 0;
    for (const { name, body } of chosen) {
      const began = Date.now();
      try {
        await within(CASE_MS, name, world.each(body));
        console.log(`ok - ${name} (${Date.now() - began} ms)`);
      } catch (error) {
        failed++;
        console.log(`not ok - ${name}`);
        console.log(String(error?.stack ?? error).replace(/^/gm, '# '));
      }
    }
    process.exitCode = failed ? 1 : 0;
  } catch (error) {
    console.log(`# ${error?.stack ?? error}`);
  } finally {
    await world.stop();
  }
};
