#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 180
// Workflows whose steps depend on data: what their graphs show of conditions, and what an order
// says about steps that were skipped, that failed on purpose, or whose failure was caught.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { World, fill, serious, waitFor } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const OFFER = `
Name: offer
Version: 1
Steps:
  - Name: Terms
    Set: {cents: "\${input.cents}", serial: 12345678901234567890}
  - Name: Refuse
    When: input.days > 60
    Fail: {Error: TooLate, Message: "\${input.days} days are too many"}
  - Name: Inspect
    When: output.Terms.cents > 10000
    Agent: warehouse
  - Name: Pay
    Agent: till
    Input: {cents: "\${output.Terms.cents}", serial: "\${output.Terms.serial}"}
  - Name: ShipOrder
    When: has(input.address)
    Agent: carrier
    Retry: []
    Catch: [{ErrorEquals: [States.ALL], Next: $continue}]
Output: {cents: "\${output.Terms.cents}", sent: "\${has(output.ShipOrder)}"}
`;

// Steps within steps.
const PARCELS = `
Name: parcels
Version: 1
Steps:
  - {Name: Split, Agent: warehouse}
  - Name: Each
    When: input.send
    ForEach: {Items: output.Split.parcels}
    Steps:
      - {Name: Pack, Agent: warehouse}
      - Name: Hand
        Steps:
          - {Name: Weigh, Agent: warehouse}
          - {Name: Label, Agent: carrier, After: [], Compensate: {Action: Void}}
  - {Name: Tell, Agent: till, Pivot: true}
`;

// An input that is so long as JSON.
function noted(length) {
  const input = { cents: 5000, days: 3, note: '' };
  return { ...input, note: 'x'.repeat(length - JSON.stringify(input).length) };
}

class DecisionsWorld extends World {
  async start() {
    const file = path.join(this.folder, 'offer.yaml');
    fs.writeFileSync(file, OFFER);
    this.workflows.push(file);
    const parcels = path.join(this.folder, 'parcels.yaml');
    fs.writeFileSync(parcels, PARCELS);
    this.workflows.push(parcels);
    await super.start();
    await this.faults([{ service: 'carrier', mode: 'decline', orders: ['caught-1'] }]);
    const order = (id, input) => this.submit([id], 'offer', { input });
    order('small-1', { cents: 5000, days: 3 });
    order('late-1', { cents: 5000, days: 99 });
    order('caught-1', { cents: 20000, days: 3, address: 'Malmö' });
    order('fits-1', noted(64 * 1024));
    order('cut-1', noted(64 * 1024 + 1));
    for (const id of ['small-1', 'fits-1', 'cut-1']) await this.until(id, 'Processed', 30);
    await this.until('late-1', 'Compensated', 30);
    await this.until('caught-1', 'Processed', 30);
  }
}

const world = new DecisionsWorld();
const panelOf = (page, name) => page.getByRole('region', { name, exact: true });
const nodeOf = (page, name) => page.locator('.graph .node').filter({ has: page.locator('.name', { hasText: name }) });
const resultOf = (page, step) => panelOf(page, 'Steps').getByRole('region', { name: 'Steps' }).locator('tbody tr')
  .filter({ has: page.locator('td[data-name=Step]', { hasText: step }) }).locator('td[data-name="Output or why none"]');

test('a_graph_shows_conditions_and_steps_without_agents', async ({ page, open }) => {
  await open('/workflows');
  const panel = panelOf(page, 'offer');
  const node = (name) => panel.locator('.graph .node').filter({ has: page.locator('.name', { hasText: name }) });
  assert.match(await node('Inspect').getAttribute('class'), /conditional/);
  assert.equal(await node('Inspect').locator('.when').textContent(), 'output.Terms.cents > 10000');
  assert.equal(await node('Inspect').locator('.diamond').count(), 1);
  assert.equal(await node('Pay').locator('.diamond').count(), 0);
  assert.doesNotMatch(await node('Pay').getAttribute('class'), /conditional/);
  const corners = async (name) => (await node(name).locator('polygon.box').getAttribute('points')).split(' ').length;
  assert.equal(await corners('Terms'), 6);
  assert.equal(await corners('Refuse'), 8);
  assert.equal(await node('Inspect').locator('rect.box').count(), 1);
  assert.equal(await node('Terms').locator('.agent').first().textContent(), 'Set');
  assert.equal(await node('Refuse').locator('.agent').first().textContent(), 'Fail: TooLate');
  const dash = (name) => node(name).locator('.box').evaluate((box) => getComputedStyle(box).strokeDasharray);
  assert.notEqual(await dash('Inspect'), 'none');
  assert.equal(await dash('Pay'), 'none');
  await panel.getByText('Steps of version 1').click();
  const row = (name) => panel.getByRole('region', { name: 'Steps' }).locator('tbody tr').filter({ has: page.locator('b', { hasText: name }) });
  assert.equal(await row('Refuse').locator('td[data-name=When]').textContent(), 'input.days > 60');
  assert.equal(await row('Pay').locator('td[data-name=When]').textContent(), 'always');
  assert.equal(await row('Refuse').locator('td[data-name=Agent]').textContent(), 'Fail: TooLate');
  assert.match(await row('ShipOrder').locator('td[data-name="When exhausted"]').textContent(), /^States\.ALL: go onotherwise: compensate$/);
  assert.deepEqual(await serious(page), []);
});

test('buttons_of_a_panel_do_not_touch', async ({ page, open }) => {
  await open('/workflows');
  const boxes = await panelOf(page, 'offer').locator('header .tools button').evaluateAll((all) =>
    all.map((each) => each.getBoundingClientRect()).map(({ left, right }) => ({ left, right })));
  assert.ok(boxes.length > 1);
  for (let i = 1; i < boxes.length; i++) assert.ok(boxes[i].left - boxes[i - 1].right >= 4, JSON.stringify(boxes));
});

test('a_skipped_step_says_which_condition_did_not_hold', async ({ page, open }) => {
  await open('/orders/small-1');
  assert.match(await nodeOf(page, 'Inspect').getAttribute('class'), /is-skipped/);
  assert.equal(await nodeOf(page, 'Inspect').locator('.state').textContent(), '– Skipped: When is false');
  assert.equal(await resultOf(page, 'Inspect').textContent(), 'When: output.Terms.cents > 10000');
  assert.equal(await resultOf(page, 'ShipOrder').textContent(), 'When: has(input.address)');
  assert.equal(await resultOf(page, 'Terms').textContent(), '{"cents":5000,"serial":12345678901234567890}');
  await panelOf(page, 'History').getByText('Inspect skipped: When: output.Terms.cents > 10000').first().waitFor();
});

test('a_graph_draws_the_steps_of_a_body_within_their_step', async ({ page, open }) => {
  await open('/workflows');
  const panel = panelOf(page, 'parcels');
  const svg = panel.locator('.graph > svg');
  const nodes = (parent) => parent.locator('> .node');
  const names = (parent) => nodes(parent).locator('> .name').allTextContents();
  assert.deepEqual(await names(svg), ['Split', 'Each', 'Tell']);
  const each = nodes(svg).nth(1);
  assert.equal(await each.locator('> .agent').first().textContent(), 'ForEach: output.Split.parcels');
  assert.deepEqual(await names(each.locator('> .body')), ['Pack', 'Hand']);
  const hand = nodes(each.locator('> .body')).nth(1);
  assert.equal(await hand.locator('> .agent').first().textContent(), 'Steps');
  assert.deepEqual(await names(hand.locator('> .body')), ['Weigh', 'Label']);
  assert.equal(await each.locator('> .body > .edge').count(), 1);
  assert.equal(await svg.locator('> .edge').count(), 2);
  const box = (node) => node.locator('> .box').boundingBox();
  const within = (inner, outer) => inner.x > outer.x && inner.y > outer.y &&
    inner.x + inner.width < outer.x + outer.width && inner.y + inner.height < outer.y + outer.height;
  assert.ok(within(await box(hand), await box(each)));
  assert.ok(within(await box(nodes(hand.locator('> .body')).nth(1)), await box(hand)));
  assert.ok(!within(await box(nodes(svg).nth(2)), await box(each)));
  const dash = (node) => node.locator('> .box').evaluate((of) => getComputedStyle(of).strokeDasharray);
  assert.notEqual(await dash(each), 'none');
  assert.equal(await dash(hand), 'none');
  await panel.getByText('Steps of version 1').click();
  assert.deepEqual(await panel.getByRole('region', { name: 'Steps' }).locator('tbody tr td[data-name=Step] b').allTextContents(),
    ['Split', 'Each', 'Each/Pack', 'Each/Hand', 'Each/Hand/Weigh', 'Each/Hand/Label', 'Tell']);
  assert.deepEqual(await serious(page), []);
});

test('long_data_is_cut_and_all_of_it_is_a_link_away', async ({ page, open }) => {
  const input = page.locator('details.panel section.data').filter({ has: page.locator('h3', { hasText: /^Input$/ }) });
  await open('/orders/fits-1');
  await page.getByText('Input and outputs').click();
  await input.locator('ul.tree').getByText('note').waitFor();
  assert.equal(await input.locator('pre').count(), 0);
  await open('/orders/cut-1');
  await page.getByText('Input and outputs').click();
  await input.getByText('Only the first 64 KiB are shown').waitFor();
  assert.equal(await input.locator('ul.tree').count(), 0);
  const json = JSON.stringify(noted(64 * 1024 + 1));
  assert.equal(await input.locator('pre').textContent(), json.slice(0, 64 * 1024));
  const link = input.getByRole('link', { name: 'All of it as JSON' });
  const [all] = await Promise.all([page.waitForEvent('popup'), link.click()]);
  await all.waitForLoadState();
  assert.equal(new URL(all.url()).pathname, '/api/orders/cut-1');
  assert.equal(JSON.stringify(JSON.parse(await all.locator('body').textContent()).input), json);
  await all.close();
  assert.deepEqual(await serious(page), []);
});

test('a_step_that_fails_on_purpose_shows_its_error', async ({ page, open }) => {
  await open('/orders/late-1');
  await resultOf(page, 'Refuse').getByText('TooLate').waitFor();
  await resultOf(page, 'Refuse').getByText('99 days are too many').waitFor();
  assert.equal(await nodeOf(page, 'Refuse').locator('.state').textContent(), '! Error: TooLate');
  assert.equal(await resultOf(page, 'Pay').textContent(), 'never started');
  assert.deepEqual(await page.locator('.timeline .mark.unstarted title').allTextContents().then((all) =>
    all.map((each) => each.split('\n')[0])), ['Refuse failed: TooLate: 99 days are too many (failure 1)']);
  assert.equal(await page.locator('.timeline .mark.hand').count(), 0);
  assert.equal(await page.locator('.timeline .mark.decided').count(), 4);
});

test('a_caught_step_shows_its_error_and_that_the_order_went_on', async ({ page, open }) => {
  await open('/orders/caught-1');
  assert.match(await nodeOf(page, 'ShipOrder').getAttribute('class'), /is-caught/);
  assert.match(await nodeOf(page, 'ShipOrder').locator('.state').textContent(), /^⤳ Caught: Ship/);
  assert.match(await resultOf(page, 'ShipOrder').textContent(), /^ShipmentRefused .*the order went on: a Catch matches ShipmentRefused$/);
  await page.getByText('Input and outputs').click();
  const data = page.locator('details.panel section.data');
  await data.filter({ hasText: 'Input of Pay' }).getByText('12345678901234567890').waitFor();
  await data.filter({ has: page.getByRole('heading', { name: 'Output', exact: true }) }).getByText('20000').waitFor();
  assert.deepEqual(await serious(page), []);
});

test('a_step_skipped_by_hand_says_by_whom_and_why', async ({ page, open }) => {
  await world.faults([{ service: 'carrier', mode: 'decline', orders: ['hand-1'] }]);
  world.submit(['hand-1'], 'parallel');
  await world.until('hand-1', 'Error', 30);
  await open('/orders/hand-1');
  await page.getByRole('button', { name: 'Skip step' }).click();
  const dialog = await fill(page, 'collected by the customer');
  await dialog.getByRole('button', { name: /^Skip step: / }).click();
  await dialog.getByText('1 accepted').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await waitFor('the reason', async () => /skipped by hand by olga: collected by the customer$/
    .test(await resultOf(page, 'ShipOrder').textContent()));
  assert.equal(await nodeOf(page, 'ShipOrder').locator('.state').textContent(), '– Skipped: by hand');
});

run(world);
