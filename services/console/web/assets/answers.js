// SPDX-License-Identifier: Apache-2.0
// What an order waits for people to say: the questions of its steps, and the buttons that answer.
// Questions and options come from orders and workflows: they only ever become text.
import { h, say } from './dom.js';
import { until, visible } from './format.js';
import { orderPath, post } from './api.js';
import { data, panel } from './parts.js';
import { labelled, rememberBy, rememberedBy } from './actions.js';
import { maySignal, user, whyNoSignal } from './session.js';
import { parse } from './json.js';

// An answer that is sent again, because nothing was decided in time, counts once.
const newId = () => `console-${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 10)}`;

// {any(order)}: whether the user may answer one of its steps; draw(order, now): the panels of those
// that wait for signals. `reload`: after an answer.
export function answersOf(id, reload, redraw) {
  const states = new Map(); // by step: {id, sending, problem}

  const stateOf = (step) => {
    if (!states.has(step)) states.set(step, { id: newId(), sending: false, problem: null });
    return states.get(step);
  };

  async function send(step, body) {
    const state = stateOf(step);
    if (state.sending) return;
    Object.assign(state, { sending: true, problem: null });
    redraw();
    try {
      await post(`${orderPath(id)}/signals/${encodeURIComponent(step)}`, { ...body, id: state.id });
      states.delete(step);
      say('Answered');
    } catch (error) {
      Object.assign(state, { sending: false, problem: error.message });
      if (error.status === 400 || error.status === 409) state.id = newId();
    }
    reload();
  }

  function bodyOf(form, choice) {
    const by = form.elements.by?.value.trim() ?? '';
    if (!form.reportValidity()) return null;
    if (!user()) rememberBy(by);
    const body = by ? { by } : {};
    if (choice === null) return { ...body, payload: parse(form.elements.payload.value) };
    const comment = form.elements.comment.value.trim();
    return comment ? { ...body, choice, comment } : { ...body, choice };
  }

  function answer(step, form, choice) {
    try {
      const body = bodyOf(form, choice);
      if (body) send(step, body);
    } catch (error) {
      stateOf(step).problem = `Expected JSON (${error.message})`;
      redraw();
    }
  }

  function fields(wait) {
    const { sending, problem } = stateOf(wait.step);
    const button = (words, choice, primary) => h('button', { type: 'button', disabled: sending, class: primary ? 'primary' : null,
      'data-key': `choice-${choice ?? ''}`, on: { click: (event) => answer(wait.step, event.target.closest('form'), choice) } }, words);
    return h('form', { class: 'answer', on: { submit: (event) => event.preventDefault() } },
      user() ? null : labelled('Who answers', h('input', { name: 'by', required: true, maxlength: 128,
        autocomplete: 'username', value: rememberedBy(), placeholder: 'your name' }), 'Stays in the log; remembered by this browser.'),
      wait.options.length
        ? labelled('Comment (optional)', h('textarea', { name: 'comment', rows: 2, maxlength: 4000 }), 'Stays in the order.')
        : labelled('Payload', h('textarea', { name: 'payload', rows: 3, required: true, spellcheck: 'false', placeholder: '{"signed_by": "ann"}' }), 'JSON that the step gets.'),
      h('p', { class: 'problem', role: 'alert' }, problem ? visible(problem) : null),
      h('div', { class: 'buttons', role: 'group', 'aria-label': `Answers to ${visible(wait.step)}` },
        wait.options.length ? wait.options.map((option) => button(data(option), option, false)) : button('Send', null, true)));
  }

  const asked = (order) => (order.waiting_for ?? []).filter((wait) => wait.for === 'signal');
  const any = (order) => asked(order).some((wait) => maySignal(wait.group));
  const draw = (order, now) => asked(order).map((wait) =>
    panel(`${visible(wait.step)} waits for ${wait.group ? visible(wait.group) : 'a signal'}`, { class: 'question', key: `answer-${wait.step}` },
      h('div', { class: 'answer' },
        wait.question ? h('p', { class: 'asked' }, data(wait.question)) : null,
        wait.due_at ? h('p', { class: 'dim' }, 'It fails without an answer ', until(wait.due_at, now), '.') : null,
        maySignal(wait.group) ? null : h('p', { class: 'dim' }, whyNoSignal(wait.group))),
      maySignal(wait.group) ? fields(wait) : null));

  return { any, draw };
}
