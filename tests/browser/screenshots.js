#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Makes the pictures of the documentation, from a console with the orders of examples/data:
//
//     REEVE_NODE_MODULES=~/.cache/reeve/browser/node_modules node tests/browser/screenshots.js [NAME]
//
// They are written to docs/images, or to the folder REEVE_SCREENSHOTS. REEVE_SCREENSHOTS_THEME=dark
// and REEVE_SCREENSHOTS_WIDTH=400 make others, to look at.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { REEVE, World, waitFor } = require('./lib/world.js');

const OUTPUT = process.env.REEVE_SCREENSHOTS ?? path.resolve(__dirname, '../../docs/images');
const WIDTH = Number(process.env.REEVE_SCREENSHOTS_WIDTH ?? 1280);
const DATA = ['examples/data/online-retail-2010-12-01.csv',
  '--map', fs.readFileSync(path.resolve(__dirname, '../../examples/data/online-retail.map'), 'utf8').trim()];
const ERRORS = '/orders?state=Error&workflow=order-fulfilment';

const seconds = (n) => new Promise((wake) => setTimeout(wake, n * 1000));

async function orders(world) {
  world.reeve(['submit', '-'], JSON.stringify({ order_id: 'refund-1', workflow: 'refund',
    input: { sale: 's-7', cents: 20000, days: 20 } }));
  const files = Array.from({ length: 120 }, (_, nr) => ({ nr, name: `sales-${nr}.csv`,
    ...nr % 37 === 7 ? { bad: true } : {}, ...nr % 9 === 5 ? { ask: true } : {} }));
  world.reeve(['submit', '-'], JSON.stringify({ order_id: 'import-1', workflow: 'import', input: { files } }));
  await world.faults([
    { service: 'payment', mode: 'decline', action: 'TakePayment', share: 0.08 },
    { service: 'carrier', mode: 'decline', share: 0.07 },
    { service: 'stock', mode: '503-after', share: 0.15, times: 1 },
    { service: 'carrier', mode: 'slow', ms: 2500, share: 0.5 },
    { service: '*', mode: 'slow', ms: 300, share: 0.3 },
  ]);
  world.reeve(['import', ...DATA, '--workflow', 'order-fulfilment', '--rate', '8/s']);
  world.reeve(['import', ...DATA, '--workflow', 'parallel', '--prefix-id', 'web-', '--rate', '12/s', '--limit', '80']);
}

function schedules(world) {
  const order = { workflow: 'refund', input: { sale: 's-7', cents: 900, days: 20 } };
  const deployed = {
    'refill-carts': { EverySeconds: 5, Order: order },
    'nightly-report': { Cron: '0 3 * * *', TimeZone: 'Europe/Berlin', Order: order },
    'month-end': { Cron: '30 18 1 * *', TimeZone: 'Europe/London', CatchUpSeconds: 86400, Order: order },
  };
  for (const [name, fields] of Object.entries(deployed)) {
    const file = path.join(world.folder, `${name}.json`);
    fs.writeFileSync(file, JSON.stringify({ Schedule: name, ...fields }));
    world.reeve(['schedule', 'deploy', file]);
  }
  world.reeve(['schedule', 'pause', 'month-end', '--by', 'olga', '--reason', 'the books are closed']);
}

const first = async (world, query) => (await world.get(`/api/orders?limit=1&${query}`)).orders[0].order_id;

async function shoot(page, name, height = 820) {
  await page.setViewportSize({ width: WIDTH, height });
  await seconds(0.4);
  fs.mkdirSync(OUTPUT, { recursive: true });
  await page.screenshot({ path: path.join(OUTPUT, `console-${name}.png`) });
  console.log(`console-${name}.png`);
}

async function bulk(page, open) {
  await open(ERRORS);
  await page.getByLabel('Select all orders on this page').check();
  await page.getByRole('region', { name: 'Selected orders' }).getByRole('button', { name: 'Resubmit' }).click();
  await page.locator('dialog').getByLabel('Who decides this').fill('olga');
  await page.locator('dialog').getByLabel('Reason').fill('the carrier is back');
  await page.locator('dialog').getByRole('button', { name: /^Resubmit: / }).click();
  await page.locator('dialog').getByText(/accepted, 0 refused\.$/).waitFor();
  await waitFor('all are sent', () => page.getByRole('button', { name: 'Copy results' }).isVisible());
}

async function pictures(world, page, open) {
  const failed = await first(world, 'state=Error&workflow=order-fulfilment');
  const undone = await first(world, 'state=Compensated&workflow=order-fulfilment');
  const { entries } = await world.get(`/api/orders/${undone}/history`);
  const turn = entries.find((entry) => entry.state === 'Compensating');
  const shots = {
    overview: async () => {
      const importing = world.launch('import', REEVE,
        ['import', ...DATA, '--workflow', 'parallel', '--prefix-id', 'app-', '--rate', '14/s', '--config', world.client]);
      await open('/');
      await seconds(8);
      await shoot(page, 'overview', 960);
      await importing.ended;
    },
    orders: async () => {
      await open('/orders');
      await shoot(page, 'orders', 700);
    },
    order: async () => {
      await open(`/orders/${failed}`);
      await shoot(page, 'order', 1000);
    },
    decisions: async () => {
      await world.until('refund-1', 'Processed', 60);
      await open('/orders/refund-1');
      await page.getByText('Input and outputs').click();
      await page.locator('#panel-workflow').evaluate((node) => window.scrollTo(0, node.getBoundingClientRect().top + scrollY - 70));
      await shoot(page, 'decisions', 920);
    },
    suborders: async () => {
      await open('/orders/import-1');
      const panel = page.getByRole('region', { name: 'Sub-orders', exact: true });
      await panel.evaluate((node) => window.scrollTo(0, node.getBoundingClientRect().top + scrollY - 70));
      await shoot(page, 'suborders', 760);
    },
    'time-travel': async () => {
      await open(`/orders/${undone}?at=${turn.offset}`);
      await page.getByRole('region', { name: 'What changed' }).waitFor();
      await page.locator('#panel-workflow').evaluate((node) => window.scrollTo(0, node.getBoundingClientRect().top + scrollY - 70));
      await shoot(page, 'time-travel', 900);
    },
    timeline: async () => {
      await open(`/orders/${undone}`);
      await page.locator('#panel-timeline').evaluate((node) => window.scrollTo(0, node.getBoundingClientRect().top + scrollY - 70));
      await shoot(page, 'timeline', 720);
    },
    recovery: async () => {
      await open('/recovery');
      await shoot(page, 'recovery', 560);
    },
    partitions: async () => {
      await open('/partitions');
      await shoot(page, 'partitions', 560);
    },
    workflows: async () => {
      await open('/workflows');
      await shoot(page, 'workflows', 640);
    },
    schedules: async () => {
      schedules(world);
      await waitFor('a tick has an order', async () => (await world.get('/api/schedules')).schedules
        .some((schedule) => schedule.last.length > 3));
      await open('/schedules');
      await shoot(page, 'schedules', 1120);
    },
    agents: async () => {
      await open('/agents');
      await shoot(page, 'agents', 600);
    },
    health: async () => {
      await open('/health');
      await shoot(page, 'health', 640);
    },
    bulk: async () => {
      await world.faults([]);
      await bulk(page, open);
      await shoot(page, 'bulk', 760);
    },
  };
  for (const [name, make] of Object.entries(shots)) if (name.includes(process.argv[2] ?? '')) await make();
}

async function main() {
  const world = new World();
  const refund = path.join(world.folder, 'refund.yaml');
  // Of an agent that is simulated: the shop knows other payments.
  fs.writeFileSync(refund, fs.readFileSync('examples/workflows/refund.yaml', 'utf8').replace('Agent: payment', 'Agent: till'));
  world.workflows.push(refund, 'tests/browser/lib/import.yaml');
  try {
    await world.start();
    await orders(world);
    await world.each(({ page, open }) => pictures(world, page, open),
      { viewport: { width: WIDTH, height: 820 }, colorScheme: process.env.REEVE_SCREENSHOTS_THEME ?? 'light' });
  } finally {
    await world.stop();
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
