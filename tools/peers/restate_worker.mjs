// SPDX-License-Identifier: Apache-2.0
//
// Restate's worker for scripts/bench-peers: `restate_worker.mjs PORT` serves two workflows of three
// steps. Those of `steps` are blocks of its own handler, which the server journals; those of `calls`
// are calls of another handler, which the server makes.

import * as restate from "@restatedev/restate-sdk";
import http2 from "node:http2";

const STEPS = ["First", "Second", "Third"];

const nothing = restate.service({
  name: "nothing",
  handlers: { run: async () => "" },
});

const steps = restate.workflow({
  name: "steps",
  handlers: {
    run: async (context) => {
      for (const step of STEPS) await context.run(step, () => "");
      return "";
    },
  },
});

const calls = restate.workflow({
  name: "calls",
  handlers: {
    run: async (context) => {
      for (const _ of STEPS) await context.serviceClient(nothing).run();
      return "";
    },
  },
});

// Its own `listen` would do so on all addresses.
const endpoint = restate.endpoint().bind(nothing).bind(steps).bind(calls).setLogger(() => {});
http2.createServer(endpoint.http2Handler()).listen(Number(process.argv[2]), "127.0.0.1");
