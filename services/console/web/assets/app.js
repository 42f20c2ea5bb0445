// SPDX-License-Identifier: Apache-2.0
// The shell: which page a path shows, what keeps it up to date, and links without reloading.
import { h, patch, say } from './dom.js';
import { duration, visible } from './format.js';
import { dataAge, logout, onDoubt, orderPage } from './api.js';
import { notice, link } from './parts.js';
import * as live from './live.js';
import * as keyboard from './keyboard.js';
import * as session from './session.js';

// A page module exports open(view), which returns {load(), live, close()}: load() reads what the
// page shows and draws it, `live` is the path of the events that it follows.
const PAGES = [
  { path: '/', name: 'Overview', module: './overview.js' },
  { path: '/orders', name: 'Orders', module: './orders.js' },
  { path: '/recovery', name: 'Recovery', module: './recovery.js' },
  { path: '/partitions', name: 'Partitions', module: './partitions.js' },
  { path: '/workflows', name: 'Workflows', module: './workflows.js' },
  { path: '/schedules', name: 'Schedules', module: './schedules.js' },
  { path: '/agents', name: 'Agents', module: './agents.js' },
  { path: '/health', name: 'Health', module: './health.js' },
];
const ORDER_PAGE = { path: '/orders', name: 'Orders', module: './order.js' };

const main = document.getElementById('main');
const problems = h('div', { id: 'problems' });
const body = h('div', { id: 'page' });
let current = null;
let opened = 0; // counts navigations: a late answer of an earlier page is dropped

function route(path) {
  const order = /^\/orders\/([^/]+)$/.exec(path);
  if (order) {
    try {
      return { page: ORDER_PAGE, id: decodeURIComponent(order[1]) };
    } catch {
      return null;
    }
  }
  const page = PAGES.find((each) => each.path === path || each.path === path.replace(/\/$/, ''));
  return page ? { page } : null;
}

function drawNav(active) {
  patch(document.getElementById('nav'), PAGES.map((page) =>
    link(page.path, { 'aria-current': page.path === active ? 'page' : null }, page.name)));
}

async function load(page) {
  if (page.loading) {
    page.again = true;
    return;
  }
  page.loading = true;
  try {
    await page.load();
    if (page === current) {
      live.loaded(true);
      patch(problems, live.isOld() ? notice('warn', `The brokers cannot be reached: what is shown is ${duration(dataAge())} old.`) : []);
    }
  } catch (error) {
    if (error.unknownUser) await check();
    if (page !== current) return;
    if (error.unreachable || error.status >= 502) live.loaded(false);
    patch(problems, notice(error.unreachable ? 'warn' : 'bad', error.unreachable
      ? 'The console cannot be reached. What is shown is from before; the page tries again by itself.'
      : visible(error.message)));
    if (!error.status && !error.unreachable) console.error(error);
  } finally {
    page.loading = false;
    if (page.again && page === current) {
      page.again = false;
      load(page);
    }
  }
}

async function show(scroll) {
  if (locking || session.asking()) return;
  const turn = ++opened;
  const found = route(location.pathname);
  const previous = current?.name;
  current?.close?.();
  current = null;
  drawNav(found?.page.path);
  if (!found) {
    document.title = 'Not found · reeve';
    patch(problems, []);
    patch(body, [h('div', { class: 'title' }, h('h1', null, 'Not found')), notice('warn', 'There is no such page. ', link('/', null, 'Overview'))]);
    return;
  }
  const module = await import(found.page.module);
  if (turn !== opened) return;
  document.title = `${found.id ? visible(found.id) : found.page.name} · reeve`;
  patch(problems, []);
  if (previous !== found.page.module + (found.id ?? '')) body.replaceChildren();
  const view = {
    id: found.id,
    query: new URLSearchParams(location.search),
    draw: (made) => turn === opened && patch(body, made),
    go,
    reload: () => current && load(current),
    isCurrent: () => turn === opened,
  };
  current = module.open(view);
  current.name = found.page.module + (found.id ?? '');
  const mine = current;
  live.follow(mine.live ?? '/api/events', () => mine === current && load(mine));
  if (scroll) window.scrollTo(0, 0);
  await load(mine);
}

// Shows another page, or this one with another query.
export function go(path, { replace = false, keep = false } = {}) {
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  if (!keep) {
    main.focus({ preventScroll: true });
  }
  return show(!keep);
}

const closeDialogs = () => document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.close());

// ---- who is logged in ----

let checking = null;
let locking = false; // nothing is shown until the form has come
let lockedOut = null; // who was logged in before the form came

// Shows nothing but the form. A dialog that is open stays: its user may come back to it.
async function lock(before) {
  locking = true;
  opened++;
  current?.close?.();
  current = null;
  live.stop();
  patch(problems, []);
  body.replaceChildren();
  document.title = 'Log in · reeve';
  // The cookie is of no use any more, and each request with it would count as a wrong token. It
  // goes before the form comes: afterwards it may be that of a login in another tab.
  if (before && !session.user()) await logout().catch(() => null);
  locking = false;
  lockedOut = before;
  session.ask(before, unlock);
}

// Goes on at the address that was asked for.
function unlock() {
  session.closeForm();
  if (session.user() !== lockedOut) closeDialogs();
  if (!document.querySelector('dialog[open]')) main.focus({ preventScroll: true });
  show(false);
}

// Compares what the page takes for granted with what the server says now.
function check() {
  const compare = async () => {
    const before = session.user();
    try {
      const changed = await session.read();
      if (!session.maySee() && !session.asking()) {
        await lock(before);
      } else if (session.maySee() && session.asking()) {
        unlock();
      } else if (changed && current) {
        load(current);
      }
    } catch {
      // the page's own requests show that the console cannot be reached
    }
    checking = null;
  };
  checking ??= compare();
  return checking;
}

async function logOut() {
  try {
    await logout();
    await session.read();
  } catch (error) {
    say(visible(error.message));
    return;
  }
  if (!session.maySee()) await lock(null);
}

document.addEventListener('click', (event) => {
  const anchor = event.target.closest?.('a[href]');
  if (!anchor || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey ||
      event.shiftKey || event.altKey || anchor.target || anchor.hasAttribute('download')) return;
  const href = anchor.getAttribute('href');
  if (!href.startsWith('/') || href.startsWith('//') || href.startsWith('/api')) return;
  event.preventDefault();
  closeDialogs();
  go(href);
});
window.addEventListener('popstate', () => show(false));

document.getElementById('jump').addEventListener('submit', (event) => {
  event.preventDefault();
  const field = document.getElementById('jump-id');
  const id = field.value.trim();
  if (!id) return;
  field.value = '';
  go(orderPage(id));
});

// Another tab may have logged in or out.
document.addEventListener('visibilitychange', () => document.hidden || check());

main.replaceChildren(problems, body);
keyboard.begin();
live.begin(check);
onDoubt(check);
session.begin(logOut);
check().then(() => show(false));
