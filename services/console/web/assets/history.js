// SPDX-License-Identifier: Apache-2.0
// The complete history of an order: one row for each Decision, with those that changed nothing.
import { h } from './dom.js';
import { number, time, visible } from './format.js';
import { badge, data, empty, json, link, table } from './parts.js';
import { brief } from './data_tree.js';
import { orderPage } from './api.js';

// Who acted, and what an operator gave as the reason; the words say why anything else was done.
function who(entry) {
  const why = entry.command.kind === 'ReportStep' ? null : entry.reason;
  return [data(entry.by), why ? h('small', { class: 'why' }, data(why)) : null];
}

function notes(entry) {
  const kinds = entry.events.map((event) => event.kind);
  if (kinds.includes('CommandRejected')) return h('span', { class: 'tag bad' }, 'refused');
  if (kinds.includes('ReportIgnored')) return h('span', { class: 'tag' }, 'ignored');
  return entry.changed ? null : h('span', { class: 'tag' }, 'no change');
}

// What sub-orders answered as they should, which the items of their step show as well.
const ROUTINE = new Set(['held', 'final']);
export const isRoutine = (entry) => entry.events.some(({ kind }) => kind === 'SuborderEnded') && entry.events.every(({ kind, data: of }) =>
  kind === 'SubordersSubmitted' || (kind === 'SuborderEnded' && ROUTINE.has(of.outcome)));

export function historyTable(entries, id, current) {
  if (!entries.length) return empty('Nothing has been decided about this order yet.');
  return table('History', [
    { name: 'Offset', class: 'number', cell: (entry) => entry.changed
      ? link(`${orderPage(id)}?at=${entry.offset}`, { title: 'The order as it was then' },
        `${entry.partition}/${entry.offset}`) : `${entry.partition}/${entry.offset}` },
    { name: 'Time', class: 'when', cell: (entry) => time(entry.time, true) },
    { name: 'State', cell: (entry) => (entry.state ? badge(entry.state) : null) },
    { name: 'What happened', class: 'wide', cell: (entry) => [
      h('ul', { class: 'events' }, entry.events.map((event) =>
        h('li', null, data(event.words)))), notes(entry)] },
    { name: 'Who and why', class: 'short', cell: who },
    { name: 'Command', class: 'short', cell: (entry) => visible(entry.command.kind) },
    { name: 'Sequence', class: 'number', cell: (entry) => number(entry.sequence) },
    { name: 'Data', cell: (entry) => h('details', null, h('summary', null, 'Data'), json({
      claim_id: entry.claim_id, version: entry.version, command: entry.command, by: entry.by,
      reason: entry.reason, updates: entry.updates,
      events: entry.events.map((event) => ({ kind: event.kind, data: event.data })),
    })) },
  ], entries, {
    key: (entry) => entry.offset,
    rowClass: (entry) => [entry.changed ? '' : 'nothing', entry.offset === current ? 'now' : ''].join(' ').trim() || null,
  });
}

function changeOf(step) {
  const undo = step.direction === 'undo' ? 'undo of ' : '';
  return h('li', null, undo, h('b', null, data(step.step)), ` ${step.state}, attempt ${step.attempt}`,
    step.error_name ? [': ', data(step.error_name)] : null);
}

// The StatusUpdates for the application that the Decisions entail. null: the console does not know.
export function statusTable(entries) {
  if (!entries.some((entry) => entry.updates)) return null;
  const sent = entries.flatMap((entry) => (entry.updates ?? []).map((update) => ({ entry, update })));
  if (!sent.length) return empty('None: the order names no reply topic.');
  return table('Statuses sent', [
    { name: 'Offset', class: 'number', cell: ({ entry }) => `${entry.partition}/${entry.offset}` },
    { name: 'Time', class: 'when', cell: ({ entry }) => time(entry.time, true) },
    { name: 'Status', cell: ({ update }) => data(update.kind) },
    { name: 'Order', cell: ({ update }) => badge(update.order_state) },
    { name: 'Steps', class: 'wide', cell: ({ update }) =>
      (update.steps.length ? h('ul', { class: 'events' }, update.steps.map(changeOf)) : data(null)) },
    { name: 'Why', cell: ({ update }) =>
      (update.code ? [h('b', null, data(update.code)), ' ', data(update.message)] : data(update.message)) },
    { name: 'Output', cell: ({ update }) => brief(update.output) },
    { name: 'To', cell: ({ update }) => data(update.topic) },
  ], sent, { key: ({ entry }) => entry.offset });
}
