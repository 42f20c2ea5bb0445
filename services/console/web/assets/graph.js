// SPDX-License-Identifier: Apache-2.0
// A workflow as SVG: steps in columns, each after the steps it waits for; with an order, the state
// of every step.
import { h, s } from './dom.js';
import { visible } from './format.js';
import { sign } from './parts.js';

const NODE_WIDTH = 200;
const NODE_HEIGHT = 76;
const GAP_X = 54;
const GAP_Y = 22;
const MARGIN = 10;
const TEXT_WIDTH = NODE_WIDTH - 24;

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
function cut(text, font) {
  pen ??= document.createElement('canvas').getContext('2d');
  pen.font = `${font} ${getComputedStyle(document.body).fontFamily}`;
  const fits = (part) => pen.measureText(part).width <= TEXT_WIDTH;
  let size = text.length;
  while (size > 1 && !fits(size < text.length ? `${text.slice(0, size)}…` : text)) size--;
  return size < text.length ? `${text.slice(0, size)}…` : text;
}

// What a step is doing, as a state and words. hands: name -> how an operator ended it.
export function stepStatus(step, order, hands) {
  if (!step) return { state: 'Pending', words: '' };
  const undo = step.direction === 'undo';
  if (step.state === 'Processing') {
    const words = step.attempt > 1 ? `attempt ${step.attempt}` : '';
    return { state: undo ? 'Compensating' : 'Processing', words };
  }
  if (step.state === 'Pending' && order?.paused_at) return { state: 'Paused', words: '' };
  if (step.queued_at) return { state: 'Waiting', words: 'waits for an agent' };
  if (step.retry_at) return { state: 'Waiting', words: `retry after ${step.failure_count} failed` };
  const hand = hands?.has(step.step) ? 'by hand' : '';
  if (step.state === 'Error') return { state: 'Error', words: [step.error_name ?? 'failed', hand].filter((part) => part).join(', ') };
  if (step.state === 'Pending') return { state: 'Pending', words: 'not started' };
  if (['Compensated', 'Skipped', 'Caught'].includes(step.state)) return { state: step.state, words: hand };
  return { state: step.state, words: hand || (step.attempt > 1 ? `attempt ${step.attempt}` : '') };
}

function layout(steps) {
  const column = columnsOf(steps);
  const rows = [];
  const places = new Map();
  for (const step of steps) {
    const x = column.get(step.step);
    rows[x] = rows[x] ?? 0;
    places.set(step.step, { column: x, row: rows[x]++ });
  }
  const height = Math.max(...[...rows].map((n) => n ?? 0));
  for (const place of places.values()) {
    place.x = MARGIN + place.column * (NODE_WIDTH + GAP_X);
    // Columns are centred.
    place.y = MARGIN + (place.row + (height - rows[place.column]) / 2) * (NODE_HEIGHT + GAP_Y);
  }
  return {
    places,
    width: 2 * MARGIN + rows.length * (NODE_WIDTH + GAP_X) - GAP_X,
    height: 2 * MARGIN + height * (NODE_HEIGHT + GAP_Y) - GAP_Y,
  };
}

function edge(from, to, lit) {
  const x1 = from.x + NODE_WIDTH;
  const y1 = from.y + NODE_HEIGHT / 2;
  const x2 = to.x - 7;
  const y2 = to.y + NODE_HEIGHT / 2;
  const bend = (x2 - x1) / 2;
  return s('g', { class: lit ? 'edge lit' : 'edge' },
    s('path', { d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}` }),
    s('polygon', { points: `${x2 + 6},${y2} ${x2 - 3},${y2 - 4.5} ${x2 - 3},${y2 + 4.5}` }));
}

function node(definition, place, status, changed) {
  const name = visible(definition.step);
  const agent = visible((definition.agents ?? [definition.agent]).join(', '));
  const undo = definition.compensate ? `undo: ${visible(definition.compensate)}` : '';
  const label = [name, status ? `${status.state} ${status.words}` : '', definition.pivot ? 'pivot' : '']
    .filter((part) => part).join(', ');
  return s('g', {
    class: `node is-${(status?.state ?? 'plain').toLowerCase()}${changed ? ' changed' : ''}`,
    transform: `translate(${place.x},${place.y})`, role: 'listitem', 'aria-label': visible(label),
  },
  s('title', null, [label, `agent ${agent}`, undo].filter((part) => part).join('\n')),
  s('rect', { class: 'box', width: NODE_WIDTH, height: NODE_HEIGHT, rx: 8 }),
  definition.pivot
    ? s('rect', { class: 'pivot', x: 4, y: 4, width: NODE_WIDTH - 8, height: NODE_HEIGHT - 8, rx: 5 })
    : null,
  s('text', { class: 'name', x: 13, y: 25 }, cut(name, '650 13.5px')),
  s('text', { class: 'agent', x: 13, y: 43 },
    cut(`${agent}${definition.pivot ? ' · pivot' : ''}${!status && undo ? ` · ${undo}` : ''}`, '11.5px')),
  status
    ? [status.state === 'Paused' ? s('path', { class: 'bars', d: 'M14,53v9M19,53v9' }) : null,
      s('text', { class: 'state', x: status.state === 'Paused' ? 26 : 13, y: 62 },
        cut(`${status.state === 'Paused' ? '' : `${sign(status.state)} `}${status.state}${status.words ? `: ${visible(status.words)}` : ''}`, '600 12px'))]
    : s('text', { class: 'agent', x: 13, y: 62 }, definition.timeout_ms
      ? `${definition.timeout_ms / 1000} s an attempt` : ''));
}

// The steps of an order whose workflow is not known: without edges.
const stepsOfOrder = (order) =>
  order.steps.map((step, i) => ({ step: step.step, agent: step.agent,
    after: i > 0 ? [order.steps[i - 1].step] : [] }));

// workflow: of /api/workflows, or undefined; order: with its steps, or undefined; changed: a Set of
// names to mark; hands: as of stepStatus().
export function graph(workflow, order, changed = new Set(), hands = new Map()) {
  const steps = workflow?.steps ?? (order ? stepsOfOrder(order) : []);
  if (!steps.length) return null;
  const { places, width, height } = layout(steps);
  const states = new Map((order?.steps ?? []).map((step) => [step.step, step]));
  const edges = [];
  for (const step of steps)
    for (const name of step.after ?? [])
      if (places.has(name)) {
        const done = ['Processed', 'Skipped', 'Caught'].includes(states.get(name)?.state);
        edges.push(edge(places.get(name), places.get(step.step), done));
      }
  return h('div', { class: 'scroll graph', tabindex: '0', role: 'region',
    'aria-label': 'Workflow graph' },
  s('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'list', 'aria-label': 'Steps' },
    edges, steps.map((step) =>
      node(step, places.get(step.step), order ? stepStatus(states.get(step.step), order, hands) : null,
        changed.has(step.step)))));
}
