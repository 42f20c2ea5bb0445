// SPDX-License-Identifier: Apache-2.0
// What an order waits for people to say: the questions of its steps, and the buttons that answer.
// Questions and options come from orders and workflows: they only ever become text.
import { h, say } from './dom.js';
import { command, until, visible } from './format.js';
import { orderPath, post } from './api.js';
import { data, notice, panel } from './parts.js';
import { labelled, rememberBy, rememberedBy } from './actions.js';
import { maySignal, read, user, whyNoSignal } from './session.js';
import { parse } from './json.js';

const newId = () => `console-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;

// What became of the answer, of the Decision about it.
function outcomeOf(decision, step) {
  const events = decision?.events ?? [];
  if (events.some(({ kind, data: of }) => kind === 'StepPassed' && of.step === step)) return 'Answered';
  return events.some(({ kind }) => kind === 'CommandRejected') ? 'This answer had come before'
    : 'The answer has come, and the step waits on';
}

// {any(order)}: whether the user may answer one of its steps; draw(order, now): the panels of those
// that wait for signals, and what became of answers that came too late. `reload`: after an answer.
export function answersOf(id, reload, redraw) {
  const states = new Map(); // by step: {id, sent, sending, problem, refused}

  const stateOf = (step) => {
    if (!states.has(step)) states.set(step, { id: null, sent: null, sending: false, problem: null, refused: false });
    return states.get(step);
  };

  // The button was disabled, or has gone with its question.
  function keepFocus(button) {
    if (document.activeElement !== document.body && document.activeElement !== button) return;
    if (button.isConnected) button.focus();
    else document.getElementById('main').focus({ preventScroll: true });
  }

  async function send(step, button, body) {
    const state = stateOf(step);
    const text = JSON.stringify(body);
    if (state.sending) return;
    // The same answer, sent again because nothing was decided in time, counts once. Another answer is
    // another signal: it is not to pass for the first one.
    if (text !== state.sent) Object.assign(state, { id: newId(), sent: text });
    Object.assign(state, { sending: true, problem: null, refused: false });
    redraw();
    try {
      const decision = await post(`${orderPath(id)}/signals/${encodeURIComponent(step)}`, { ...body, id: state.id });
      say(outcomeOf(decision, step));
      const { payload, comment } = button.form?.elements ?? {};
      for (const field of [payload, comment]) if (field) field.value = '';
      await reload();
      states.delete(step);
    } catch (error) {
      Object.assign(state, { sending: false, problem: error.message, refused: error.status >= 400 && error.status < 500 });
      // The groups may have changed since the page asked.
      if (error.status === 403) await read().catch(() => null);
      await reload();
    }
    redraw();
    keepFocus(button);
  }

  // Throws what is wrong with the payload; null: the browser says what is missing.
  function bodyOf(form, choice) {
    if (!form.reportValidity()) return null;
    const by = form.elements.by?.value.trim() ?? '';
    if (!user()) rememberBy(by);
    const body = by ? { by } : {};
    if (choice === null) return { ...body, payload: parse(form.elements.payload.value) };
    const comment = form.elements.comment.value.trim();
    return comment ? { ...body, choice, comment } : { ...body, choice };
  }

  function answer(step, button, choice) {
    try {
      const body = bodyOf(button.form, choice);
      if (body) send(step, button, body);
    } catch (error) {
      Object.assign(stateOf(step), { problem: `Expected JSON (${error.message})`, refused: false });
      redraw();
      button.form.elements.payload.focus();
    }
  }

  function fields(wait) {
    const { sending, problem } = stateOf(wait.step);
    const button = (words, choice, primary) => h('button', { type: 'button', disabled: sending, class: primary ? 'primary' : null,
      'data-key': `choice-${choice ?? ''}`, on: { click: (event) => answer(wait.step, event.target.closest('button'), choice) } }, words);
    return h('form', { class: 'answer', on: { submit: (event) => event.preventDefault() } },
      user() ? null : labelled('Who answers', h('input', { name: 'by', required: true, maxlength: 128,
        autocomplete: 'username', value: rememberedBy(), placeholder: 'your name' }), 'Stays in the log; remembered by this browser.'),
      wait.options.length
        ? labelled('Comment (optional)', h('textarea', { name: 'comment', rows: 2, maxlength: 4000 }), 'Stays in the order.')
        : labelled('Payload', h('textarea', { name: 'payload', rows: 3, required: true, spellcheck: 'false', placeholder: '{"signed_by": "ann"}' }), 'JSON that the step gets.'),
      h('p', { class: 'problem', role: 'alert' }, problem ? visible(problem) : null),
      sending ? h('p', { class: 'dim', 'data-key': 'sending', role: 'status' }, 'Sent; waiting for what is decided.') : null,
      h('div', { class: 'buttons', 'data-key': 'buttons', role: 'group', 'aria-label': `Answers to ${visible(wait.step)}` },
        wait.options.length ? wait.options.map((option) => button(data(option), option, false)) : button('Send', null, true)));
  }

  const signal = (wait) => command(['reeve', 'signal', ...wait.options.length ? ['--choose', 'CHOICE'] : ['--payload', 'JSON']],
    id, wait.step);

  const asked = (order) => (order.waiting_for ?? []).filter((wait) => wait.for === 'signal');
  const any = (order) => asked(order).some((wait) => maySignal(wait.group));
  const question = (wait, now) =>
    panel(`${visible(wait.step)} waits for ${wait.group ? visible(wait.group) : 'a signal'}`, { class: 'question', key: `answer-${visible(wait.step)}`,
      command: maySignal(wait.group) ? signal(wait) : null },
      wait.question ? h('p', { class: 'asked' }, data(wait.question)) : null,
      wait.due_at ? h('p', { class: 'dim' }, 'Without an answer the step fails ', until(wait.due_at, now), '.') : null,
      maySignal(wait.group) ? fields(wait) : h('p', { class: 'dim' }, whyNoSignal(wait.group)));
  // The question may have gone because of another answer, and its buttons because of the group.
  const refusals = (order) => [...states].filter(([step, { refused }]) =>
    refused && !asked(order).some((wait) => wait.step === step && maySignal(wait.group))).map(([step, { problem }]) =>
    notice('bad', 'Your answer to ', data(step), ' does not count: ', visible(problem), '.'));
  const draw = (order, now) => [refusals(order), asked(order).map((wait) => question(wait, now))];

  return { any, draw };
}
