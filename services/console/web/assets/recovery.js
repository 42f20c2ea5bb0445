// SPDX-License-Identifier: Apache-2.0
// What needs an operator: errors by cause, open alerts, and dead letters.
import { h } from './dom.js';
import { ago, bytes, command, count, hexDump, number, time, visible } from './format.js';
import { get, orderPage, post, query } from './api.js';
import { ordersPage } from './filters.js';
import { badge, causeKey, commandBox, data, empty, facts, failure, incomplete, json, link, otherCauses, panel, table } from './parts.js';
import { mayAct, noActions } from './session.js';
import { labelled, openAction, openQuestion, showDialog } from './actions.js';
import { parse } from './json.js';

const LIMIT = 50;

export function open(view) {
  let alertCursor = null;
  let letterCursor = null;

  const filtersOf = (cause) => ({ state: 'Error', workflow: cause.workflow, step: cause.step, error: cause.error_name });

  // The filters know the step and the error, not the message: what they match is counted now.
  async function act(action, cause) {
    const filters = filtersOf(cause);
    const total = await get(`/api/orders/count${query(filters)}`).catch(() => null);
    openAction(action, { filters, count: total?.exact ? total.orders : null }, view.reload);
  }

  function causes(overview) {
    if (overview instanceof Error) return panel('Errors by cause', {}, failure(overview, 'the causes of errors'));
    const list = overview.errors;
    return panel('Errors by cause', { note: 'Fix the cause, then deal with all of its orders in one go',
      command: 'reeve overview' },
    list.length ? table('Errors by cause', [
      { name: 'Orders', class: 'number', cell: (cause) => link(ordersPage(filtersOf(cause)), { class: 'row' }, number(cause.orders)) },
      { name: 'Step', cell: (cause) => [data(cause.step), h('span', { class: 'dim' }, ' ', visible(cause.workflow))] },
      { name: 'Error', cell: (cause) => h('b', null, data(cause.error_name)) },
      { name: 'For example', class: 'wide', cell: (cause) => data(cause.message) },
      { name: 'Latest', class: 'when', cell: (cause) => ago(cause.latest_at) },
      mayAct() && { name: 'Actions', cell: (cause) => h('span', { class: 'buttons' }, ['resubmit', 'compensate'].map((action) =>
        h('button', { type: 'button', class: action === 'compensate' ? 'danger' : null, 'data-key': action,
          'aria-label': `${action === 'resubmit' ? 'Resubmit' : 'Compensate'} the orders with ${visible(cause.error_name)}`,
          on: { click: () => act(action, cause) } },
        action === 'resubmit' ? 'Resubmit all' : 'Compensate all'))) },
    ], list, { key: causeKey })
      : overview.errors_of_other_causes ? null : empty('No order is in Error.'),
    otherCauses(overview.errors_of_other_causes));
  }

  // One alert is shown of a tree; the list has those of its other sub-orders.
  const othersOf = (order) => (order.others
    ? link(ordersPage({ attribute: [`reeve.root=${order.root ?? order.order_id}`], alert: 'open' }), null, `and ${number(order.others)} more`) : data(null));

  function alerts(answer) {
    return panel('Open alerts', { note: 'Of orders', command: 'reeve alerts' }, answer.orders.length ? table('Open alerts', [
      { name: 'Order', class: 'id', cell: (order) => link(orderPage(order.order_id), { class: 'row', title: visible(order.order_id) }, data(order.order_id)) },
      answer.orders.some((order) => order.others) && { name: 'In its tree', cell: othersOf },
      { name: 'State', cell: (order) => badge(order.state) },
      { name: 'Step', cell: (order) => order.steps_in_error.map((step, i) => [i ? ', ' : '', step.direction === 'undo' ? 'undo of ' : '', data(step.step)]) },
      { name: 'Why', class: 'wide', cell: (order) => [h('b', null, data(order.reason_code)), ' ', data(order.steps_in_error[0]?.error_message ?? order.reason)] },
      { name: 'Effect', cell: (order) => order.steps_in_error.map((step) => data(step.effect)) },
      { name: 'Since', class: 'when', cell: (order) => ago(order.updated_at) },
    ], answer.orders, { key: (order) => order.order_id }) : empty('No order has an open alert.'),
    answer.next || alertCursor ? h('div', { class: 'pager' },
      h('button', { type: 'button', disabled: !alertCursor, on: { click: () => {
        alertCursor = null;
        view.reload();
      } } }, 'First page'),
      h('button', { type: 'button', disabled: !answer.next, on: { click: () => {
        alertCursor = answer.next;
        view.reload();
      } } }, 'Next page')) : null);
  }

  function services(list) {
    if (!list?.length) return null;
    return panel('Alerts of services', { note: 'About partitions and instances; equal ones once', command: 'reeve alerts' },
      table('Alerts of services', [
        { name: 'Partition', class: 'number', cell: (alert) => alert.partition === null || alert.partition === undefined ? '–' : String(alert.partition) },
        { name: 'Code', cell: (alert) => h('b', null, data(alert.code)) },
        { name: 'Message', class: 'wide', cell: (alert) => data(alert.message) },
        { name: 'By', cell: (alert) => data(alert.instance ?? alert.by ?? alert.raised_by) },
        { name: 'Times', class: 'number', cell: (alert) => number(alert.count) },
        { name: 'Last', class: 'when', cell: (alert) => ago(alert.last_at) },
      ], list.slice(0, 200)));
  }

  // ---- dead letters ----

  const letterPath = (letter) => `/api/dead-letters/${encodeURIComponent(letter.partition)}/${encodeURIComponent(letter.offset)}`;
  const position = (letter) => letter.id ?? `${letter.partition}:${letter.offset}`;

  async function settle(letter, verb) {
    const replay = verb === 'replay';
    const whole = replay ? await get(letterPath(letter)).catch(() => null) : null;
    const decoded = whole?.value?.json ? JSON.stringify(whole.value.json, null, 2) : '';
    // What is sent instead of the bytes; '' if they are sent as they are.
    const correction = (form) => {
      const value = form?.elements.value?.value.trim() ?? '';
      return value === decoded ? '' : value;
    };
    openQuestion({
      title: `${replay ? 'Replay' : 'Discard'} dead letter ${position(letter)}`,
      about: whole?.not_replayable ?? (replay ? 'Writes it to the topic it came from once more, as it is or corrected.'
        : 'Marks it as dealt with. It stays in the topic, and nothing is done about it.'),
      label: replay ? 'Replay' : 'Discard', danger: !replay,
      extra: replay ? labelled(decoded ? `Value (${whole.value.record})` : 'Corrected value (optional)',
        h('textarea', { name: 'value', rows: 8, spellcheck: 'false', value: decoded }),
        decoded ? 'JSON; if it stays as it is, the same bytes are sent again.'
          : 'The bytes cannot be decoded. Empty: they are sent again as they are. Else JSON, encoded as a SubmitOrder.') : null,
      commandFor: ({ by, reason }, form) => {
        const words = ['reeve', 'dead-letters', verb];
        const value = correction(form);
        if (value && whole?.value?.record) words.push('--record', whole.value.record);
        words.push('--reason', reason, '--by', by);
        return value ? `${command([...words, '--json', '/dev/stdin'], position(letter))} <<'END'\n${value}\nEND` : command(words, position(letter));
      },
      send: async (body, form) => {
        const value = correction(form);
        if (value) {
          try {
            body.json = parse(value);
          } catch (error) {
            throw new Error(`Corrected value: expected JSON (${error.message})`);
          }
          if (whole?.value?.record) body.record = whole.value.record;
        }
        await post(`${letterPath(letter)}/${verb}`, body);
        return `Dead letter ${position(letter)} ${replay ? 'replayed' : 'discarded'}`;
      },
      done: view.reload,
    });
  }

  // {text} or {hex} of a key or a header.
  const bytesOf = (part) => (part === null ? data(null) : part.text !== null ? data(part.text) : h('code', null, `0x${part.hex}`));

  // As `reeve dead-letters get` prints it.
  function letterDetails(whole) {
    const { from, value, resolution } = whole;
    return [
      facts([
        ['Time', time(whole.at)],
        ['State', [data(whole.state), resolution ? [' by ', data(resolution.by), ', ', time(resolution.at), ': ', data(resolution.reason)] : null]],
        ['Why', [h('b', null, data(whole.code)), ' ', data(whole.message)]],
        ['From', [data(from.topic), from.offset === null ? null : `, partition ${from.partition}, offset ${from.offset}`]],
        ['Key', bytesOf(whole.key)],
        ...whole.headers.map((header) => [`Header ${visible(header.name)}`, bytesOf(header)]),
        ['Value', `${bytes(value.size)}${value.kept === value.size ? '' : `, of which the first ${bytes(value.kept)} are kept`}`],
        value.record ? ['Record', data(value.record)] : null,
        value.order_id ? ['Order', link(orderPage(value.order_id), null, data(value.order_id))] : null,
        value.error ? ['Not decoded', [h('b', null, data(value.error.code)), ' ', data(value.error.message)]] : null,
        whole.not_replayable ? ['Not replayable', data(whole.not_replayable)] : null,
      ]),
      value.json ? json(value.json) : value.hex ? h('pre', { class: 'json', tabindex: '0', 'aria-label': 'Bytes' }, hexDump(value.hex, value.kept)) : null,
    ];
  }

  async function showLetter(letter) {
    let content;
    try {
      content = letterDetails(await get(letterPath(letter)));
    } catch (error) {
      content = failure(error, 'the dead letter');
    }
    showDialog(h('dialog', { class: 'action', 'aria-labelledby': 'letter-title' },
      h('h2', { id: 'letter-title' }, `Dead letter ${position(letter)}`), content,
      commandBox(command(['reeve', 'dead-letters', 'get'], position(letter))),
      h('form', { method: 'dialog', class: 'buttons' }, h('button', { class: 'primary' }, 'Close'))));
  }

  function letters(answer) {
    if (answer instanceof Error) return panel('Dead letters', {}, failure(answer, 'the list of dead letters'));
    const list = answer.dead_letters ?? [];
    return panel('Dead letters', { note: 'Records that could not be used; replay them once the cause is fixed', command: 'reeve dead-letters list' },
      list.length ? table('Dead letters', [
        { name: 'Position', cell: (letter) => h('button', { type: 'button', class: 'as-link', on: { click: () => showLetter(letter) } }, position(letter)) },
        { name: 'Time', class: 'when', cell: (letter) => time(letter.at) },
        { name: 'From', cell: (letter) => data(letter.from?.topic) },
        { name: 'Order', cell: (letter) => (letter.order_id ? link(orderPage(letter.order_id), null, data(letter.order_id)) : data(null)) },
        { name: 'Reason', class: 'wide', cell: (letter) => [h('b', null, data(letter.code)), ' ', data(letter.message)] },
        { name: 'Size', class: 'number', cell: (letter) => bytes(letter.value_bytes) },
        { name: 'State', cell: (letter) => data(letter.state) },
        mayAct() && { name: 'Actions', cell: (letter) => ['replayed', 'discarded'].includes(letter.state) ? null : h('span', { class: 'buttons' },
          h('button', { type: 'button', on: { click: () => settle(letter, 'replay') } }, 'Replay'),
          h('button', { type: 'button', class: 'danger', on: { click: () => settle(letter, 'discard') } }, 'Discard')) },
      ], list, { key: position }) : empty(answer.next ? 'None of these is open: older ones are on the next page.' : 'There are no dead letters.'),
      answer.next || letterCursor ? h('div', { class: 'pager' },
        h('button', { type: 'button', disabled: !letterCursor, on: { click: () => {
          letterCursor = null;
          view.reload();
        } } }, 'First page'),
        h('button', { type: 'button', disabled: !answer.next, on: { click: () => {
          letterCursor = answer.next;
          view.reload();
        } } }, 'Next page')) : null);
  }

  // What waits for an operator, as far as it is known.
  function todo(overview, answer, dead) {
    const unknown = [overview, dead].some((each) => each instanceof Error);
    const errors = (overview.by_state?.Error ?? 0) + (overview.suborders_by_state?.Error ?? 0);
    const services = (answer.partitions ?? []).length;
    const parts = [
      errors ? `${count(errors, 'order')} in Error` : null,
      answer.orders.length || alertCursor ? `${answer.next || alertCursor ? 'many' : number(answer.orders.length)} open ${answer.orders.length === 1 && !answer.next ? 'alert' : 'alerts'}` : null,
      dead.open ? `${count(dead.open, 'open dead letter')}` : null,
      services ? `${count(services, 'alert')} of services` : null,
    ].filter((part) => part);
    return parts.length ? parts.join(', ') : unknown ? '' : 'nothing to do';
  }

  async function load() {
    const [answer, overview, dead] = await Promise.all([
      get(`/api/alerts${query({ open: 1, limit: LIMIT, cursor: alertCursor })}`),
      get('/api/overview').catch((error) => error),
      get(`/api/dead-letters${query({ limit: LIMIT, cursor: letterCursor })}`).catch((error) => error),
    ]);
    view.draw([
      h('div', { class: 'title' }, h('h1', null, 'Recovery'),
        h('p', null, todo(overview, answer, dead))),
      noActions(), incomplete(answer.incomplete), causes(overview), alerts(answer), letters(dead), services(answer.partitions),
    ]);
  }
  return { load };
}
