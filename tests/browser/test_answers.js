#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 240
// Steps that wait for people: the question and its buttons for those who may answer, what others
// see, what waits for my decision, and who decided.
'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { World, serious, waitFor } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const HOSTILE = '<img src=x onerror=alert(1)>';
const WORKFLOW = `
Name: refund
Version: 1
TimeoutSeconds: 3600
Steps:
  - Name: Approve
    Await:
      From: managers
      Options: [approve, "<b>decline</b>"]
      Question: "Refund \${input.sale}?"
    TimeoutSeconds: 3000
  - Name: Delivered
    Await: {}
`;
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
    this.workflows = [write('refund.yaml', WORKFLOW)];
    this.devFlags = ['--http-auth', 'tokens', '--http-tokens-file',
      write('tokens', line('olga', 'operator') + line('mary', 'viewer') + line('vera', 'viewer')),
      '--http-groups-file', write('groups', 'managers mary\nauditors mary\n'),
      '--console-services-token-file', write('console-token', tokenOf('vera'))];
    this.token = tokenOf('olga');
    await super.start();
    this.submit(['refund-1', 'refund-2', 'refund-3'], 'refund', { input: { sale: HOSTILE } });
    for (const id of ['refund-1', 'refund-2', 'refund-3']) await this.waits(id, 'Approve');
  }

  async waits(id, step) {
    await waitFor(`${id} waits for ${step}`, async () => (await this.get(`/api/orders/${id}`))
      ?.waiting_for.some((wait) => wait.step === step));
  }
}

const world = new AnswerWorld();
const panelOf = (page, name) => page.getByRole('region', { name });
const button = (scope, name) => scope.getByRole('button', { name, exact: true });

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
  assert.deepEqual(await panel.locator('.buttons button').allTextContents(), ['approve', '<b>decline</b>']);
  assert.equal(await panel.getByLabel('Who answers').count(), 0);
  assert.deepEqual(await serious(page), []);
  if (process.env.REEVE_PICTURES) await page.screenshot({ path: `${process.env.REEVE_PICTURES}/question.png`, fullPage: true });
  await panel.getByLabel('Comment (optional)').fill('a regular customer');
  await button(panel, 'approve').click();
  await panel.waitFor({ state: 'detached' });
  const next = panelOf(page, 'Delivered waits for a signal');
  await next.waitFor();
  await panelOf(page, 'History').getByText(/^Approve passed by a signal of mary with the id console-/).waitFor();
  const row = panelOf(page, 'Steps').locator('tbody tr').filter({ has: page.locator('b', { hasText: 'Approve' }) });
  assert.match(await row.textContent(), /"choice":"approve"/);
  assert.match(await row.textContent(), /"comment":"a regular customer"/);
  assert.match((await page.locator('.timeline .mark.decided title').allTextContents()).join(), /Approve passed by a signal of mary/);
  await next.getByLabel('Payload').fill('{"n": ');
  await button(next, 'Send').click();
  await next.getByText(/^Expected JSON/).waitFor();
  await next.getByLabel('Payload').fill('{"n": 100.10}');
  await button(next, 'Send').click();
  await world.until('refund-1', 'Processed');
  await next.waitFor({ state: 'detached' });
  if (process.env.REEVE_PICTURES) await page.screenshot({ path: `${process.env.REEVE_PICTURES}/decided.png`, fullPage: true });
});

test('others_see_the_question_without_buttons', async ({ page }) => {
  await openAs(page, 'olga', '/orders/refund-2');
  const panel = panelOf(page, 'Approve waits for managers');
  await panel.getByText('Only members of managers may answer, and olga is not one.').waitFor();
  assert.equal(await panel.locator('button').count(), 0);
  if (process.env.REEVE_PICTURES) await page.screenshot({ path: `${process.env.REEVE_PICTURES}/others.png`, fullPage: true });
});

test('an_answer_that_comes_too_late_shows_the_reason', async ({ page }) => {
  await openAs(page, 'mary', '/orders/refund-2');
  const panel = panelOf(page, 'Approve waits for managers');
  await button(panel, 'approve').waitFor();
  await page.route('**/signals/**', (route) => route.fulfill({ status: 409, contentType: 'application/problem+json',
    body: JSON.stringify({ status: 409, code: 'TooLate', detail: `step Approve is ${HOSTILE}` }) }), { times: 1 });
  await button(panel, 'approve').click();
  await panel.getByText(`step Approve is ${HOSTILE}`).waitFor();
});

test('the_orders_page_leads_to_what_waits_for_my_decision', async ({ page }) => {
  await openAs(page, 'mary', '/orders');
  const mine = page.getByRole('navigation', { name: 'Waiting for my decision' });
  await waitFor('the counts', async () => JSON.stringify(await mine.locator('a').allTextContents()) === '["auditors0","managers2"]');
  if (process.env.REEVE_PICTURES) await page.screenshot({ path: `${process.env.REEVE_PICTURES}/mine.png`, fullPage: true });
  await mine.getByText('managers').click();
  await waitFor('two orders', async () => (await page.locator('#page tbody tr').count()) === 2);
  assert.equal(new URL(page.url()).search, '?group=managers');
  assert.match(await page.locator('#page tbody tr').first().textContent(), /Approve waits for managers: Refund <img/);
  assert.equal(await page.locator('#page img').count(), 0);
  assert.deepEqual(await serious(page), []);
  await page.getByText('reeve orders list --group managers').waitFor();
});

test('who_is_in_no_group_has_no_such_list', async ({ page }) => {
  await openAs(page, 'vera', '/orders');
  await page.locator('#page tbody tr').first().waitFor();
  assert.equal(await page.getByRole('navigation', { name: 'Waiting for my decision' }).count(), 0);
});

run(world);
