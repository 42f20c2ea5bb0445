// SPDX-License-Identifier: Apache-2.0
// Each partition: its owner, how far it is, and whether it keeps up.
import { h } from './dom.js';
import { ago, bytes, count, number, time, visible } from './format.js';
import { get } from './api.js';
import { badge, data, empty, failure, notice, panel, table } from './parts.js';

function replay(p) {
  if (!p.replay) return p.fold_lag ? `${number(p.fold_lag)} behind` : 'at the end';
  const { folded, end } = p.replay;
  if (folded >= end) return 'at the end';
  return [h('progress', { max: Math.max(1, end), value: folded, 'aria-label': 'Read from the log' }),
    ` ${number(end - folded)} left`];
}

function verdict(p) {
  const kind = p.stopped ? 'stopped' : p.verdict ?? (p.claim ? 'ok' : 'stopped');
  const word = p.claim || p.stopped ? kind : 'no owner';
  return [badge(kind, word), p.verdict_reason ? h('span', { class: 'dim' }, ' ', visible(p.verdict_reason)) : null];
}

function claims(p) {
  const list = p.claims ?? (p.claim ? [p.claim] : []);
  if (!list.length) return data(null);
  return h('details', null, h('summary', null, p.handovers === undefined ? 'Claims' : `${number(p.handovers)} in the last hour`),
    h('ul', { class: 'events' }, list.map((claim) =>
      h('li', null, time(claim.claimed_at), ' ', data(claim.instance), h('span', { class: 'dim' }, ` at offset ${claim.offset}`)))));
}

export function open(view) {
  const title = (list) => {
    const owners = new Set(list.filter((p) => p.claim).map((p) => p.claim.instance));
    const lag = list.reduce((sum, p) => sum + (p.lag ?? 0), 0);
    return h('div', { class: 'title' }, h('h1', null, 'Partitions'),
      h('p', null, `${count(list.length, 'partition')}, ${count(owners.size, 'owner')}, ${count(lag, 'waiting command')}`));
  };

  async function load() {
    let answer;
    let problem = null;
    try {
      answer = await get('/api/partitions');
    } catch (error) {
      if (!error.unsupported) throw error;
      problem = failure(error, 'verdicts and claim history');
      answer = await get('/api/owners');
    }
    const list = answer.partitions ?? answer.owners ?? [];
    const bad = list.filter((p) => p.stopped);
    view.draw([
      title(list), problem,
      bad.map((p) => notice('bad', h('b', null, `Partition ${p.partition} is stopped: `), data(p.stopped_reason ?? String(p.stopped)))),
      panel('Owners', { note: '--output json has the claims, handovers and stores as well', command: 'reeve owners' }, list.length ? table('Partitions', [
        { name: 'Partition', class: 'number', cell: (p) => String(p.partition) },
        { name: 'Verdict', class: 'verdict', cell: verdict },
        { name: 'Owner', class: 'short', cell: (p) => [data(p.claim?.instance), p.claim ? h('span', { class: 'dim' }, ' since ', ago(p.claim.claimed_at)) : null] },
        { name: 'Lag', class: 'number', cell: (p) => number(p.lag) },
        { name: 'Last decision', class: 'when', cell: (p) => ago(p.last_decided_at) },
        { name: 'Decisions', class: 'number', cell: (p) => number(p.claim?.decisions) },
        { name: 'Read', class: 'short', cell: replay },
        { name: 'Store', class: 'number', cell: (p) => bytes(p.store_bytes) },
        { name: 'Skipped', class: 'number', cell: (p) => number(p.skipped) },
        { name: 'Handovers', cell: claims },
        { name: 'Latest alert', class: 'wide', cell: (p) => p.alert ? [h('b', null, data(p.alert.code)), ' ', data(p.alert.message)] : data(null) },
      ], list, { key: (p) => p.partition, rowClass: (p) => (p.stopped ? 'bad' : null) }) : empty('There are no partitions.')),
    ]);
  }
  return { load };
}
