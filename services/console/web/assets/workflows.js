// SPDX-License-Identifier: Apache-2.0
// What is deployed: versions, the active one, its graph, and the orders of each.
import { h } from './dom.js';
import { command, count, duration, number, time, visible } from './format.js';
import { get } from './api.js';
import { badge, commandBox, data, empty, findings, incomplete, link, notice, panel, sign, table } from './parts.js';
import { movable, openAction } from './actions.js';
import { openChange, openDeploy, openDiff } from './versions.js';
import { mayAct, noActions } from './session.js';
import { allSteps, graph, performer } from './graph.js';
import { ordersPage } from './filters.js';
import { openSubmit } from './submit.js';

function standing(version) {
  if (version.active) return badge('ok', 'active');
  if (version.retired) return [badge('stopped', 'retired'), version.retired_at ? [' ', time(version.retired_at), ' by ', data(version.retired_by), ': ', data(version.retirement_reason)] : null];
  return badge('Pending', 'deployed');
}

const ordersOf = (v, more) => ordersPage({ workflow: v.workflow, workflow_version: String(v.version), ...more });

// The orders of a version that have not ended, by state.
function unfinished(v) {
  if (!v.orders.unfinished) return '0';
  return h('ul', { class: 'events' }, ['Pending', 'Processing', 'Compensating', 'Error']
    .filter((state) => v.orders.by_state[state]).map((state) =>
      h('li', null, link(ordersOf(v, { state }), null, `${number(v.orders.by_state[state])} ${state}`))));
}

const lint = (v) => (v.lint.length ? findings(v.lint, { class: 'events' }) : badge('ok', 'OK'));

// What can be done with a version.
function changes(v, list, migrate, reload) {
  const button = (label, spoken, disabled, click) =>
    h('button', { type: 'button', class: 'quiet', disabled, 'aria-label': spoken, on: { click } }, label);
  return h('div', { class: 'tools' },
    button('Activate', `Activate version ${v.version}`, v.active, () => openChange('activate', v, reload)),
    button('Retire', `Retire version ${v.version}`, v.retired, () => openChange('retire', v, reload)),
    list.length > 1 ? button('Migrate', `Migrate orders of version ${v.version}`,
      !v.orders.unfinished || !movable(list).includes(v), () => migrate(v)) : null);
}

function versions(list, migrate, reload) {
  return table('Versions', [
    { name: 'Version', class: 'number', cell: (v) => String(v.version) },
    { name: 'Status', cell: standing },
    { name: 'Orders', class: 'number', cell: (v) => link(ordersOf(v), null, number(v.orders.total)) },
    { name: 'Unfinished', cell: unfinished },
    { name: 'Lint', class: list.some((v) => v.lint.length) ? 'wide' : null, cell: lint },
    { name: 'Steps', class: 'number', cell: (v) => String(v.steps.length) },
    { name: 'Time for an order', cell: (v) => (v.timeout_ms ? duration(v.timeout_ms) : 'no limit') },
    { name: 'Deployed', cell: (v) => [time(v.deployed_at), ' by ', data(v.deployed_by)] },
    { name: 'Activated', class: 'wrap', cell: (v) => v.activated_at
      ? [time(v.activated_at), ' by ', data(v.activated_by), ': ', data(v.activation_reason)] : data(null) },
    mayAct() && { name: 'Action', cell: (v) => changes(v, list, migrate, reload) },
  ], list, { key: (v) => v.version });
}

const OUTCOMES = { $compensate: 'compensate', $error: 'Error, for an operator', $continue: 'go on' };

// What follows once no attempt is left.
function outcomes(step) {
  const other = OUTCOMES[step.on_exhausted] ?? visible(step.on_exhausted);
  if (!step.catch?.length) return other;
  return h('ul', { class: 'events' }, step.catch.map((each) =>
    h('li', null, data(each.errors.join(', ')), `: ${OUTCOMES[each.next] ?? visible(each.next)}`)), h('li', null, `otherwise: ${other}`));
}

function retries(step) {
  if (!step.retry?.length) return 'none';
  return step.retry.map((retrier) =>
    `${retrier.max_attempts} × after ${duration(retrier.interval_ms)}${retrier.backoff_rate > 1 ? `, × ${retrier.backoff_rate}` : ''}`).join('; then ');
}

const acts = (step) => (step.agents ?? [step.agent]).some((name) => name);

function steps(version) {
  const all = allSteps(version.steps);
  return h('details', null, h('summary', null, `Steps of version ${version.version}`), table('Steps', [
    { name: 'Step', cell: (step) => [h('b', null, data(step.step)), step.pivot ? h('span', { class: 'tag' }, 'pivot') : null] },
    { name: 'Agent', cell: (step) => acts(step) ? link('/agents', null, data(performer(step))) : data(performer(step)) },
    { name: 'After', cell: (step) => data((step.after ?? []).join(', ')) },
    all.some((step) => step.when) && { name: 'When', class: 'wide', cell: (step) => step.when ? h('code', null, visible(step.when)) : 'always' },
    { name: 'An attempt', class: 'number', cell: (step) => acts(step) ? duration(step.timeout_ms) : data(null) },
    { name: 'Retries', class: 'wide', cell: (step) => acts(step) ? retries(step) : data(null) },
    { name: 'Undo', cell: (step) => data(step.compensate) },
    { name: 'When exhausted', cell: outcomes },
  ], all, { key: (step) => step.step }));
}

function byState(counts, name) {
  const states = counts?.by_workflow?.[name];
  if (!states) return null;
  return h('div', { class: 'chips' }, Object.entries(states).filter(([, n]) => n > 0).map(([state, n]) =>
    link(ordersPage({ workflow: name, state }), { class: 'chip', 'data-key': state },
      h('span', { 'aria-hidden': 'true' }, sign(state), ' '), state, h('b', null, number(n)))));
}

export function open(view) {
  const chosen = new Map(); // the version whose graph is shown
  let workflows = [];
  let counts = null;
  let scrolled = false;
  let missing = null;

  // All orders of the version that have not ended.
  function migrate(version) {
    openAction('migrate', { filters: {}, count: version.orders.unfinished, versions: workflows,
      from: movable(workflows).filter((each) => each === version) }, view.reload);
  }

  function one(name, list) {
    const active = list.find((v) => v.active) ?? list.at(-1);
    const shown = list.find((v) => v.version === chosen.get(name)) ?? active;
    const picker = list.length > 1 ? h('label', { class: 'field inline' }, h('span', null, 'Graph of version'),
      h('select', { value: String(shown.version), on: { change: (event) => {
        chosen.set(name, Number(event.target.value));
        draw();
      } } }, list.map((v) => h('option', { value: String(v.version) }, String(v.version))))) : null;
    const closed = list.some((v) => v.active) ? null
      : notice('warn', 'No version is active: new orders that name no version are refused until one is activated.');
    const made = panel(visible(name), { tools: [
      mayAct() && h('button', { type: 'button', disabled: list.length < 2, on: { click: () => openChange('rollback', shown, view.reload) } }, 'Roll back'),
      list.length > 1 ? h('button', { type: 'button', on: { click: () => openDiff(name, list) } }, 'Compare') : null,
      h('button', { type: 'button', on: { click: () => openSubmit(shown) } }, 'Order'), picker], command: command(['reeve', 'workflow', 'show'], `${name}:${shown.version}`) },
      closed, byState(counts, name), versions(list, migrate, view.reload), graph(shown), steps(shown));
    made.id = name;
    made.setAttribute('data-key', `workflow-${name}`);
    return made;
  }

  function draw() {
    const names = [...new Set(workflows.map((each) => each.workflow))];
    view.draw([
      h('div', { class: 'title' }, h('h1', null, 'Workflows'), h('p', null, count(names.length, 'workflow')),
        mayAct() && h('div', { class: 'tools' }, h('button', { type: 'button', on: { click: () => openDeploy(view.reload) } }, 'Deploy'))),
      noActions(),
      incomplete(missing),
      names.length ? names.map((name) => one(name, workflows.filter((each) => each.workflow === name)))
        : empty('No workflow is deployed. ', h('code', null, 'reeve workflow deploy FILE')),
      commandBox('reeve workflow list'), commandBox('reeve orders count --versions'),
    ]);
    if (!scrolled && location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
    scrolled = true;
  }

  async function load() {
    const [answer, sums] = await Promise.all([get('/api/workflows'), get('/api/counts').catch(() => null)]);
    workflows = answer.workflows;
    missing = answer.incomplete;
    counts = sums;
    draw();
  }
  return { load };
}
