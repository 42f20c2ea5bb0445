#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 180
// Versions of workflows and their orders; agents that no instance serves; what an order's history
// tells about people and applications.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { World, fill, waitFor } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const FAILED = ['old-1', 'old-2', 'old-3', 'old-4'];
const SECOND_STEP = `
  - Name: CallCustomer
    Agent: callcentre
    After: [ShipOrder, ShipOrder]
    OnExhausted: error
`;

// Orders of version 1 of `parallel`, four of them in Error; version 2 is deployed as well: it has
// one more step, which no instance serves, something that lint warns of, and an Input.
class VersionsWorld extends World {
  async start() {
    const file = path.join(this.folder, 'parallel-2.yaml');
    const first = fs.readFileSync('examples/workflows/parallel.yaml', 'utf8');
    fs.writeFileSync(file, first.replace(/^Version: 1$/m, 'Version: 2')
      .replace(/^( *)Agent: carrier$/m, '$&\n$1Input: {order: "${order.id}"}').trimEnd() + SECOND_STEP);
    const shaped = path.join(this.folder, 'shaped.yaml');
    fs.writeFileSync(shaped, first.replace(/^Name: parallel$/m, 'Name: shaped').replace(/^Steps:/m,
      'InputShape: {amount: number, gift: boolean?, items: [string]}\nSteps:'));
    this.workflows.push(file, shaped);
    await super.start();
    await this.stopAgent('callcentre');
    await this.faults([{ service: 'carrier', mode: 'decline', orders: FAILED }]);
    this.submit(FAILED, 'parallel', { workflow_version: 1, reply_to: 'orders.replies.web' });
    this.submit(['ended-1'], 'parallel', { workflow_version: 1 });
    for (const id of FAILED) await this.until(id, 'Error', 30);
    await this.until('ended-1', 'Processed');
    await this.faults([]);
  }
}

const world = new VersionsWorld();
const GAINS_INPUT = 'step ShipOrder, from version 1 to 2: the agent no longer gets outputs and lines, nor the order\'s '
  + 'input: put all that its service reads into Input';
const panelOf = (page, name) => page.getByRole('region', { name, exact: true });
const versionRow = (page, number) => panelOf(page, 'parallel').getByRole('region', { name: 'Versions' })
  .locator('tbody tr').nth(number - 1);
const cell = (row, name) => row.locator(`td[data-name="${name}"]`);

test('workflows_show_the_orders_of_each_version_and_what_lint_says', async ({ page, open }) => {
  await open('/workflows');
  const first = versionRow(page, 1);
  assert.equal(await cell(first, 'Orders').textContent(), '5');
  assert.equal(await cell(first, 'Unfinished').textContent(), '4 Error');
  assert.match(await cell(first, 'Lint').textContent(), /OK/);
  const second = versionRow(page, 2);
  assert.equal(await cell(second, 'Orders').textContent(), '0');
  assert.match(await cell(second, 'Lint').textContent(), /warning line \d+: ShipOrder is named twice/);
  assert.equal(await second.getByRole('button', { name: 'Migrate' }).isDisabled(), true);
  await page.getByText('reeve orders count --versions').waitFor();
  await cell(first, 'Unfinished').getByRole('link').click();
  await page.waitForURL(/workflow=parallel&workflow_version=1&state=Error/);
  await waitFor('four orders', async () => (await page.locator('#page tbody tr').count()) === 4);
});

test('migrates_the_selected_orders_and_shows_a_refusal', async ({ page, open }) => {
  await open('/orders?state=Error&id_prefix=old-');
  await page.getByLabel('Select order old-1').check();
  await page.getByLabel('Select order old-2').check();
  const answer = await world.post('/api/orders/old-2/migrate', { by: 'pete', reason: 'was faster', version: 2 });
  assert.equal(answer.status, 200);
  await page.getByRole('region', { name: 'Selected orders' }).getByRole('button', { name: 'Migrate' }).click();
  const dialog = await fill(page, 'call them');
  await dialog.getByLabel('From version').selectOption('parallel:1');
  assert.deepEqual(await dialog.locator('select[name=to] option').allTextContents(), ['parallel:2, active']);
  await dialog.getByRole('button', { name: 'Migrate: 2 orders' }).click();
  await dialog.getByText('2 of 2 sent: 1 accepted, 1 refused.').waitFor();
  await dialog.getByText('the order has version 2 of parallel, not 1').waitFor();
  assert.equal((await world.get('/api/orders/old-1')).workflow_version, 2);
});

test('migrates_all_orders_of_a_version_after_a_dry_run', async ({ page, open }) => {
  await open('/workflows');
  await page.getByRole('button', { name: 'Migrate orders of version 1' }).click();
  const dialog = await fill(page, 'customers like it');
  const commandText = dialog.locator('.command code');
  assert.equal(await commandText.textContent(), "reeve workflow migrate --reason 'customers like it' --by olga --yes -- parallel:1 parallel:2");
  await dialog.getByRole('button', { name: 'Dry run' }).click();
  await dialog.getByText('2 orders; nothing was sent.').waitFor();
  assert.deepEqual(await dialog.locator('.notice').allTextContents(), [GAINS_INPUT]);
  assert.deepEqual((await dialog.locator('.results li').allTextContents()).sort(), ['old-3', 'old-4']);
  assert.equal(await commandText.textContent(), 'reeve workflow migrate --dry-run -- parallel:1 parallel:2');
  assert.equal((await world.get('/api/orders/old-3')).workflow_version, 1);
  await dialog.getByRole('button', { name: 'Migrate: 2 orders' }).click();
  await dialog.getByText('2 of 2 sent: 2 accepted, 0 refused.').waitFor();
  assert.equal(await dialog.locator('.results li').count(), 2);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await waitFor('the counts have moved', async () => (await cell(versionRow(page, 2), 'Unfinished').textContent()) === '4 Error');
  assert.equal(await cell(versionRow(page, 1), 'Unfinished').textContent(), '0');
});

test('an_order_shows_its_migration_and_its_new_steps', async ({ page, open }) => {
  await open('/orders/old-3');
  const history = panelOf(page, 'History');
  const row = history.locator('tbody tr').filter({ hasText: 'order moved from version 1 to version 2' });
  assert.match(await cell(row, 'Who and why').textContent(), /olga\s*customers like it/);
  await page.locator('.timeline .moment-of').filter({ hasText: 'moved to another version' }).first().waitFor({ state: 'attached' });
  await page.locator('.timeline .label').filter({ hasText: 'CallCustomer' }).waitFor();
});

test('an_order_lists_the_statuses_that_were_sent', async ({ page, open }) => {
  await open('/orders/old-4');
  const statuses = panelOf(page, 'Statuses sent').locator('tbody tr');
  assert.equal(await cell(statuses.first(), 'Status').textContent(), 'Received');
  assert.equal(await cell(statuses.first(), 'To').textContent(), 'orders.replies.web');
  const failed = statuses.filter({ hasText: 'ShipmentRefused' }).first();
  assert.equal(await cell(failed, 'Status').textContent(), 'Error');
  assert.match(await cell(failed, 'Steps').textContent(), /ShipOrder Error, attempt 1/);
  await open('/orders/ended-1');
  await panelOf(page, 'Statuses sent').getByText('None: the order names no reply topic.').waitFor();
});

test('fails_a_step_by_hand', async ({ page, open }) => {
  const paused = await world.post('/api/agents/carrier/pause', { by: 'olga', reason: 'holiday' });
  assert.equal(paused.status, 200);
  world.submit(['fail-1'], 'parallel', { workflow_version: 1 });
  await waitFor('ShipOrder waits', async () => (await world.get('/api/orders/fail-1'))?.steps
    .some((step) => step.step === 'ShipOrder' && step.queued_at));
  await open('/orders/fail-1');
  await page.getByRole('button', { name: 'Fail step' }).click();
  const dialog = await fill(page, 'the parcel is lost');
  await dialog.locator('select[name=step]').selectOption('ShipOrder');
  await dialog.locator('input[name=error_name]').fill('ParcelLost');
  assert.match(await dialog.locator('.command code').textContent(), /^reeve step fail --reason .* -- fail-1 ShipOrder ParcelLost$/);
  await dialog.getByRole('button', { name: 'Fail step: order fail-1' }).click();
  await dialog.getByText('1 accepted').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.locator('.title .badge').filter({ hasText: 'Error' }).waitFor();
  await page.getByText('ShipOrder failed by hand by olga: ParcelLost: the parcel is lost').first().waitFor();
  const resumed = await world.post('/api/agents/carrier/resume', { by: 'olga', reason: 'back' });
  assert.equal(resumed.status, 200);
});

test('pauses_and_resumes_an_agent_without_an_instance', async ({ page, open }) => {
  await open('/agents');
  const panel = panelOf(page, 'callcentre');
  await panel.getByText('no instance').first().waitFor();
  await panel.getByText('Named by parallel:2.').waitFor();
  await panel.getByRole('button', { name: 'Pause' }).click();
  let dialog = await fill(page, 'not staffed yet');
  assert.equal(await dialog.locator('.command code').textContent(), "reeve agents pause --reason 'not staffed yet' --by olga -- callcentre");
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await panel.getByText('not staffed yet').waitFor();
  assert.equal((await world.get('/api/agents')).pauses[0].agent, 'callcentre');
  await panel.getByRole('button', { name: 'Resume' }).click();
  dialog = await fill(page, 'staffed');
  await dialog.getByRole('button', { name: 'Resume', exact: true }).click();
  await panel.getByRole('button', { name: 'Pause' }).waitFor();
  assert.deepEqual((await world.get('/api/agents')).pauses, []);
});

test('shows_schedules_and_pauses_and_triggers_them', async ({ page, open }) => {
  const source = 'Schedule: refill\nEverySeconds: 31536000\nOrder: {workflow: parallel, workflow_version: 1}\n';
  await open('/schedules');
  await page.getByText('No schedule is deployed.').waitFor();
  const deployed = await world.post('/api/schedules', { by: 'olga', source });
  assert.equal(deployed.status, 200);
  await open('/schedules');
  await panelOf(page, 'refill').getByText('every 365 d', { exact: true }).waitFor();
  const panel = panelOf(page, 'refill');
  await panel.getByText('active').first().waitFor();
  assert.match(await panel.locator('td[data-name=Order]').first().textContent(), /^refill@\d{4}-\d\d-\d\dT00:00Z$/);
  await panel.getByRole('button', { name: 'Pause' }).click();
  let dialog = await fill(page, 'stocktaking');
  assert.equal(await dialog.locator('.command code').textContent(), 'reeve schedule pause --reason stocktaking --by olga -- refill');
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  await panel.getByText('stocktaking').waitFor();
  assert.equal((await world.get('/api/schedules')).schedules[0].paused.by, 'olga');
  await panel.getByRole('button', { name: 'Trigger' }).click();
  dialog = page.locator('dialog[open]');
  await dialog.locator('input[name=by]').fill('olga');
  assert.equal(await dialog.locator('.command code').textContent(), 'reeve schedule trigger -- refill');
  await dialog.getByRole('button', { name: 'Trigger', exact: true }).click();
  await waitFor('the order is there', async () => (await world.get('/api/orders')).orders
    .some((order) => order.order_id.startsWith('refill@')));
  await panel.getByRole('button', { name: 'Resume' }).click();
  dialog = await fill(page, 'counted');
  await dialog.getByRole('button', { name: 'Resume', exact: true }).click();
  await panel.getByRole('button', { name: 'Pause' }).waitFor();
});

test('links_the_orders_of_the_last_ticks_of_a_schedule', async ({ page, open }) => {
  const often = (workflow) => `Schedule: often\nEverySeconds: 1\nOrder: {workflow: ${workflow}, workflow_version: 1}\n`;
  const deploy = async (source) => assert.equal((await world.post('/api/schedules', { by: 'olga', source })).status, 200);
  await deploy(often('parallel'));
  await waitFor('a tick has an order', async () => (await world.get('/api/schedules')).schedules
    .some((schedule) => schedule.last.some((tick) => tick.state)));
  await open('/schedules');
  await panelOf(page, 'often').getByRole('link', { name: /^often@/ }).first().click();
  await page.getByRole('heading', { name: /^often@/ }).waitFor();
  await deploy(often('none'));
  await open('/schedules');
  await panelOf(page, 'often').getByText('version 1 of workflow none is not deployed').waitFor();
});

// What `reeve workflow list` says about each version of `parallel`.
const statuses = () => Object.fromEntries(JSON.parse(world.reeve(['workflow', 'list', '--output', 'json']))
  .filter((each) => each.workflow === 'parallel')
  .map((each) => [each.version, each.active ? 'active' : each.retired_by ? 'retired' : '']));

const statusOf = (page, number) => cell(versionRow(page, number), 'Status');
const hasStatus = (page, number, status) => statusOf(page, number).filter({ hasText: status }).waitFor();

// Answers the dialog that a button opened; `shown`: the command in it.
async function confirm(page, button, reason, shown) {
  const dialog = await fill(page, reason);
  assert.equal(await dialog.locator('.command code').textContent(), shown);
  await dialog.getByRole('button', { name: button, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

test('compares_two_versions', async ({ page, open }) => {
  await open('/workflows');
  await panelOf(page, 'parallel').getByRole('button', { name: 'Compare' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('select[name=left]').selectOption('1');
  await dialog.locator('select[name=right]').selectOption('2');
  const row = dialog.getByRole('region', { name: 'Differences' }).locator('tbody tr').filter({ hasText: 'CallCustomer' });
  await row.first().waitFor();
  assert.deepEqual(await dialog.locator('.notice').allTextContents(), [GAINS_INPUT]);
  assert.equal(await dialog.locator('.command code').textContent(), 'reeve workflow diff -- parallel:1 parallel:2');
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
});

test('composes_an_order_from_the_shape_of_its_input', async ({ page, open }) => {
  await open('/workflows');
  await panelOf(page, 'shaped').getByRole('button', { name: 'Order' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('input.amount: expected a number').waitFor();
  await dialog.getByLabel('input.amount').fill('12345678901234567890.5');
  await dialog.getByLabel('input.items').fill('{"a": 1}');
  await dialog.getByText('input.items: expected a list as JSON').waitFor();
  await dialog.getByLabel('input.items').fill('["a"]');
  const text = await dialog.getByLabel('The same in a terminal').textContent();
  assert.match(text, /^reeve submit - <<'END'/);
  assert.match(text, /"input": \{\s+"amount": 12345678901234567890\.5,\s+"items": \[\s+"a"\s+\]\s+\}/);
  await dialog.getByLabel('input.gift').selectOption('true');
  assert.match(await dialog.getByLabel('The same in a terminal').textContent(), /"gift": true/);
  await dialog.getByRole('button', { name: 'Close' }).click();
});

// Each on lines of its own, within the dialog: also what has no blank.
test('shows_long_problems_of_a_text_below_each_other', async ({ page, open }) => {
  const long = 'a'.repeat(60);
  await page.setViewportSize({ width: 400, height: 800 });
  await open('/workflows');
  await page.getByRole('button', { name: 'Deploy' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('input[name=by]').fill('olga');
  await dialog.locator('textarea[name=source]').fill(`Name: w\nVersion: 1\nSteps:\n  - {Name: ${long}, Agent: noop, When: input.a}\n`
    + `  - {Name: B, Agent: noop, Input: "\${output.${long}}"}\n  - {Name: C, Agent: noop, Input: "\${output.${long}}"}\n`);
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click();
  const problems = dialog.getByRole('list', { name: 'Problems' });
  await problems.getByText(`step ${long} may have no output: write has(output.${long}) && `).first().waitFor();
  const boxes = await problems.locator('li').evaluateAll((list) => list.map((item) => item.getBoundingClientRect().toJSON()));
  assert.equal(boxes.length, 2);
  assert.ok(boxes[0].bottom <= boxes[1].top, JSON.stringify(boxes));
  assert.deepEqual(await dialog.evaluate((node) => [...node.querySelectorAll('.problems, .problems *')]
    .filter((each) => each.scrollWidth > each.clientWidth && getComputedStyle(each).display !== 'inline').map((each) => each.outerHTML)), []);
  assert.ok(await dialog.evaluate((node) => node.scrollWidth <= node.clientWidth));
  const [inside] = await problems.evaluateAll((list) => list.map((node) => node.scrollHeight <= node.clientHeight));
  assert.ok(inside, 'the dialog scrolls, not the list in it');
  await dialog.getByRole('button', { name: 'Close' }).click();
});

test('deploys_activates_rolls_back_and_retires_versions', async ({ page, open }) => {
  const first = fs.readFileSync('examples/workflows/parallel.yaml', 'utf8');
  const file = path.join(world.folder, 'parallel-3.yaml');
  fs.writeFileSync(file, first.replace(/^Version: 1$/m, 'Version: 3'));
  await open('/workflows');
  const panel = panelOf(page, 'parallel');
  await page.getByRole('button', { name: 'Deploy' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('input[name=by]').fill('olga');
  await dialog.locator('textarea[name=source]').fill('Name: parallel\nVersion: 0\nInputShape: {type: object}\n');
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click();
  await dialog.getByText('the text has 3 errors; nothing was deployed', { exact: true }).waitFor();
  const problems = dialog.getByRole('list', { name: 'Problems' }).getByRole('listitem');
  assert.equal(await problems.count(), 3);
  assert.match((await problems.allTextContents()).find((text) => text.includes('line 3')), /error line 3: InputShape is not JSON Schema: write any$/);
  await dialog.locator('textarea[name=source]').fill('Name: parallel\nVersion: 3\nSteps: [{Name: A, Agent: nowhere}]\n');
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click();
  await dialog.getByText(/1 of the workflow's agents has no requests topic, and nothing was deployed: the console creates no topics/).waitFor();
  assert.match(await dialog.getByLabel('What solves the problem').textContent(), /^reeve topics apply .*--agent nowhere$/);
  const command = "reeve topics apply --partitions 8 --replication-factor 3 --agent '<b>nowhere</b>'";
  await page.route('**/api/workflows', (route) => route.fulfill({ status: 409, contentType: 'application/problem+json',
    body: JSON.stringify({ status: 409, code: 'TopicsMissing', detail: 'Create them', command }) }), { times: 1 });
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click();
  await dialog.getByText('Create them', { exact: true }).waitFor();
  assert.equal(await dialog.getByLabel('What solves the problem').textContent(), command);
  await dialog.locator('input[name=file]').setInputFiles(file);
  await waitFor('the text of the file', async () => /^Version: 3$/m.test(await dialog.locator('textarea[name=source]').inputValue()));
  await dialog.getByLabel('New orders take this version').uncheck();
  assert.equal(await dialog.getByLabel('The same in a terminal').textContent(), 'reeve workflow deploy --no-activate -- parallel-3.yaml');
  await dialog.getByRole('button', { name: 'Deploy', exact: true }).click();
  await dialog.getByText(/^step ShipOrder, from version 2 to 3: the agent gets the whole order again/).waitFor();
  assert.match(await dialog.locator('.stack').textContent(), /^parallel:3: deployed, not active/);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await hasStatus(page, 3, 'deployed');
  await hasStatus(page, 2, 'active');
  assert.deepEqual(statuses(), { 1: '', 2: 'active', 3: '' });

  await versionRow(page, 3).getByRole('button', { name: 'Activate' }).click();
  await confirm(page, 'Activate', 'tested', 'reeve workflow activate --reason tested --by olga -- parallel:3');
  await hasStatus(page, 3, 'active');
  await hasStatus(page, 2, 'deployed');
  assert.match(await cell(versionRow(page, 3), 'Activated').textContent(), /by olga: tested$/);
  assert.deepEqual(statuses(), { 1: '', 2: '', 3: 'active' });

  assert.equal(await panel.getByText('No version is active').count(), 0);
  await panel.getByRole('button', { name: 'Roll back' }).click();
  await confirm(page, 'Roll back', 'worse', 'reeve workflow rollback --reason worse --by olga -- parallel');
  await hasStatus(page, 2, 'active');
  await hasStatus(page, 3, 'deployed');
  assert.deepEqual(statuses(), { 1: '', 2: 'active', 3: '' });

  await versionRow(page, 3).getByRole('button', { name: 'Retire' }).click();
  assert.equal(await page.getByText('This is the active version').count(), 0);
  await confirm(page, 'Retire', 'worse', 'reeve workflow retire --reason worse --by olga -- parallel:3');
  await hasStatus(page, 3, /retired.*by olga: worse/);
  await versionRow(page, 2).getByRole('button', { name: 'Retire' }).click();
  await dialog.getByText(/This is the active version: new orders that name no version are refused/).waitFor();
  await confirm(page, 'Retire', 'broken', 'reeve workflow retire --reason broken --by olga -- parallel:2');
  await hasStatus(page, 2, /retired.*by olga: broken/);
  await panel.getByText('No version is active: new orders that name no version are refused').waitFor();
  assert.deepEqual(statuses(), { 1: '', 2: 'retired', 3: 'retired' });
  assert.throws(() => world.submit(['refused-1'], 'parallel'), /version 2 of workflow "parallel" takes no new orders: broken/);
});

run(world);
