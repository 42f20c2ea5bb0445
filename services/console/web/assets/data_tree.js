// SPDX-License-Identifier: Apache-2.0
// Data of an order, its input and what its steps returned: on a line, or as a tree.
import { h } from './dom.js';
import { count, visible } from './format.js';
import { link } from './parts.js';
import { isScalar } from './json.js';

const LINE_MAX = 300; // characters of JSON
const TREE_MAX = 64 * 1024;
const OPEN_LEVELS = 2;

// The beginning of it, for a table.
export function brief(value) {
  if (value === null || value === undefined) return h('span', { class: 'none' }, '–');
  const text = JSON.stringify(value);
  return h('code', null, visible(text.length > LINE_MAX ? `${text.slice(0, LINE_MAX)}…` : text));
}

function branch(label, value, path) {
  const name = label === null ? null : [h('b', null, visible(label)), ' '];
  if (isScalar(value)) return h('li', null, name, h('code', null, visible(JSON.stringify(value))));
  const list = Array.isArray(value);
  const items = Object.entries(value);
  if (!items.length) return h('li', null, name, h('code', null, list ? '[]' : '{}'));
  return h('li', null, h('details', { open: path.length < OPEN_LEVELS, 'data-key': JSON.stringify(path) },
    h('summary', null, name, h('span', { class: 'dim' }, count(items.length, list ? 'element' : 'member'))),
    h('ul', null, items.map(([each, item]) => branch(each, item, [...path, each])))));
}

// `whole`: where all of it is, for data that is too long to be shown.
export function tree(value, whole) {
  const text = JSON.stringify(value);
  if (text.length <= TREE_MAX) return h('ul', { class: 'tree' }, branch(null, value, []));
  return [h('pre', { class: 'json', tabindex: '0' }, visible(text.slice(0, TREE_MAX))),
    h('p', { class: 'dim' }, 'Only the first 64 KiB are shown. ', link(whole, { target: '_blank' }, 'All of it as JSON'))];
}
