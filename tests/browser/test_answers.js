#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 240
// Steps that wait for people: the question and its buttons for those who may answer, what others
// see, answers that come too late or again, what waits for my decision, and who decided.
'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { World, serious, waitFor } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const LATER = 'ask again once the customer has sent a picture of the damage';
const HOSTILE = '<img src=x onerror=alert(1)>';
const WORKFLOW = `
Name: refund
Version: 1
TimeoutSeconds: 3600
Steps:
  - Name: Approve
    Await:
      From: managers
      Options: [approve, "<b>decline</b>", "${LATER}"]
      Question: "Refund \${input.sale}?"
    TimeoutSeconds: 3000
  - Name: Delivered
    Await: {}
`;
// Names that differ in punctuation only.
const TWINS = `
Name: twins
Version: 1
TimeoutSeconds: 3600
Steps:
  - Name: Sign.1
    After: []
    Await: {}
  - Name: Sign-1
    After: []
    Await: {}
`;
const REFUNDS = ['refund-1', 'refund-2', 'refund-3', 'refund-4'];
const LONG = 'W'.repeat(1000); // a question has at most 1,024 bytes
const GROUPS = 'managers mary\nauditors mary\n';
const tokenOf = (name) => `reeve_secret-of-${name}-${'x'.repeat(20)}`;
const line = (name, role) =>
  `${name} ${role} sha256:${createHash('sha256').update(tokenOf(name)).digest('hex')} 2026-01-01T00:00:00Z\n`;

class AnswerWorld extends World {
  async start() {
    const write = (name, text) => {
      const file = path.join(this.folder, name);
      fs.writeFileSync(file, text, { mode: 0o600 });
      return file;
    };
    this.workflows = [write('refund.yaml', WORKFLOW), write('twins.yaml', TWINS)];
    this.devFlags = ['--http-auth', 'tokens', '--http-tokens-file',
      write('tokens', line('olga', 'operator') + line('mary', 'viewer') + line('vera', 'viewer')),
      '--http-groups-file', this.groups = write('groups', GROUPS),
      '--console-services-token-file', write('console-token', tokenOf('vera'))];
    this.token = tokenOf('olga');
    await super.start();
    this.submit(['refund-long'], 'refund', { input: { sale: LONG } });
    this.submit(REFUNDS, 'refund', { input: { sale: HOSTILE } });
    this.submit(['twins-1'], 'twins');
    for (const id of ['refund-long', ...REFUNDS]) await this.waits(id, 'Approve');
    await this.waits('twins-1', 'Sign-1');
  }

  // Of mary, from now on.
  async setGroups(text, expected) {
    fs.writeFileSync(this.groups, text);
    await waitFor('the groups', async () => {
      const session = await fetch(`${this.base}/api/session`, { headers: { Authorization: `Bearer ${tokenOf('mary')}` } });
      return JSON.stringify((await session.json()).groups) === JSON.stringify(expected);
    });
  }

  async waits(id, step) {
    await waitFor(`${id} waits for ${step}`, async () => (await this.get(`/api/orders/${id}`))
      ?.waiting_for.some((wait) => wait.step === step));
  }
}

const world = new AnswerWorld();
const panelOf = (page, name) => page.getByRole('region', { name });
const button = (scope, name) => scope.getByRole('button', { name, exact: true });
// Another browser of mary's answers.
const answer = (id, step, body) => fetch(`${world.base}/api/orders/${id}/signals/${step}`, { method: 'POST',
  headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${tokenOf('mary')}` }, body: JSON.stringify(body) });
const refuse = (route, status, code, detail) => route.fulfill({ status, contentType: 'application/problem+json',
  body: JSON.stringify({ status, code, detail }) });

async function openAs(page, name, where) {
  await page.goto(world.base + where);
  const form = page.locator('dialog.login');
  await form.getByLabel('Token').fill(tokenOf(name));
  await form.getByRole('button', { name: 'Log in' }).click();
  await page.locator('#page h1').waitFor();
}

test('a_member_of_the_group_answers_with_a_button', async ({ page }) => {
  await openAs(page, 'mary', '/orders/refund-1');
  const panel = panelOf(page, 'Approve waits for managers');
  assert.equal(await panel.locator('.asked').textContent(), `Refund ${HOSTILE}?`);
  assert.equal(await page.locator('#page img').count(), 0);
  const node = page.locator('.graph .node').filter({ hasText: 'Approve' });
  assert.match(await node.textContent(), /Waiting: for managers$/);
  assert.match(await panelOf(page, 'Steps').locator('tbody tr').first().textContent(), /Waiting.*for managers/);
  assert.deepEqual(await panel.locator('.buttons button').allTextContents(), ['approve', '<b>decline</b>', LATER]);
  assert.equal(await panel.getByLabel('Who answers').count(), 0);
  assert.equal(await panel.locator('.command code').textContent(), 'reeve signal --choose CHOICE -- refund-1 Approve');
  assert.deepEqual(await serious(page), []);
  await panel.getByLabel('Comment (optional)').fill('a regular customer');
  await button(panel, 'approve').click();
  await panel.waitFor({ state: 'detached' });
  await waitFor('the focus', () => page.evaluate(() => document.activeElement.id === 'main'));
  const next = panelOf(page, 'Delivered waits for a signal');
  await next.waitFor();
  assert.equal(await next.locator('.command code').textContent(), 'reeve signal --payload JSON -- refund-1 Delivered');
  await panelOf(page, 'History').getByText(new RegExp('^Approve passed by a signal of mary with the id console-[a-z0-9-]+: ' +
    '\\{"by":"mary","choice":"approve","comment":"a regular customer"\\}$')).waitFor();
  const row = panelOf(page, 'Steps').locator('tbody tr').filter({ has: page.locator('b', { hasText: 'Approve' }) });
  assert.match(await row.textContent(), /"choice":"approve"/);
  assert.match(await row.textContent(), /"comment":"a regular customer"/);
  assert.match((await page.locator('.timeline .mark.decided title').allTextContents()).join(), /Approve passed by a signal of mary/);
  await next.getByLabel('Payload').fill('{"n": ');
  await button(next, 'Send').click();
  await next.getByText(/^Expected JSON/).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.name), 'payload');
  await next.getByLabel('Payload').fill('{"n": 100.10}');
  await button(next, 'Send').click();
  await world.until('refund-1', 'Processed');
  await next.waitFor({ state: 'detached' });
});

test('others_see_the_question_without_buttons', async ({ page }) => {
  await openAs(page, 'olga', '/orders/refund-2');
  const panel = panelOf(page, 'Approve waits for managers');
  await panel.getByText('Only members of managers may answer, and olga is not one.').waitFor();
  assert.equal(await panel.locator('button').count(), 0);
});

test('a_refused_answer_shows_the_reason', async ({ page }) => {
  await openAs(page, 'mary', '/orders/refund-2');
  const panel = panelOf(page, 'Approve waits for managers');
  await button(panel, 'approve').waitFor();
  await page.route('**/signals/**', (route) => refuse(route, 409, 'BadPayload', `not ${HOSTILE}`), { times: 1 });
  await button(panel, 'approve').click();
  await panel.getByText(`not ${HOSTILE}`).waitFor();
  assert.equal(await page.locator('#page img').count(), 0);
  await waitFor('the focus', () => page.evaluate(() => document.activeElement.textContent === 'approve'));
});

// The question has gone with the first answer; what became of the second one stays.
test('an_answer_after_anothers_does_not_count', async ({ page }) => {
  await openAs(page, 'mary', '/orders/refund-4');
  const panel = panelOf(page, 'Approve waits for managers');
  await page.route('**/signals/**', async (route) => {
    assert.equal((await answer('refund-4', 'Approve', { choice: 'approve' })).status, 200);
    await route.continue();
  }, { times: 1 });
  await button(panel, '<b>decline</b>').click();
  await page.getByText('Your answer to Approve does not count: step Approve is Processed').waitFor();
  await panel.waitFor({ state: 'detached' });
  const { output } = (await world.get('/api/orders/refund-4')).steps.find((step) => step.step === 'Approve');
  assert.equal(output.choice, 'approve');
});

test('an_answer_that_is_not_decided_in_time_counts_once', async ({ page }) => {
  const sent = [];
  await openAs(page, 'mary', '/orders/refund-2');
  const panel = panelOf(page, 'Approve waits for managers');
  await page.route('**/signals/**', (route) => {
    sent.push(route.request().postDataJSON());
    return refuse(route, 504, 'NotDecided', 'no scheduler decided it');
  });
  for (const [i, choice] of ['approve', 'approve', '<b>decline</b>'].entries()) {
    await button(panel, choice).click();
    await waitFor('the answer is sent', () => sent.length === i + 1);
    await panel.getByText('no scheduler decided it').waitFor();
  }
  assert.equal(sent[0].id, sent[1].id);
  assert.notEqual(sent[1].id, sent[2].id, 'the other answer is another signal');
  assert.match(sent[2].id, /^console-/);
});

test('what_is_typed_stays_while_another_step_is_answered', async ({ page }) => {
  await openAs(page, 'vera', '/orders/twins-1');
  const [dot, dash] = ['Sign.1', 'Sign-1'].map((step) => panelOf(page, `${step} waits for a signal`));
  await dash.waitFor();
  const ids = await page.locator('section.question').evaluateAll((all) => all.map((each) => each.getAttribute('aria-labelledby')));
  assert.equal(new Set(ids).size, 2);
  assert.deepEqual(await serious(page), []);
  await dot.getByLabel('Payload').fill('1');
  await dash.getByLabel('Payload').fill('2');
  await button(dash, 'Send').click();
  await dash.waitFor({ state: 'detached' });
  assert.equal(await dot.getByLabel('Payload').inputValue(), '1');
  await button(dot, 'Send').click();
  const { steps } = await world.until('twins-1', 'Processed');
  assert.deepEqual(steps.map((step) => step.output), [1, 2]);
});

test('the_orders_page_leads_to_what_waits_for_my_decision', async ({ page }) => {
  const waiting = (await world.get('/api/orders/count?group=managers')).orders;
  await openAs(page, 'mary', '/orders');
  const mine = page.getByRole('navigation', { name: 'Waiting for my decision' });
  await waitFor('the counts', async () => JSON.stringify(await mine.locator('a').allTextContents()) === `["auditors0","managers${waiting}"]`);
  await mine.getByText('managers').click();
  await page.waitForURL('**/orders?group=managers');
  await waitFor('the orders', async () => (await page.locator('#page tbody tr').count()) === waiting);
  assert.match(await page.locator('#page tbody tr').first().textContent(), /Approve waits for managers: Refund <img/);
  assert.equal(await page.locator('#page img').count(), 0);
  assert.deepEqual(await serious(page), []);
  await page.getByText('reeve orders list --group managers').waitFor();
});

// The list has its beginning and all other columns; the page of the order has all of it.
test('a_long_question_leaves_room_for_the_rest_of_its_row', async ({ page }) => {
  await openAs(page, 'mary', '/orders?id_prefix=refund-long');
  const row = page.locator('#page tbody tr').filter({ hasText: 'refund-long' });
  await row.waitFor();
  assert.match(await row.locator('td.wide').textContent(), /^Approve waits for managers: Refund W{50,200}…$/);
  assert.equal(await page.locator('#page .scroll').evaluate((node) => node.scrollWidth - node.clientWidth), 0);
  await row.getByRole('link').first().click();
  const panel = panelOf(page, 'Approve waits for managers');
  assert.equal(await panel.locator('.asked').textContent(), `Refund ${LONG}?`);
  await page.setViewportSize({ width: 400, height: 800 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
  assert.deepEqual(await panel.evaluate((node) => [...node.querySelectorAll('*')]
    .filter((each) => each.getBoundingClientRect().right > node.getBoundingClientRect().right).map((each) => each.outerHTML)), []);
});

test('users_in_no_group_see_no_such_list', async ({ page }) => {
  await openAs(page, 'vera', '/orders');
  await page.locator('#page tbody tr').first().waitFor();
  assert.equal(await page.getByRole('navigation', { name: 'Waiting for my decision' }).count(), 0);
});

test('an_answer_after_leaving_the_group_does_not_count', async ({ page }) => {
  await openAs(page, 'mary', '/orders/refund-3');
  const panel = panelOf(page, 'Approve waits for managers');
  await button(panel, 'approve').waitFor();
  await world.setGroups('auditors mary\n', ['auditors']);
  await button(panel, 'approve').click();
  await page.getByText('Your answer to Approve does not count: step Approve awaits a signal of managers, and mary is not known').waitFor();
  await panel.getByText('Only members of managers may answer, and mary is not one.').waitFor();
  assert.equal(await panel.locator('button').count(), 0);
  await waitFor('the focus', () => page.evaluate(() => document.activeElement.id === 'main'));
  await world.setGroups(GROUPS, ['auditors', 'managers']);
});

run(world);
