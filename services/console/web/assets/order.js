// SPDX-License-Identifier: Apache-2.0
// One order: what it is, what every step does, how it came to this, and what an operator may do. A
// slider shows it as it was after any of its Decisions.
import { h } from './dom.js';
import { ago, command, count, duration, millis, number, orderValue, time, until, visible } from './format.js';
import { fullHistory, get, orderPage, orderPath, query } from './api.js';
import { badge, commandBox, copy, data, empty, facts, failure, link, notice, panel, table } from './parts.js';
import { answersOf } from './answers.js';
import { ACTIONS, movable, openAction } from './actions.js';
import { actionsFor, signalWait, stepsFor, whyNoWayBack } from './action_rules.js';
import { mayAct, noActions } from './session.js';
import { definitionOf, graph, performer, stepStatus } from './graph.js';
import { historyTable, isRoutine, statusTable } from './history.js';
import { brief, tree } from './data_tree.js';
import { hasTree, heldNotice, subordersOf } from './suborders.js';
import { stepEnds, stepInputs, timeline } from './timeline.js';
import { ordersPage } from './filters.js';
import { keepsRaw } from './json.js';

const ROUTINE_MAX = 10;
const UNCHANGING = new Set(['at_offset', 'version', 'updated_at', 'margin_ms']);

// [{what, before, after}] of two snapshots.
function differences(before, after) {
  const flat = (order) => {
    const values = new Map();
    for (const [name, value] of Object.entries(order ?? {})) {
      if (UNCHANGING.has(name) || name === 'lines') continue;
      if (name !== 'steps') values.set(name, value);
      else for (const step of value)
        for (const [field, each] of Object.entries(step))
          if (field !== 'step' && field !== 'margin_ms') values.set(`${step.step}: ${field}`, each);
    }
    return values;
  };
  const old = flat(before);
  const changes = [];
  for (const [what, value] of flat(after)) {
    const was = old.get(what);
    const same = JSON.stringify(was ?? null) === JSON.stringify(value ?? null);
    if (!same) changes.push({ what, before: was ?? null, after: value });
  }
  return changes;
}

const changedSteps = (changes) => new Set(changes.map((change) => change.what.split(': ')[0]));

function valueOf(what, value) {
  if (value === null || value === undefined) return h('span', { class: 'none' }, 'none');
  if (/(^|: )(complete_by|[a-z]+_at)$/.test(what) && !Number.isNaN(Date.parse(value))) return time(value, true);
  return typeof value === 'string' ? data(value) : brief(value);
}

const between = (from, to) => duration(millis(to) - millis(from));

// What the step has done, and what its undo has.
function effectOf(step) {
  if (step.state === 'Compensated') return `${step.effect}, undone`;
  return step.direction === 'undo' && step.undo_effect !== 'none' ? `${step.effect}, undo ${step.undo_effect}` : step.effect;
}

const tellsWhy = (step) => step.state === 'Skipped' || step.state === 'Caught';

// end: of stepEnds(), or undefined where the history no longer has it.
function resultOf(step, end) {
  const error = step.error_name && step.state !== 'Processed'
    ? [h('b', null, data(step.error_name)), ' ', data(step.error_message)] : null;
  if (!tellsWhy(step)) return error ?? brief(step.output);
  const why = end?.hand ? [end.hand, ' by ', data(end.by), end.why ? [': ', data(end.why)] : null] : end?.why ? data(end.why) : null;
  return [error, step.state === 'Caught' ? h('div', { class: 'dim' }, 'the order went on', why ? [': ', why] : null)
    : h('div', null, why ?? data(null))];
}

export function open(view) {
  const { id } = view;
  const path = orderPath(id);
  const asked = view.query.get('at');
  let at = /^\d{1,18}$/.test(asked ?? '') ? Number(asked) : null;
  let order = null;
  let entries = [];
  let complete = true;
  let trimmed = null;
  let workflows = null;
  let snapshots = new Map(); // by offset
  let travelProblem = null;
  let toScale = false;
  let routine = false; // whether the history shows what is routine
  let playing = 0;
  let missing = null;

  const answers = answersOf(id, () => view.reload(), () => draw());
  const suborders = subordersOf(id, view.query, () => view.reload(), () => draw());

  const stops = () => entries.filter((entry) => entry.changed);
  const past = () => (at === null ? entries : entries.filter((entry) => entry.offset <= at));
  // What durations and times to come are counted from.
  const moment = () => (at === null ? Date.now() : millis(past().at(-1)?.time) ?? Date.now());
  const getCommand = () => command(['reeve', 'orders', 'get', ...(at === null ? [] : ['--at', at])], id);
  // The version that the order has, or had then.
  const workflow = (shown = order) => definitionOf(workflows, shown.workflow, shown.workflow_version);

  // ---- time travel ----

  async function snapshot(offset) {
    if (!snapshots.has(offset)) {
      if (snapshots.size > 500) snapshots = new Map();
      snapshots.set(offset, await get(`${path}/at/${offset}`));
    }
    return snapshots.get(offset);
  }

  async function travel(offset) {
    at = offset;
    history.replaceState(null, '', offset === null ? orderPage(id) : `${orderPage(id)}?at=${offset}`);
    if (offset !== null) await readSnapshots();
    draw();
  }

  async function readSnapshots() {
    const all = stops();
    // Between two of its Decisions the order was what the earlier one made of it.
    const index = all.findLastIndex((entry) => entry.offset <= at);
    try {
      travelProblem = null;
      if (index >= 0 && (complete || index < all.length - 1)) at = all[index].offset;
      await snapshot(at);
      if (index > 0) await snapshot(all[index - 1].offset);
    } catch (error) {
      if (error.unreachable) throw error;
      travelProblem = error.status === 404
        ? notice('past', 'The order did not exist yet at offset ', String(at), '.') : failure(error, 'the order as it was');
    }
  }

  function stopPlaying() {
    clearInterval(playing);
    playing = 0;
  }

  function play() {
    if (playing) {
      stopPlaying();
      draw();
      return;
    }
    const all = stops();
    let index = all.findIndex((entry) => entry.offset === at);
    if (index < 0 || index === all.length - 1) index = -1;
    playing = setInterval(() => {
      index++;
      if (!view.isCurrent() || index >= all.length) {
        stopPlaying();
        if (view.isCurrent()) draw();
        return;
      }
      travel(all[index].offset);
    }, 900);
    draw();
  }

  function travelPanel() {
    const all = stops();
    if (all.length < 2) return null;
    const index = at === null ? all.length - 1 : all.findIndex((entry) => entry.offset === at);
    const entry = all[index];
    const before = index > 0 ? snapshots.get(all[index - 1].offset) : null;
    const after = at === null ? null : snapshots.get(at);
    const changes = after && (before || index === 0) ? differences(before, after) : null;
    const move = (to) => {
      stopPlaying();
      travel(all[Math.min(all.length - 1, Math.max(0, to))].offset);
    };
    return panel('Time travel', {
      note: 'The order as it was after any of its Decisions.',
      class: at === null ? '' : 'past',
      command: at === null ? null : getCommand(),
    },
    h('div', { class: 'slider' },
      h('button', { type: 'button', 'aria-label': 'Previous event', disabled: index <= 0, on: { click: () => move(index - 1) } }, '◀'),
      h('input', { type: 'range', min: 0, max: all.length - 1, value: String(index), 'aria-label': 'Event of the order',
        'aria-valuetext': entry ? `${index + 1} of ${all.length}: ${visible(entry.events[0].words)}` : '',
        on: { input: (event) => move(Number(event.target.value)) } }),
      h('button', { type: 'button', 'aria-label': 'Next event', disabled: index === all.length - 1, on: { click: () => move(index + 1) } }, '▶'),
      h('button', { type: 'button', on: { click: play } }, playing ? 'Stop' : 'Play'),
      h('button', { type: 'button', disabled: at === null, on: { click: () => {
        stopPlaying();
        travel(null);
      } } }, 'Now')),
    entry ? h('p', { class: 'moment' }, h('b', null, `${index + 1} of ${all.length}`), ' · ', time(entry.time, true),
      ' · offset ', `${entry.partition}/${entry.offset}`, ' · ', badge(entry.state)) : null,
    entry && at !== null ? h('ul', { class: 'events' }, entry.events.map((event) => h('li', null, data(event.words)))) : null,
    changes ? changes.length ? table('What changed', [
      { name: 'What changed', cell: (change) => data(change.what) },
      { name: 'Before', cell: (change) => valueOf(change.what, change.before) },
      { name: 'After', class: 'wide', cell: (change) => valueOf(change.what, change.after) },
    ], index === 0 ? changes.filter((change) => change.after !== null) : changes, { key: (change) => change.what })
      : empty('Nothing that is shown here changed.') : null);
  }

  // ---- the order ----

  function act(name) {
    const target = { ids: [id], tree: hasTree(order), input: order.input, versions: workflows, from: [workflow()], steps: ACTIONS[name].fields.includes('step') ? stepsFor(name, order, workflow()) : null };
    openAction(name, target, () => view.reload());
  }

  function actions(shown) {
    if (at !== null) return notice('past', 'You see the past: what the order was at offset ', String(at),
      '. Actions apply to the present. ', h('button', { type: 'button', on: { click: () => travel(null) } }, 'Back to now'));
    const sensible = actionsFor(shown, workflow(), movable(workflows).includes(workflow()));
    if (!sensible.length) return h('p', { class: 'dim' }, 'The order has ended: nothing changes it any more.');
    if (!mayAct()) return answers.any(shown) ? null : noActions();
    const noWayBack = whyNoWayBack(shown, workflow());
    const rounds = (name) => !keepsRaw && ACTIONS[name].fields.includes('input');
    return [
      h('div', { class: 'buttons', role: 'group', 'aria-label': 'Actions' }, sensible.map((name) =>
        h('button', { type: 'button', title: ACTIONS[name].about, 'data-key': name, disabled: rounds(name),
          class: ACTIONS[name].danger ? 'danger' : name === sensible[0] && shown.state === 'Error' ? 'primary' : null,
          on: { click: () => act(name) } }, ACTIONS[name].label))),
      noWayBack ? h('p', { class: 'dim' }, visible(noWayBack)) : null,
      sensible.some(rounds) ? h('p', { class: 'dim' }, 'This browser rounds long numbers, so the input is not to be amended in it: ' +
        'use a newer one, or reeve orders amend.') : null,
    ];
  }

  function reason(shown) {
    if (shown.state !== 'Error' && !shown.reason_code && !shown.paused_at && !shown.output_problem) return null;
    return [
      shown.paused_at ? notice('warn', h('b', null, 'Paused'), ' by ', data(shown.paused_by), ' ', at === null ? ago(shown.paused_at) : time(shown.paused_at), ': ', data(shown.pause_reason)) : null,
      shown.reason_code ? notice(shown.state === 'Error' ? 'bad' : 'plain',
        h('b', null, data(shown.reason_code)), shown.reason_by ? [' by ', data(shown.reason_by)] : null, ': ', data(shown.reason)) : null,
      shown.output_problem ? notice('warn', h('b', null, 'No output'), ': ', data(shown.output_problem)) : null,
    ];
  }

  function head(shown) {
    const lines = shown.lines ?? [];
    const value = lines.length ? orderValue(lines) : null;
    const file = shown.workflow.split('/')[0]; // which has the bodies
    const open = shown.state !== 'Processed' && shown.state !== 'Compensated';
    return facts([
      ['Workflow', link(`/workflows#${encodeURIComponent(file)}`, null, data(`${shown.workflow}:${shown.workflow_version}`))],
      ['Customer', shown.customer ? link(ordersPage({ customer: shown.customer }), null, data(shown.customer)) : data(null)],
      ['Value', value === null ? data(null) : [value, ' ', data(shown.currency)]],
      ['Lines', count(lines.length, 'line')],
      ['Accepted', time(shown.accepted_at)],
      open ? ['Age', duration(Math.max(0, moment() - millis(shown.accepted_at)))] : ['Took', between(shown.accepted_at, shown.ended_at)],
      ['Changed', at === null ? ago(shown.updated_at) : time(shown.updated_at)],
      open ? [shown.state === 'Held' ? 'Reports again' : 'Deadline', shown.complete_by ? until(shown.complete_by, moment()) : data('none')] : ['Ended', time(shown.ended_at)],
      ['Attempts', String(shown.steps.reduce((sum, step) => sum + step.attempt, 0))],
      ['Priority', data(shown.priority)],
      ['Partition', link('/partitions', null, String(shown.partition))],
      ['Version', String(shown.version)],
      shown.reply_to ? ['Statuses go to', data(shown.reply_to)] : null,
      ...Object.entries(shown.attributes ?? {}).slice(0, 30).map(([name, each]) =>
        [visible(name), link(ordersPage({ attribute: [`${name}=${each}`] }), null, data(each))]),
    ]);
  }

  function steps(shown) {
    const now = moment();
    const ends = stepEnds(past());
    const plans = new Map((workflow(shown)?.steps ?? []).map((plan) => [plan.step, plan]));
    return panel('Steps', { command: getCommand() }, table('Steps', [
      { name: 'Step', cell: (step) => h('b', null, data(step.step)) },
      { name: 'State', cell: (step) => {
        const status = stepStatus(step, shown, ends);
        return [badge(status.state), status.words && !tellsWhy(step) ? h('span', { class: 'dim' }, ' ', visible(status.words)) : null];
      } },
      { name: 'Agent', cell: (step) => step.agent ? link('/agents', null, data(step.agent))
        : data(plans.has(step.step) ? performer(plans.get(step.step)) : null) },
      { name: 'Attempt', class: 'number', cell: (step) => String(step.attempt) },
      { name: 'Effect', cell: (step) => data(effectOf(step)) },
      { name: 'Started', class: 'when', cell: (step) => time(step.started_at) },
      { name: 'Took', class: 'number', cell: (step) => step.state === 'Processing'
        ? `${duration(Math.max(0, now - millis(step.started_at)))} so far`
        : step.ended_at && step.started_at && millis(step.ended_at) >= millis(step.started_at) ? between(step.started_at, step.ended_at) : '–' },
      { name: 'Next', cell: (step) => step.complete_by ? [step.suborders ? 'asks again ' : 'times out ', until(step.complete_by, now)]
        : step.due_at ? [signalWait(shown, step.step) ? 'fails ' : 'passes ', until(step.due_at, now)]
        : step.queued_at ? ['waits since ', time(step.queued_at)] : step.retry_at ? ['next attempt ', until(step.retry_at, now)] : '–' },
      { name: 'Output or why none', class: 'wide', cell: (step) => resultOf(step, ends.get(step.step)) },
    ], shown.steps, { key: (step) => step.step }));
  }

  function inputAndOutputs(shown) {
    const sent = stepInputs(past());
    const all = [['Input', shown.input], ['Output', shown.output],
      ...shown.steps.flatMap((step) => [[`Input of ${visible(step.step)}`, step.input ?? sent.get(step.step)],
        [`Output of ${visible(step.step)}`, step.output]])]
      .filter(([, value]) => value !== null && value !== undefined);
    if (!all.length) return null;
    const whole = at === null ? path : `${path}/at/${at}`;
    return h('details', { class: 'panel', 'data-key': 'data' }, h('summary', null, 'Input and outputs'),
      all.map(([title, value]) => h('section', { class: 'data', 'data-key': title }, h('h3', null, title), tree(value, whole))));
  }

  function lines(shown) {
    if (!shown.lines?.length) return null;
    return h('details', { class: 'panel', 'data-key': 'lines' }, h('summary', null, count(shown.lines.length, 'line')),
      table('Lines', [
        { name: 'Article', cell: (line) => data(line.sku) },
        { name: 'Description', class: 'wide', cell: (line) => data(line.description) },
        { name: 'Quantity', class: 'number', cell: (line) => String(line.quantity) },
        { name: 'Price', class: 'number', cell: (line) => data(line.unit_price) },
      ], shown.lines.slice(0, 1000)));
  }

  // Without the answers of many sub-orders, which would hide the rest.
  function historyPanel() {
    const dull = entries.filter(isRoutine).length;
    const folded = dull > ROUTINE_MAX && !routine;
    return panel('History', { note: `${count(entries.length, 'Decision')}, with late and ignored reports and refused commands`,
      tools: dull > ROUTINE_MAX ? h('label', { class: 'check' }, h('input', { type: 'checkbox', checked: routine, on: { change: (event) => {
        routine = event.target.checked;
        draw();
      } } }), ` ${number(dull)} sub-orders that are done`) : null,
      command: command(['reeve', 'orders', 'history'], id) },
    trimmed === null ? null : notice('warn', `The log was trimmed: what was decided before offset ${trimmed} is not kept.`),
    complete ? null : notice('warn', 'Only the first Decisions are shown; the command prints all of them.'),
    historyTable(folded ? entries.filter((entry) => !isRoutine(entry) || entry.offset === at) : entries, id, at));
  }

  function draw() {
    if (missing) {
      view.draw([h('div', { class: 'title' }, h('h1', null, data(id))), missing,
        h('p', null, link('/orders', null, 'All orders'))]);
      return;
    }
    if (at !== null && !snapshots.has(at)) {
      view.draw([h('div', { class: 'title' }, h('h1', null, data(id))), travelProblem,
        h('div', { class: 'buttons' }, h('button', { type: 'button', on: { click: () => travel(null) } }, 'Back to now'),
          h('button', { type: 'button', on: { click: () => travel(stops()[0].offset) } }, 'Its first event')),
        panel('History', { command: command(['reeve', 'orders', 'history'], id) }, historyTable(entries, id, at))]);
      return;
    }
    const shown = at === null ? order : snapshots.get(at);
    const all = stops();
    const index = all.findIndex((entry) => entry.offset === at);
    const changed = at !== null && index > 0 && snapshots.get(at)
      ? changedSteps(differences(snapshots.get(all[index - 1].offset), snapshots.get(at))) : new Set();
    const statuses = statusTable(past());
    view.draw([
      h('div', { class: 'title' }, h('h1', null, data(id)), badge(shown.paused_at ? 'Paused' : shown.state,
        shown.paused_at ? `${shown.state}, paused` : null),
      shown.alert_open ? link('/recovery', { class: 'tag bad' }, 'alert open') : null,
      h('div', { class: 'tools' },
        h('button', { type: 'button', class: 'quiet', on: { click: () => copy(JSON.stringify(shown, null, 2), 'JSON') } }, 'Copy as JSON'),
        h('button', { type: 'button', class: 'quiet', on: { click: () => copy(getCommand(), 'Command') } }, 'Copy as command'))),
      suborders.wayUp(shown), reason(shown), heldNotice(shown, at === null ? moment() : null, () => view.reload()), at === null ? answers.draw(shown, moment()) : null, actions(shown), head(shown),
      panel('Workflow', {}, graph(workflow(shown), shown, changed, stepEnds(past()))),
      suborders.draw(shown, order, at, moment()), travelPanel(),
      panel('Timeline', {}, timeline(past(), shown, { toScale,
        now: moment(),
        onScale: (on) => {
          toScale = on;
          draw();
        } })),
      steps(shown), inputAndOutputs(shown), lines(shown),
      historyPanel(),
      statuses ? panel('Statuses sent', { note: 'to the application that submitted the order',
        command: command(['reeve', 'orders', 'history', '--output', 'json'], id) }, statuses) : null,
    ]);
  }

  async function load() {
    let fresh;
    try {
      fresh = await get(path);
      missing = null;
    } catch (error) {
      if (error.status !== 404 && error.status !== 400) throw error;
      missing = notice('warn', visible(error.message), '.');
      draw();
      return;
    }
    const last = entries.length ? entries[entries.length - 1].offset : null;
    if (last === null) {
      ({ entries, complete, trimmed } = await fullHistory(id));
    } else {
      // Also what changed nothing, such as a late report, is part of the history.
      const page = await get(`${path}/history${query({ limit: 1000, after: last })}`);
      entries = [...entries, ...page.entries.filter((entry) => entry.offset > last)];
    }
    order = fresh;
    if (!workflows || !workflow()) {
      const deployed = await get('/api/workflows').catch(() => null);
      workflows = deployed?.workflows ?? workflows ?? [];
    }
    await suborders.load(fresh);
    if (at !== null && !snapshots.has(at)) await readSnapshots();
    draw();
  }

  return { load, live: `/api/events${query({ order: id })}`, close: stopPlaying };
}
