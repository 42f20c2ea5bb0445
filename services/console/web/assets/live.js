// SPDX-License-Identifier: Apache-2.0
// Is what the page shows live? Server-Sent Events tell what changed; a browser's EventSource
// connects again by itself and resumes at the last event. Where there are none, the page polls. The
// indicator never claims more than is known.
import { h, patch } from './dom.js';
import { localTime } from './format.js';
import { dataAge } from './api.js';

const POLL_MS = 5000;
const PAUSE_MS = 1000; // between two drawings for changes
const REOPEN_MS = 3000;
const DATA_AGE_MAX_MS = 5000;

let stream = null;
let streamPath = '';
let heard = 0; // when something last came
let mode = 'connecting'; // connecting, live, polling, stale, off
let since = Date.now(); // of stale: what is shown is as old as this
let refresh = () => {};
let timer = 0;
let pollTimer = 0;
let reopenTimer = 0;
let loadFailed = false;
let doubt = () => {}; // is the user still logged in?

// The console answers, and what it knows is old.
export const isOld = () => dataAge() > DATA_AGE_MAX_MS;

function draw() {
  const words = {
    connecting: ['Connecting', 'Connecting to the console'],
    live: ['Live', 'Changes appear as they happen'],
    polling: ['Every 5 s', 'This console sends no events: the page asks every 5 seconds'],
    stale: [`Stale since ${localTime(since)}`, 'The console cannot be reached; trying again'],
    off: ['', ''],
  }[mode];
  let [text, title] = words;
  let shownMode = mode;
  if (mode !== 'stale' && mode !== 'off' && isOld()) {
    shownMode = 'stale';
    text = `Stale since ${localTime(Date.now() - dataAge())}`;
    title = 'The console cannot reach the brokers: the data is as old as this';
  }
  const node = document.getElementById('live');
  node.className = `live ${shownMode}`;
  node.title = title;
  patch(node, mode === 'off' ? [] : [h('span', { class: 'dot', 'aria-hidden': 'true' }), h('span', null, text)]);
}

function set(next) {
  if (next === 'stale' && mode !== 'stale') since = heard || since;
  mode = next;
  draw();
}

// At most one drawing at a time, and a pause between two.
function soon(ms = PAUSE_MS) {
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    if (!document.hidden) refresh();
  }, ms);
}

function heardSomething() {
  heard = Date.now();
  if (mode !== 'live' && !loadFailed) set('live');
}

function poll() {
  clearInterval(pollTimer);
  pollTimer = setInterval(() => {
    if (mode === 'polling' || mode === 'stale') soon(0);
  }, POLL_MS);
}

function reopen(ms) {
  clearTimeout(reopenTimer);
  reopenTimer = setTimeout(() => open(streamPath), ms);
}

function close() {
  stream?.close();
  stream = null;
  clearTimeout(reopenTimer);
}

function open(path) {
  streamPath = path;
  close();
  if (document.hidden) return;
  stream = new EventSource(path);
  const mine = stream;
  stream.onopen = () => {
    const wasStale = mode === 'stale';
    heardSomething();
    if (!wasStale) return;
    doubt(); // the console may be another one since
    soon(0);
  };
  stream.addEventListener('changes', () => {
    heardSomething();
    soon();
  });
  // The console keeps no more of what was missed: read everything again.
  stream.addEventListener('reset', () => {
    heardSomething();
    soon(0);
  });
  // This page read too slowly.
  stream.addEventListener('reload', () => {
    mine.close();
    soon(0);
    reopen(PAUSE_MS);
  });
  stream.onerror = () => {
    if (mine !== stream) return;
    doubt();
    if (mine.readyState === EventSource.CLOSED) {
      // Not an event stream, or not there: poll, and look again from time to time.
      if (mode !== 'stale') set(loadFailed ? 'stale' : 'polling');
      reopen(10 * REOPEN_MS);
    } else if (mode === 'live') {
      set('stale');
    }
  };
}

// The page's loads tell whether the console answers.
export function loaded(ok) {
  loadFailed = !ok;
  if (ok) {
    if (mode !== 'live') heard = Date.now();
    if (mode === 'stale' || mode === 'connecting') {
      const connected = stream?.readyState === EventSource.OPEN;
      set(connected ? 'live' : 'polling');
      if (stream?.readyState === EventSource.CLOSED) reopen(0);
    } else {
      draw();
    }
  } else {
    set('stale');
  }
}

// Follows what the page shows: `fields` are the filters of /api/events.
export function follow(path, redraw) {
  refresh = redraw;
  if (mode === 'off') set('connecting');
  if (path !== streamPath) open(path);
}

// Follows nothing, and claims nothing.
export function stop() {
  close();
  streamPath = '';
  refresh = () => {};
  loadFailed = false;
  set('off');
}

// `onDoubt` is called when events end for a reason that the browser does not tell.
export function begin(onDoubt) {
  doubt = onDoubt;
  draw();
  poll();
  setInterval(() => {
    if (!document.hidden && mode === 'live') soon(0); // ages and rates move by themselves
    draw();
  }, 10000);
  // A browser has six connections to a host for all of its tabs: those that are hidden leave them
  // to the others.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      close();
      return;
    }
    if (streamPath) open(streamPath);
    soon(0);
  });
}
