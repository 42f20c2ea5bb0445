// SPDX-License-Identifier: Apache-2.0
// Keys for those who do not want to reach for the mouse. None of them has an effect while text is
// being typed or a dialog is open.
import { h } from './dom.js';

const KEYS = [
  ['/', 'search: an order id, or the filters of the list'],
  ['j', 'next row'],
  ['k', 'previous row'],
  ['Enter', 'open the row'],
  ['x', 'select the row'],
  ['1 – 8', 'the pages, from left to right'],
  ['Esc', 'leave a field, close a dialog'],
  ['?', 'this help'],
];

function help() {
  const dialog = h('dialog', { 'aria-labelledby': 'keys-title', on: { close: () => dialog.remove() } },
    h('h2', { id: 'keys-title' }, 'Keyboard'),
    h('dl', { class: 'keys' }, KEYS.map(([key, what]) =>
      h('div', null, h('dt', null, h('kbd', null, key)), h('dd', null, what)))),
    h('form', { method: 'dialog', class: 'buttons' }, h('button', { class: 'primary' }, 'Close')));
  document.body.append(dialog);
  dialog.showModal();
}

function move(by) {
  const links = [...document.querySelectorAll('#page a.row')].filter((a) => a.offsetParent);
  if (!links.length) return;
  const row = document.activeElement?.closest('tr');
  const at = links.findIndex((a) => a === document.activeElement || (row && a.closest('tr') === row));
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by;
  const chosen = links[Math.min(links.length - 1, Math.max(0, next))];
  chosen.focus();
  chosen.scrollIntoView({ block: 'nearest' });
}

function search(event) {
  const field = document.querySelector('#page [data-search]') ?? document.getElementById('jump-id');
  event.preventDefault();
  field.focus();
  field.select?.();
}

function onKey(event) {
  const target = event.target;
  const typing = target.closest?.('input:not([type=checkbox]):not([type=range]), select, textarea');
  if (event.key === 'Escape' && typing && !target.closest('dialog')) return target.blur();
  if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]'))
    return undefined;
  if (event.key === '/') search(event);
  else if (event.key === '?') help();
  else if (event.key === 'j') move(1);
  else if (event.key === 'k') move(-1);
  else if (event.key === 'x') target.closest('tr')?.querySelector('input[type=checkbox]')?.click();
  else if (/^[1-8]$/.test(event.key))
    document.querySelectorAll('#nav a')[Number(event.key) - 1]?.click();
  return undefined;
}

export function begin() {
  document.addEventListener('keydown', onKey);
  document.getElementById('help').addEventListener('click', help);
}
