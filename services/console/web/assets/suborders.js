// SPDX-License-Identifier: Apache-2.0
// Orders in orders: the way up to the parent and the root, what an order waits for while it is held,
// and the sub-orders of its steps: a bar of their outcomes, the items page by page, and what is open
// or has failed on all levels below.
import { h, s } from './dom.js';
import { command, count, number, time, until, visible } from './format.js';
import { get, orderPage, orderPath, post, query } from './api.js';
import { badge, data, empty, failure, link, notice, panel, table } from './parts.js';
import { openAction, openQuestion } from './actions.js';
import { ordersPage } from './filters.js';
import { mayAct } from './session.js';
import { brief } from './data_tree.js';

const LIMIT = 20;
const SHOWN_MAX = 50; // of a step in the tree
const GIVE_UP = 'Ends an item that never answers, as if its sub-order had failed with this error. If the sub-order does answer later, it is undone then.';

// How the counts of a step are shown, in the order of the bar and the words of the API; `about`
// explains them. `state`: of the items in the API.
const OUTCOMES = [
  { name: 'final', words: 'final', badge: 'Processed', about: 'Done: there is nothing to undo, or it was kept.' },
  { name: 'held', words: 'held', badge: 'Held', about: 'Done, and can still be undone.' },
  { name: 'failed', words: 'failed', badge: 'Error', about: 'Undone, or refused.' },
  { name: 'submitted', words: 'submitted', badge: 'Processing', about: 'Under way: it has not answered.' },
  { name: 'to_do', words: 'to do', badge: 'Pending', about: 'Not submitted yet.' },
  { name: 'left_out', words: 'left out', badge: 'Skipped', state: 'to_do', about: 'Never submitted.' },
];

const stepsWith = (order) => order.steps.filter((step) => step.suborders);
// A root with sub-orders: commands may be for all of them.
export const hasTree = (order) => !order.parent && stepsWith(order).length > 0;
const ended = (order) => order.state === 'Processed' || order.state === 'Compensated';
const countsOf = (counts) => OUTCOMES.filter(({ name }) => counts[name] > 0).map((each) => ({ ...each, n: counts[each.name] }));
const wordsOf = (counts) => countsOf(counts).map(({ n, words }) => `${number(n)} ${words}`).join(', ');
const nounOf = (counts) => count(counts.count, counts.for_each ? 'item' : 'sub-order');

// Items that cannot start any more are to do in the parent's row.
const outcomeOf = (item, counts) => OUTCOMES.find(({ name }) =>
  name === (item.outcome === 'to_do' && counts.left_out ? 'left_out' : item.outcome));

// As the scheduler sees it: an operator may end it.
const unanswered = (item, counts) => item.outcome === 'submitted' || (item.outcome === 'held' && counts.recalled);

const itemOf = (parent) => (parent.item === null ? ['the sub-order of ', data(parent.step)]
  : ['item ', String(parent.item), ' of ', data(parent.step)]);

// ---- the way up ----

// parent: of the API, or null where the console does not know it.
function wayUp(order, parent) {
  const up = order.parent;
  if (!up) return null;
  const between = up.order_id === up.root ? [] : [parent?.parent?.order_id, up.order_id].filter((id) => id && id !== up.root);
  const all = [...(up.depth > 2 && between.length < 2 ? [null] : []), ...between];
  return h('nav', { class: 'way-up', 'data-key': 'way-up', 'aria-label': 'Way up' }, h('ol', null,
    [up.root, ...all].map((id) => h('li', null, id === null ? '…' : link(orderPage(id), { title: visible(id) }, data(id)),
      id === up.order_id && parent ? [' ', badge(parent.paused_at ? 'Paused' : parent.state, parent.paused_at ? `${parent.state}, paused` : null)] : null)),
    h('li', { 'aria-current': 'page' }, itemOf(up), up.generation > 0 ? `, resubmission ${up.generation}` : null)));
}

// ---- held ----

function settle(order, keep, done) {
  openQuestion({
    title: `${keep ? 'Keep' : 'Undo'} what order ${visible(order.order_id)} did`,
    about: keep ? 'The order ends as Processed, and so does what it holds itself.' : 'The order’s steps are undone, the last one first.',
    label: keep ? 'Keep' : 'Undo', danger: !keep,
    commandFor: ({ by, reason }) => command(['reeve', 'orders', 'settle', '--reason', reason, '--by', by], order.order_id, keep ? 'keep' : 'undo'),
    send: async (body) => {
      await post(`${orderPath(order.order_id)}/settle`, { keep, ...body });
      return keep ? 'What it did is kept' : 'It is being undone';
    },
    done,
  });
}

// Why a held order does nothing; `now`: null in the past, which takes no commands.
export function heldNotice(order, now, reload) {
  if (order.state !== 'Held') return null;
  const parent = link(orderPage(order.parent.order_id), null, data(order.parent.order_id));
  if (!order.alert_open)
    return notice('held', h('b', null, 'Held'), ': its steps are done and can still be undone. Its parent decides: once ', parent,
      ' is processed, what it did is kept; if that order is undone, so is this one.',
      now !== null && order.complete_by ? [' Until then it reports again ', until(order.complete_by, now), '.'] : null);
  return notice('bad', h('p', null, h('b', null, 'Its parent is unknown'), ': its steps are done, but its parent ', parent,
    ' no longer exists. Find out what became of that one; then decide in its place.'),
  now !== null && mayAct() ? h('div', { class: 'buttons', role: 'group', 'aria-label': 'In place of the parent' },
    h('button', { type: 'button', on: { click: () => settle(order, true, reload) } }, 'Keep'),
    h('button', { type: 'button', class: 'danger', on: { click: () => settle(order, false, reload) } }, 'Undo')) : null);
}

// ---- the bar ----

function outcomeBar(counts) {
  let x = 0;
  const width = (n) => (100 * n) / Math.max(1, counts.count);
  return s('svg', { class: 'outcomes', viewBox: '0 0 100 12', preserveAspectRatio: 'none', role: 'img',
    'aria-label': `${nounOf(counts)}: ${wordsOf(counts) || 'nothing to do'}` },
  s('rect', { class: 'none', width: 100, height: 12 }),
  countsOf(counts).map(({ name, n, words }) => {
    const made = s('rect', { class: name.replace('_', '-'), x, width: width(n), height: 12 }, s('title', null, `${number(n)} ${words}`));
    x += width(n);
    return made;
  }));
}

// What is to be known of a step's sub-orders beyond their numbers.
function remarks(step, shown, now) {
  const { suborders: counts } = step;
  const runs = step.state === 'Processing' && !ended(shown);
  return [
    counts.recalled ? notice('warn', h('b', null, step.direction === 'undo' ? 'Being undone' : 'Recalled'),
      runs ? ': nothing more starts, and the step waits until every one of them is undone.' : ': what they did was undone.') : null,
    counts.stopped ? h('p', { class: 'dim' }, 'StopWhen was true: no further item starts.') : null,
    runs && counts.times_out_at && !counts.recalled ? h('p', { class: 'dim' }, 'The step times out ', until(counts.times_out_at, now), '.') : null,
    runs && shown.paused_at ? notice('warn', 'The order is paused: no item starts, but sub-orders that run go on. Pause its whole tree to stop them.') : null,
  ];
}

// ---- the items ----

// What became of the sub-order itself, which its parent may not have heard of.
function stateOf(item) {
  if (item.expired) return h('span', { class: 'dim' }, 'expired');
  if (!item.state) return item.order_id ? h('span', { class: 'dim', title: 'This console has no such order, or not yet.' }, 'not known here') : data(null);
  return [badge(item.paused ? 'Paused' : item.state, item.paused ? `${item.state}, paused` : null),
    item.alert_open ? h('span', { class: 'tag bad' }, 'alert open') : null];
}

const resultOf = (item) => (item.reason_code ? [h('b', null, data(item.reason_code)), ' ', data(item.problem)] : brief(item.output));

// ---- what is open or failed below ----

function treeStep(step) {
  const list = step.suborders;
  return h('li', { 'data-key': `step-${step.step}` }, h('b', null, data(step.step)), h('span', { class: 'dim' }, ` ${nounOf(step)}: ${wordsOf(step)}`),
    list.length ? h('ul', null, list.slice(0, SHOWN_MAX).map(treeNode)) : null,
    list.length > SHOWN_MAX ? h('p', { class: 'dim' }, `and ${number(list.length - SHOWN_MAX)} more`) : null);
}

function treeNode(node) {
  const outcome = OUTCOMES.find(({ name }) => name === node.outcome);
  return h('li', { 'data-key': `node-${node.order_id ?? `item-${node.item}`}` },
    node.order_id ? link(orderPage(node.order_id), null, data(node.order_id)) : `item ${node.item}`, ' ',
    node.state ? stateOf(node) : [badge(outcome?.badge ?? 'Pending', outcome?.words), node.expired ? ' expired' : null],
    node.reason_code ? [' ', h('b', null, data(node.reason_code)), ' ', data(node.problem)] : null,
    node.steps?.length ? h('ul', null, node.steps.map(treeStep)) : null);
}

// ---- the panel ----

// {load(order), draw(shown, order, now)}; shown: the order, or as it was, and then there are no items
// to see. `reload`: after a command; `redraw`: after another page of items has come.
export function subordersOf(id, asked, reload, redraw) {
  let step = asked.get('items');
  let outcome = OUTCOMES.some(({ name }) => name === asked.get('outcome')) ? asked.get('outcome') : null;
  let from = /^\d{1,4}$/.test(asked.get('from') ?? '') ? Number(asked.get('from')) : 0;
  let page = null; // of `step`, or the error instead
  let parent = null;
  let below = null; // the tree, or the error instead
  let open = false;

  const address = () => `${orderPage(id)}${query({ items: step, outcome, from: from || null })}`;

  // The step that was asked for, or else one that runs or failed.
  function chosen(order) {
    const all = stepsWith(order);
    return all.find((each) => each.step === step) ??
      all.find((each) => ['Processing', 'Error'].includes(each.state)) ?? all.at(-1) ?? null;
  }

  const optional = (promise) => promise.catch((error) => {
    if (error.unreachable) throw error;
    return error;
  });

  async function loadPage(order) {
    const mine = chosen(order);
    if (!mine) return;
    const state = OUTCOMES.find(({ name }) => name === outcome);
    page = await optional(get(`${orderPath(id)}/suborders${query({ step: mine.step,
      state: state ? state.state ?? state.name : null, from: from || null, limit: LIMIT })}`));
  }

  async function loadTree() {
    if (open) below = await optional(get(`${orderPath(id)}/tree`));
  }

  async function load(order) {
    if (order.parent) parent = await optional(get(orderPath(order.parent.order_id)));
    if (parent instanceof Error) parent = null;
    await Promise.all([loadPage(order), stepsWith(order).length ? loadTree() : null]);
  }

  async function show(order, next) {
    ({ step = chosen(order).step, outcome = null, from = 0 } = next);
    history.replaceState(null, '', address());
    await loadPage(order).catch((error) => (page = error));
    redraw();
  }

  function steps(shown, order, at) {
    const all = stepsWith(shown);
    const mine = chosen(order ?? shown);
    return h('ul', { class: 'split', 'data-key': 'split' }, all.map((each) => h('li', { 'data-key': `split-${each.step}` },
      all.length > 1 && at === null
        ? h('button', { type: 'button', class: 'as-link', 'aria-pressed': String(each.step === mine.step),
          on: { click: () => show(order, { step: each.step }) } }, data(each.step))
        : h('b', null, data(each.step)),
      outcomeBar(each.suborders),
      h('span', { class: 'counts' }, h('span', null, nounOf(each.suborders)), countsOf(each.suborders).map(({ name, n, words, about }) =>
        h('span', { class: 'key', title: about }, h('i', { class: name.replace('_', '-'), 'aria-hidden': 'true' }), `${number(n)} ${words}`))))));
  }

  function fail(mine, item) {
    openAction('fail', { ids: [id], steps: [mine.step], item: item.item ?? 0, as: { label: 'Fail', about: GIVE_UP,
      what: `${item.item === null ? 'the sub-order' : `item ${item.item}`} of ${visible(mine.step)}` } }, reload);
  }

  function items(mine, order) {
    const counts = mine.suborders;
    if (page instanceof Error) return failure(page, 'its sub-orders');
    if (page?.step !== mine.step) return null;
    const acts = mayAct() && !ended(order) && page.suborders.some((item) => unanswered(item, counts));
    return page.suborders.length ? table(`Items of ${visible(mine.step)}`, [
      counts.for_each && { name: 'Item', class: 'number', cell: (item) => String(item.item) },
      { name: 'Order', class: 'id', cell: (item) => (item.order_id ? link(orderPage(item.order_id), { class: 'row', title: visible(item.order_id) }, data(item.order_id)) : data(null)) },
      { name: 'Outcome', cell: (item) => {
        const { badge: sign, words, about } = outcomeOf(item, counts);
        return h('span', { title: about }, badge(sign, words));
      } },
      { name: 'Its state', cell: stateOf },
      { name: 'Submitted', class: 'when', cell: (item) => time(item.submitted_at) },
      { name: 'Output or why', class: 'wide', cell: resultOf },
      acts && { name: 'Actions', cell: (item) => (unanswered(item, counts)
        ? h('button', { type: 'button', title: 'It never answers: give it up', 'aria-label': `Fail ${item.item === null ? 'the sub-order' : `item ${item.item}`}`,
          on: { click: () => fail(mine, item) } }, 'Fail') : null) },
    ], page.suborders, { key: (item) => item.item ?? 0 }) : empty(outcome ? 'No item has this outcome.' : 'There is nothing to do: the list is empty.');
  }

  function filters(mine, order) {
    const counts = mine.suborders;
    if (!counts.for_each || counts.count < 2) return null;
    const chip = (words, n, name) => h('button', { type: 'button', class: 'chip', 'aria-pressed': String(outcome === name), 'data-key': `outcome-${name}`,
      on: { click: () => show(order, { step: mine.step, outcome: name }) } }, words, h('b', null, number(n)));
    return h('div', { class: 'chips', 'data-key': 'outcomes', role: 'group', 'aria-label': 'Items by outcome' }, chip('All', counts.count, null),
      OUTCOMES.filter(({ name }) => counts[name] > 0 || outcome === name).map(({ name, words }) => chip(words[0].toUpperCase() + words.slice(1), counts[name], name)));
  }

  function pager(mine, order) {
    if (page?.step !== mine.step || (!from && page.next === null)) return null;
    const button = (words, disabled, next) => h('button', { type: 'button', disabled, on: { click: () => show(order, { step: mine.step, outcome, from: next }) } }, words);
    return h('nav', { class: 'pager', 'data-key': 'items-pager', 'aria-label': 'Pages of items' },
      button('First items', !from, 0), button('Next items', page.next === null, page.next));
  }

  function tree(order) {
    const unfold = async (event) => {
      open = event.target.open;
      await loadTree().catch((error) => (below = error));
      redraw();
    };
    return h('details', { class: 'below', 'data-key': 'below', on: { toggle: unfold } }, h('summary', null, 'What is open or failed below it'),
      !below ? null : below instanceof Error ? failure(below, 'the tree')
        : [h('ul', { class: 'tree' }, below.steps.map(treeStep)),
          below.more ? h('p', { class: 'dim' }, 'The tree has more than is shown: open one of its orders to see what is below that one.') : null]);
  }

  const lists = (shown) => [
    link(ordersPage({ attribute: [`reeve.parent=${id}`] }), null, 'Its sub-orders as a list'),
    link(ordersPage({ attribute: [`reeve.root=${shown.parent?.root ?? id}`] }), null, 'All sub-orders of the tree')];

  function draw(shown, order, at, now) {
    if (!stepsWith(shown).length) return null;
    const mine = at === null ? chosen(order) : null;
    return panel('Sub-orders', { tools: lists(shown), command: at === null ? command(['reeve', 'orders', 'tree'], id) : null },
      steps(shown, order, at),
      mine ? [h('div', { class: 'remarks', 'data-key': 'remarks' }, remarks(mine, shown, now)), filters(mine, order), items(mine, order), pager(mine, order), tree(order)] : null);
  }

  return { load, draw, wayUp: (shown) => wayUp(shown, parent) };
}
