// SPDX-License-Identifier: Apache-2.0
// A console with orders: `reeve dev` on its embedded broker, the shop of examples/services behind
// its agents, and a browser. Everything listens on free ports and is stopped by its process.
'use strict';

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { createRequire } = require('node:module');

const ROOT = process.env.REEVE_SOURCE_DIR ?? path.resolve(__dirname, '../../..');
const BUILD = process.env.REEVE_BUILD_DIR ?? path.join(ROOT, 'build/dev');
const REEVE = path.join(BUILD, 'bin/reeve');
const MODULES = process.env.REEVE_NODE_MODULES;
const CHROMIUM = process.env.REEVE_CHROMIUM ?? '/usr/bin/chromium';

function stop(why) {
  console.error(why);
  process.exit(1);
}

if (!MODULES) stop('REEVE_NODE_MODULES is not set: run scripts/test browser');
if (!fs.existsSync(REEVE)) {
  stop(`${REEVE} does not exist: set REEVE_BUILD_DIR to a folder in which reeve is built`);
}
const installed = createRequire(path.join(MODULES, 'package.json'));
const { chromium } = installed('playwright-core');

const pause = (ms) => new Promise((wake) => setTimeout(wake, ms));

// Waits until `condition` returns something true, and returns it.
exports.waitFor = async (what, condition, seconds = 20) => {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const result = await condition();
    if (result) return result;
    if (Date.now() > deadline) throw new Error(`${what}: not after ${seconds} s`);
    await pause(50);
  }
};

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

// What is inaccessible in the page, and seriously so.
exports.serious = async (page, rules = RULES) => {
  await page.evaluate(fs.readFileSync(installed.resolve('axe-core/axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate((runOnly) => globalThis.axe.run(document,
    { resultTypes: ['violations'], runOnly }), rules);
  return violations.filter((each) => ['serious', 'critical'].includes(each.impact))
    .map((each) => `${each.id}: ${each.help}: ${each.nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3).join(' | ')}`);
};

// Writes who and why into the dialog that is open, and returns it.
exports.fill = async (page, reason) => {
  const dialog = page.locator('dialog');
  const who = dialog.getByLabel('Who decides this');
  if (!(await who.inputValue())) await who.fill('olga');
  await dialog.getByLabel('Reason').fill(reason);
  return dialog;
};

// Outside the range from which the kernel takes ports for outgoing connections, so that it stays
// free while the console restarts.
function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    const port = 15000 + Math.floor(Math.random() * 15000);
    server.once('error', () => freePort().then(resolve, reject));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)));
  });
}

// Flags end where "--" is.
exports.withFlags = (words, ...flags) => {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  return [...words.slice(0, end), ...flags, ...words.slice(end)];
};

class World {
  constructor() {
    this.folder = process.env.REEVE_TEST_DIR ?? fs.mkdtempSync('/tmp/reeve-browser-');
    this.processes = [];
    this.devFlags = [];
    this.token = null; // for calls of the test's own, of a console that asks for one
    this.workflows = ['examples/workflows/order-fulfilment.yaml', 'examples/workflows/parallel.yaml'];
  }

  launch(name, command, args) {
    const log = fs.openSync(path.join(this.folder, `${name}.log`), 'a');
    const child = spawn(command, args, { stdio: ['ignore', log, log], cwd: ROOT });
    fs.closeSync(log);
    child.ended = new Promise((resolve) => child.once('exit', resolve));
    this.processes.push(child);
    return child;
  }

  log(name) {
    return fs.readFileSync(path.join(this.folder, `${name}.log`), 'utf8');
  }

  async start() {
    const portFile = path.join(this.folder, 'shop.port');
    this.launch('shop', '/usr/bin/python3', ['examples/services/shop.py', '--port', '0', '--port-file', portFile,
      '--db', path.join(this.folder, 'shop.sqlite')]);
    await exports.waitFor('the shop', () => fs.existsSync(portFile) && fs.readFileSync(portFile, 'utf8').trim());
    this.shop = `http://127.0.0.1:${fs.readFileSync(portFile, 'utf8').trim()}`;
    this.port = await freePort();
    this.base = `http://127.0.0.1:${this.port}`;
    const agents = ['stock', 'payment', 'carrier'].flatMap((name) => ['--agent', `${name}=${this.shop}/${name}`]);
    this.dev = this.launch('dev', REEVE, ['dev', ...this.workflows, '--schedulers', '2', ...agents, '--http-port', String(this.port),
      '--data-dir', path.join(this.folder, 'data'), '--no-restart', ...this.devFlags]);
    await exports.waitFor('reeve dev', () => {
      if (this.dev.exitCode !== null) throw new Error(`reeve dev ended:\n${this.log('dev')}`);
      return /reeve dev is ready/.test(this.log('dev')) && /console .*pid/.test(this.log('dev'));
    }, 40);
    this.client = path.join(this.folder, 'data/client.properties');
    await this.openBrowser();
  }

  async openBrowser() {
    this.browser = await chromium.launch({ executablePath: CHROMIUM,
      args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
  }

  async stop() {
    await this.browser?.close();
    // reeve dev stops its services itself; the shop answers their last calls.
    for (const child of [...this.processes].reverse()) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), 15000);
      await child.ended;
      clearTimeout(late);
    }
  }

  // A page of its own for each case; what goes wrong in it fails the case.
  async each(body, options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 860 },
      permissions: ['clipboard-read', 'clipboard-write'], ...options });
    const page = await context.newPage();
    const problems = [];
    page.on('pageerror', (error) => problems.push(`exception: ${error.stack}`));
    page.on('dialog', (dialog) => {
      problems.push(`a script of the data ran: ${dialog.message()}`);
      dialog.dismiss();
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(this.base)) problems.push(`asked another host: ${request.url()}`);
    });
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
    });
    try {
      await body({ page, context, world: this, open: (where) => this.open(page, where) });
      if (problems.length) throw new Error(problems.join('\n'));
    } finally {
      await page.unrouteAll({ behavior: 'ignoreErrors' }); // a handler may await an answer
      await context.close();
    }
  }

  async open(page, where) {
    await page.goto(this.base + where);
    await page.locator('#page h1').waitFor();
  }

  // ---- orders ----

  reeve(args, input = '') {
    const done = spawnSync(REEVE, args, { input, encoding: 'utf8',
      env: { ...process.env, REEVE_CONFIG: this.client, ...this.token && { REEVE_CONSOLE_TOKEN: this.token } } });
    if (done.status !== 0) throw new Error(`reeve ${args.join(' ')}: ${done.stderr}`);
    return done.stdout;
  }

  // What it prints as JSON when it asks this console.
  reeveJson(args) {
    return JSON.parse(this.reeve(exports.withFlags(args, '--output', 'json', '--console', this.base)));
  }

  submit(ids, workflow, more = {}) {
    const orders = ids.map((id) => JSON.stringify({ order_id: id, customer: 'ann', currency: 'GBP', workflow,
      lines: [{ sku: '21730', description: 'GLASS STAR', quantity: 6, unit_price: '4.25' }], ...more }));
    this.reeve(['submit', '-'], `${orders.join('\n')}\n`);
  }

  // A record that is not of reeve's making.
  produce(topic, key, value) {
    const bootstrap = /kafka\.bootstrap\.servers = (\S+)/.exec(fs.readFileSync(this.client, 'utf8'))[1];
    const script = 'import sys\nfrom confluent_kafka import Producer\n' +
      'p = Producer({"bootstrap.servers": sys.argv[1]})\np.produce(sys.argv[2], sys.argv[4], sys.argv[3])\n' +
      'sys.exit(p.flush(20))';
    const done = spawnSync('/usr/bin/python3', ['-c', script, bootstrap, topic, key, value], { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`cannot produce to ${topic}: ${done.stderr}`);
  }

  async faults(rules) {
    const answer = await fetch(`${this.shop}/control`, { method: 'POST', body: JSON.stringify({ faults: rules }) });
    if (!answer.ok) throw new Error(await answer.text());
  }

  authorization() {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  async get(where) {
    const answer = await fetch(this.base + where, { headers: this.authorization() });
    return answer.ok ? answer.json() : null;
  }

  async post(where, body) {
    return fetch(this.base + where, { method: 'POST', headers: { 'Content-Type': 'application/json', ...this.authorization() },
      body: JSON.stringify(body) });
  }

  async until(id, state, seconds) {
    return exports.waitFor(`order ${id} in ${state}`, async () => {
      const order = await this.get(`/api/orders/${encodeURIComponent(id)}`);
      return order?.state === state && order;
    }, seconds);
  }

  // ---- processes ----

  // Of `reeve dev`'s service with this name.
  pidOf(service) {
    return Number(new RegExp(`^\\s*${service}\\s.*pid (\\d+)`, 'm').exec(this.log('dev'))[1]);
  }

  async stopAgent(name) {
    process.kill(this.pidOf(`agent-${name}`), 'SIGTERM');
    await exports.waitFor(`agent ${name} is gone`, async () =>
      (await this.get(`/api/agents?agent=${name}`)).agents.length === 0);
  }

  async stopConsole() {
    process.kill(this.console ? this.console.pid : this.pidOf('console'), 'SIGTERM');
    await exports.waitFor('the console ends', async () => {
      try {
        await fetch(`${this.base}/livez`);
        return false;
      } catch {
        return true;
      }
    });
  }

  async startConsole(flags = ['--http-auth', 'none']) {
    this.console = this.launch('console', REEVE, ['run', 'console', '--config', this.client, '--http-port',
      String(this.port), ...flags, '--data-dir', path.join(this.folder, 'console-data')]);
    await exports.waitFor('the console is ready', async () => {
      try {
        return (await fetch(`${this.base}/readyz`)).ok;
      } catch {
        return false;
      }
    });
  }
}

exports.ROOT = ROOT;
exports.World = World;
exports.REEVE = REEVE;
