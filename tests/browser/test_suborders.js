#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 240
// Orders in orders: the bar of outcomes and the items of a step, the way up to the parent and the
// root, why an order is held, what is open or failed below, and what operators do about all that.
'use strict';

const assert = require('node:assert/strict');
const { World, fill, serious, waitFor } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const HOSTILE = '<img src=x onerror=alert(1)>';
const BAD = [7, 20];
const ASKS = [3, 11, 30];
const COUNT = 45;
const file = (nr) => ({ nr, name: BAD.includes(nr) ? HOSTILE : `sales-${nr}.csv`,
  ...BAD.includes(nr) ? { bad: true } : {}, ...ASKS.includes(nr) ? { ask: true } : {} });

class TreeWorld extends World {
  async start() {
    this.workflows.push('tests/browser/lib/import.yaml');
    await super.start();
    await this.faults([{ service: 'carrier', mode: 'decline' }]);
    const order = (id, files) => this.submit([id], 'import', { input: { files } });
    order('import-1', Array.from({ length: COUNT }, (_, nr) => file(nr)));
    order('import-2', [file(0), file(1)]);
    order('import-3', [file(0), file(3)]);
    order('import-4', [file(0), file(3)]);
    await this.counts('import-1', 'Load', { held: COUNT - 5, failed: 2, submitted: 3 });
    for (const id of ['import-3', 'import-4']) await this.counts(id, 'Load', { held: 1, submitted: 1 });
    for (const item of [0, 1, 2]) await this.until(`import-2~Ship~Boxes~${item}`, 'Error', 30);
  }

  // Until the step has that many sub-orders in each of these states.
  async counts(id, name, expected) {
    return waitFor(`${name} of ${id}: ${JSON.stringify(expected)}`, async () => {
      const order = await this.get(`/api/orders/${id}`);
      const counts = order?.steps.find(({ step }) => step === name)?.suborders;
      return counts && Object.entries(expected).every(([state, n]) => counts[state] === n);
    }, 40);
  }
}

const world = new TreeWorld();
const panelOf = (page) => page.getByRole('region', { name: 'Sub-orders', exact: true });
const itemsOf = (page, step) => panelOf(page).getByRole('region', { name: `Items of ${step}` });
const rows = (page, step) => itemsOf(page, step).locator('tbody tr');
const rowOf = (page, step, item) => rows(page, step).filter({ has: page.locator('td[data-name=Item]', { hasText: new RegExp(`^${item}$`) }) });
const buttons = (page) => page.getByRole('group', { name: 'Actions' }).getByRole('button').allTextContents();

test('a_bar_counts_the_outcomes_of_a_step', async ({ page, open }) => {
  await open('/orders/import-1');
  const bar = panelOf(page).getByRole('img', { name: '45 items: 40 held, 2 failed, 3 submitted' });
  await bar.waitFor();
  const widths = await bar.locator('rect:not(.none)').evaluateAll((all) => all.map((each) => Number(each.getAttribute('width'))));
  assert.equal(widths.length, 3);
  assert.ok(Math.abs(widths.reduce((sum, each) => sum + each, 0) - 100) < 1e-6, String(widths));
  assert.equal(await page.locator('.graph .node').first().locator('> .state').textContent(), '▶ Processing: 40 of 45, 2 failed');
  assert.deepEqual(await serious(page), []);
});

test('items_are_shown_page_by_page_and_by_outcome', async ({ page, open }) => {
  await open('/orders/import-1');
  assert.equal(await rows(page, 'Load').count(), 20);
  assert.equal(await rowOf(page, 'Load', 4).locator('td[data-name="Output or why"]').textContent(), '{"rows":4}');
  await page.getByRole('button', { name: 'Next items' }).click();
  await rowOf(page, 'Load', 20).waitFor();
  assert.match(page.url(), /\?items=Load&from=20$/);
  await page.getByRole('group', { name: 'Items by outcome' }).getByRole('button', { name: 'Failed 2' }).click();
  await waitFor('the failed ones', async () => await rows(page, 'Load').count() === 2);
  assert.match(page.url(), /\?items=Load&outcome=failed$/);
  const why = rowOf(page, 'Load', 7);
  assert.match(await why.locator('td[data-name="Output or why"]').textContent(), /^BadFile .*row 7 of <img src=x onerror=alert\(1\)> has no price$/);
  assert.match(await why.locator('td[data-name="Its state"]').textContent(), /Compensated/);
  await page.reload();
  await waitFor('the same after loading it again', async () => await rows(page, 'Load').count() === 2);
  await why.getByRole('link').click();
  await page.getByRole('heading', { name: 'import-1~Load~7' }).waitFor();
});

test('a_sub_order_leads_up_to_its_parent_and_its_root', async ({ page, open }) => {
  await open('/orders/import-2~Ship~Boxes~1');
  const way = page.getByRole('navigation', { name: 'Way up' });
  assert.deepEqual(await way.getByRole('link').allTextContents(), ['import-2', 'import-2~Ship']);
  assert.match(await way.locator('[aria-current=page]').textContent(), /^item 1 of Boxes$/);
  assert.equal(await way.locator('.badge').textContent(), '▶Processing');
  assert.equal(await page.locator('.facts').getByRole('link', { name: 'import/Ship/Boxes:1' }).getAttribute('href'), '/workflows#import');
  assert.deepEqual(await serious(page), []);
  await way.getByRole('link', { name: 'import-2~Ship' }).click();
  await page.getByRole('heading', { name: 'import-2~Ship', exact: true }).waitFor();
  assert.match(await way.locator('[aria-current=page]').textContent(), /^the sub-order of Ship$/);
  assert.equal(await rows(page, 'Boxes').count(), 3);
});

test('a_step_is_chosen_among_those_with_sub_orders', async ({ page, open }) => {
  await open('/orders/import-2');
  await itemsOf(page, 'Ship').waitFor(); // it runs
  await panelOf(page).getByRole('button', { name: 'Load', exact: true }).click();
  await itemsOf(page, 'Load').waitFor();
  assert.equal(await rows(page, 'Load').count(), 2);
  assert.match(page.url(), /\?items=Load$/);
  assert.equal(await panelOf(page).getByRole('button', { name: 'Load', exact: true }).getAttribute('aria-pressed'), 'true');
});

test('the_tree_shows_what_is_open_or_failed_below', async ({ page, open }) => {
  await open('/orders/import-2');
  await panelOf(page).getByText('What is open or failed below it').click();
  const tree = panelOf(page).locator('.below .tree');
  await tree.getByRole('link', { name: 'import-2~Ship~Boxes~2' }).waitFor();
  assert.deepEqual(await tree.getByRole('link').allTextContents(),
    ['import-2~Ship', ...[0, 1, 2].map((item) => `import-2~Ship~Boxes~${item}`)]);
  assert.equal(await tree.getByText('alert open').count(), 3);
  assert.equal(await tree.getByText('ShipmentRefused', { exact: true }).count(), 3);
  assert.deepEqual(await serious(page), []);
});

test('a_held_order_says_who_decides_and_offers_what_is_left', async ({ page, open }) => {
  await open('/orders/import-1~Load~0');
  const held = page.locator('.notice.held');
  await held.getByRole('link', { name: 'import-1' }).waitFor();
  assert.match(await held.textContent(), /^Held: its steps are done and can still be undone\. .* reports again in /);
  assert.deepEqual(await buttons(page), ['Pause']);
  assert.equal(await page.locator('.timeline .deadline').count(), 0);
  assert.deepEqual(await serious(page), []);
});

// The parent of a held order expires only after days.
test('a_held_order_whose_parent_is_unknown_is_settled', async ({ page, open }) => {
  const sent = [];
  await page.route('**/api/orders/import-1~Load~0', async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...await answer.json(), alert_open: true } });
  });
  await page.route('**/api/orders/import-1~Load~0/settle', async (route) => {
    sent.push(route.request().postDataJSON());
    await route.fulfill({ json: { events: [] } });
  });
  await open('/orders/import-1~Load~0');
  assert.match(await page.locator('.notice.bad').textContent(), /its steps are done, but its parent import-1 no longer exists\./);
  for (const [label, keep] of [['Keep', true], ['Undo', false]]) {
    await page.getByRole('group', { name: 'In place of the parent' }).getByRole('button', { name: label }).click();
    const dialog = await fill(page, 'import-1 was kept');
    await dialog.getByText(`reeve orders settle --reason 'import-1 was kept' --by olga -- import-1~Load~0 ${keep ? 'keep' : 'undo'}`).waitFor();
    await dialog.getByRole('button', { name: label, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(sent.pop(), { keep, by: 'olga', reason: 'import-1 was kept' });
  }
});

test('an_item_that_never_answers_is_given_up', async ({ page, open }) => {
  await open('/orders/import-3');
  assert.equal(await rowOf(page, 'Load', 0).getByRole('button').count(), 0); // it has answered
  await rowOf(page, 'Load', 1).getByRole('button', { name: 'Fail item 1' }).click();
  const dialog = await fill(page, 'the service is gone');
  await dialog.getByLabel('Error').fill('ServiceGone');
  await dialog.getByText("reeve step fail --item 1 --reason 'the service is gone' --by olga -- import-3 Load ServiceGone").waitFor();
  await dialog.getByRole('button', { name: 'Fail: item 1 of Load' }).click();
  await dialog.getByText('1 accepted').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await world.counts('import-3', 'Load', { held: 1, failed: 1 });
  await panelOf(page).getByRole('img', { name: '2 items: 1 held, 1 failed' }).waitFor();
});

test('a_recalled_step_shows_that_it_was', async ({ page, open }) => {
  await open('/orders/import-4');
  await page.getByRole('button', { name: 'Cancel' }).click();
  const dialog = await fill(page, 'the customer left');
  await dialog.getByRole('button', { name: /^Cancel: / }).click();
  await dialog.getByText('1 accepted').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await world.until('import-4', 'Compensated', 30);
  await panelOf(page).getByText('Recalled: what they did was undone.').waitFor();
  await panelOf(page).getByRole('img', { name: '2 items: 2 failed' }).waitFor();
  assert.equal(await itemsOf(page, 'Load').getByRole('button').count(), 0);
  assert.equal(await page.locator('.timeline .mark.recalled').count(), 1);
  assert.deepEqual(await serious(page), []);
});

test('a_command_may_be_for_a_whole_tree', async ({ page, open }) => {
  await open('/orders/import-1~Load~3');
  await page.getByRole('button', { name: 'Pause' }).click();
  assert.equal(await page.locator('dialog').getByText('With all orders of its tree').count(), 0); // not a root
  const sent = [];
  await page.route('**/api/orders/import-1/pause', async (route) => {
    sent.push(route.request().postDataJSON());
    await route.fulfill({ json: { orders: 44, failed_count: 1, failed: [{ order_id: 'import-1~Load~3', code: 'AlreadyEnded', reason: 'the order is Processed' }] } });
  });
  await open('/orders/import-1');
  await page.getByRole('button', { name: 'Pause' }).click();
  const dialog = await fill(page, 'the disk is full');
  await dialog.getByLabel('With all orders of its tree').check();
  await dialog.getByText("reeve orders pause --tree --reason 'the disk is full' --by olga -- import-1").waitFor();
  assert.deepEqual(await serious(page), []);
  await dialog.getByRole('button', { name: /^Pause: / }).click();
  await dialog.getByText('44 orders of the tree; 1 refused, such as import-1~Load~3: the order is Processed').waitFor();
  assert.deepEqual(sent, [{ by: 'olga', reason: 'the disk is full', tree: true }]);
});

test('a_command_for_a_whole_tree_says_what_it_may_have_missed', async ({ page, open }) => {
  await page.route('**/api/orders/import-1/pause', (route) => route.fulfill({ json: { orders: 30, failed_count: 0, failed: [],
    incomplete: [{ partition: 2, reason: 'partition 2 is being read from the log' }] } }));
  await open('/orders/import-1');
  await page.getByRole('button', { name: 'Pause' }).click();
  const dialog = await fill(page, 'the disk is full');
  await dialog.getByLabel('With all orders of its tree').check();
  await dialog.getByRole('button', { name: /^Pause: / }).click();
  await dialog.getByText('30 orders of the tree; orders may be missing, so send it again: partition 2 is being read from the log').waitFor();
});

test('a_whole_tree_is_paused_and_resumed', async ({ page, open }) => {
  await open('/orders/import-2');
  for (const [label, state] of [['Pause', 'Error, paused'], ['Resume', 'Error']]) {
    await page.getByRole('group', { name: 'Actions' }).getByRole('button', { name: label }).click();
    const dialog = await fill(page, 'the carrier moves');
    await dialog.getByLabel('With all orders of its tree').check();
    await dialog.getByRole('button', { name: `${label}: order import-2` }).click();
    await dialog.getByText(/^[5-7] orders of the tree$/).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await open('/orders/import-2~Ship~Boxes~1');
    await page.locator('.title .badge', { hasText: new RegExp(`${state}$`) }).waitFor();
    await open('/orders/import-2');
  }
});

test('the_overview_counts_sub_orders_besides_roots', async ({ page, open }) => {
  await open('/');
  const others = page.locator('.facts').getByRole('link', { name: /^\d+ sub-orders$/ });
  const count = parseInt(await others.textContent(), 10);
  await others.click();
  await page.waitForURL(/\/orders\?.*state=Error/);
  const ids = () => page.getByRole('region', { name: 'Orders' }).locator('td[data-name=Order]').allTextContents();
  await waitFor('those in Error', async () => count > 1 && (await ids()).length === count);
});

test('lists_show_roots_and_one_alert_of_each_tree', async ({ page, open }) => {
  await open('/orders');
  const ids = () => page.getByRole('region', { name: 'Orders' }).locator('td[data-name=Order]').allTextContents();
  assert.deepEqual((await ids()).sort(), ['import-1', 'import-2', 'import-3', 'import-4']);
  await page.getByText('More filters').click();
  await page.getByLabel('Also sub-orders').check();
  await page.getByText('reeve orders list --all').waitFor();
  await waitFor('sub-orders', async () => (await ids()).includes('import-2~Ship~Boxes~2'));
  await open('/orders/import-2');
  await panelOf(page).getByRole('link', { name: 'All sub-orders of the tree' }).click();
  await waitFor('those of the tree', async () => (await ids()).length === 6);
  await page.getByRole('navigation', { name: 'Orders by state' }).getByRole('link', { name: 'Held 2' }).click();
  await waitFor('the held ones', async () => (await ids()).length === 2);
  await open('/recovery');
  const alert = page.getByRole('region', { name: 'Open alerts' }).locator('tbody tr').filter({ hasText: 'import-2~' });
  assert.equal(await alert.count(), 1);
  await alert.getByRole('link', { name: 'and 2 more' }).click();
  await waitFor('its alerts', async () => (await ids()).length === 3);
});

test('the_past_shows_the_bar_of_then_and_no_items', async ({ page, open }) => {
  const { entries } = await world.get('/api/orders/import-1/history?limit=1000');
  await open(`/orders/import-1?at=${entries[0].offset}`);
  await panelOf(page).getByRole('img', { name: '45 items: 45 submitted' }).waitFor();
  assert.equal(await itemsOf(page, 'Load').count(), 0);
  assert.equal(await panelOf(page).getByRole('button').count(), 0);
});

test('the_history_folds_the_answers_of_many_sub_orders', async ({ page, open }) => {
  await open('/orders/import-1');
  const history = page.getByRole('region', { name: 'History', exact: true }).last();
  const shown = () => history.locator('tbody tr').count();
  assert.equal(await shown(), 3); // its start, and the two that failed
  await page.getByLabel('40 sub-orders that are done').check();
  assert.equal(await shown(), 43);
});

test('a_narrow_page_does_not_scroll_sideways', async ({ page, open }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  for (const id of ['import-1', 'import-2~Ship~Boxes~1', 'import-1~Load~0']) {
    await open(`/orders/${id}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), id);
    const ends = await page.locator('.outcomes, .counts, .way-up, .notice').evaluateAll((all) =>
      all.map((each) => each.getBoundingClientRect().right));
    assert.ok(ends.length && ends.every((end) => end <= 390), `${id}: ${ends}`);
    assert.deepEqual(await serious(page), []);
  }
});

run(world);
