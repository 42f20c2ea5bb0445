#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 240
// A console that asks for tokens: logging in and out, what each role is offered, a token that is
// revoked while its page is open, and a console that is read-only.
'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { World, fill, serious, waitFor } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const tokenOf = (name) => `reeve_secret-of-${name}-${'x'.repeat(20)}`;
const line = (name, role) =>
  `${name} ${role} sha256:${createHash('sha256').update(tokenOf(name)).digest('hex')} 2026-01-01T00:00:00Z\n`;
const ALL = { olga: 'operator', vera: 'viewer', shop: 'submitter', health: 'viewer' };
const HOSTILE = '<img src=x onerror=alert(1)>';

class LoginWorld extends World {
  async start() {
    this.tokenFile = path.join(this.folder, 'tokens');
    this.write(ALL);
    const ownToken = path.join(this.folder, 'console-token');
    fs.writeFileSync(ownToken, tokenOf('health'), { mode: 0o600 });
    this.devFlags = ['--http-auth', 'tokens', '--http-tokens-file', this.tokenFile,
      '--console-services-token-file', ownToken];
    this.token = tokenOf('olga');
    await super.start();
    const failed = ['failed-1', 'failed-2', 'failed-3', 'failed-4'];
    await this.faults([{ service: 'carrier', mode: 'decline', orders: failed }]);
    this.submit(failed, 'parallel');
    this.submit(['hostile'], 'parallel', { customer: HOSTILE });
    this.produce('orders.submissions', 'letter-1', 'no record');
    for (const id of failed) await this.until(id, 'Error', 30);
    await this.until('hostile', 'Processed');
    await this.faults([]);
    await waitFor('a dead letter', async () => (await this.get('/api/dead-letters')).dead_letters.length === 1);
  }

  // Writes the token file; roles: {name: role}.
  write(roles) {
    fs.writeFileSync(`${this.tokenFile}.new`, Object.entries(roles).map(([name, role]) => line(name, role)).join(''));
    fs.renameSync(`${this.tokenFile}.new`, this.tokenFile);
  }

  // Until the console has read it. Asking would not do: wrong tokens are counted.
  async grant(roles) {
    const reads = () => fs.readFileSync(path.join(this.folder, 'data/console/log'), 'utf8').split('read the tokens again').length;
    const before = reads();
    this.write(roles);
    await waitFor('the console reads the tokens', () => reads() > before);
  }
}

const world = new LoginWorld();
const form = (page) => page.locator('dialog.login');
const button = (page, name) => page.getByRole('button', { name, exact: true });

async function enter(page, token) {
  await form(page).getByLabel('Token').fill(token);
  await form(page).getByRole('button', { name: 'Log in' }).click();
}

async function openAs(page, name, where) {
  await page.goto(world.base + where);
  await enter(page, tokenOf(name));
  await page.locator('#page h1').waitFor();
}

// Everywhere in the page where a script could find it.
const traces = (page, token) => page.evaluate(async (secret) => {
  const places = {
    document: document.documentElement.outerHTML,
    values: [...document.querySelectorAll('input, textarea')].map((field) => field.value).join(),
    localStorage: JSON.stringify({ ...localStorage }), sessionStorage: JSON.stringify({ ...sessionStorage }),
    url: location.href, state: JSON.stringify(history.state), cookie: document.cookie, name: window.name,
    requests: performance.getEntries().map((entry) => entry.name).join(),
    databases: JSON.stringify(await indexedDB.databases()),
    caches: globalThis.caches ? JSON.stringify(await caches.keys()) : '',
  };
  return Object.keys(places).filter((place) => places[place].includes(secret));
}, token);

test('the_form_keeps_the_place_and_goes_on_after_the_login', async ({ page }) => {
  const where = '/orders?state=Error&id_prefix=failed-';
  await page.goto(world.base + where);
  await form(page).getByRole('heading', { name: 'Log in to reeve' }).waitFor();
  const field = form(page).getByLabel('Token');
  assert.equal(await field.getAttribute('type'), 'password');
  assert.equal(await field.getAttribute('autocomplete'), 'current-password');
  assert.equal(await field.evaluate((node) => node === document.activeElement), true);
  assert.equal(await page.locator('#user').textContent(), '');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await field.evaluate((node) => node.blur());
  await page.keyboard.press('3');
  assert.equal(await form(page).isVisible(), true);
  await field.focus();
  await page.keyboard.type(tokenOf('olga'));
  await page.keyboard.press('Enter');
  await waitFor('four orders', async () => (await page.locator('#page tbody tr').count()) === 4);
  assert.equal(page.url(), world.base + where);
  assert.equal(await form(page).count(), 0);
  assert.equal(await page.locator('#user .who').textContent(), 'Logged in as olga operator');
  await page.locator('#live.live').waitFor();
  await page.reload();
  await button(page, 'Log out').waitFor();
  assert.equal(await form(page).count(), 0);
});

test('the_token_is_nowhere_where_scripts_could_find_it', async ({ page, context }) => {
  await openAs(page, 'olga', '/orders/failed-1');
  await page.locator('#live.live').waitFor();
  assert.deepEqual(await traces(page, tokenOf('olga')), []);
  const [cookie, ...more] = await context.cookies();
  assert.deepEqual(more, []);
  assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
  assert.match(cookie.value, /^[\w-]{43}$/);
  await page.goto(`${world.base}/recovery`);
  await page.locator('#page h1').waitFor();
  assert.deepEqual(await traces(page, tokenOf('olga')), []);
});

test('a_wrong_token_is_refused_with_the_reason', async ({ page }) => {
  await page.goto(`${world.base}/recovery`);
  await enter(page, `${HOSTILE}wrong`);
  await form(page).getByText('the token is not right, was revoked or has expired').waitFor();
  assert.equal(await page.locator('#page').innerHTML(), '');
  await enter(page, tokenOf('shop'));
  await form(page).getByText('shop has the role submitter, which cannot see the console.').waitFor();
  await enter(page, tokenOf('vera'));
  await page.getByRole('heading', { name: 'Recovery' }).waitFor();
});

test('a_viewer_is_offered_no_actions', async ({ page, open }) => {
  const WHY = 'The role viewer sees everything and changes nothing.';
  await openAs(page, 'vera', '/recovery');
  await page.getByText(WHY).waitFor();
  await page.getByRole('region', { name: 'Dead letters' }).first().locator('tbody tr').waitFor();
  for (const name of ['Replay', 'Discard']) assert.equal(await button(page, name).count(), 0, name);
  assert.equal(await page.getByRole('button', { name: /Resubmit|Compensate/ }).count(), 0);
  await open('/orders?state=Error');
  await page.getByLabel('Select order failed-1').focus();
  await page.keyboard.press('x');
  const selection = page.getByRole('region', { name: 'Selected orders' });
  await selection.getByText(WHY).waitFor();
  assert.deepEqual(await selection.getByRole('button').allTextContents(), ['Copy ids', 'Select none']);
  await open('/orders/failed-1');
  await page.getByText(WHY).waitFor();
  assert.equal(await page.getByRole('group', { name: 'Actions' }).count(), 0);
  await open('/workflows');
  await page.getByText(WHY).waitFor();
  for (const name of [/Deploy/, /Activate/, /Retire/, /Migrate/, /Roll back/])
    assert.equal(await page.getByRole('button', { name }).count(), 0, String(name));
  await open('/agents');
  await page.getByText(WHY).waitFor();
  assert.equal(await page.getByRole('button', { name: /Pause|Resume/ }).count(), 0);
  const refused = await page.evaluate(async () => (await fetch('/api/orders/failed-1/resubmit', { method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Reeve-Request': '1' }, body: '{"by": "olga", "reason": "none"}' })).status);
  assert.equal(refused, 403);
});

test('the_console_asks_other_services_with_its_own_token', async ({ page }) => {
  assert.match(world.log('dev'), new RegExp(`export REEVE_CONSOLE_TOKEN=.* --file ${world.tokenFile}$`, 'm'));
  await openAs(page, 'vera', '/health');
  const rows = page.getByRole('region', { name: 'Services' }).first().locator('tbody tr');
  await waitFor('seven services', async () => (await rows.count()) === 7);
  assert.deepEqual([...new Set(await rows.locator('td[data-name="Result"] .badge').allTextContents())], ['✓OK']);
  await world.grant({ olga: 'operator', vera: 'viewer' });
  await page.reload();
  await waitFor('no service answers', async () =>
    (await rows.getByText('does not accept the token in console.services.token').count()) === 7);
  await world.grant(ALL);
});

test('an_operator_acts_under_the_name_of_the_token', async ({ page }) => {
  await openAs(page, 'olga', '/orders/failed-1');
  await button(page, 'Resubmit').click();
  const who = page.locator('dialog').getByLabel('Who decides this');
  assert.deepEqual([await who.inputValue(), await who.isEditable()], ['olga', false]);
  const dialog = await fill(page, 'the carrier is back');
  await who.evaluate((node) => (node.value = 'mallory')); // the server knows better
  await dialog.getByRole('button', { name: 'Resubmit: order failed-1' }).click();
  await dialog.getByText('1 of 1 sent: 1 accepted, 0 refused.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.locator('td[data-name="Who and why"]').getByText('olga', { exact: true }).first().waitFor();
  await page.getByText('ShipOrder resubmitted by olga: the carrier is back').first().waitFor();
  assert.equal(await page.getByText('mallory').count(), 0);
  assert.equal(await page.evaluate(() => localStorage.getItem('reeve.by')), null);
});

test('logging_out_leaves_nothing_behind', async ({ page, context, open }) => {
  await openAs(page, 'olga', '/orders/failed-2');
  const second = await context.newPage();
  await world.open(second, '/agents');
  const forgets = second.waitForRequest((request) => request.method() === 'DELETE');
  let forget;
  const held = new Promise((resolve) => { forget = resolve; });
  await second.route('**/api/session', async (route) => {
    if (route.request().method() === 'DELETE') await held;
    await route.continue();
  });
  await button(page, 'Log out').click();
  await form(page).waitFor();
  assert.equal(await page.locator('#page').innerHTML(), '');
  assert.equal(await page.locator('#user').textContent(), '');
  assert.deepEqual(await context.cookies(), []);
  await page.goBack().catch(() => null);
  await page.goto(`${world.base}/orders/failed-2`);
  await form(page).waitFor();
  // The other tab learns of it with its next request, if not from its stream of events before, and
  // of the next login when it is looked at.
  await second.keyboard.press('2');
  await forgets;
  assert.equal(await form(second).count(), 0, 'a login that follows the form would be ended');
  assert.equal(await second.locator('#page').innerHTML(), '');
  forget();
  await form(second).waitFor();
  await enter(page, tokenOf('vera'));
  await page.locator('#page h1').waitFor();
  await second.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await second.getByRole('heading', { name: 'Orders' }).waitFor();
  await open('/orders/failed-2');
});

test('revoking_a_token_ends_its_pages_and_a_login_continues_them', async ({ page }) => {
  const failures = [];
  page.on('response', (answer) => answer.status() >= 400 && failures.push(`${answer.status()} ${answer.url()}`));
  await openAs(page, 'vera', '/orders?id_prefix=after-');
  await page.locator('#live.live').waitFor();
  await world.grant({ olga: 'operator' });
  await form(page).getByText('The login of vera has ended').waitFor({ timeout: 10000 });
  assert.equal(await page.locator('#page').innerHTML(), '');
  assert.equal(await page.locator('#live').textContent(), '');
  const asked = failures.length;
  await new Promise((wake) => setTimeout(wake, 6000)); // longer than the pause before a reconnect
  assert.deepEqual(failures.slice(asked), [], 'the page asks no more');
  assert.ok(asked <= 6, failures.join('\n'));
  await world.grant(ALL);
  await enter(page, tokenOf('vera'));
  await page.getByText('No order matches these filters.').waitFor();
  await page.locator('#live.live').waitFor();
  world.submit(['after-1'], 'parallel');
  await page.getByRole('link', { name: 'after-1' }).waitFor({ timeout: 8000 });
});

test('a_dialog_outlives_the_end_of_a_login', async ({ page }) => {
  await openAs(page, 'olga', '/orders/failed-3');
  await button(page, 'Resubmit').click();
  const dialog = await fill(page, 'a long story');
  await world.grant({ vera: 'viewer' });
  await form(page).waitFor();
  await world.grant(ALL);
  await enter(page, tokenOf('olga'));
  assert.equal(await dialog.getByLabel('Reason').inputValue(), 'a long story');
  await dialog.getByRole('button', { name: 'Resubmit: order failed-3' }).click();
  await dialog.getByText('1 accepted').waitFor();
  // Of another user it does not.
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.goto(`${world.base}/orders/failed-4`);
  await button(page, 'Pause').click();
  await world.grant({ vera: 'viewer' });
  await form(page).waitFor();
  await enter(page, tokenOf('vera'));
  await page.getByText('The role viewer sees everything').waitFor();
  assert.equal(await page.locator('dialog').count(), 0);
  await world.grant(ALL);
});

test('a_role_that_changes_takes_the_actions_away', async ({ page }) => {
  await openAs(page, 'olga', '/orders/failed-4');
  await button(page, 'Pause').click();
  const dialog = await fill(page, 'wait');
  await world.grant({ ...ALL, olga: 'viewer' });
  await dialog.getByRole('button', { name: 'Pause: order failed-4' }).click();
  await dialog.getByText('the role of this token does not permit it').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByText('The role viewer sees everything').waitFor();
  assert.equal(await button(page, 'Pause').count(), 0);
  assert.equal(await page.locator('#user .who small').textContent(), ' viewer');
  await world.grant(ALL);
});

test('hostile_ids_and_customers_are_text_everywhere', async ({ page, open }) => {
  await openAs(page, 'vera', `/orders/${encodeURIComponent(HOSTILE)}`);
  await page.locator('#page h1').getByText(HOSTILE).waitFor();
  await page.getByLabel('Open an order by its id').fill(`"'${HOSTILE}`);
  await page.keyboard.press('Enter');
  await page.locator('#page h1').getByText(`"'${HOSTILE}`).waitFor();
  await open(`/orders?customer=${encodeURIComponent(HOSTILE)}`);
  await page.locator('td').getByText(HOSTILE).waitFor();
  await open('/orders/hostile');
  await page.locator('.facts').getByText(HOSTILE).waitFor();
  assert.equal(await page.locator('#page img, #page script').count(), 0);
});

for (const colorScheme of ['light', 'dark'])
  test(`the_form_is_accessible_in_${colorScheme}_colours`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${world.base}/agents`);
      await form(page).waitFor();
      assert.deepEqual(await serious(page), []);
      await enter(page, tokenOf(width === 400 ? 'vera' : 'olga'));
      await page.locator('#page h1').waitFor();
      assert.deepEqual(await serious(page), []);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
      await button(page, 'Log out').click();
      await form(page).waitFor();
    }
  });

test('too_many_wrong_tokens_say_how_long_to_wait', async ({ page }) => {
  await waitFor('the console to have enough of it, for a while', async () => {
    const answer = await fetch(`${world.base}/api/counts`, { headers: { Authorization: 'Bearer wrong' } });
    return answer.status === 429 && Number(answer.headers.get('Retry-After')) > 20;
  }, 30);
  await page.goto(`${world.base}/`);
  await enter(page, 'wrong');
  // At most a minute, which the page writes as one.
  const WAIT = /Too many wrong tokens came from here\. Wait (1 min 0 s|\d+(\.\d)? s), then try again\./;
  await form(page).getByText(WAIT).waitFor();
  await enter(page, tokenOf('vera'));
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
});

test('a_read_only_console_offers_no_actions', async ({ page, open }) => {
  await world.stopConsole();
  await world.startConsole(['--http-auth', 'none', '--http-read-only']);
  const WHY = 'This console is read-only: nothing can be changed here.';
  await open('/orders/failed-4');
  await page.getByText(WHY).waitFor();
  assert.equal(await page.getByRole('group', { name: 'Actions' }).count(), 0);
  assert.equal(await page.locator('#user').textContent(), 'read-only');
  for (const where of ['/recovery', '/workflows', '/schedules', '/agents']) {
    await open(where);
    await page.locator('#page').getByText(WHY).waitFor();
    assert.equal(await page.getByRole('button', { name: /Resubmit|Replay|Deploy|Activate|Pause/ }).count(), 0, where);
  }
  assert.equal(await form(page).count(), 0);
});

run(world);
