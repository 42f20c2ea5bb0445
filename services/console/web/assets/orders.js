// SPDX-License-Identifier: Apache-2.0
// The list of orders: filters in the address, pages by cursor, a selection, and actions for it.
import { h } from './dom.js';
import { ago, count, number, until, visible } from './format.js';
import { get, orderPage, query } from './api.js';
import { FILTERS, apiFilters, countCommand, listCommand, ordersPage, readFilters } from './filters.js';
import { ORDER_STATES, badge, commandBox, copy, data, empty, failure, incomplete, link, notice, table, waiting } from './parts.js';
import { groups, mayAct, whyNot } from './session.js';
import { ACTIONS, movable, openAction } from './actions.js';
import { signalWait } from './action_rules.js';

const LIMIT = 50;
const QUESTION_MAX = 120; // characters in the list
const FIRST = ['id_prefix', 'state', 'workflow', 'step', 'error'];

// Its beginning: the page of the order has all of it.
function question(text) {
  const whole = [...visible(text)];
  return whole.length > QUESTION_MAX
    ? data(`${whole.slice(0, QUESTION_MAX).join('')}…`, { title: whole.join('') }) : data(text);
}

function progress(order) {
  if (order.paused_at) return h('span', null, 'paused by ', data(order.paused_by));
  return order.active_steps.slice(0, 3).map((step, i) => {
    const undo = step.direction === 'undo' ? 'undo of ' : '';
    const wait = signalWait(order, step.step);
    const words = step.state === 'Error' ? [' failed']
      : wait ? [' waits for ', wait.group ? data(wait.group) : 'a signal', wait.question ? [': ', question(wait.question)] : null]
      : step.due_at ? [' passes ', until(step.due_at)]
      : step.queued_at ? [' waits for an agent'] // its retry_at is when the scheduler looks again
        : step.retry_at ? [', next attempt ', until(step.retry_at)]
          : step.attempt > 1 ? [`, attempt ${step.attempt}`] : [];
    return h('span', null, i ? '; ' : '', undo, data(step.step), words);
  });
}

function why(order) {
  if (!order.reason_code) return null;
  return h('span', { title: visible(order.reason ?? '') }, data(order.reason_code),
    order.reason_by ? [' by ', data(order.reason_by)] : null);
}

export function open(view) {
  const filters = readFilters(view.query);
  const cursor = view.query.get('cursor');
  const selected = new Set();
  let all = false; // all that match, not only those on this page
  let page = null;
  let total = null;
  let counts = null;
  let matching = null; // of the chips, with the filters
  let mine = []; // of each group of the user: {group, orders, exact}
  let workflows = [];
  let versions = []; // of all workflows
  let problem = null;
  let broken = null; // what is wrong with the filters
  let moreOpen = FILTERS.some((filter) => !FIRST.includes(filter.name) && filters[filter.name]);
  const filtered = Object.keys(filters).length > 0;

  const goTo = (next, more) => view.go(ordersPage(next, more), { keep: true });

  function readBar(form) {
    const next = {};
    for (const filter of FILTERS) {
      const field = form.elements[filter.name];
      if (!field) continue;
      if (filter.switch) {
        if (field.checked) next[filter.name] = filter.switch;
      } else if (filter.list) {
        const values = field.value.split(/\s*;\s*/).filter((value) => value);
        if (values.length) next[filter.name] = values;
      } else if (field.value.trim()) {
        next[filter.name] = field.value.trim();
      }
    }
    return next;
  }

  function field(filter) {
    const value = filters[filter.name];
    const props = { name: filter.name, 'data-key': filter.name };
    if (filter.switch)
      return h('label', { class: 'check' }, h('input', { ...props, type: 'checkbox', checked: Boolean(value) }),
        ` ${filter.label}`);
    let input;
    if (filter.name === 'state')
      input = h('select', { ...props, value: ORDER_STATES.find((state) =>
        state.toLowerCase() === (value ?? '').toLowerCase()) ?? '' },
      h('option', { value: '' }, 'Any'), ORDER_STATES.map((state) => h('option', { value: state }, state)));
    else if (filter.name === 'workflow' && workflows.length && (!value || workflows.includes(value)))
      input = h('select', { ...props, value: value ?? '' }, h('option', { value: '' }, 'Any'),
        workflows.map((name) => h('option', { value: name }, visible(name))));
    else
      input = h('input', { ...props, value: [value ?? ''].flat().join('; '), placeholder: filter.hint ?? '',
        autocomplete: 'off', spellcheck: 'false', maxlength: 400,
        'data-search': filter.name === 'id_prefix' ? '' : null });
    return h('label', { class: `field f-${filter.name}` }, h('span', null, filter.label), input);
  }

  function bar() {
    const rest = FILTERS.filter((filter) => !FIRST.includes(filter.name));
    return h('form', { class: 'filters', 'data-key': 'filters', role: 'search', 'aria-label': 'Filters', on: {
      submit: (event) => {
        event.preventDefault();
        goTo(readBar(event.target));
      },
      change: (event) => {
        // Text waits for Enter; a choice applies at once.
        if (event.target.matches('select, [type=checkbox]')) goTo(readBar(event.currentTarget));
      },
    } },
    FIRST.map((name) => field(FILTERS.find((filter) => filter.name === name))),
    h('details', { open: moreOpen, on: { toggle: (event) => (moreOpen = event.target.open) } },
      h('summary', null, 'More filters'), h('div', null, rest.map(field))),
    h('div', { class: 'buttons' }, h('button', { class: 'primary', type: 'submit' }, 'Filter'),
      filtered ? link('/orders', { class: 'button' }, 'Clear') : null));
  }

  const inAnyState = ({ state, ...rest }) => rest;

  // How many match the filters but the state, {orders, exact}, and in by_state those of each state.
  async function countStates(fields) {
    const rest = inAnyState(fields);
    if (!Object.keys(rest).length) return null;
    return get(`/api/orders/count${query({ ...rest, by: 'state' })}`).catch(() => null);
  }

  const matchingIn = (state) => (state ? matching?.by_state[state] : matching) ?? null;

  // The counts that the chips show; a search that takes long knows only how many there are at least.
  function chipCount(name) {
    if (!Object.keys(inAnyState(filters)).length) return number(name === 'All' ? counts.orders : counts.by_state[name] ?? 0);
    const found = matchingIn(name === 'All' ? null : name);
    return found ? `${found.exact === false ? '≥ ' : ''}${number(found.orders)}` : '–';
  }

  // How many orders the list has.
  function totalOf(state) {
    const name = ORDER_STATES.find((each) => each.toLowerCase() === state?.toLowerCase());
    if (matching) return matchingIn(name);
    if (!counts || Object.keys(inAnyState(filters)).length) return null;
    return { orders: name ? counts.by_state[name] ?? 0 : counts.orders };
  }

  function chips() {
    if (!counts) return null;
    const rest = inAnyState(filters);
    const chip = (name, to, current) => link(ordersPage(to),
      { class: 'chip', 'aria-current': current ? 'true' : null, 'data-key': `chip-${name}` },
      name, h('b', null, chipCount(name)));
    const now = (filters.state ?? '').toLowerCase();
    return h('nav', { class: 'chips', 'data-key': 'chips', 'aria-label': 'Orders by state' },
      chip('All', rest, !filters.state),
      ORDER_STATES.filter((name) => counts.by_state[name] || matching?.by_state[name]?.orders || now === name.toLowerCase()).map((name) =>
        chip(name, { ...rest, state: name }, now === name.toLowerCase())));
  }

  // The way to what waits for the user's own decision.
  function decisions() {
    if (!mine.length) return null;
    return h('nav', { class: 'chips', 'data-key': 'decisions', 'aria-label': 'Waiting for my decision' },
      h('span', { class: 'dim' }, 'Waiting for my decision:'),
      mine.map(({ group, found }) => link(ordersPage({ group }), { class: 'chip', 'data-key': `group-${group}`,
        'aria-current': filters.group === group ? 'true' : null }, data(group),
      h('b', null, found ? `${found.exact === false ? '≥ ' : ''}${number(found.orders)}` : '–'))));
  }

  const chosen = () => (all ? total?.orders ?? null : selected.size);

  function act(action) {
    const orders = page.orders.filter((order) => selected.has(order.order_id));
    const step = filters.step ?? (all ? page.orders : orders).flatMap((order) =>
      order.active_steps.map((each) => each.step))[0];
    const target = all ? { filters, count: total?.orders } : { ids: [...selected] };
    if (action === 'migrate') {
      const theirs = (each) => orders.some((order) =>
        order.workflow === each.workflow && order.workflow_version === each.version);
      const of = (each) => !filters.workflow || (each.workflow === filters.workflow &&
        (!filters.workflow_version || String(each.version) === filters.workflow_version));
      Object.assign(target, { versions, from: movable(versions).filter(all ? of : theirs) });
      if (all) target.count = null; // of all versions
    }
    openAction(action, { ...target, step }, () => view.reload());
  }

  function selection() {
    if (!selected.size && !all) return null;
    const whole = page.orders.length > 0 && page.orders.every((order) => selected.has(order.order_id));
    const offer = whole && !all && (page.next || cursor)
      ? h('button', { type: 'button', class: 'quiet', on: { click: () => {
        all = true;
        draw();
      } } }, total ? `Select all ${number(total.orders)} that match` : 'Select all that match') : null;
    return h('div', { class: 'selection', 'data-key': 'selection', role: 'region', 'aria-label': 'Selected orders' },
      h('strong', null, all
        ? `All ${chosen() === null ? 'orders' : count(chosen(), 'order')} that match ${filtered ? 'the filters' : '(no filter is set)'}`
        : `${count(selected.size, 'order')} selected`), offer,
      mayAct() ? h('span', { class: 'buttons' }, Object.entries(ACTIONS).filter(([name, { single }]) =>
        !single && (name !== 'migrate' || movable(versions).length)).map(([name, { label, danger }]) =>
        h('button', { type: 'button', 'data-key': name, class: danger ? 'danger' : null,
          on: { click: () => act(name) } }, label))) : h('span', { class: 'dim' }, whyNot()),
      all ? null : h('button', { type: 'button', class: 'quiet',
        on: { click: () => copy([...selected].join('\n'), 'Ids') } }, 'Copy ids'),
      h('button', { type: 'button', class: 'quiet', on: { click: () => {
        all = false;
        selected.clear();
        draw();
      } } }, 'Select none'));
  }

  function list() {
    const ids = page.orders.map((order) => order.order_id);
    const whole = ids.length > 0 && ids.every((id) => selected.has(id));
    const some = ids.some((id) => selected.has(id));
    const toggle = (id, on) => {
      all = false;
      if (on) selected.add(id);
      else selected.delete(id);
    };
    return table('Orders', [
      { name: 'Select', class: 'narrow', head: h('input', { type: 'checkbox', checked: whole || all,
        indeterminate: some && !whole && !all, 'aria-label': 'Select all orders on this page',
        on: { change: (event) => {
          ids.forEach((id) => toggle(id, event.target.checked));
          draw();
        } } }),
      cell: (order) => h('input', { type: 'checkbox', checked: all || selected.has(order.order_id),
        'aria-label': `Select order ${visible(order.order_id)}`, on: { change: (event) => {
          toggle(order.order_id, event.target.checked);
          draw();
        } } }) },
      { name: 'Order', class: 'id', cell: (order) => link(orderPage(order.order_id), { class: 'row', title: visible(order.order_id) }, data(order.order_id)) },
      { name: 'State', class: 'short', cell: (order) => badge(order.paused_at ? 'Paused' : order.state,
        order.paused_at ? `${order.state}, paused` : null) },
      { name: 'In progress', class: 'wide', cell: progress },
      { name: 'Why', cell: why },
      { name: 'Workflow', cell: (order) => [data(order.workflow), h('span', { class: 'dim' }, `:${order.workflow_version}`)] },
      { name: 'Customer', cell: (order) => data(order.customer) },
      { name: 'Lines', class: 'number', cell: (order) => number(order.line_count) },
      { name: 'Changed', class: 'when', cell: (order) => ago(order.updated_at) },
    ], page.orders, { key: (order) => order.order_id });
  }

  function pager() {
    if (!cursor && !page.next) return null;
    return h('nav', { class: 'pager', 'data-key': 'pager', 'aria-label': 'Pages of orders' },
      cursor ? link(ordersPage(filters), { class: 'button' }, 'First page') : null,
      cursor ? h('button', { type: 'button', on: { click: () => history.back() } }, 'Previous') : null,
      page.next ? link(ordersPage(filters, { cursor: page.next }), { class: 'button', rel: 'next' }, 'Next page') : null);
  }

  function draw() {
    const counted = total ? `${total.exact === false ? 'about ' : ''}${count(total.orders, 'order')}` : null;
    view.draw([
      h('div', { class: 'title' }, h('h1', null, 'Orders'),
        h('p', null, !filtered && counts ? count(counts.orders, 'order') : counted ?? '',
          filtered && counted ? ' match' : '')),
      decisions(), chips(), bar(),
      broken ? notice('bad', broken) : null, problem,
      page ? [incomplete(page.incomplete), waiting(page.waiting), selection(),
        page.orders.length ? list()
          : page.next ? empty('None of the orders looked at so far matches; the next page looks further.')
            : empty(filtered ? 'No order matches these filters.' : 'There are no orders yet.'),
        pager(), commandBox(countCommand(inAnyState(filters))), commandBox(listCommand(filters))] : null,
    ]);
  }

  async function load() {
    let fields;
    try {
      fields = apiFilters(filters);
      broken = null;
    } catch (error) {
      broken = error.message;
      draw();
      return;
    }
    const optional = (promise) => promise.catch(() => null);
    const [orders, states, deployed, found, asked] = await Promise.all([
      get(`/api/orders${query({ ...fields, limit: LIMIT, cursor })}`).catch((error) => error),
      optional(get('/api/counts')),
      optional(get('/api/workflows')),
      countStates(fields),
      Promise.all(groups().map(async (group) =>
        ({ group, found: await optional(get(`/api/orders/count${query({ group })}`)) }))),
    ]);
    mine = asked;
    matching = found;
    counts = states ?? counts;
    total = totalOf(filters.state);
    if (deployed) versions = deployed.workflows;
    if (deployed) workflows = [...new Set(deployed.workflows.map((each) => each.workflow))];
    if (orders instanceof Error) {
      if (orders.unreachable || orders.status >= 502) throw orders;
      problem = failure(orders, 'the list of orders');
      page = null;
    } else {
      problem = null;
      page = orders;
    }
    draw();
  }

  return { load };
}
