// SPDX-License-Identifier: Apache-2.0
// Operators' commands: what each is in a terminal, and the dialog that asks who and why, sends it for
// one order or for thousands, and shows the outcome of each.
import { h, patch, say } from './dom.js';
import { DURATION, command, count, duration, milliseconds, number, visible } from './format.js';
import { apiFilters, filterWords } from './filters.js';
import { get, orderPage, orderPath, post, query } from './api.js';
import { badge, commandBox, consequences, copy, data, findings, link, notice } from './parts.js';
import { user } from './session.js';
import { parse } from './json.js';

const AT_ONCE = 4; // commands under way
const SHOWN_MAX = 200; // results in the list; the rest is counted and can be copied
const PAGE = 1000;
const UNFINISHED = ['Pending', 'Processing', 'Compensating', 'Error'];

export const ACTIONS = {
  resubmit: { label: 'Resubmit', verb: ['resubmit'], about: 'Tries the steps in Error again.', fields: ['timeout', 'nothing'] },
  complete: { label: 'Complete step', verb: ['step', 'complete'], about: 'Records that a step, or its undo, was done outside reeve. The order goes on.', fields: ['step', 'output'], stepArgument: true },
  skip: { label: 'Skip step', verb: ['step', 'skip'], about: 'Lets the order go on without a step that had no effect.', fields: ['step', 'nothing'], stepArgument: true },
  fail: { label: 'Fail step', verb: ['step', 'fail'], about: 'Makes a waiting step fail, as if its agent had reported the error: Retry, Catch and OnExhausted follow.', fields: ['step', 'error'], stepArgument: true },
  compensate: { label: 'Compensate', verb: ['compensate'], about: 'Undoes the steps that were processed, the last one first.', danger: true, fields: [] },
  cancel: { label: 'Cancel', verb: ['cancel'], about: 'Cancels the order for its customer: its steps are undone.', danger: true, fields: [] },
  pause: { label: 'Pause', verb: ['orders', 'pause'], about: 'Attempts in flight may end; no step starts. The order’s own deadline still applies.', fields: [] },
  resume: { label: 'Resume', verb: ['orders', 'resume'], about: 'Ends the pause.', fields: [] },
  migrate: { label: 'Migrate', verb: ['workflow', 'migrate'], about: 'Orders go on with the steps of another version of their workflow. The scheduler refuses an order if what it has done, or is doing, is not the same in both.', fields: ['versions'] },
  amend: { label: 'Amend input', verb: ['orders', 'amend'], about: 'Corrects the data of an order in Error; Resubmit then tries its steps with it. The scheduler refuses what a step with an effect reads.', fields: ['input'], single: true },
};

// Of an order with sub-orders, for all of its tree; what happens without that.
const TREE = {
  pause: 'Otherwise sub-orders that run go on; only no further one starts.',
  resume: 'Otherwise sub-orders that were paused themselves stay so.',
  cancel: 'Otherwise the order recalls its sub-orders by itself; those in Error wait for an operator.',
};

// ---- who ----

export function rememberedBy() {
  try {
    return localStorage.getItem('reeve.by') ?? '';
  } catch {
    return '';
  }
}

export function rememberBy(by) {
  if (user()) return;
  try {
    localStorage.setItem('reeve.by', by);
  } catch {
    // a browser that keeps nothing
  }
}

// ---- the dialog ----

export function labelled(label, field, hint) {
  return h('label', { class: 'field' }, h('span', null, label), field,
    hint ? h('small', null, hint) : null);
}

// A user who is logged in decides under that name; the server accepts no other.
function whoAndWhy(wantsReason = true) {
  return [
    labelled('Who decides this', h('input', { name: 'by', required: true, maxlength: 128, readonly: Boolean(user()),
      autocomplete: 'username', value: user() ?? rememberedBy(), placeholder: 'your name' }),
    user() ? 'As you are logged in; stays in the log.' : 'Stays in the log; remembered by this browser.'),
    wantsReason && labelled('Reason', h('input', { name: 'reason', required: true, maxlength: 1000,
      autocomplete: 'off', placeholder: 'why, for those who read the history later' })),
  ];
}

export function showDialog(dialog) {
  const opener = document.activeElement;
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (opener?.isConnected) opener.focus();
    else document.getElementById('main').focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  const first = [...dialog.querySelectorAll('input, select, textarea')].find((field) => !field.value);
  (first ?? dialog.querySelector('button.primary') ?? dialog).focus();
}

// Those that the orders of a version can be moved to, the active one first.
const targetsOf = (versions, from) => versions.filter((each) =>
  each.workflow === from?.workflow && each.version !== from.version && !each.retired)
  .sort((a, b) => Number(b.active) - Number(a.active) || b.version - a.version);

export const movable = (versions) => versions.filter((version) => targetsOf(versions, version).length);

const nameOf = ({ workflow, version }) => `${workflow}:${version}`;

// From one version to another of the same workflow. target.versions: those deployed; from: those
// that the orders may have.
function versionFields(target) {
  const all = target.versions ?? [];
  const from = target.from?.length ? target.from : movable(all);
  const optionsTo = (name) => {
    return targetsOf(all, from.find((each) => nameOf(each) === name)).map((each) =>
      h('option', { value: nameOf(each) }, `${nameOf(each)}${each.active ? ', active' : ''}`));
  };
  const to = h('select', { name: 'to', required: true }, optionsTo(from.length ? nameOf(from[0]) : ''));
  const choose = (event) => to.replaceChildren(...optionsTo(event.target.value));
  return [
    labelled('From version', h('select', { name: 'from', required: true, on: { input: choose } },
      from.map((each) => h('option', { value: nameOf(each) }, nameOf(each)))),
    'Orders of other versions stay as they are.'),
    labelled('To version', to),
  ];
}

const several = (target) => !target.ids || target.ids.length > 1;

function fieldsOf(action, target) {
  const made = [];
  const wants = ACTIONS[action].fields;
  if (wants.includes('step'))
    made.push(target.steps?.length
      ? labelled('Step', h('select', { name: 'step', required: true },
        target.steps.map((step) => h('option', { value: step }, visible(step)))))
      : labelled('Step', h('input', { name: 'step', required: true, maxlength: 64, autocomplete: 'off',
        value: target.step ?? '' }), 'The same step of every order.'));
  if (wants.includes('versions')) made.push(...versionFields(target));
  if (target.tree && TREE[action])
    made.push(h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'tree' }), ' With all orders of its tree'),
      h('small', { class: 'hint' }, TREE[action]));
  if (wants.includes('error'))
    made.push(labelled('Error', h('input', { name: 'error_name', required: true, maxlength: 64,
      autocomplete: 'off', placeholder: 'OutOfStock' }), 'The name that Retry and Catch of the workflow look for.'));
  if (wants.includes('output'))
    made.push(labelled('Output (optional)', h('textarea', { name: 'output', rows: 2, spellcheck: 'false',
      placeholder: '{"parcel": 7}' }), 'JSON for the steps after it; none for an undo.'));
  if (wants.includes('input'))
    made.push(labelled('Input', h('textarea', { name: 'input', rows: 10, required: true, spellcheck: 'false' },
      JSON.stringify(target.input ?? null, null, 2)), 'JSON, the whole of it.'));
  if (wants.includes('timeout'))
    made.push(labelled('New deadline (optional)', h('input', { name: 'timeout', autocomplete: 'off',
      placeholder: '2h' }), 'From now; otherwise the time that the workflow gives an order.'));
  if (wants.includes('nothing'))
    made.push(h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'nothing' }),
      action === 'resubmit'
        ? ' I verified that no attempt had an effect: use a new idempotency key'
        : ' I verified that no attempt had an effect'));
  if (action === 'resubmit')
    made.push(labelled('Step without effect', h('input', { name: 'vouched', maxlength: 64, autocomplete: 'off',
      value: several(target) ? target.filters?.step ?? target.step ?? '' : '' }), several(target)
      ? 'The same step of every order; needed for a new idempotency key.'
      : 'The one that gets the new idempotency key; if it is empty, all steps in Error.'));
  return made;
}

// What the form says, as {body, words} for the API and the command line; throws what is wrong.
function readForm(action, target, form) {
  const value = (name) => form.elements[name]?.value.trim() ?? '';
  const body = { by: value('by'), reason: value('reason') };
  const words = [];
  if (ACTIONS[action].fields.includes('input')) {
    try {
      body.input = parse(value('input'));
    } catch (error) {
      throw new Error(`Input: expected JSON (${error.message})`);
    }
    words.push('--input', JSON.stringify(body.input));
  }
  const nothing = Boolean(form.elements.nothing?.checked);
  const step = action === 'resubmit' && nothing ? value('vouched') : value('step');
  if (step) body.step = step;
  if (target.item !== undefined) {
    body.item = target.item;
    words.push('--item', String(target.item));
  }
  if (form.elements.tree?.checked) {
    body.tree = true;
    words.push('--tree');
  }
  if (value('error_name')) body.error_name = value('error_name');
  if (value('output')) {
    try {
      body.output = parse(value('output'));
    } catch (error) {
      throw new Error(`Output: expected JSON (${error.message})`);
    }
    words.push('--step-output', value('output'));
  }
  if (value('timeout')) {
    if (!DURATION.test(value('timeout'))) throw new Error('New deadline: expected a duration such as 30m, 2h or 3d');
    body.timeout_ms = milliseconds(value('timeout'));
    words.push('--timeout', value('timeout').replace(/\s/g, ''));
  }
  if (nothing) {
    if (!step && several(target)) throw new Error('Step without effect: expected its name, for several orders');
    body[action === 'resubmit' ? 'new_generation' : 'nothing_applied'] = true;
    words.push('--nothing-applied');
  }
  const versions = value('from') && value('to') ? [value('from'), value('to')] : null;
  if (versions) {
    const [[workflow, from], [, to]] = versions.map((name) => name.split(':'));
    Object.assign(body, { workflow, from_version: Number(from), version: Number(to) });
  } else if (ACTIONS[action].fields.includes('versions')) {
    throw new Error('No other version of the workflow is deployed');
  }
  return { action, body, step, error: body.error_name, versions, words };
}

// The orders that the form is about: to migrate, only those of the version that have not ended; to
// act on a named step, as from the command line, only those where it is in progress or in Error.
function filtersFor(target, asked) {
  if (asked.step) return [{ ...target.filters, step: asked.step }];
  if (!asked.versions) return [target.filters];
  const filters = { ...target.filters, workflow: asked.body.workflow, workflow_version: String(asked.body.from_version) };
  return filters.state ? [filters] : UNFINISHED.map((state) => ({ ...filters, state }));
}

function commandOf(action, target, asked, dry) {
  const { verb, stepArgument } = ACTIONS[action];
  const words = ['reeve', ...verb];
  const operands = [...asked.versions ?? []];
  const many = !target.ids || target.ids.length > 20;
  if (target.ids) operands.push(...(many ? ['-'] : target.ids));
  if (stepArgument) operands.push(asked.step || 'STEP');
  if (action === 'fail') operands.push(asked.error || 'ERROR');
  if (!target.ids) {
    const { workflow, workflow_version, step, ...rest } = target.filters;
    if (!asked.versions) Object.assign(rest, { workflow, workflow_version });
    if (!stepArgument) Object.assign(rest, { step: asked.step || step });
    words.push(...filterWords(rest));
  } else if (!stepArgument && asked.step) {
    words.push('--step', asked.step);
  }
  words.push(...asked.words);
  if (dry) words.push('--dry-run');
  else words.push('--reason', asked.body.reason || 'WHY', '--by', asked.body.by || 'WHO');
  if (many && !dry) words.push('--yes');
  return command(words, ...operands) + (target.ids && many ? ' < ids.txt' : '');
}

// ---- sending ----

async function idsOf(target, asked, progress, stopped) {
  if (target.ids) return target.ids;
  const ids = new Set();
  for (const filters of filtersFor(target, asked)) {
    const fields = apiFilters(filters);
    for (let cursor = null; !stopped();) {
      const page = await get(`/api/orders${query({ ...fields, limit: PAGE, cursor })}`);
      page.orders.forEach((order) => ids.add(order.order_id));
      progress(ids.size);
      cursor = page.next;
      if (!cursor) break;
    }
  }
  return stopped() ? [] : [...ids];
}

// Which orders could not be moved now, and why: the console decides each as the scheduler would.
async function refusalsOf(ids, asked, stopped) {
  const refusals = new Map();
  const { workflow, from_version, version } = asked.body;
  if (!asked.versions) return refusals;
  await inTurn(ids, 0, stopped, async (id) => {
    try {
      await get(`${orderPath(id)}/migrate${query({ workflow, from_version, version })}`);
    } catch (error) {
      if (error.status !== 409 && error.status !== 404) throw error;
      refusals.set(id, error.message);
    }
  });
  return refusals;
}

// What differs between the versions that orders are moved between; null for other commands.
function versionsDiff({ versions, body }) {
  if (!versions) return null;
  return get(`/api/workflows/${encodeURIComponent(body.workflow)}/diff${query({ left: body.from_version, right: body.version })}`);
}

// Calls `send(id)` for each id, a few at a time, and at most `perSecond` of them a second.
async function inTurn(ids, perSecond, stopped, send) {
  let next = 0;
  const began = Date.now();
  const worker = async () => {
    while (next < ids.length && !stopped()) {
      const mine = next++;
      if (perSecond > 0) {
        const due = began + (mine * 1000) / perSecond;
        while (Date.now() < due && !stopped())
          await new Promise((wake) => setTimeout(wake, Math.min(200, due - Date.now())));
        if (stopped()) return;
      }
      await send(ids[mine]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, ids.length) }, worker));
}

function outcomeText(entry) {
  return (entry?.events ?? []).map((event) => event.words).join('; ');
}

// As /api answers for a tree.
function outcomeOfTree(id, { orders, failed, failed_count: refused, incomplete }) {
  const first = failed[0];
  const problem = first ? `; ${number(refused)} refused, such as ${first.order_id}: ${first.reason || first.code}` : '';
  const missing = incomplete ? `; orders may be missing, so send it again: ${incomplete[0].reason}` : '';
  return { id, ok: !first && !incomplete, code: first?.code ?? (incomplete ? 'Incomplete' : undefined),
    text: `${count(orders, 'order')} of the tree${problem}${missing}` };
}

async function sendOne(action, id, body) {
  try {
    const entry = await post(`${orderPath(id)}/${action}`, body);
    if (body.tree) return outcomeOfTree(id, entry);
    return { id, ok: true, state: entry?.state, text: outcomeText(entry) };
  } catch (error) {
    if (error.unknownUser || error.forbidden) throw error; // none of the others would be accepted
    return { id, ok: false, text: error.message, code: error.code };
  }
}

function drawResults(node, run) {
  const { results, total, began, collected } = run;
  const refused = results.filter((result) => !result.ok);
  const rate = results.length / Math.max(0.001, (Date.now() - began) / 1000);
  const left = run.done || !results.length ? '' : `, about ${duration(((total - results.length) / rate) * 1000)} left`;
  const summary = total === null
    ? `Collecting the orders that match: ${number(collected)}`
    : `${number(results.length)} of ${number(total)} sent: ${number(results.length - refused.length)} accepted, ${number(refused.length)} refused${left}`;
  const shown = [...refused, ...results.filter((result) => result.ok)].slice(0, SHOWN_MAX);
  patch(node, [
    h('p', { role: 'status', class: 'summary' }, run.done && run.stopped ? `Stopped. ${summary}.` : `${summary}.`),
    h('progress', { max: Math.max(1, total ?? 1), value: results.length, 'aria-label': 'Progress' }),
    h('ul', { class: 'results' }, shown.map((result) =>
      h('li', { 'data-key': `result-${result.id}`, class: result.ok ? 'good' : 'bad' },
        h('span', { 'aria-hidden': 'true' }, result.ok ? '✓ ' : '✗ '),
        h('span', { class: 'said-only' }, result.ok ? 'accepted: ' : 'refused: '),
        link(orderPage(result.id), null, data(result.id)), ' ',
        result.ok && result.state ? badge(result.state) : null, ' ',
        h('span', null, visible(result.text))))),
    results.length > SHOWN_MAX
      ? h('p', { class: 'empty' }, `and ${number(results.length - SHOWN_MAX)} more`) : null,
  ]);
}

// What would be sent, as `--dry-run` lists it. `refusals`: id -> why it would be refused; `diff`: of
// the versions, or null.
function drawTargets(node, ids, refusals, diff) {
  const refused = refusals.size ? `, ${number(refusals.size)} would be refused` : '';
  const shown = [...ids.filter((id) => refusals.has(id)), ...ids.filter((id) => !refusals.has(id))];
  patch(node, [
    h('p', { role: 'status', class: 'summary' }, `${count(ids.length, 'order')}${refused}; nothing was sent.`),
    diff && h('div', { class: 'stack' }, consequences(diff)),
    h('ul', { class: 'results' }, shown.slice(0, SHOWN_MAX).map((id) =>
      h('li', { 'data-key': `result-${id}`, class: refusals.has(id) ? 'bad' : null }, link(orderPage(id), null, data(id)),
        refusals.has(id) ? [' ', h('span', null, visible(refusals.get(id)))] : null))),
    ids.length > SHOWN_MAX ? h('p', { class: 'empty' }, `and ${number(ids.length - SHOWN_MAX)} more`) : null,
  ]);
}

function resultLines(results) {
  return results.map((result) =>
    `${result.id}\t${result.ok ? 'accepted' : 'refused'}\t${result.ok ? result.state ?? '' : result.code}\t${visible(result.text)}`).join('\n');
}

// target: {ids} or {filters, count}; steps: to choose from; step: a first guess; versions and from: as
// versionFields() has them. `done` is called once something was sent.
export function openAction(action, target, done) {
  const { label, about, danger } = { ...ACTIONS[action], ...target.as };
  const size = target.ids ? target.ids.length : target.count;
  const what = target.as?.what ?? (target.ids && size === 1 ? `order ${visible(target.ids[0])}`
    : size === null || size === undefined ? 'all orders that match' : count(size, 'order'));
  const problem = h('p', { class: 'problem', role: 'alert' });
  const results = h('div');
  const terminal = h('div');
  const run = { results: [], total: null, collected: 0, began: 0, done: false, stopped: false };
  let closed = false;
  const submit = h('button', { class: danger ? 'danger' : 'primary', type: 'submit' }, `${label}: ${what}`);
  const close = h('button', { type: 'button', on: { click: () => dialog.close() } }, 'Close');
  const copyResults = h('button', { type: 'button', hidden: true,
    on: { click: () => copy(resultLines(run.results), 'Results') } }, 'Copy results');
  const stop = h('button', { type: 'button', hidden: true, on: { click: () => {
    run.stopped = true;
    say('Stopping: commands under way still end');
  } } }, 'Stop');

  const showCommand = () => {
    let asked;
    try {
      asked = readForm(action, target, form);
    } catch {
      return;
    }
    patch(terminal, commandBox(commandOf(action, target, asked)));
  };

  const readAsked = () => {
    try {
      const asked = readForm(action, target, form);
      const shown = target.filters?.step;
      if (asked.step && shown && asked.step !== shown)
        throw new Error(`Step: expected ${visible(shown)}, by which the list is filtered`);
      problem.textContent = '';
      return asked;
    } catch (error) {
      problem.textContent = error.message;
      return null;
    }
  };

  const listOnly = async () => {
    const asked = readAsked();
    if (!asked) return;
    patch(terminal, commandBox(commandOf(action, target, asked, true)));
    dry.disabled = true;
    try {
      const ids = await idsOf(target, asked, () => {}, () => closed);
      drawTargets(results, ids, await refusalsOf(ids, asked, () => closed), await versionsDiff(asked));
    } catch (error) {
      problem.textContent = visible(error.message);
    }
    dry.disabled = false;
  };
  const dry = h('button', { type: 'button', hidden: target.ids?.length === 1 && action !== 'migrate', on: { click: listOnly } }, 'Dry run');

  const start = async (event) => {
    event.preventDefault();
    const asked = readAsked();
    if (!asked) return;
    rememberBy(asked.body.by);
    Object.assign(run, { results: [], total: null, collected: 0, done: false, stopped: false });
    const perSecond = Number(form.elements.rate?.value || 0);
    fieldset.disabled = fieldset.hidden = true;
    terminal.hidden = submit.hidden = dry.hidden = true;
    stop.hidden = !target.filters && target.ids.length === 1;
    const stopped = () => run.stopped;
    const redraw = () => drawResults(results, run);
    try {
      const ids = await idsOf(target, asked, (n) => {
        run.collected = n;
        redraw();
      }, stopped);
      run.total = ids.length;
      run.began = Date.now();
      redraw();
      await inTurn(ids, perSecond, stopped, async (id) => {
        run.results.push(await sendOne(action, id, asked.body));
        redraw();
      });
    } catch (error) {
      problem.textContent = visible(error.message);
      run.stopped = true;
    }
    run.done = true;
    run.total = run.total ?? 0;
    redraw();
    stop.hidden = true;
    copyResults.hidden = run.results.length === 0;
    if (target.ids?.length === 1 && !run.results[0]?.ok) {
      // One order that was refused: the operator may correct what was asked.
      fieldset.disabled = fieldset.hidden = false;
      terminal.hidden = submit.hidden = false;
    }
    if (!closed) (submit.hidden ? close : submit).focus();
    say(`${label}: ${results.querySelector('.summary')?.textContent ?? ''}`);
    done?.(run.results);
  };

  const fieldset = h('fieldset', null, fieldsOf(action, target), whoAndWhy(),
    size !== 1 ? labelled('At most (optional)', h('input', { name: 'rate', type: 'number', min: 0.1,
      step: 'any', placeholder: 'no limit' }), 'Orders a second.') : null);
  const form = h('form', { on: { submit: start, input: showCommand } }, fieldset, problem, terminal,
    h('div', { class: 'buttons' }, submit, dry, stop, copyResults, close));
  const dialog = h('dialog', { class: 'action', 'aria-labelledby': 'action-title' },
    h('h2', { id: 'action-title' }, `${label}: ${what}`), h('p', null, about), form, results);
  dialog.addEventListener('close', () => {
    closed = true;
    run.stopped = true;
  });
  showCommand();
  showDialog(dialog);
}

// A dialog for one POST with who and, unless `reason` is false, why: `send(body)` resolves to what is
// said then, or to {said, warnings}; warnings stay until they are closed. An error shows the problems
// that it lists, and the command that it names, ready to be copied.
export function openQuestion({ title, about, label, danger, extra, reason: wantsReason = true, commandFor, send, done }) {
  const problem = h('p', { class: 'problem', role: 'alert' });
  const more = h('div', { class: 'stack' });
  const terminal = h('div');
  const bodyOf = () => ({ by: form.elements.by.value.trim(), reason: form.elements.reason?.value.trim() });
  const showCommand = () => {
    const { by, reason } = bodyOf();
    patch(terminal, commandBox(commandFor({ by: by || 'WHO', reason: reason || 'WHY' }, form)));
  };
  const submit = h('button', { class: danger ? 'danger' : 'primary', type: 'submit' }, label);
  const start = async (event) => {
    event.preventDefault();
    rememberBy(bodyOf().by);
    submit.disabled = true;
    problem.textContent = '';
    patch(more, null);
    try {
      const answer = await send(bodyOf(), form);
      const { said, warnings = [] } = typeof answer === 'string' ? { said: answer } : answer;
      say(said);
      if (warnings.length) showWarnings(said, warnings);
      else dialog.close();
      done?.();
    } catch (error) {
      problem.textContent = visible(error.message);
      patch(more, [
        error.problems?.length ? findings(error.problems, { class: 'results problems', 'aria-label': 'Problems' }) : null,
        typeof error.command === 'string' ? commandBox(error.command, 'What solves the problem') : null]);
      submit.disabled = false;
    }
  };
  const showWarnings = (said, warnings) => {
    fieldset.hidden = terminal.hidden = submit.hidden = true;
    patch(more, [h('p', { role: 'status' }, said), warnings.map((each) => notice('warn', visible(each)))]);
    close.focus();
  };
  const fieldset = h('fieldset', null, extra, whoAndWhy(wantsReason));
  const close = h('button', { type: 'button', on: { click: () => dialog.close() } }, 'Close');
  const form = h('form', { on: { submit: start, input: showCommand } },
    fieldset, problem, more, terminal, h('div', { class: 'buttons' }, submit, close));
  const dialog = h('dialog', { class: 'action', 'aria-labelledby': 'question-title' },
    h('h2', { id: 'question-title' }, title), about ? h('p', null, about) : null, form);
  showCommand();
  showDialog(dialog);
}
