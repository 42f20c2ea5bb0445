// SPDX-License-Identifier: Apache-2.0
// Submits an order with types that are generated from submission.yaml, waits for its end, and has
// the console list the orders of its workflow. ../README.md says how the types are made.
//
//     node order.js SUBMISSION-URL CONSOLE-URL WORKFLOW ORDER-ID

import createClient from "openapi-fetch";

import type { paths as ConsolePaths } from "./console.js";
import type { components, paths as SubmissionPaths } from "./submission.js";

type Order = components["schemas"]["Order"];
type NewOrder = components["schemas"]["NewOrder"];

const ended = ["Processed", "Compensated", "Error"];

function headersOf(role: string): Record<string, string> {
  const token = process.env[`REEVE_${role}_TOKEN`];
  return token ? { Authorization: `Bearer ${token}` } : {};
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

async function main([submissionUrl, consoleUrl, workflow, orderId]: string[]): Promise<void> {
  const submission = createClient<SubmissionPaths>({
    baseUrl: submissionUrl,
    headers: headersOf("SUBMITTER"),
  });
  const operators = createClient<ConsolePaths>({
    baseUrl: consoleUrl,
    headers: headersOf("VIEWER"),
  });

  // Until it is accepted: the same order submitted twice counts once.
  async function submit(order: NewOrder): Promise<void> {
    const { error, response } = await submission.POST("/orders", { body: order });
    if (response.status === 503) {
      await pause(1);
      return submit(order);
    }
    if (error) {
      const why = typeof error === "string" ? error : error.detail;
      throw new Error(`${order.order_id} is refused: ${why}`);
    }
  }

  async function wait(id: string): Promise<Order> {
    const { data } = await submission.GET("/orders/{id}", {
      params: { path: { id }, query: { wait: "60s" } },
    });
    return data && ended.includes(data.state) ? data : wait(id);
  }

  await submit({ order_id: orderId, workflow, input: { gift: true } });
  const order = await wait(orderId);
  console.log(order.order_id, order.state, ...order.steps.map((step) => step.step));
  const { data } = await operators.GET("/api/orders", { params: { query: { workflow } } });
  console.log(data?.orders.length, "orders of", workflow);
}

main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
