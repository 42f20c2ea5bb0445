// SPDX-License-Identifier: Apache-2.0
//
// Restate's load for scripts/bench-peers: `restate_load.mjs PORT WORKFLOW N` keeps N runs in flight
// until standard input ends, and prints a line for each (tools/peers/load.py describes the lines).
// The server answers a request when its run has completed.

import http from "node:http";
import { randomUUID } from "node:crypto";

const RETRY_MS = 20;
const DRAIN_MS = 30000;
const [port, workflow] = process.argv.slice(2);
const inFlight = Number(process.argv[4]);
const agent = new http.Agent({ keepAlive: true, maxSockets: inFlight });
const open = new Map();
const failures = new Map();
let ends = false;

const micros = () => Math.round((performance.timeOrigin + performance.now()) * 1000);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The status, or the name of the failure.
function request(method, path) {
  return new Promise((resolve) => {
    const fail = (error) => resolve(error.code ?? error.name);
    const options = { agent, method, host: "127.0.0.1", port, path };
    const sent = http.request(options, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode));
      answer.on("error", fail);
    });
    sent.on("error", fail);
    sent.end();
  });
}

// 409: a start whose answer was lost has made the run.
async function runOne() {
  const id = randomUUID();
  open.set(id, micros());
  while (true) {
    let status = await request("POST", `/${workflow}/${id}/run`);
    if (status === 409) status = await request("GET", `/restate/workflow/${workflow}/${id}/attach`);
    if (status === 200) break;
    failures.set(status, (failures.get(status) ?? 0) + 1);
    await pause(RETRY_MS);
  }
  console.log(`${open.get(id)} ${micros()}`);
  open.delete(id);
}

async function keepRunning() {
  while (!ends) await runOne();
}

const all = Promise.all(Array.from({ length: inFlight }, keepRunning));
process.stdin.resume();
process.stdin.on("end", async () => {
  ends = true;
  await Promise.race([all, pause(DRAIN_MS)]);
  for (const begun of open.values()) console.log(`${begun} -`);
  for (const [kind, count] of failures) console.log(`! ${kind} ${count}`);
  process.stdout.write("", () => process.exit(0));
});
