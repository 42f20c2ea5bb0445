// SPDX-License-Identifier: Apache-2.0
// A workflow as SVG: steps in columns, each after the steps it waits for; with an order, the state
// of every step. The steps of a body stand in the box of their step.
import { h, s } from './dom.js';
import { localTime, millis, visible } from './format.js';
import { sign } from './parts.js';
import { signalWait } from './action_rules.js';

const NODE_WIDTH = 200;
const LINE = 18; // one more for the conditions
const NODE_HEIGHT = 76;
const GAP_X = 50;
const GAP_Y = 22;
const MARGIN = 12;
const DIAMOND = 9; // half of one, which stands where a step with a condition begins
const CUT = 16; // of the corners of steps without an agent

// Column of each step: one after the last of the steps it waits for.
function columnsOf(steps) {
  const column = new Map();
  const byName = new Map(steps.map((step) => [step.step, step]));
  const place = (step, depth) => {
    if (column.has(step.step)) return column.get(step.step);
    let at = 0;
    if (depth <= steps.length)
      for (const name of step.after ?? [])
        if (byName.has(name)) at = Math.max(at, place(byName.get(name), depth + 1) + 1);
    column.set(step.step, at);
    return at;
  };
  steps.forEach((step) => place(step, 0));
  return column;
}

let pen = null;
// As much of a text as its box holds, in the font that the reader's browser has.
function cut(text, font, room) {
  pen ??= document.createElement('canvas').getContext('2d');
  pen.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  const fits = (part) => pen.measureText(part).width <= room;
  let size = text.length;
  while (size > 1 && !fits(size < text.length ? `${text.slice(0, size)}…` : text)) size--;
  return size < text.length ? `${text.slice(0, size)}…` : text;
}

// What performs a step: its agents, or what a step without one does, such as "Fail: TooLate",
// "Wait: 60 s" and "ForEach: input.parts".
export function performer(definition) {
  const agents = (definition.agents ?? [definition.agent]).filter((name) => name);
  const seconds = definition.wait_seconds ? `${definition.wait_seconds} s` : '';
  const detail = definition.error || seconds || (definition.wait_until ? `until ${definition.wait_until}` : '');
  if (definition.for_each) return `ForEach: ${definition.for_each}`;
  return agents.length ? agents.join(', ') : [definition.kind, detail].filter((part) => part).join(': ');
}

// A version's steps with those of its bodies, which are named STEP/STEP.
export const allSteps = (steps, path = '') => steps.flatMap((step) =>
  [{ ...step, step: `${path}${step.step}` }, ...allSteps(step.steps ?? [], `${path}${step.step}/`)]);

// Of the workflow of an order: a version of /api/workflows, or a body in one, NAME/STEP.
export function definitionOf(workflows, name, version) {
  const [file, ...path] = (name ?? '').split('/');
  let found = workflows?.find((each) => each.workflow === file && each.version === version);
  for (const step of path) {
    const steps = found?.steps.find((each) => each.step === step)?.steps;
    found = steps ? { ...found, workflow: name, steps } : undefined;
  }
  return found;
}

// How far the sub-orders of a step are.
function splitStatus(step, undo) {
  const { count, final, held, failed, recalled, for_each: list } = step.suborders;
  if (recalled) return { state: 'Compensating', words: undo ? 'of its sub-orders' : 'recalled' };
  const done = final + held;
  return { state: 'Processing', words: list ? `${done} of ${count}${failed ? `, ${failed} failed` : ''}` : '' };
}

// What a step is doing, as a state and words. ends: of timeline.js.
export function stepStatus(step, order, ends) {
  if (!step) return { state: 'Pending', words: '' };
  const undo = step.direction === 'undo';
  if (step.state === 'Processing' && step.suborders) return splitStatus(step, undo);
  if (step.state === 'Processing') {
    const words = step.attempt > 1 ? `attempt ${step.attempt}` : '';
    return { state: undo ? 'Compensating' : 'Processing', words };
  }
  if (step.state === 'Pending' && order?.paused_at) return { state: 'Paused', words: '' };
  const wait = signalWait(order, step.step);
  if (wait) return { state: 'Waiting', words: `for ${wait.group || 'a signal'}` };
  if (step.due_at) return { state: 'Waiting', words: `until ${localTime(millis(step.due_at))}` };
  if (step.queued_at) return { state: 'Waiting', words: 'waits for an agent' };
  if (step.retry_at) return { state: 'Waiting', words: `retry after ${step.failure_count} failed` };
  const end = ends?.get(step.step);
  const hand = end?.hand ? 'by hand' : '';
  if (step.state === 'Error') return { state: 'Error', words: [step.error_name ?? 'failed', hand].filter((part) => part).join(', ') };
  if (step.state === 'Pending') return { state: 'Pending', words: 'not started' };
  if (step.state === 'Skipped') return { state: 'Skipped', words: hand || (end?.why ?? '') };
  if (step.state === 'Caught') return { state: 'Caught', words: [step.error_name, hand].filter((part) => part).join(', ') };
  if (step.state === 'Compensated') return { state: 'Compensated', words: hand };
  return { state: step.state, words: hand || (step.attempt > 1 ? `attempt ${step.attempt}` : '') };
}

// Of a step: the head has its texts; behind a head with a body stand the body's steps.
function sizeOf(step, tall) {
  const inner = step.steps?.length ? layout(step.steps) : null;
  return { tall, inner, width: Math.max(NODE_WIDTH, inner?.width ?? 0), height: tall + (inner?.height ?? 0) };
}

function layout(steps) {
  const column = columnsOf(steps);
  const columns = [];
  const places = new Map();
  const tall = NODE_HEIGHT + (steps.some((step) => step.when) ? LINE : 0);
  for (const step of steps) {
    const at = column.get(step.step);
    const place = sizeOf(step, tall);
    columns[at] ??= { width: 0, height: -GAP_Y, places: [] };
    columns[at].width = Math.max(columns[at].width, place.width);
    columns[at].height += place.height + GAP_Y;
    columns[at].places.push(place);
    places.set(step.step, place);
  }
  const height = Math.max(...columns.map((each) => each.height));
  let x = MARGIN;
  for (const each of columns) {
    let y = MARGIN + (height - each.height) / 2; // columns are centred
    for (const place of each.places) {
      Object.assign(place, { x, y });
      y += place.height + GAP_Y;
    }
    x += each.width + GAP_X;
  }
  return { places, width: x - GAP_X + MARGIN, height: 2 * MARGIN + height };
}

// From head to head.
function edge(from, to, lit, conditional) {
  const x1 = from.x + from.width;
  const y1 = from.y + from.tall / 2;
  const x2 = to.x - (conditional ? 7 + DIAMOND : 7);
  const y2 = to.y + to.tall / 2;
  const bend = (x2 - x1) / 2;
  return s('g', { class: lit ? 'edge lit' : 'edge' },
    s('path', { d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}` }),
    s('polygon', { points: `${x2 + 6},${y2} ${x2 - 3},${y2 - 4.5} ${x2 - 3},${y2 + 4.5}` }));
}

// A step of an agent is a box, and so is one with a body; Set has six corners, Fail has the eight of
// a stop sign, and Wait is round at its ends.
function outline(definition, { width: right, height }) {
  if (definition.kind === 'Fail')
    return s('polygon', { class: 'box', points: `${CUT},0 ${right - CUT},0 ${right},${CUT} ${right},${height - CUT} ${right - CUT},${height} ${CUT},${height} 0,${height - CUT} 0,${CUT}` });
  if (definition.kind === 'Set')
    return s('polygon', { class: 'box', points: `${CUT},0 ${right - CUT},0 ${right},${height / 2} ${right - CUT},${height} ${CUT},${height} 0,${height / 2}` });
  return s('rect', { class: 'box', width: right, height, rx: definition.kind === 'Wait' ? 24 : 8 });
}

// Where the texts of a step begin, and how wide they may be in a box of that width.
const insetOf = (definition) => (definition.kind === 'Set' ? 13 + CUT / 2 : 13);
const roomOf = (definition, width) => width + 2 - 2 * insetOf(definition);

// The last line of a step: with an order its status, else the time that an attempt has.
function lastLine(definition, status, y, room) {
  const x = insetOf(definition);
  const tries = definition.timeout_ms && !definition.steps;
  if (!status) return s('text', { class: 'agent', x, y }, tries ? `${definition.timeout_ms / 1000} s an attempt` : '');
  const paused = status.state === 'Paused';
  // The condition stands on the line above.
  const words = definition.when && status.words.startsWith('When: ') ? 'When is false' : status.words;
  return [paused ? s('path', { class: 'bars', d: `M${x + 1},${y - 9}v9M${x + 6},${y - 9}v9` }) : null,
    s('text', { class: 'state', x: paused ? x + 13 : x, y },
      cut(`${paused ? '' : `${sign(status.state)} `}${status.state}${words ? `: ${visible(words)}` : ''}`, '600 12px', room))];
}

function node(definition, place, status, changed) {
  const name = visible(definition.step);
  const does = visible(performer(definition));
  const undo = definition.compensate ? `undo: ${visible(definition.compensate)}` : '';
  const when = definition.when ? `when ${visible(definition.when)}` : '';
  const label = [name, status ? `${status.state} ${status.words}` : '', definition.pivot ? 'pivot' : '', when]
    .filter((part) => part).join(', ');
  const x = insetOf(definition);
  const room = roomOf(definition, place.width);
  const agent = (definition.kind ?? 'Agent') === 'Agent' ? `agent ${does}` : does;
  return s('g', {
    class: `node is-${(status?.state ?? 'plain').toLowerCase()}${changed ? ' changed' : ''}${when ? ' conditional' : ''}`,
    transform: `translate(${place.x},${place.y})`, role: 'listitem', 'aria-label': visible(label),
  },
  s('title', null, [label, agent, undo].filter((part) => part).join('\n')),
  outline(definition, place),
  definition.pivot
    ? s('rect', { class: 'pivot', x: 4, y: 4, width: place.width - 8, height: place.height - 8, rx: 5 })
    : null,
  when ? s('polygon', { class: 'diamond', points: `${-DIAMOND},${place.tall / 2} 0,${place.tall / 2 - DIAMOND} ${DIAMOND},${place.tall / 2} 0,${place.tall / 2 + DIAMOND}` }) : null,
  s('text', { class: 'name', x, y: 25 }, cut(name, '650 13.5px', room)),
  s('text', { class: 'agent', x, y: 43 },
    cut(`${does}${definition.pivot ? ' · pivot' : ''}${!status && undo ? ` · ${undo}` : ''}`, '11.5px', room)),
  when ? s('text', { class: 'agent when', x, y: 43 + LINE }, cut(visible(definition.when), 'italic 11.5px', room)) : null,
  lastLine(definition, status, place.tall - 14, room),
  place.inner ? s('g', { class: 'body', transform: `translate(0,${place.tall})`, role: 'list', 'aria-label': `Steps of ${name}` },
    drawn(definition.steps, place.inner.places)) : null);
}

// Edges, then steps. status: of a step by its name; a body has none, as each of its orders has its own.
function drawn(steps, places, status = () => null, changed = new Set(), done = () => false) {
  const edges = [];
  for (const step of steps)
    for (const name of step.after ?? [])
      if (places.has(name))
        edges.push(edge(places.get(name), places.get(step.step), done(name), Boolean(step.when)));
  return [...edges, ...steps.map((step) => node(step, places.get(step.step), status(step.step), changed.has(step.step)))];
}

// The steps of an order whose workflow is not known: without edges.
const stepsOfOrder = (order) =>
  order.steps.map((step, i) => ({ step: step.step, agent: step.agent,
    after: i > 0 ? [order.steps[i - 1].step] : [] }));

// workflow: of /api/workflows, or undefined; order: with its steps, or undefined; changed: a Set of
// names to mark; ends: as of stepStatus().
export function graph(workflow, order, changed = new Set(), ends = new Map()) {
  const steps = workflow?.steps ?? (order ? stepsOfOrder(order) : []);
  if (!steps.length) return null;
  const { places, width, height } = layout(steps);
  const states = new Map((order?.steps ?? []).map((step) => [step.step, step]));
  const done = (name) => ['Processed', 'Skipped', 'Caught'].includes(states.get(name)?.state);
  const status = (name) => (order ? stepStatus(states.get(name), order, ends) : null);
  return h('div', { class: 'scroll graph', tabindex: '0', role: 'region',
    'aria-label': 'Workflow graph' },
  s('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'list', 'aria-label': 'Steps' },
    drawn(steps, places, status, changed, done)));
}
