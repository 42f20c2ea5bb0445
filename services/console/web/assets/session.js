// SPDX-License-Identifier: Apache-2.0
// Who is logged in, what that permits, and the form that asks for a token. The token itself goes
// into a cookie that scripts cannot read; nothing here keeps it.
import { h, patch } from './dom.js';
import { duration, visible } from './format.js';
import { get, login, logout } from './api.js';
import { data } from './parts.js';

// {authentication, read_only, user, role, groups, permissions}; null: not known, and the server decides.
let session = null;
let form = null; // the dialog, while it is open
let logOut = () => {};

export const user = () => session?.user ?? null;
const may = (permission) => !session || session.permissions.includes(permission);
export const maySee = () => may('view');
export const mayAct = () => may('operate');

export const groups = () => session?.groups ?? [];

// Signals are for everyone who sees the order, or for a group.
export const maySignal = (group) => !session || (!session.read_only && may('view') && (!group || groups().includes(group)));

export function whyNoSignal(group) {
  if (session?.read_only) return whyNot();
  const members = `Only members of ${visible(group)} may answer`;
  if (session.user) return `${members}, and ${visible(session.user)} is not one.`;
  return session.authentication ? `${members}: log in as one.` : `${members}, and this console does not know who its users are.`;
}

// Why nothing can be changed; null: it can.
export function whyNot() {
  if (mayAct()) return null;
  return session.read_only ? 'This console is read-only: nothing can be changed here.'
    : `The role ${session.role} sees everything and changes nothing.`;
}

// The same on a page whose actions are absent.
export const noActions = () => (mayAct() ? null : h('p', { class: 'dim', 'data-key': 'no-actions' }, whyNot()));

function drawUser() {
  const known = session?.user;
  patch(document.getElementById('user'), [
    session?.read_only ? h('span', { class: 'tag', title: whyNot() }, 'read-only') : null,
    known ? h('span', { class: 'who', title: `Logged in as ${visible(known)}` },
      h('span', { class: 'said-only' }, 'Logged in as '), h('b', null, data(known)),
      session.role ? h('small', null, ' ', session.role) : null) : null,
    known && session.authentication
      ? h('button', { type: 'button', class: 'quiet', on: { click: () => logOut() } }, 'Log out') : null,
  ]);
}

export const begin = (onLogOut) => (logOut = onLogOut);

// Asks the server who is logged in; true: it is not as before. After too many wrong tokens the
// server refuses this request too, which means that no user is logged in.
export async function read() {
  const before = JSON.stringify(session);
  try {
    session = await get('/api/session');
  } catch (error) {
    if (!error.unknownUser) throw error;
    session = { authentication: true, read_only: false, user: null, role: null, groups: [], permissions: [] };
  }
  drawUser();
  return before !== JSON.stringify(session);
}

// ---- the form ----

const cannotSee = () => `${session.user} has the role ${session.role}, which cannot see the console.`;

// `before`: who was logged in until now.
function reason(before) {
  if (session.user) return visible(cannotSee());
  return before ? ['The login of ', data(before), ' has ended: the token was revoked or has expired, or it was too long ago.']
    : ['This console asks for a token. ', h('code', null, 'reeve token add'), ' makes one.'];
}

function refusal(error) {
  return error.retryAfter ? `Too many wrong tokens came from here. Wait ${duration(error.retryAfter * 1000)}, then try again.`
    : visible(error.message);
}

export const asking = () => form !== null;

export function closeForm() {
  const dialog = form;
  form = null;
  dialog?.close();
  dialog?.remove();
}

// Covers everything until the token is right; then `done` is called. What is open below stays.
export function ask(before, done) {
  if (form) return;
  const problem = h('p', { class: 'problem', role: 'alert' });
  // Without a name a browser never sends the field by itself, not even into the address.
  const field = h('input', { type: 'password', autocomplete: 'current-password', required: true,
    maxlength: 512, spellcheck: 'false', autocapitalize: 'off' });
  const button = h('button', { class: 'primary', type: 'submit' }, 'Log in');
  const submit = async (event) => {
    event.preventDefault();
    problem.textContent = '';
    button.disabled = true;
    try {
      await login(field.value.trim());
      field.value = '';
      await read();
      if (!maySee()) throw new Error(cannotSee());
      done();
    } catch (error) {
      problem.textContent = refusal(error);
      field.select();
    }
    button.disabled = false;
  };
  form = h('dialog', { class: 'login', 'aria-labelledby': 'login-title', on: {
    cancel: (event) => event.preventDefault(),
    // Browsers close a dialog when Esc is pressed twice.
    close: (event) => event.target === form && form.showModal(),
  } },
  h('h1', { id: 'login-title' }, h('img', { src: '/assets/icon.svg', alt: '', width: 26, height: 26 }), 'Log in to reeve'),
  h('p', null, reason(before)),
  h('form', { on: { submit } }, h('label', { class: 'field' }, h('span', null, 'Token'), field), problem,
    h('div', { class: 'buttons' }, button)));
  document.body.append(form);
  form.showModal();
  field.focus();
}
