// SPDX-License-Identifier: Apache-2.0
// What several pages show: states, panels, tables, commands to copy, sparklines.
import { h, s, say } from './dom.js';
import { count, number, visible } from './format.js';

export const ORDER_STATES =
  ['Pending', 'Processing', 'Held', 'Processed', 'Compensating', 'Compensated', 'Error'];

const SIGNS = { // a colour alone says nothing to some readers
  Pending: '○', Processing: '▶', Held: '◆', Processed: '✓', Compensating: '◀', Compensated: '↩', Error: '!',
  Skipped: '–', Caught: '⤳', Waiting: '◷', ok: '✓', growing: '▲', stalled: '!', stopped: '■',
};

export function sign(state) {
  return SIGNS[state] ?? '·';
}

export function badge(state, text) {
  return h('span', { class: `badge is-${visible(state).toLowerCase()}` },
    h('span', { class: state === 'Paused' ? 'sign bars' : 'sign', 'aria-hidden': 'true' }, state === 'Paused' ? null : sign(state)), text ?? visible(state));
}

// A link within the console; app.js follows it without loading the page again.
export const link = (href, props, ...children) => h('a', { href, ...props }, ...children);

// Text of an order: isolated, so that its direction of writing stays its own.
export const data = (text, props) =>
  text === null || text === undefined || text === ''
    ? h('span', { class: 'none' }, '–') : h('bdi', props, visible(text));

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without TLS there is no clipboard but this one.
    const area = h('textarea', { class: 'said', 'aria-hidden': 'true', value: text });
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    const focused = document.activeElement;
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    focused?.focus();
    if (!done) return say('The browser does not let this page copy: select the text instead');
  }
  say(`${what} copied`);
}

// The command that prints or does the same.
export function commandBox(text, label) {
  return h('div', { class: 'command' },
    h('code', { tabindex: '0', 'aria-label': label ?? 'The same in a terminal' }, visible(text)),
    h('button', {
      type: 'button', class: 'quiet', title: 'Copy this command', 'aria-label': 'Copy this command',
      on: { click: () => copy(text, 'Command') },
    }, 'Copy'));
}

// props.key: for titles with names of steps, which may differ in punctuation only.
export function panel(title, props, ...children) {
  const id = `panel-${props?.key ?? title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;
  return h('section', { class: `panel ${props?.class ?? ''}`, 'aria-labelledby': id, 'data-key': id },
    h('header', null, h('h2', { id }, title), props?.note ? h('p', null, props.note) : null,
      props?.tools ? h('div', { class: 'tools' }, props.tools) : null),
    ...children, props?.command ? commandBox(props.command) : null);
}

export const empty = (...words) => h('p', { class: 'empty' }, ...words);
export const notice = (kind, ...words) =>
  h('div', { class: `notice ${kind}`, role: kind === 'bad' ? 'alert' : 'status' }, ...words);

// What an endpoint that fails means to a reader.
export function failure(error, what) {
  if (error.unsupported)
    return notice('warn', `This console does not offer ${what}: it is of an older version than this page.`);
  return notice('bad', `${what[0].toUpperCase()}${what.slice(1)} cannot be shown: ${visible(error.message)}.`);
}

// columns: [{name, class, cell(row), hidden}]; rows with `key(row)`. The table scrolls by itself.
export function table(label, columns, rows, options = {}) {
  const shown = columns.filter((column) => column);
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label,
    'data-key': `table-${label}` },
  h('table', { class: options.class ?? null },
      h('thead', null, h('tr', null, shown.map((column) =>
        h('th', { scope: 'col', class: column.class ?? null }, column.head ?? column.name)))),
      h('tbody', null, rows.map((row) =>
        h('tr', { 'data-key': options.key ? `row-${options.key(row)}` : null,
          class: options.rowClass?.(row) ?? null },
        shown.map((column) =>
          h('td', { class: column.class ?? null, 'data-name': column.name }, column.cell(row))))))));
}

export function facts(pairs) {
  return h('dl', { class: 'facts' }, pairs.filter((pair) => pair).map(([name, value]) =>
    h('div', { 'data-key': `fact-${name}` }, h('dt', null, name), h('dd', null, value))));
}

export function sparkline(values, label) {
  const WIDTH = 240;
  const HEIGHT = 44;
  const peak = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map((value, i) =>
    `${(i * step).toFixed(1)},${(HEIGHT - 2 - (value / peak) * (HEIGHT - 6)).toFixed(1)}`);
  return s('svg', {
    class: 'spark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': label,
  },
  s('polygon', { class: 'area', points: `0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}` }),
  s('polyline', { class: 'line', points: points.join(' ') }));
}

// A bar for a number in a list: as long as its share of the largest.
export function bar(value, max) {
  return s('svg', { class: 'share', viewBox: '0 0 100 8', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    s('rect', { class: 'all', width: 100, height: 8, rx: 2 }),
    s('rect', { class: 'part', width: Math.max(1, (100 * value) / Math.max(1, max)), height: 8, rx: 2 }));
}

// An error of the overview: its messages differ in ids and numbers only.
export const causeKey = (error) => JSON.stringify([error.workflow, error.step, error.error_name, error.pattern]);

// The console tells a limited number of causes apart; it counts the orders of the others together.
export const otherCauses = (orders) => (orders
  ? empty(`and ${number(orders)} ${orders === 1 ? 'order' : 'orders'} in Error of causes beyond those that the console keeps apart: `,
    link('/orders?state=Error', null, 'all orders in Error')) : null);

export const incomplete = (list) =>
  list?.length
    ? notice('warn', `${list.length === 1 ? 'One partition is' : `${number(list.length)} partitions are`
    } incomplete: `, visible(list.map((each) => `${each.partition} (${each.reason})`).slice(0, 3).join('; ')),
    '. Orders may be missing here. ', link('/partitions', null, 'Partitions'))
    : null;

// Orders whose commands no scheduler has decided are in no list.
export function waiting(list) {
  if (!list?.length) return null;
  const commands = list.reduce((sum, each) => sum + each.commands, 0);
  return notice('warn', `${count(commands, 'command')} ${commands === 1 ? 'waits' : 'wait'} undecided in ${
    list.length === 1 ? `partition ${list[0].partition}` : `${number(list.length)} partitions`}; orders in ${
    commands === 1 ? 'it' : 'them'} are not listed. `, link('/partitions', null, 'Partitions'));
}

// What lint says of a workflow's text.
export const findings = (list, props) => h('ul', props, list.map((each) =>
  h('li', null, badge(each.severity === 'error' ? 'Error' : 'growing', each.severity), ` line ${each.line}: `, data(each.message))));

// What follows for agents from the differences of two versions; `diff`: as /api/workflows/{name}/diff
// has it.
export const consequences = (diff) => diff.differences.filter((each) => each.warning).map((each) =>
  notice('warn', `step ${visible(each.step)}, from version ${diff.left} to ${diff.right}: ${visible(each.warning)}`));

export function json(value) {
  return h('pre', { class: 'json', tabindex: '0' }, visible(JSON.stringify(value, null, 2)).replaceAll('\\u000a', '\n'));
}
