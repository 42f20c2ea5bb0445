#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 270
// The work of operators: actions for one order and for many, refusals, and what they see live.
'use strict';

const assert = require('node:assert/strict');
const { World, fill, waitFor } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const DECLINED = (orders) => ({ service: 'carrier', mode: 'decline', orders });
const world = new World();

// Orders that wait for an operator at ShipOrder, the shop being well again.
async function failedOrders(ids, workflow = 'parallel') {
  await world.faults([DECLINED(ids)]);
  world.submit(ids, workflow);
  for (const id of ids) await world.until(id, 'Error', 30);
  await world.faults([]);
}

const rows = (page) => page.locator('#page tbody tr');
const state = (page, name) => page.locator('.title .badge').filter({ hasText: name }).waitFor();

test('the_list_shows_new_orders_live', async ({ page, open }) => {
  await open('/orders?id_prefix=live-');
  await page.locator('#live.live').waitFor();
  await page.getByText('No order matches these filters.').waitFor();
  world.submit(['live-1'], 'parallel');
  await page.getByRole('link', { name: 'live-1' }).waitFor({ timeout: 8000 });
});

// Without a window every tab is visible: this makes one believe that it is not.
const hide = (tab, hidden) => tab.evaluate((value) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
  document.dispatchEvent(new Event('visibilitychange'));
}, hidden);

test('hidden_tabs_leave_their_connections_to_the_others', async ({ page, open, context }) => {
  const tabs = [];
  for (let i = 0; i < 7; i++) { // more than a browser's connections to a host
    tabs.push(await context.newPage());
    await world.open(tabs[i], '/orders?id_prefix=tab-');
    await tabs[i].locator('#live.live').waitFor({ timeout: 20000 });
    await hide(tabs[i], true);
  }
  await open('/orders?id_prefix=tab-');
  world.submit(['tab-1'], 'parallel');
  await page.getByRole('link', { name: 'tab-1' }).waitFor({ timeout: 8000 });
  assert.equal(await tabs[0].getByRole('link', { name: 'tab-1' }).count(), 0);
  await hide(tabs[0], false);
  await tabs[0].getByRole('link', { name: 'tab-1' }).waitFor({ timeout: 8000 });
  await tabs[0].locator('#live.live').waitFor();
  world.submit(['tab-2'], 'parallel');
  await tabs[0].getByRole('link', { name: 'tab-2' }).waitFor({ timeout: 8000 });
});

test('an_order_follows_its_events_live', async ({ page, open }) => {
  await world.faults([{ service: 'carrier', mode: 'slow', ms: 2500, orders: ['live-2'] }]);
  world.submit(['live-2'], 'parallel');
  await world.until('live-2', 'Processing');
  await open('/orders/live-2');
  await state(page, 'Processing');
  await state(page, 'Processed');
  await world.faults([]);
});

test('resubmits_one_order_and_shows_the_outcome', async ({ page, open }) => {
  await failedOrders(['one-1']);
  await open('/orders/one-1');
  await page.getByRole('button', { name: 'Resubmit', exact: true }).click();
  const dialog = await fill(page, 'the carrier is back');
  assert.equal(await dialog.locator('.command code').textContent(), "reeve resubmit --reason 'the carrier is back' --by olga -- one-1");
  await dialog.getByRole('button', { name: 'Resubmit: order one-1' }).click();
  await dialog.getByText('1 of 1 sent: 1 accepted, 0 refused.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await state(page, 'Processed');
  await page.getByText('ShipOrder resubmitted by olga: the carrier is back').first().waitFor();
});

test('asks_for_who_and_why_and_remembers_who', async ({ page, open, context }) => {
  await failedOrders(['who-1', 'who-2']);
  await open('/orders/who-1');
  await page.getByRole('button', { name: 'Resubmit', exact: true }).click();
  const dialog = page.locator('dialog');
  await dialog.getByRole('button', { name: 'Resubmit: order who-1' }).click();
  assert.equal(await dialog.getByLabel('Who decides this').evaluate((field) => field.validity.valueMissing), true);
  await fill(page, 'checked');
  await dialog.getByRole('button', { name: 'Resubmit: order who-1' }).click();
  await dialog.getByText('1 accepted').waitFor();
  const second = await context.newPage();
  await world.open(second, '/orders/who-2');
  await second.getByRole('button', { name: 'Compensate' }).waitFor({ state: 'attached', timeout: 3000 }).catch(() => null);
  await second.getByRole('button', { name: 'Pause' }).click();
  assert.equal(await second.getByLabel('Who decides this').inputValue(), 'olga');
  assert.equal(await second.getByLabel('Reason').evaluate((field) => field === document.activeElement), true);
});

test('shows_the_reason_of_a_refusal', async ({ page, open }) => {
  await failedOrders(['late-1']);
  await open('/orders/late-1');
  await page.getByRole('button', { name: 'Resubmit', exact: true }).click();
  const dialog = await fill(page, 'again');
  const answer = await world.post('/api/orders/late-1/resubmit', { by: 'pete', reason: 'was faster' });
  assert.equal(answer.status, 200);
  await world.until('late-1', 'Processed');
  await dialog.getByRole('button', { name: 'Resubmit: order late-1' }).click();
  await dialog.getByText('0 accepted, 1 refused').waitFor();
  await dialog.getByText('the order is Processed').waitFor();
});

test('completes_skips_and_fails_steps_by_hand', async ({ page, open }) => {
  await failedOrders(['hand-1', 'hand-2']);
  await open('/orders/hand-1');
  await page.getByRole('button', { name: 'Complete step' }).click();
  let dialog = await fill(page, 'sent by courier');
  assert.deepEqual(await dialog.locator('select[name=step] option').allTextContents(), ['ShipOrder']);
  await dialog.getByLabel('Output (optional)').fill('{"parcel"');
  await dialog.getByRole('button', { name: 'Complete step: order hand-1' }).click();
  await dialog.getByText('Output: expected JSON').waitFor();
  await dialog.getByLabel('Output (optional)').fill('{"parcel": 12345678901234567890}');
  await dialog.getByRole('button', { name: 'Complete step: order hand-1' }).click();
  await dialog.getByText('1 accepted').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await state(page, 'Processed');
  await page.locator('.graph .node').filter({ hasText: 'Processed: by hand' }).waitFor();
  await page.locator('.legend').getByText('ended by hand').waitFor();
  await page.getByText('Input and outputs').click();
  await page.locator('.tree').getByText('12345678901234567890').waitFor();
  await open('/orders/hand-2');
  await page.getByRole('button', { name: 'Skip step' }).click();
  dialog = await fill(page, 'collected in person');
  await dialog.getByRole('button', { name: 'Skip step: order hand-2' }).click();
  await dialog.getByText('1 accepted').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await state(page, 'Processed');
  await page.locator('.graph .node.is-skipped').waitFor();
});

// The steps before the one in Error were sent the whole order: the scheduler refuses it.
test('asks_for_the_whole_new_input_of_an_order_in_error', async ({ page, open }) => {
  await failedOrders(['amend-1']);
  await open('/orders/amend-1');
  await page.getByRole('button', { name: 'Amend input' }).click();
  const dialog = await fill(page, 'a typing error');
  assert.equal(await dialog.getByLabel('Input').inputValue(), 'null');
  await dialog.getByLabel('Input').fill('{"amount": 12');
  await dialog.getByRole('button', { name: 'Amend input: order amend-1' }).click();
  await dialog.getByText('Input: expected JSON').waitFor();
  await dialog.getByLabel('Input').fill('{"amount": 12.5}');
  await dialog.getByText('reeve orders amend').waitFor();
  await dialog.getByRole('button', { name: 'Amend input: order amend-1' }).click();
  await dialog.getByText('0 accepted, 1 refused').waitFor();
  await dialog.getByText('reads the whole input').waitFor();
  await open('/orders?id_prefix=amend-');
  await page.getByLabel('Select order amend-1').check();
  const selected = page.getByRole('region', { name: 'Selected orders' });
  await selected.getByRole('button', { name: 'Pause' }).waitFor();
  assert.equal(await selected.getByRole('button', { name: 'Amend input' }).count(), 0);
});

test('offers_no_amendment_in_a_browser_that_rounds_numbers', async ({ page, open }) => {
  await failedOrders(['amend-2']);
  await page.addInitScript(() => { delete JSON.rawJSON; });
  await open('/orders/amend-2');
  await page.getByText('This browser rounds long numbers').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Amend input' }).isDisabled());
  assert.ok(await page.getByRole('button', { name: 'Resubmit' }).isEnabled());
});

test('pauses_and_resumes_an_order', async ({ page, open }) => {
  await failedOrders(['pause-1']);
  await open('/orders/pause-1');
  await page.getByRole('button', { name: 'Pause' }).click();
  let dialog = await fill(page, 'the customer called');
  await dialog.getByRole('button', { name: 'Pause: order pause-1' }).click();
  await dialog.getByText('1 accepted').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await state(page, 'Error, paused');
  await page.getByText('the customer called').first().waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  dialog = await fill(page, 'settled');
  await dialog.getByRole('button', { name: 'Resume: order pause-1' }).click();
  await dialog.getByText('1 accepted').waitFor();
});

test('acts_on_the_selected_orders_only', async ({ page, open }) => {
  await failedOrders(['some-1', 'some-2', 'some-3']);
  await open('/orders?state=Error&id_prefix=some-');
  await waitFor('three orders', async () => (await rows(page).count()) === 3);
  await page.getByLabel('Select order some-1').check();
  await page.getByLabel('Select order some-3').check();
  await page.getByRole('region', { name: 'Selected orders' }).getByRole('button', { name: 'Compensate' }).waitFor();
  await page.getByRole('region', { name: 'Selected orders' }).getByRole('button', { name: 'Resubmit' }).click();
  const dialog = await fill(page, 'fixed');
  await dialog.getByRole('button', { name: 'Resubmit: 2 orders' }).click();
  await dialog.getByText('2 of 2 sent: 2 accepted, 0 refused.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await world.until('some-1', 'Processed');
  await world.until('some-3', 'Processed');
  assert.equal((await world.get('/api/orders/some-2')).state, 'Error');
  await waitFor('one order is left', async () => (await rows(page).count()) === 1);
});

test('acts_on_all_orders_that_match', async ({ page, open }) => {
  const ids = Array.from({ length: 60 }, (_, i) => `all-${i}`);
  await failedOrders(ids);
  await open('/orders?state=Error&id_prefix=all-');
  await waitFor('a full page', async () => (await rows(page).count()) === 50);
  await page.getByLabel('Select all orders on this page').check();
  await page.getByText('50 orders selected').waitFor();
  await page.getByRole('button', { name: 'Select all 60 that match' }).click();
  await page.getByRole('region', { name: 'Selected orders' }).getByRole('button', { name: 'Resubmit' }).click();
  const dialog = await fill(page, 'the carrier is back');
  assert.match(await dialog.locator('.command code').textContent(), /^reeve resubmit --prefix all- --state Error .*--yes$/);
  await dialog.getByRole('button', { name: 'Resubmit: 60 orders' }).click();
  await dialog.getByText('60 of 60 sent: 60 accepted, 0 refused.').waitFor({ timeout: 30000 });
  for (const id of ids) await world.until(id, 'Processed');
  assert.equal(await dialog.locator('.results li').count(), 60);
});

test('recovers_all_orders_of_a_cause', async ({ page, open }) => {
  await failedOrders(['cause-1', 'cause-2'], 'order-fulfilment');
  await open('/recovery');
  const row = rows(page).filter({ hasText: 'order-fulfilment' }).filter({ hasText: 'ShipmentRefused' }).first();
  await row.getByRole('button', { name: 'Resubmit' }).click();
  const dialog = await fill(page, 'repaired');
  await dialog.getByRole('button', { name: /^Resubmit: / }).click();
  await dialog.getByText('2 of 2 sent: 2 accepted, 0 refused.').waitFor();
  await world.until('cause-1', 'Processed');
  await world.until('cause-2', 'Processed');
});

test('pauses_and_resumes_an_agent', async ({ page, open }) => {
  await open('/agents');
  const panel = page.getByRole('region', { name: 'carrier', exact: true });
  await panel.getByRole('button', { name: 'Pause' }).click();
  let dialog = await fill(page, 'the carrier moves');
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await panel.getByText('the carrier moves').waitFor();
  await panel.getByRole('button', { name: 'Resume' }).click();
  dialog = await fill(page, 'moved');
  await dialog.getByRole('button', { name: 'Resume', exact: true }).click();
  await panel.getByRole('button', { name: 'Pause' }).waitFor();
});

test('shows_and_discards_dead_letters', async ({ page, open }) => {
  world.produce('orders.submissions', 'dead-1', 'this is not an order');
  await waitFor('the dead letter', async () => (await world.get('/api/dead-letters')).dead_letters.length === 1);
  await open('/recovery');
  const row = page.getByRole('region', { name: 'Dead letters' }).locator('tbody tr').first();
  await row.waitFor();
  assert.match(await row.textContent(), /orders\.submissions/);
  assert.match(await page.locator('.title p').textContent(), /1 open dead letter/);
  await row.locator('button.as-link').click();
  await page.getByText('74 68 69 73 20 69 73 20  6e 6f 74').waitFor();
  assert.match(await page.locator('dialog .command code').textContent(), /^reeve dead-letters get -- \d+:\d+$/);
  await page.keyboard.press('Escape');
  await row.getByRole('button', { name: 'Replay' }).click();
  await page.getByLabel('Corrected value (optional)').fill('{"order_id": ');
  assert.match(await page.locator('dialog .command code').textContent(), /--json \/dev\/stdin -- \d+:\d+ <<'END'\n\{"order_id":\nEND$/);
  await fill(page, 'a typing error');
  await page.locator('dialog').getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText('Corrected value: expected JSON').waitFor();
  await page.keyboard.press('Escape');
  await row.getByRole('button', { name: 'Discard' }).click();
  const dialog = await fill(page, 'a test');
  await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
  await page.getByText('There are no dead letters.').waitFor();
});

test('a_dialog_keeps_and_returns_the_focus', async ({ page, open }) => {
  await failedOrders(['focus-1']);
  await open('/orders/focus-1');
  await page.getByRole('button', { name: 'Pause' }).click();
  assert.equal(await page.evaluate(() => document.querySelector('dialog').contains(document.activeElement)), true);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Pause');
});

// ---- many orders: those that are selected, and all that match ----

const MANY = 51; // one more than a page shows
const idsWith = (prefix) => Array.from({ length: MANY }, (_, i) => `${prefix}${i}`);
const MANY_IDS = [...idsWith('bulk-undo-'), ...idsWith('bulk-gone-')];
let made = null;

const getOrder = (id) => world.reeveJson(['orders', 'get', id]);
const stepOf = (order, name) => order.steps.find((step) => step.step === name);
const selection = (page) => page.getByRole('region', { name: 'Selected orders' });
const summary = (page, text) => page.locator('dialog .summary').filter({ hasText: text }).waitFor({ timeout: 60000 });

async function countOf(filters, wanted) {
  await waitFor(`${wanted} orders with ${JSON.stringify(filters)}`, async () =>
    (await world.get(`/api/orders/count?${new URLSearchParams(filters)}`))?.orders === wanted, 60);
}

// Orders whose ShipOrder waits for the agent carrier, which stays paused.
function manyOrders() {
  made ??= (async () => {
    const paused = await world.post('/api/agents/carrier/pause', { by: 'olga', reason: 'a strike' });
    assert.equal(paused.status, 200);
    world.submit(MANY_IDS, 'parallel');
    await countOf({ id_prefix: 'bulk-', step: 'ShipOrder' }, MANY_IDS.length);
  })();
  return made;
}

// Opens the list, selects its first two orders, and returns their ids.
async function selectTwo(page, open, where, total) {
  await open(where);
  await page.getByText(`${total} orders match`).waitFor();
  const two = (await page.locator('#page a.row').allTextContents()).slice(0, 2);
  for (const id of two) await page.getByLabel(`Select order ${id}`, { exact: true }).check();
  await selection(page).getByText('2 orders selected').waitFor();
  return two;
}

async function selectAll(page, open, where, total) {
  await open(where);
  await page.getByText(`${total} orders match`).waitFor();
  await page.getByLabel('Select all orders on this page').check();
  await page.getByRole('button', { name: `Select all ${total} that match` }).click();
  await selection(page).getByText(`All ${total} orders that match the filters`).waitFor();
}

// Sends what the dialog asks for and looks at its progress before the last order is sent.
async function sendsAll(page, button, total, outcome) {
  const bar = page.getByRole('progressbar', { name: 'Progress' });
  const progress = () => bar.evaluate(({ value, max }) => [value, max]);
  await page.evaluate((last) => {
    const { fetch } = globalThis;
    let sent = 0;
    globalThis.fetch = async (where, options) => {
      if (options?.method === 'POST' && ++sent === last) await new Promise((release) => (globalThis.release = release));
      return fetch(where, options);
    };
  }, total);
  await page.locator('dialog').getByRole('button', { name: `${button}: ${total} orders` }).click();
  await summary(page, new RegExp(`^${total - 1} of ${total} sent: \\d+ accepted, \\d+ refused, about .* left\\.$`));
  assert.deepEqual(await progress(), [total - 1, total]);
  await page.evaluate(() => globalThis.release());
  await summary(page, `${total} of ${total} sent: ${outcome}.`);
  assert.deepEqual(await progress(), [total, total]);
}

// One result for each order, those that were refused first.
async function resultsOf(page) {
  const results = page.locator('dialog .results li');
  return { ids: (await results.getByRole('link').allTextContents()).sort(),
    accepted: await page.locator('dialog .results li.good').allTextContents(),
    refused: await page.locator('dialog .results li.bad').allTextContents() };
}

test('fails_a_step_of_the_selected_orders_and_of_all_that_match', async ({ page, open }) => {
  await manyOrders();
  const where = '/orders?id_prefix=bulk-&state=Processing';
  const [first, second] = await selectTwo(page, open, where, MANY_IDS.length);
  await selection(page).getByRole('button', { name: 'Fail step' }).click();
  let dialog = await fill(page, 'the parcels are lost');
  assert.equal(await dialog.locator('input[name=step]').inputValue(), 'ShipOrder');
  await dialog.locator('input[name=error_name]').fill('ParcelLost');
  assert.equal(await dialog.locator('.command code').textContent(),
    `reeve step fail --reason 'the parcels are lost' --by olga -- ${first} ${second} ShipOrder ParcelLost`);
  const answer = await world.post(`/api/orders/${second}/fail`,
    { by: 'pete', reason: 'was faster', step: 'ShipOrder', error_name: 'ParcelStolen' });
  assert.equal(answer.status, 200);
  await dialog.getByRole('button', { name: 'Fail step: 2 orders' }).click();
  await summary(page, '2 of 2 sent: 1 accepted, 1 refused.');
  await dialog.locator('.results li.bad').filter({ hasText: second }).getByText('step ShipOrder has failed already').waitFor();
  assert.equal(getOrder(first).reason_code, 'ParcelLost');
  assert.equal(getOrder(second).reason_code, 'ParcelStolen');

  const left = MANY_IDS.filter((id) => id !== first && id !== second).sort();
  await selectAll(page, open, `${where}&step=ShipOrder`, left.length);
  await selection(page).getByRole('button', { name: 'Fail step' }).click();
  dialog = await fill(page, 'the lorry burnt down');
  await dialog.locator('input[name=error_name]').fill('LorryLost');
  await dialog.getByRole('button', { name: 'Dry run' }).click();
  await summary(page, `${left.length} orders; nothing was sent.`);
  const dry = await dialog.locator('.command code').textContent();
  assert.equal(dry, 'reeve step fail --prefix bulk- --state Processing --dry-run -- ShipOrder LorryLost');
  assert.equal(world.reeveJson(dry.split(' ').slice(1)).length, left.length);
  await sendsAll(page, 'Fail step', left.length, `${left.length} accepted, 0 refused`);
  const results = await resultsOf(page);
  assert.deepEqual(results.ids, left);
  assert.ok(results.accepted.every((text) => /Error.*ShipOrder failed by hand/.test(text)), results.accepted[0]);
  for (const order of [left[0], left.at(-1)].map(getOrder)) {
    assert.deepEqual([order.state, order.reason_code], ['Error', 'LorryLost']);
    assert.equal(stepOf(order, 'ShipOrder').state, 'Error');
  }
  await countOf({ id_prefix: 'bulk-', state: 'Error', error: 'LorryLost' }, left.length);
});

// Compensate and Cancel: both undo the orders, and differ in what the orders say about it.
for (const { action, label, prefix, code } of [
  { action: 'compensate', label: 'Compensate', prefix: 'bulk-undo-', code: 'Operator' },
  { action: 'cancel', label: 'Cancel', prefix: 'bulk-gone-', code: 'Cancelled' },
]) {
  test(`${action}s_the_selected_orders_and_all_that_match`, async ({ page, open }) => {
    const undone = (id, reason) => {
      const order = getOrder(id);
      assert.deepEqual([order.state, order.reason_code, order.reason, order.reason_by],
        ['Compensated', code, reason, 'olga'], id);
      for (const step of ['ReserveStock', 'TakePayment']) assert.equal(stepOf(order, step).state, 'Compensated', id);
      assert.equal(stepOf(order, 'ShipOrder').effect, 'none', id);
    };
    await manyOrders();
    const where = `/orders?id_prefix=${prefix}`;
    const two = await selectTwo(page, open, where, MANY);
    await selection(page).getByRole('button', { name: label, exact: true }).click();
    let dialog = await fill(page, 'two of them');
    assert.equal(await dialog.locator('.command code').textContent(), `reeve ${action} --reason 'two of them' --by olga -- ${two.join(' ')}`);
    await dialog.getByRole('button', { name: `${label}: 2 orders` }).click();
    await summary(page, '2 of 2 sent: 2 accepted, 0 refused.');
    await countOf({ id_prefix: prefix, state: 'Compensated' }, 2);
    two.forEach((id) => undone(id, 'two of them'));

    await selectAll(page, open, where, MANY);
    await selection(page).getByRole('button', { name: label, exact: true }).click();
    dialog = await fill(page, 'the rest');
    assert.equal(await dialog.locator('.command code').textContent(), `reeve ${action} --prefix ${prefix} --reason 'the rest' --by olga --yes`);
    await sendsAll(page, label, MANY, `${MANY - 2} accepted, 2 refused`);
    const results = await resultsOf(page);
    assert.deepEqual(results.ids, idsWith(prefix).sort());
    assert.equal(results.accepted.length, MANY - 2);
    two.forEach((id) => assert.ok(results.refused.some((text) => text.includes(id) && text.includes('the order is Compensated')), id));
    await countOf({ id_prefix: prefix, state: 'Compensated' }, MANY);
    idsWith(prefix).filter((id) => !two.includes(id)).forEach((id) => undone(id, 'the rest'));
  });
}

test('says_since_when_it_is_stale_and_reconnects', async ({ page, open }) => {
  await open('/orders?id_prefix=back-');
  await page.locator('#live.live').waitFor();
  await world.stopConsole();
  await page.getByText(/Stale since \d\d:\d\d:\d\d/).waitFor({ timeout: 15000 });
  world.submit(['back-1'], 'parallel');
  await world.startConsole();
  await page.locator('#live.live').waitFor({ timeout: 20000 });
  await page.getByRole('link', { name: 'back-1' }).waitFor();
  world.submit(['back-2'], 'parallel');
  await page.getByRole('link', { name: 'back-2' }).waitFor({ timeout: 8000 });
});

run(world);
