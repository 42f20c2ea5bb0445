#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 240
// What operators read: every page, the list and its filters, one order, keys, sizes and colours.
'use strict';

const assert = require('node:assert/strict');
const { World, serious, waitFor, withFlags } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const PAGES = ['/', '/orders', '/recovery', '/partitions', '/workflows', '/schedules', '/agents', '/health'];
const NAMES = ['Overview', 'Orders', 'Recovery', 'Partitions', 'Workflows', 'Schedules', 'Agents', 'Health'];
// PAST stands for a moment in the middle of the order's compensation.
const ORDER_PAGES = ['/orders/failed-1', '/orders/undone-1', '/orders/undone-1?at=PAST'];
const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;';

class PagesWorld extends World {
  async start() {
    await super.start();
    await this.faults([
      { service: 'carrier', mode: 'decline', orders: ['failed-1', 'failed-2', 'failed-3'] },
      { service: 'payment', mode: 'decline', action: 'TakePayment', orders: ['undone-1'] },
      { service: 'stock', mode: 'never', times: 1, orders: ['retried-1'] },
    ]);
    this.submit(['failed-1', 'failed-2', 'undone-1', 'retried-1'], 'order-fulfilment');
    this.submit(['failed-3'], 'parallel');
    this.submit(Array.from({ length: 60 }, (_, i) => `many-${i}`), 'parallel', { customer: 'bob', attributes: { country: 'France' } });
    this.submit(['hostile'], 'parallel', { customer: HOSTILE, attributes: { [HOSTILE.slice(0, 20)]: HOSTILE, turned: 'abc\u202edef' },
      lines: [{ sku: '<b>1</b>', description: '<script>alert(2)</script>', quantity: 1, unit_price: '1' }] });
    for (const id of ['failed-1', 'failed-2', 'failed-3']) await this.until(id, 'Error');
    await this.until('undone-1', 'Compensated');
    for (const id of ['retried-1', 'hostile', 'many-59']) await this.until(id, 'Processed');
  }
}

async function placeOf(world, where) {
  if (!where.includes('PAST')) return where;
  const { entries } = await world.get('/api/orders/undone-1/history');
  const undo = entries.find((entry) => entry.events.some(({ kind, data }) => kind === 'StepStarted' && data.direction === 'undo'));
  return where.replace('PAST', undo.offset);
}

const rowsOf = (page) => page.locator('#page tbody tr');
const loaded = (page) => page.waitForFunction(() => document.querySelector('#page h1') && !document.querySelector('#problems').textContent);

test('every_page_opens_and_asks_no_other_host', async ({ page, open }) => {
  for (const [i, where] of PAGES.entries()) {
    await open(where);
    await loaded(page);
    assert.equal(await page.locator('#page h1').textContent(), NAMES[i]);
    assert.equal(await page.locator('#nav a[aria-current=page]').textContent(), NAMES[i]);
    assert.equal(await page.title(), `${NAMES[i]} · reeve`);
    assert.equal(await page.getByText('of an older version').count(), 0, `${where} lacks something`);
  }
});

// The API as it answers once the brokers have been away for a minute: agents fall silent.
async function brokersAway(page) {
  await page.route('**/api/**', async (route) => {
    if (route.request().url().includes('/api/events')) return route.continue();
    const response = await route.fetch();
    const body = await response.json();
    if ('data_age_ms' in body) body.data_age_ms = 60000;
    if (body.agents) Object.assign(body, { agents: [], complete: false });
    return route.fulfill({ response, json: body });
  });
}

test('every_page_says_how_old_its_data_is_while_the_brokers_are_away', async ({ page, open }) => {
  await brokersAway(page);
  for (const where of [...PAGES, '/orders/failed-1']) {
    await open(where);
    await page.getByText('The brokers cannot be reached: what is shown is 1 min 0 s old.').waitFor();
    await page.locator('#live.stale').getByText(/Stale since/).waitFor();
  }
  await open('/agents');
  await page.getByText('Not known: no agent can be heard').first().waitFor();
  assert.equal(await page.getByText('No instance of').count(), 0);
  await page.unroute('**/api/**');
  await page.reload();
  await page.locator('#live.live').waitFor();
});

test('the_list_names_commands_that_wait_undecided', async ({ page, open }) => {
  const rows = [{ partition: 3, commands: 2, verdict: 'stalled', verdict_reason: 'none was decided' }];
  await page.route('**/api/orders?*', async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...await response.json(), waiting: rows } });
  });
  await open('/orders');
  await page.getByText('2 commands wait undecided in partition 3; orders in them are not listed.').waitFor();
  rows.push({ ...rows[0], partition: 5, commands: 40 });
  await page.reload();
  await page.getByText('42 commands wait undecided in 2 partitions').waitFor();
  await page.unroute('**/api/orders?*');
  await page.reload();
  await loaded(page);
  assert.equal(await page.getByText('undecided').count(), 0);
});

test('links_change_the_page_without_loading_it_again', async ({ page, open }) => {
  await open('/');
  await page.evaluate(() => (globalThis.kept = true));
  for (const name of NAMES) {
    await page.locator('#nav').getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
  }
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
  assert.equal(await page.evaluate(() => globalThis.kept), true);
});

test('pages_have_no_serious_violation_of_accessibility', async ({ page, open, world }) => {
  for (const where of [...PAGES, ...ORDER_PAGES]) {
    await open(await placeOf(world, where));
    await loaded(page);
    assert.deepEqual(await serious(page), [], where);
  }
});

test('dark_pages_are_dark_and_have_enough_contrast', async ({ page, open, world }) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const where of [...PAGES, ...ORDER_PAGES]) {
    await open(await placeOf(world, where));
    await loaded(page);
    const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.ok(colour.match(/\d+/g).slice(0, 3).every((part) => Number(part) < 60), `${where}: ${colour}`);
    assert.deepEqual(await serious(page, ['color-contrast']), [], where);
  }
});

test('pages_fit_400_pixels', async ({ page, open, world }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  for (const where of [...PAGES, ...ORDER_PAGES]) {
    await open(await placeOf(world, where));
    await loaded(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= 400, where);
  }
  await open('/orders/failed-1');
  await page.getByRole('button', { name: 'Resubmit', exact: true }).click();
  const box = await page.locator('dialog').boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 400);
});

test('ids_and_pages_are_whole_at_400_pixels', async ({ page, open }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  await open('/orders?id_prefix=many');
  await waitFor('a full page', async () => (await rowsOf(page).count()) === 50);
  assert.ok((await page.locator('td.id a').first().boundingBox()).height < 30, 'an id on one line');
  for (const name of NAMES) {
    const box = await page.locator('#nav').getByRole('link', { name }).boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 400, name);
  }
});

test('the_overview_groups_errors_and_links_to_their_orders', async ({ page, open }) => {
  await open('/');
  const row = page.getByRole('region', { name: 'Errors', exact: true }).locator('tbody tr').filter({ hasText: 'order-fulfilment' }).first();
  await row.waitFor();
  assert.match(await row.textContent(), /ShipOrder.*ShipmentRefused/);
  assert.equal(await page.locator('.tile svg.spark').count(), 4);
  await row.getByRole('link').first().click();
  await page.waitForURL(/\/orders\?.*state=Error/);
  await waitFor('the filtered list', async () => (await rowsOf(page).count()) === 2);
});

test('the_overview_shows_what_is_in_flight_and_how_long_steps_take', async ({ page, open, world }) => {
  const { in_flight, latency, oldest, unfinished } = await world.get('/api/overview');
  await open('/');
  await loaded(page);
  const rowsIn = (name) => page.getByRole('region', { name, exact: true }).locator('tbody tr');
  assert.equal(await rowsIn('In flight').count(), in_flight.length);
  for (const { step, workflow, orders } of in_flight)
    await rowsIn('In flight').filter({ hasText: `${step} ${workflow}${orders}` }).waitFor();
  assert.ok(latency.length > 4, 'steps have ended');
  assert.equal(await rowsIn('Latency').count(), latency.length);
  await rowsIn('Latency').filter({ hasText: 'order-fulfilment: whole order' }).waitFor();
  assert.match(await page.locator('.facts').textContent(), new RegExp(`Unfinished${unfinished}`));
  await page.locator('.facts').getByRole('link', { name: oldest.id, exact: true }).waitFor();
});

test('partitions_show_their_owner_verdict_and_claims', async ({ page, open, world }) => {
  const { partitions } = await world.get('/api/partitions');
  await open('/partitions');
  await loaded(page);
  for (const { partition, verdict, claim, claims, handovers } of partitions) {
    const row = rowsOf(page).nth(partition);
    assert.match(await row.textContent(), new RegExp(`^${partition}.*${verdict}.*${claim.instance} since`));
    assert.match(await row.textContent(), new RegExp(`${handovers} in the last hour`));
    assert.equal(await row.locator('li').count(), claims.length);
  }
});

test('filters_stay_in_the_address', async ({ page, open }) => {
  await open('/orders');
  await page.locator('select[name=state]').selectOption('Error');
  await page.waitForURL(/state=Error/);
  await waitFor('three orders in Error', async () => (await rowsOf(page).count()) === 3);
  await page.locator('select[name=workflow]').selectOption('parallel');
  await waitFor('one order', async () => (await rowsOf(page).count()) === 1);
  await page.reload();
  await waitFor('one order again', async () => (await rowsOf(page).count()) === 1);
  assert.equal(await page.locator('select[name=state]').inputValue(), 'Error');
  assert.equal(await page.locator('.command code').last().textContent(), 'reeve orders list --state Error --workflow parallel');
  await page.goBack();
  await waitFor('the earlier filter', async () => (await rowsOf(page).count()) === 3);
  await page.getByRole('link', { name: 'Clear' }).click();
  await waitFor('a full page', async () => (await rowsOf(page).count()) === 50);
});

// Chosen in the bar: a switch or a text.
async function setFilter(page, name, value) {
  const field = page.locator(`.filters [name=${name}]`);
  if (!await field.isVisible()) await page.locator('.filters summary').click();
  if (value) {
    await field.fill(value);
    await page.keyboard.press('Enter');
  } else {
    await field.check();
  }
  return field;
}

const shows = (page, ids) => waitFor(`the list ${ids}`, async () =>
  JSON.stringify(await page.locator('#page a.row').allTextContents()) === JSON.stringify(ids));

// The page is a list of all orders; then, with the filter, it has the orders that `reeve orders list`
// prints with the same flags, also after a reload. Returns their ids.
async function filtersLikeTheCommandLine(page, world, { name, value, flags, inAddress = value }) {
  await setFilter(page, name, value);
  await page.waitForURL((url) => url.searchParams.get(name) === inAddress);
  const printed = world.reeveJson(['orders', 'list', ...flags]).map((order) => order.order_id);
  await shows(page, printed);
  await page.reload();
  await shows(page, printed);
  const field = page.locator(`.filters [name=${name}]`);
  assert.equal(value ? await field.inputValue() : await field.isChecked(), value ?? true);
  assert.equal(await field.isVisible(), true);
  assert.equal(await page.locator('.command code').last().textContent(), `reeve orders list ${flags.join(' ')}`);
  return printed;
}

test('filters_by_step_error_alert_and_pause_like_the_command_line', async ({ page, open, world }) => {
  const FAILED = ['failed-1', 'failed-2', 'failed-3'];
  const paused = await world.post('/api/orders/failed-2/pause', { by: 'olga', reason: 'asks the customer' });
  assert.equal(paused.status, 200);
  for (const [filter, expected] of [
    [{ name: 'step', value: 'ShipOrder', flags: ['--step', 'ShipOrder'] }, FAILED],
    [{ name: 'error', value: 'ShipmentRefused', flags: ['--error', 'ShipmentRefused'] }, FAILED],
    [{ name: 'alert', inAddress: 'open', flags: ['--alert'] }, FAILED],
    [{ name: 'paused', inAddress: '1', flags: ['--paused'] }, ['failed-2']],
  ]) {
    await open('/orders');
    assert.deepEqual((await filtersLikeTheCommandLine(page, world, filter)).sort(), expected);
  }
  // Together with the one before.
  await setFilter(page, 'step', 'TakePayment');
  await page.getByText('No order matches these filters.').waitFor();
  assert.deepEqual(world.reeveJson(['orders', 'list', '--step', 'TakePayment', '--paused']), []);
  const resumed = await world.post('/api/orders/failed-2/resume', { by: 'olga', reason: 'asked' });
  assert.equal(resumed.status, 200);
});

test('filters_until_a_time_like_the_command_line', async ({ page, open, world }) => {
  const orders = world.reeveJson(['orders', 'list', '--limit', '0']);
  const times = [...new Set(orders.map((order) => order.accepted_at))].sort();
  // Not the first, so that an earlier order matches; the orders of that time do not.
  const limit = times[Math.ceil(times.length / 2)];
  const earlier = orders.filter((order) => order.accepted_at < limit);
  await open('/orders');
  const listed = await filtersLikeTheCommandLine(page, world, { name: 'until', value: limit, flags: ['--until', limit.replace('.000Z', 'Z')] });
  assert.equal(listed.length, Math.min(50, earlier.length));
  await page.getByText(`${earlier.length} order${earlier.length === 1 ? '' : 's'} match`).waitFor();
});

test('filters_by_customer_attribute_and_id', async ({ page, open }) => {
  await open('/orders?customer=bob&attribute=country%3DFrance');
  await waitFor('a full page of bob', async () => (await rowsOf(page).count()) === 50);
  assert.match(await page.locator('.title p').textContent(), /60 orders match/);
  assert.match(await page.locator('.chips').textContent(), /All60.*Processed60.*Error0/);
  await page.getByLabel('Order id begins with').fill('many-5');
  await page.keyboard.press('Enter');
  await waitFor('eleven orders', async () => (await rowsOf(page).count()) === 11);
  await open('/orders?since=1h&id_prefix=failed');
  await waitFor('three orders', async () => (await rowsOf(page).count()) === 3);
});

test('the_counts_of_a_filtered_list_are_one_request', async ({ page, open }) => {
  const asked = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname === '/api/orders/count') asked.push(search);
  });
  await open('/orders?customer=bob&state=Processed');
  await waitFor('a full page of bob', async () => (await rowsOf(page).count()) === 50);
  assert.match(await page.locator('.title p').textContent(), /60 orders match/);
  assert.match(await page.locator('.chips').textContent(), /All60.*Processed60.*Error0/);
  assert.deepEqual([...new Set(asked)], ['?customer=bob&by=state']);
  await page.getByText('reeve orders count --customer bob --states').waitFor();
});

test('a_wrong_filter_gets_a_clear_message', async ({ page, open }) => {
  await open('/orders?since=yesterday');
  await page.getByText('Accepted since: expected a time before now').waitFor();
});

test('lists_page_by_page', async ({ page, open }) => {
  await open('/orders?workflow=parallel');
  await waitFor('a full page', async () => (await rowsOf(page).count()) === 50);
  const first = await page.locator('a.row').first().textContent();
  await page.getByRole('link', { name: 'Next page' }).click();
  await waitFor('the rest', async () => (await rowsOf(page).count()) === 12);
  assert.equal(await page.getByText(first, { exact: true }).count(), 0);
  await page.getByRole('link', { name: 'First page' }).click();
  await waitFor('the first page', async () => (await rowsOf(page).count()) === 50);
});

test('an_order_shows_what_the_log_says', async ({ page, open, world }) => {
  await open('/orders/failed-1');
  await loaded(page);
  const { entries } = await world.get('/api/orders/failed-1/history');
  assert.equal(await page.getByRole('region', { name: 'History' }).locator('tbody tr').count(), entries.length);
  assert.equal(await page.locator('.graph .node').count(), 4);
  assert.match(await page.locator('.graph .node.is-error').textContent(), /ShipOrder.*ShipmentRefused/s);
  assert.equal(await page.locator('.timeline .span.good').count(), 3);
  assert.equal(await page.locator('.timeline .span.bad').count(), 1);
  assert.equal(await page.locator('.timeline .band.error').count(), 1);
  assert.match(await page.locator('.facts').textContent(), /Value25\.50 GBP/);
  const actions = await page.getByRole('group', { name: 'Actions' }).getByRole('button').allTextContents();
  assert.ok(actions.includes('Resubmit') && actions.includes('Complete step') && !actions.includes('Resume'), String(actions));
});

test('compensation_runs_backwards_in_the_timeline', async ({ page, open }) => {
  await open('/orders/undone-1');
  await page.locator('.timeline .span.undo polygon').waitFor();
  await page.locator('.timeline .moment-of.OrderCompensated').waitFor();
  assert.match(await page.getByRole('region', { name: 'Steps', exact: true }).last().textContent(), /applied, undone/);
  assert.equal(await page.locator('.timeline .band.compensation').count(), 1);
  await page.getByText('The order has ended: nothing changes it any more.').waitFor();
  assert.equal(await page.getByRole('group', { name: 'Actions' }).count(), 0);
});

test('retries_show_their_wait', async ({ page, open }) => {
  await open('/orders/retried-1');
  await page.locator('.timeline .span.retry').waitFor();
  assert.equal(await page.locator('.timeline .span.late').count(), 1);
});

test('time_travel_shows_the_order_as_it_was_and_what_changed', async ({ page, open, world }) => {
  const { entries } = await world.get('/api/orders/undone-1/history');
  await open('/orders/undone-1');
  const slider = page.getByRole('slider', { name: 'Event of the order' });
  await slider.focus();
  await page.keyboard.press('Home');
  await page.waitForURL(new RegExp(`at=${entries[0].offset}$`));
  await page.getByText('You see the past').waitFor();
  assert.match(await page.locator('.graph .node').nth(2).getAttribute('class'), /is-pending/);
  await page.getByRole('button', { name: 'Next event' }).click();
  await page.waitForURL(new RegExp(`at=${entries[1].offset}$`));
  const changed = page.getByRole('region', { name: 'What changed' });
  await changed.filter({ hasText: /(ReserveStock|CheckFraud): state.*Processing.*Processed/s }).waitFor();
  await page.reload();
  await page.getByText('You see the past').waitFor();
  await page.getByRole('button', { name: 'Back to now' }).click();
  await page.getByText('The order has ended').waitFor();
});

test('the_past_counts_from_its_own_moment', async ({ page, open, world }) => {
  await open(await placeOf(world, '/orders/undone-1?at=PAST'));
  await page.getByText('You see the past').waitFor();
  const steps = await page.getByRole('region', { name: 'Steps', exact: true }).last().textContent();
  assert.match(steps, /so far/);
  assert.doesNotMatch(steps, /-[\d.]+ (ms|s|min)|ago/);
  assert.match(steps, /times out in /);
  assert.doesNotMatch(await page.locator('.facts').textContent(), /ago/);
  assert.equal(await page.locator('.timeline .deadline.of-order').count(), 0);
  assert.ok(await page.locator('.timeline .span .deadline').count() >= 1);
  assert.match(await page.locator('.command code').first().textContent(), /^reeve orders get --at \d+ -- undone-1$/);
});

test('an_offset_between_two_decisions_shows_the_earlier_one', async ({ page, open, world }) => {
  const { entries } = await world.get('/api/orders/undone-1/history');
  const last = entries.filter((entry) => entry.changed).at(-1).offset;
  await open(`/orders/undone-1?at=${last + 1000000}`);
  await page.getByText(`You see the past: what the order was at offset ${last}`).waitFor();
  assert.ok(await page.locator('.timeline .span').count() > 0);
  if (entries[0].offset > 0) {
    await open(`/orders/undone-1?at=${entries[0].offset - 1}`);
    await page.getByText('The order did not exist yet').waitFor();
    assert.equal(await page.locator('.graph').count(), 0);
    await page.getByRole('button', { name: 'Its first event' }).click();
    await page.getByText('You see the past').waitFor();
  }
});

test('data_of_orders_is_text', async ({ page, open }) => {
  await open('/orders/hostile');
  await loaded(page);
  assert.ok((await page.locator('.facts').textContent()).includes(HOSTILE));
  await page.getByText('1 line', { exact: true }).last().click();
  await page.getByText('<script>alert(2)</script>').waitFor();
  assert.ok((await page.locator('.facts').textContent()).includes('abc\\u202edef'));
  assert.equal(await page.locator('main img, main script, main b b').count(), 0);
  await open(`/orders?customer=${encodeURIComponent(HOSTILE)}`);
  await waitFor('one order', async () => (await rowsOf(page).count()) === 1);
  assert.match(await page.locator('.command code').last().textContent(), /--customer '<img src=x onerror=alert\(1\)>"'\\''&amp;'/);
});

test('names_what_does_not_exist', async ({ page, open }) => {
  await open('/orders/no-such-order');
  await page.getByText('order no-such-order does not exist').waitFor();
  await page.goto(`${(new URL(page.url())).origin}/orders/%E0%A4%A`).catch(() => null);
  await open('/orders/a%2Fb%20c');
  await page.locator('#page .notice').waitFor();
  for (const where of ['/nonexistent', '/orders/a/b']) {
    await open(where);
    await page.getByText('There is no such page.').waitFor();
  }
});

test('keys_move_open_and_search', async ({ page, open }) => {
  await open('/orders?id_prefix=failed');
  await waitFor('three orders', async () => (await rowsOf(page).count()) === 3);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  const id = await page.locator('a.row').first().textContent();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), id);
  await page.keyboard.press('x');
  await page.getByText('1 order selected').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: id }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('undone-1\n');
  await page.getByRole('heading', { level: 1, name: 'undone-1' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('2');
  await page.getByRole('heading', { level: 1, name: 'Orders' }).waitFor();
});

test('times_are_local_and_utc_when_asked', async ({ world }) => {
  await world.each(async ({ page, open }) => {
    await open('/orders/undone-1');
    const { accepted_at: accepted } = await world.get('/api/orders/undone-1');
    const shown = page.locator('.facts time').first();
    assert.match(await shown.getAttribute('title'), new RegExp(`${new Date(accepted).toISOString().slice(11, 19)}.* UTC`));
    const local = await page.evaluate((ms) => new Date(ms).getHours(), accepted);
    assert.equal(Number((await shown.textContent()).split(' ').pop().slice(0, 2)), local);
    assert.notEqual(local, new Date(accepted).getUTCHours());
  }, { timezoneId: 'Asia/Tokyo' });
});

test('copies_an_order_as_json_and_commands', async ({ page, open }) => {
  await open('/orders/undone-1');
  await loaded(page);
  await page.getByRole('button', { name: 'Copy as JSON' }).click();
  await page.getByText('JSON copied').waitFor();
  assert.equal(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).order_id, 'undone-1');
  await page.getByRole('button', { name: 'Copy as command' }).click();
  await page.getByText('Command copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'reeve orders get -- undone-1');
});

// Each command that a page shows runs, and the same command is not shown for what it does not print.
test('the_commands_of_every_page_run', async ({ page, open, world }) => {
  const seen = new Set();
  for (const where of [...PAGES, '/orders?state=Error', ...ORDER_PAGES]) {
    await open(await placeOf(world, where));
    await loaded(page);
    const commands = await page.locator('.command code').allTextContents();
    assert.ok(commands.length > 0, `${where} shows no command`);
    commands.forEach((each) => seen.add(each));
  }
  // These are read from their topics rather than from the console.
  const run = (words) => world.reeve(['workflow', 'schedule'].includes(words[0]) ? words : withFlags(words, '--console', world.base));
  for (const each of seen) {
    assert.match(each, /^reeve /);
    const words = each.split(' ').slice(1);
    if (!/[\\'"<|]/.test(each)) run(words);
  }
  assert.equal(JSON.parse(run(['overview', '--output', 'json'])).by_state.Error, 3);
  const overview = run(['overview']);
  assert.match(overview, /submitted +\d/);
  assert.match(overview, /In Error +3/);
  assert.match(overview, /ShipOrder .*ShipmentRefused/);
  assert.match(overview, /\(whole order\)[\s\S]*ReserveStock/);
  assert.match(run(['owners']), /\bOK\b/);
  const { entries } = await world.get('/api/orders/undone-1/history');
  const was = run(['orders', 'get', 'undone-1', '--at', String(entries[0].offset)]);
  assert.match(was, /State +(Pending|Processing)/);
});

test('partitions_workflows_agents_and_health_show_their_facts', async ({ page, open }) => {
  await open('/partitions');
  await waitFor('eight partitions', async () => (await rowsOf(page).count()) === 8);
  await open('/workflows');
  const panel = page.getByRole('region', { name: 'order-fulfilment', exact: true });
  assert.equal(await panel.locator('.node').count(), 4);
  await panel.locator('.badge').filter({ hasText: 'active' }).waitFor();
  await open('/agents');
  await waitFor('three healthy agents', async () => (await page.getByText('healthy').count()) === 3);
  await open('/health');
  await page.getByRole('region', { name: 'Configuration' }).first().waitFor();
  await page.getByRole('row', { name: /OK scheduler scheduler-1/ }).waitFor();
  await page.getByLabel('Service', { exact: true }).selectOption({ label: 'scheduler scheduler-1' });
  await page.getByLabel('Filter the settings').fill('instance.id');
  await page.getByRole('region', { name: 'Configuration' }).getByText('scheduler-1', { exact: true }).waitFor();
  await page.getByLabel('Filter the settings').fill('topics.prefix');
  await waitFor('one setting', async () => (await page.getByRole('region', { name: 'Configuration' }).last().locator('tbody tr').count()) === 1);
});

run(new PagesWorld());
