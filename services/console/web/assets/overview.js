// SPDX-License-Identifier: Apache-2.0
// What happens now: rates, what is in flight, how long it takes, what fails, and the owners.
import { h } from './dom.js';
import { ago, count, duration, number, visible } from './format.js';
import { get, orderPage } from './api.js';
import { ordersPage } from './filters.js';
import { badge, bar, causeKey, commandBox, data, empty, facts, failure, incomplete, link, otherCauses, panel, sparkline, table } from './parts.js';

const RATES = [
  ['submitted', 'Submitted', {}], ['processed', 'Processed', { state: 'Processed' }],
  ['compensated', 'Compensated', { state: 'Compensated' }], ['error', 'In Error', { state: 'Error' }],
];
const MINUTE_MS = 60000;

// Orders a second: of the last minute's whole buckets, and the largest.
function rateOf(values, stepMs) {
  const buckets = Math.max(1, Math.round(MINUTE_MS / stepMs));
  const whole = values.slice(0, -1).slice(-buckets);
  const sum = whole.reduce((total, n) => total + n, 0);
  return { now: sum / Math.max(1, (whole.length * stepMs) / 1000), peak: Math.max(0, ...values) / (stepMs / 1000),
    total: values.reduce((total, n) => total + n, 0) };
}

const perSecond = (rate) => (rate === 0 ? '0' : rate < 0.1 ? rate.toFixed(2) : rate < 10 ? rate.toFixed(1) : number(Math.round(rate)));

function rates(overview) {
  return h('div', { class: 'tiles' }, RATES.map(([name, label, filters]) => {
    const values = overview.rates[name] ?? [];
    const { now, peak, total } = rateOf(values, overview.step_ms);
    const minutes = Math.round((values.length * overview.step_ms) / MINUTE_MS);
    return h('section', { class: `tile ${name}`, 'data-key': name, 'aria-label': label },
      h('h2', null, link(ordersPage(filters), null, label)),
      h('p', { class: 'big' }, perSecond(now), h('small', null, ' /s')),
      sparkline(values, `${label}: ${number(total)} orders in ${minutes} minutes, at most ${perSecond(peak)} a second`),
      h('p', { class: 'dim' }, `${number(total)} in ${minutes} min · peak ${perSecond(peak)} /s`));
  }));
}

// The others of a list, which shows roots.
const suborders = (filters, n) => (n ? [', and ', link(ordersPage({ ...filters, all: 1 }), null, count(n, 'sub-order'))] : null);

function states(overview) {
  const { oldest } = overview;
  const p = overview.partitions;
  return facts([
    ['Unfinished', [h('b', null, number(overview.unfinished)), overview.suborders_unfinished ? `, and ${count(overview.suborders_unfinished, 'sub-order')}` : null]],
    ['In Error', [link(ordersPage({ state: 'Error' }), null, number(overview.by_state?.Error ?? 0)), suborders({ state: 'Error' }, overview.suborders_by_state?.Error)]],
    ['Oldest unfinished', oldest ? [link(orderPage(oldest.id), null, data(oldest.id)), ' ', badge(oldest.state), ' ', ago(oldest.submitted_at)] : 'none'],
    ['Partitions', link('/partitions', null, `${number(p.owned)} of ${number(p.total)} owned${p.stopped ? `, ${number(p.stopped)} stopped` : ''}`)],
    ['Waiting commands', [number(p.lag), p.stalled ? [' ', badge('stalled'), h('span', { class: 'dim' }, ' ', visible(p.stalled_reason))] : null]],
    ['Finished', [link(ordersPage({ state: 'Processed' }), null, number(overview.by_state?.Processed ?? 0)), ' processed, ',
      link(ordersPage({ state: 'Compensated' }), null, number(overview.by_state?.Compensated ?? 0)), ' compensated']],
  ]);
}

function errors(overview) {
  const list = overview.errors ?? [];
  return panel('Errors', { note: 'Orders in Error now, by step and message', command: 'reeve overview' },
    list.length ? table('Errors', [
      { name: 'Orders', class: 'number', cell: (e) => link(ordersPage({ state: 'Error', workflow: e.workflow, step: e.step, error: e.error_name }), { class: 'row' }, number(e.orders)) },
      { name: 'Step', cell: (e) => [data(e.step), h('span', { class: 'dim' }, ' ', visible(e.workflow))] },
      { name: 'Error', cell: (e) => h('b', null, data(e.error_name)) },
      { name: 'Latest message', class: 'wide', cell: (e) => data(e.message) },
      { name: 'Latest', class: 'when', cell: (e) => ago(e.latest_at) },
    ], list, { key: causeKey })
      : empty('No order is in Error.'),
  otherCauses(overview.errors_of_other_causes));
}

function inFlight(overview) {
  const list = [...(overview.in_flight ?? [])].sort((a, b) => b.orders - a.orders);
  const max = Math.max(1, ...list.map((each) => each.orders));
  return panel('In flight', { note: 'Unfinished orders by the step they are at', command: 'reeve overview' },
    list.length ? table('In flight', [
      { name: 'Step', cell: (each) => [link(ordersPage({ workflow: each.workflow, step: each.step }), { class: 'row' }, data(each.step)), h('span', { class: 'dim' }, ' ', visible(each.workflow))] },
      { name: 'Orders', class: 'number', cell: (each) => number(each.orders) },
      { name: 'Share', class: 'bars', cell: (each) => bar(each.orders, max) },
    ], list, { key: (each) => `${each.workflow}/${each.step}` }) : empty('Nothing is in flight.'),
    overview.in_flight_of_others ? empty(`and ${count(overview.in_flight_of_others, 'order')} at other steps`) : null);
}

function latency(overview) {
  const list = overview.latency ?? []; // by workflow, in the order of its steps
  const max = Math.max(1, ...list.map((each) => each.p99_ms));
  return panel('Latency', { note: 'Of what ended in the last 15 minutes', command: 'reeve overview' },
    list.length ? table('Latency', [
      { name: 'Step', cell: (each) => each.step === null ? h('b', null, data(each.workflow), ': whole order') : data(each.step) },
      { name: 'Ended', class: 'number', cell: (each) => number(each.count) },
      { name: 'p50', class: 'number', cell: (each) => duration(each.p50_ms) },
      { name: 'p99', class: 'number', cell: (each) => duration(each.p99_ms) },
      { name: 'p99 compared', class: 'bars', cell: (each) => bar(each.p99_ms, max) },
    ], list, { key: (each) => `${each.workflow}/${each.step}`, rowClass: (each) => (each.step === null ? 'group' : null) })
      : empty('Nothing has ended in the last 15 minutes.'));
}

// Of a console without /api/overview: what the other answers hold.
function plain(counts, problem) {
  return [problem, counts ? panel('Orders by state', { command: 'reeve orders count' }, table('Orders by state', [
    { name: 'State', cell: ([state]) => link(ordersPage({ state }), { class: 'row' }, badge(state)) },
    { name: 'Orders', class: 'number', cell: ([, n]) => number(n) },
  ], Object.entries(counts.by_state), { key: ([state]) => state })) : null];
}

export function open(view) {
  const title = (words) => h('div', { class: 'title' }, h('h1', null, 'Overview'), h('p', null, words));
  async function load() {
    let overview;
    try {
      overview = await get('/api/overview');
    } catch (error) {
      if (error.unreachable || error.status >= 502) throw error;
      const counts = await get('/api/counts').catch(() => null);
      view.draw([title(counts ? count(counts.orders, 'order') : ''), ...plain(counts, failure(error, 'the overview'))]);
      return;
    }
    const orders = Object.values(overview.by_state ?? {}).reduce((sum, n) => sum + n, 0);
    view.draw([
      title(count(orders, 'order')), incomplete(overview.incomplete),
      rates(overview), states(overview), commandBox('reeve overview'), errors(overview),
      h('div', { class: 'columns', 'data-key': 'columns' }, inFlight(overview), latency(overview)),
    ]);
  }
  return { load };
}
