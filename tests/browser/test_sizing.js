#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// TIMEOUT_SECONDS = 300
// The form on the site's page Sizing: its sums are the examples of that page.
'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { ROOT, World } = require('./lib/world.js');
const { run, test } = require('./lib/runner.js');

const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.json': 'application/json' };

class SiteWorld extends World {
  async start() {
    const done = spawnSync(path.join(ROOT, 'scripts/site'), ['--version', 'v1', '--to', this.folder], { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(done.stdout + done.stderr);
    this.server = http.createServer((request, response) => {
      const file = path.join(this.folder, path.normalize(new URL(request.url, 'http://site').pathname));
      const found = fs.existsSync(file);
      response.writeHead(found ? 200 : 404, { 'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream' });
      response.end(found ? fs.readFileSync(file) : '');
    });
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.base = `http://127.0.0.1:${this.server.address().port}`;
    await this.openBrowser();
  }

  async stop() {
    await super.stop();
    this.server?.close();
  }

  async open(page) {
    await page.goto(`${this.base}/v1/docs/operate/sizing.html`);
    await page.locator('#sizing-estimate').waitFor();
  }
}

// The rows of the n-th table after a heading, without its titles.
const tableOf = (page, id, n = 0) => page.evaluate(([heading, count]) => {
  let element = document.getElementById(heading);
  for (let i = -1; i < count;) {
    element = element.nextElementSibling;
    i += element.tagName === 'TABLE';
  }
  return [...element.rows].slice(1).map((row) => [...row.cells].map((cell) => cell.textContent));
}, [id, n]);

// What it shows for these inputs, by name.
async function estimate(page, inputs) {
  const all = { steps: 3, input: 200, open: 0, days: 1, replicas: 1, ...inputs };
  for (const [name, value] of Object.entries(all)) await page.locator(`#sizing-form [name=${name}]`).fill(String(value));
  return Object.fromEntries(await page.locator('#sizing-estimate tr').evaluateAll((rows) => rows.map((row) =>
    [row.cells[0].textContent, row.cells[1].textContent])));
}

const numberOf = (text) => Number(text.match(/[\d.,]+/)[0].replaceAll(',', ''));
const UNITS = { bytes: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const bytesOf = (text) => Number((numberOf(text) * UNITS[text.match(/[A-Za-z]+$/)[0]]).toPrecision(2));

test('disks_are_those_of_the_page', async ({ page, open }) => {
  await open();
  const rows = await tableOf(page, 'bytes', 1);
  assert.equal(rows.length, 4);
  for (const [rate, day, ...kept] of rows) {
    for (const [i, days] of [1, 9, 30].entries()) {
      const found = await estimate(page, { rate: numberOf(rate), days });
      assert.equal(bytesOf(found['written a day, one replica']), bytesOf(day), rate);
      assert.equal(bytesOf(found['log of all topics, all replicas']), bytesOf(kept[i]), `${rate}, ${days} days`);
    }
  }
});

test('cores_are_those_of_the_page', async ({ page, open }) => {
  await open();
  const [first, ...rows] = await tableOf(page, 'what-a-rate-needs');
  assert.equal(numberOf(first[0]), 100, 'lies between two of the measurements');
  assert.equal(rows.length, 3);
  for (const [rate, services, brokers, instances, , memory] of rows) {
    const replicas = brokers.includes('with replicas') ? 3 : 1;
    const found = await estimate(page, { rate: numberOf(rate), replicas });
    assert.equal(numberOf(found['cores, services']).toFixed(1), numberOf(services).toFixed(1), rate);
    assert.equal(numberOf(found['cores, brokers with replicas']).toFixed(1), numberOf(brokers).toFixed(1), rate);
    assert.equal(found['instances of each service'], instances);
    assert.ok(memory.includes(`to ${found['memory of an instance, at most']}`), memory);
  }
});

test('partitions_are_those_of_the_page', async ({ page, open }) => {
  await open();
  for (const [rate, partitions] of await tableOf(page, 'partitions')) {
    const number = numberOf(rate.replace('up to ', ''));
    assert.match(partitions, new RegExp(`\\b${(await estimate(page, { rate: number })).partitions}$`));
  }
});

test('follows_the_formulas', async ({ page, open }) => {
  await open();
  const bytes = async (name, inputs) => bytesOf((await estimate(page, { rate: 100, ...inputs }))[name]);
  // 516 and 1,194 bytes an order, 7 days; four of four records, then eight.
  assert.equal(await bytes('log of submissions, all replicas', { steps: 7 }), 31e9);
  assert.equal(await bytes('log of commands, all replicas', { steps: 7 }), 140e9);
  assert.equal(await bytes('log of commands, all replicas', { steps: 7, replicas: 3 }), 430e9);
  assert.equal(await bytes('log of submissions, all replicas', { input: 1200 }), 92e9);
  assert.equal(await bytes('log of requests.*, all replicas', { steps: 6 }), 27e9);
  // 69.12 million orders of 8 days, and as many open ones, of 500 bytes.
  assert.equal(await bytes('stores of all schedulers together', {}), 35e9);
  assert.equal(await bytes('stores of all schedulers together', { open: 69120000 }), 69e9);
  assert.equal(await bytes('written to disks a second, all replicas', { replicas: 3 }), 1.8e6);
});

// 100 orders/s, three steps: the figures that the other tests know, times what they cost.
test('multiplies_with_the_prices_of_the_user', async ({ page, open }) => {
  await open();
  const prices = { core: '', memory: '', disk: '' };
  const costs = async (given) => Object.entries(await estimate(page, { rate: 100, replicas: 3, ...prices, ...given }))
    .filter(([name]) => name.startsWith('a month')).map(([name, cost]) => [name.replace('a month, ', ''), numberOf(cost)]);
  const two = (value) => Number(value.toPrecision(2));
  assert.deepEqual(await costs({}), [], 'no prices are made up');
  const figures = await estimate(page, { rate: 100, replicas: 3 });
  const memory = two(0.5 * 2 * 5 * numberOf(figures['memory of an instance, at most']) * 1e6 / 2 ** 30);
  const found = await costs({ core: '0.05' });
  // 2,460 us of the services and 3 x 4,500 of the brokers, 730 hours.
  assert.deepEqual(found, [['cores', two(0.05 * 730 * 100 * (2460 + 3 * 4500) / 1e6)], ['together', found[0][1]]]);
  assert.deepEqual(await costs({ memory: '0.5' }), [['memory of the services', memory], ['together', memory]]);
  const [[, disk]] = await costs({ disk: '0.1' });
  const bytes = bytesOf(figures['log of all topics, all replicas']) + 2 * bytesOf(figures['stores of all schedulers together']);
  assert.ok(Math.abs(disk / (0.1 * bytes / 2 ** 30) - 1) < 0.05, `${disk}`);
  const all = await costs({ core: '0.05', memory: '0.5', disk: '0.1' });
  assert.deepEqual(all.map(([name]) => name), ['cores', 'memory of the services', 'disks', 'together']);
  assert.deepEqual(await costs({ core: '0' }), [['cores', 0], ['together', 0]]);
  await page.locator('#sizing-form [name=core]').fill('-1');
  assert.equal(await page.locator('#sizing-estimate').isVisible(), false);
});

test('says_where_there_are_no_figures', async ({ page, open }) => {
  await open();
  await estimate(page, { rate: 100000 });
  assert.equal(await page.locator('#sizing-estimate caption').count(), 0);
  await estimate(page, { rate: 100001 });
  assert.equal(await page.locator('#sizing-estimate caption').count(), 1);
  await page.locator('#sizing-form [name=steps]').fill('0');
  assert.equal(await page.locator('#sizing-estimate').isVisible(), false);
  await page.locator('#sizing-form [name=steps]').fill('1');
  assert.equal(await page.locator('#sizing-estimate').isVisible(), true);
});

test('other_pages_have_no_form', async ({ page, world }) => {
  await page.goto(`${world.base}/v1/docs/operate/running.html`);
  assert.equal(await page.locator('#sizing-form').count(), 0);
});

run(new SiteWorld());
