#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 180
// What operators vouch for and end by hand, around the pivot: keys, effects, and the way back; and a
// step whose agent is gone.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { World, fill, waitFor } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const WORKFLOW = `
Name: delivery
Version: 1
TimeoutSeconds: 300
Defaults:
  OnExhausted: error
Steps:
  - Name: Pack
    Agent: courier
    After: []
    Compensate:
      Action: Unpack
  - Name: HandOver
    Agent: courier
    Pivot: true
  - Name: Notify
    Agent: courier
`;

// A service that answers at once, or fails by callback with the effect that the test asked for.
class Courier {
  constructor() {
    this.failures = new Map(); // "order/action" -> effect
    this.keys = [];
    this.server = http.createServer((request, response) => this.answer(request, response));
  }

  async listen() {
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${this.server.address().port}/courier`;
  }

  async answer(request, response) {
    let text = '';
    for await (const chunk of request) text += chunk;
    if (request.method !== 'POST') return response.end();
    const { order_id, action, idempotency_key } = JSON.parse(text);
    this.keys.push(idempotency_key);
    const effect = this.failures.get(`${order_id}/${action}`);
    if (!effect) return response.end('{}');
    response.writeHead(202).end();
    return fetch(request.headers['reeve-callback'], { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ outcome: 'failed', error: 'Courier.Failed', message: `effect ${effect}`, effect }) });
  }
}

class DeliveryWorld extends World {
  async start() {
    this.courier = new Courier();
    const file = path.join(this.folder, 'delivery.yaml');
    fs.writeFileSync(file, WORKFLOW);
    this.workflows = [file];
    this.devFlags = ['--agent', `courier=${await this.courier.listen()}`];
    await super.start();
  }

  async stop() {
    await super.stop();
    this.courier.server.closeAllConnections();
    this.courier.server.close();
  }

  // Orders in Error after a step that failed with this effect; the courier has recovered since.
  async failedAt(action, effect, ids) {
    const names = ids.map((id) => `${id}/${action}`);
    names.forEach((name) => this.courier.failures.set(name, effect));
    this.submit(ids, 'delivery');
    for (const id of ids) await this.until(id, 'Error', 30);
    names.forEach((name) => this.courier.failures.delete(name));
  }
}

const world = new DeliveryWorld();
const actions = (page) => page.getByRole('group', { name: 'Actions' });
const NO_WAY_BACK = /the order can no longer be undone/;

async function actByHand(page, label, id) {
  await actions(page).getByRole('button', { name: label }).click();
  const dialog = await fill(page, 'by hand');
  await dialog.getByRole('button', { name: `${label}: order ${id}` }).click();
  await dialog.getByText('1 accepted, 0 refused').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
}

test('asks_for_the_step_that_had_no_effect_in_several_orders', async ({ page, open }) => {
  const ids = ['vouch-1', 'vouch-2'];
  await world.failedAt('Pack', 'unknown', ids);
  await open('/orders?state=Error&id_prefix=vouch-');
  for (const id of ids) await page.getByLabel(`Select order ${id}`).check();
  await page.getByRole('region', { name: 'Selected orders' }).getByRole('button', { name: 'Resubmit' }).click();
  const dialog = await fill(page, 'no parcel left');
  await dialog.getByLabel('I verified that no attempt had an effect').check();
  const step = dialog.getByLabel('Step without effect');
  assert.equal(await step.inputValue(), 'Pack'); // a first guess
  await step.fill('');
  await dialog.getByRole('button', { name: 'Resubmit: 2 orders' }).click();
  await dialog.getByText('Step without effect: expected its name, for several orders').waitFor();
  assert.equal(await dialog.locator('.summary').count(), 0);
  await step.fill('Pack');
  assert.equal(await dialog.locator('.command code').textContent(),
    `reeve resubmit --step Pack --nothing-applied --reason 'no parcel left' --by olga -- ${ids.join(' ')}`);
  await dialog.getByRole('button', { name: 'Resubmit: 2 orders' }).click();
  await dialog.getByText('2 of 2 sent: 2 accepted, 0 refused.').waitFor();
  for (const id of ids) {
    await world.until(id, 'Processed');
    assert.deepEqual(world.courier.keys.filter((key) => key.startsWith(`${id}/Pack/`)),
      [`${id}/Pack/do/0`, `${id}/Pack/do/1`]);
  }
});

test('says_in_one_line_that_an_effect_remains', async ({ page, open }) => {
  await world.failedAt('Pack', 'applied', ['remains-1']);
  await open('/orders/remains-1');
  await actions(page).getByRole('button', { name: 'Resubmit' }).click();
  const dialog = await fill(page, 'no parcel was found');
  const nothing = dialog.getByLabel('I verified that no attempt had an effect');
  await nothing.check();
  await dialog.getByRole('button', { name: 'Resubmit: order remains-1' }).click();
  await dialog.getByText('1 of 1 sent: 0 accepted, 1 refused.').waitFor();
  assert.deepEqual(await dialog.locator('.results li.bad').allTextContents(), ['✗ refused: remains-1  ' +
    'an attempt of step Pack was applied: `reeve step complete remains-1 Pack`, or resubmit it without --nothing-applied']);
  await nothing.uncheck();
  await dialog.getByRole('button', { name: 'Resubmit: order remains-1' }).click();
  await dialog.getByText('1 of 1 sent: 1 accepted, 0 refused.').waitFor();
  await world.until('remains-1', 'Processed');
  assert.deepEqual(world.courier.keys.filter((key) => key.startsWith('remains-1/Pack/')),
    ['remains-1/Pack/do/0', 'remains-1/Pack/do/0']);
});

// In each, the pivot is refused and ended by hand, and the step after it fails with this effect.
for (const { label, id, effect, why } of [
  { label: 'Skip step', id: 'back-1', effect: 'none', why: null },
  { label: 'Skip step', id: 'back-2', effect: 'unknown', why: 'step Notify after the pivot HandOver has started: the order can no longer be undone' },
  { label: 'Complete step', id: 'back-3', effect: 'none', why: 'the pivot HandOver has started: the order can no longer be undone' },
]) {
  const name = `${why ? 'says_why_there_is_no_way_back' : 'keeps_the_way_back'}_after_${label.toLowerCase().replace(' ', '_')}_and_effect_${effect}`;
  test(name, async ({ page, open }) => {
    await world.failedAt('HandOver', 'none', [id]);
    await open(`/orders/${id}`);
    await actions(page).getByRole('button', { name: 'Cancel' }).waitFor();
    assert.equal(await page.getByText(NO_WAY_BACK).count(), 0);
    world.courier.failures.set(`${id}/Notify`, effect);
    await actByHand(page, label, id);
    await world.until(id, 'Error');
    await page.locator('.title .badge').filter({ hasText: 'Error' }).waitFor();
    await page.getByText(`effect ${effect}`).first().waitFor();
    const names = await actions(page).getByRole('button').allTextContents();
    assert.deepEqual(names.filter((each) => ['Cancel', 'Compensate'].includes(each)), why ? [] : ['Compensate', 'Cancel']);
    if (!why) {
      assert.equal(await page.getByText(NO_WAY_BACK).count(), 0);
      return;
    }
    // In the words with which the scheduler refuses it.
    const refused = await world.post(`/api/orders/${id}/cancel`, { by: 'olga', reason: 'too late' });
    assert.equal(refused.status, 409);
    assert.equal((await refused.json()).detail, why);
    assert.equal(await page.getByText(NO_WAY_BACK).textContent(), `${why[0].toUpperCase()}${why.slice(1)}.`);
  });
}

// The last case: nothing performs steps after it.
test('shows_that_a_step_waits_for_its_agent', async ({ page, open }) => {
  await world.stopAgent('courier');
  world.submit(['queue-1'], 'delivery');
  await waitFor('the step is queued', async () => {
    const order = await world.get('/api/orders/queue-1');
    return order?.steps[0].queued_at && order.steps[0].retry_at;
  });
  await open('/orders?id_prefix=queue-');
  await page.locator('#page tbody tr').getByText('Pack waits for an agent').waitFor();
  await open('/orders/queue-1');
  await page.locator('.graph .node').filter({ hasText: 'waits for an agent' }).waitFor();
  await page.getByText('waits since').waitFor();
});

run(world);
