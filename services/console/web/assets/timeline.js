// SPDX-License-Identifier: Apache-2.0
// The timeline of an order: attempts, waits, deadlines, and compensation, which runs backwards.
// Everything is read from the history, so it shows what the log says and nothing else.
import { h, s } from './dom.js';
import { duration, localTime, millis, visible } from './format.js';

const WIDTH = 960;
const LABEL = 150;
const RIGHT = 16;
const ROW = 40;
const TOP = 52;
const BAR = 15;
const TICK_APART = 86;

const ENDS = { StepSucceeded: 'good', StepFailed: 'bad', StepTimedOut: 'late' };
const BY_HAND = {
  StepCompletedByHand: 'completed by hand', StepSkippedByHand: 'skipped by hand',
  StepFailedUnstarted: 'failed by hand',
};
const MARKS = {
  OrderCancelled: 'cancelled', OrderTimedOut: 'the order’s deadline passed',
  OrderHeld: 'held', OrderProcessed: 'processed', OrderCompensated: 'compensated', StepResubmitted: 'resubmitted',
  OrderDeadlineSet: 'new deadline', OrderMigrated: 'moved to another version',
  OrderAmended: 'amended',
};
// Their reason says why the step has no output.
const WHY = new Set(['StepSkipped', 'StepCaught']);
const DECIDED = new Set(['StepSkipped', 'StepPassed']);
const WAITING = { StepRetryScheduled: 'retry', StepQueued: 'queue', StepWaiting: 'timed' };
const WAITS = Object.values(WAITING);
const STARTS = new Set(['StepStarted', 'SubordersStarted']);
const FAILED = new Set(['failed', 'refused']); // of sub-orders
const RESET = new Set(['StepExhausted', 'StepSkipped', 'StepCompensated', 'StepPassed', 'StepCaught']);
// The graph, the history and the bars of the steps say it already.
export const UNDRAWN = ['OrderAccepted', 'OrderStarted', 'AlertRaised', 'AlertClosed',
  'CommandRejected', 'SubmissionRepeated', 'CommandDeadLettered', 'SubordersSubmitted', 'SubordersAsked'];
const CHAR = 6.3; // a letter's width at 11 px

// How steps ended, and why: name -> {hand, by, why}; `hand`: how an operator ended it, or null.
export function stepEnds(entries) {
  const found = new Map();
  for (const { events } of entries)
    for (const { kind, data } of events) {
      if (BY_HAND[kind] && data.by) found.set(data.step, { hand: BY_HAND[kind], by: data.by, why: data.reason ?? '' });
      else if (kind === 'StepStarted' || kind === 'SubordersStarted' || kind === 'StepResubmitted') found.delete(data.step);
      else if (WHY.has(kind)) found.set(data.step, { hand: null, by: '', ...found.get(data.step), why: data.reason });
    }
  return found;
}

// What the Input of steps made for their latest attempts that have one: name -> value. The order
// itself keeps it only until the step is finished.
export function stepInputs(entries) {
  const found = new Map();
  for (const { events } of entries)
    for (const { kind, data } of events)
      if (kind === 'StepStarted' && (data.input ?? null) !== null) found.set(data.step, data.input);
  return found;
}

// {tracks: Map step -> {bars, marks}, bands, marks, deadline, from, to} of a history; `to` is the
// latest moment of which it tells, `deadline` the order's own, if it still applies.
export function spansOf(entries, order, now) {
  const tracks = new Map((order?.steps ?? []).map((step) => [step.step, { bars: [], marks: [] }]));
  const track = (name) => {
    if (!tracks.has(name)) tracks.set(name, { bars: [], marks: [] });
    return tracks.get(name);
  };
  const bands = [];
  const marks = [];
  let over = false; // the history may be ahead of the order
  const openBand = (kind, at) => bands.push({ kind, from: at, to: null });
  const closeBand = (kind, at) => {
    const band = bands.findLast((each) => each.kind === kind && each.to === null);
    if (band) band.to = at;
  };
  const settle = (name, at, kinds) => {
    for (const bar of track(name).bars)
      if (bar.to === null && kinds.includes(bar.kind)) bar.to = at;
  };
  for (const entry of entries) {
    const at = millis(entry.time);
    for (const { kind, data, words } of entry.events) {
      if (STARTS.has(kind) || (kind === 'SubordersRecalled' && data.direction === 'undo')) {
        settle(data.step, at, WAITS);
        track(data.step).bars.push({ kind: 'run', undo: data.direction === 'undo', from: at, to: null,
          attempt: data.attempt, deadline: millis(data.complete_by), words });
      } else if (ENDS[kind]) {
        const bar = track(data.step).bars.findLast((each) => each.kind === 'run' && each.to === null &&
          each.undo === (data.direction === 'undo'));
        if (bar) Object.assign(bar, { kind: ENDS[kind], to: at, words });
      } else if (kind === 'StepExtended') {
        const bar = track(data.step).bars.findLast((each) => each.kind === 'run' && each.to === null);
        if (bar) bar.deadline = millis(data.complete_by);
      } else if (WAITING[kind]) {
        settle(data.step, at, WAITS);
        track(data.step).bars.push({ kind: WAITING[kind],
          undo: data.direction === 'undo', from: at, to: null, words });
      } else if (BY_HAND[kind]) {
        settle(data.step, at, WAITS);
        track(data.step).marks.push(data.by ? { at, kind: 'hand', words: `${data.step} ${BY_HAND[kind]}` } : { at, kind: 'unstarted', words });
      } else if (kind === 'StepResubmitted' || RESET.has(kind)) {
        settle(data.step, at, WAITS);
        if (DECIDED.has(kind)) track(data.step).marks.push({ at, kind: 'decided', words });
      } else if (kind === 'OrderMigrated') {
        // A step that waits for an agent is started again, maybe under another; some steps are new, some gone.
        for (const name of tracks.keys()) settle(name, at, ['retry', 'queue']);
        for (const step of data.steps ?? []) track(step.name);
      } else if (kind === 'OrderAmended') {
        for (const step of data.steps ?? []) settle(step.name, at, ['retry', 'queue']);
      } else if (kind === 'SuborderEnded' && FAILED.has(data.outcome)) {
        track(data.step).marks.push({ at, kind: 'item', words });
      } else if (kind === 'SubordersRecalled') {
        track(data.step).marks.push({ at, kind: 'recalled', words });
      } else if (kind === 'SignalReceived') {
        track(data.step).marks.push({ at, kind: 'received', words });
      } else if (kind === 'ReportIgnored' && data.step) {
        track(data.step).marks.push({ at, kind: 'ignored', words });
      } else if (kind === 'CompensationStarted') {
        closeBand('error', at);
        openBand('compensation', at);
      } else if (kind === 'OrderFailed') {
        openBand('error', at);
      } else if (kind === 'OrderResumed') {
        closeBand('error', at);
      } else if (kind === 'OrderPaused') {
        openBand('pause', at);
      } else if (kind === 'OrderPauseEnded') {
        closeBand('pause', at);
      }
      if (kind === 'OrderProcessed' || kind === 'OrderCompensated') {
        over = true;
        for (const name of tracks.keys()) settle(name, at, [...WAITS, 'run']);
        ['compensation', 'pause', 'error'].forEach((band) => closeBand(band, at));
      }
      if (MARKS[kind]) marks.push({ at, words: MARKS[kind], kind });
    }
  }
  const last = entries.length ? millis(entries[entries.length - 1].time) : now;
  const ended = over || order?.state === 'Processed' || order?.state === 'Compensated';
  // While an order is held, complete_by is when it reports again.
  const deadline = ended || order?.state === 'Held' ? null : millis(order?.complete_by);
  return { tracks, bands, marks, deadline,
    from: millis(entries[0]?.time) ?? now, to: ended ? last : Math.max(last, now) };
}

// A deadline says something as long as its attempt runs, or where it was missed.
const deadlineOf = (bar) => (bar.deadline && (bar.to === null || bar.kind === 'late') ? bar.deadline : null);

// Deadlines to come are on the axis, to scale only those that leave room for what happened.
function deadlinesOf(spans, toScale) {
  const all = [...spans.tracks.values()].flatMap(({ bars }) => bars.map(deadlineOf));
  const last = toScale ? spans.to + Math.max(1000, spans.to - spans.from) : Infinity;
  return [...all, spans.deadline].filter((at) => at !== null && at >= spans.from && at <= last);
}

// Places moments on the axis. Fitted: the longer nothing happens, the more a stretch is shortened,
// so that an attempt of 50 ms can be seen in an order that took a day.
function scaleOf(spans, toScale) {
  const width = WIDTH - LABEL - RIGHT;
  const moments = new Set([spans.from, spans.to, ...deadlinesOf(spans, toScale)]);
  const add = (at) => at !== null && at >= spans.from && at <= spans.to && moments.add(at);
  for (const { bars, marks } of spans.tracks.values()) {
    bars.forEach((bar) => [bar.from, bar.to].forEach(add));
    marks.forEach((mark) => add(mark.at));
  }
  spans.bands.forEach((band) => [band.from, band.to].forEach(add));
  spans.marks.forEach((mark) => add(mark.at));
  const points = [...moments].sort((a, b) => a - b);
  const weight = (from, to) => (toScale ? to - from : 0.25 + Math.log2(1 + (to - from) / 20));
  let total = 0;
  for (let i = 1; i < points.length; i++) total += weight(points[i - 1], points[i]);
  const places = new Map();
  let sum = 0;
  points.forEach((point, i) => {
    if (i) sum += weight(points[i - 1], point);
    places.set(point, LABEL + (total ? (sum / total) * width : 0));
  });
  return { points, has: (at) => places.has(at), x: (at) => places.get(at === null ? spans.to : at) ?? LABEL + width };
}

function axis(scale, spans, height) {
  const made = [];
  let lastX = -TICK_APART;
  for (const point of scale.points) {
    const x = scale.x(point);
    if (x - lastX < TICK_APART || (x > WIDTH - 50 && point !== scale.points[scale.points.length - 1])) continue;
    lastX = x;
    made.push(s('g', { class: 'tick' },
      s('line', { x1: x, x2: x, y1: TOP - 26, y2: height }),
      s('text', { x, y: TOP - 32, 'text-anchor': x > WIDTH - 60 ? 'end' : 'start' },
        point === spans.from ? '0' : `+${duration(point - spans.from)}`),
      s('title', null, `${localTime(point, true)} (${new Date(point).toISOString()})`)));
  }
  return made;
}

// Forward: a rectangle. Undo: it points to the left.
function shape(x, y, width, undo) {
  if (!undo) return s('rect', { x, y, width, height: BAR, rx: 3 });
  const tip = Math.min(8, width / 2);
  const middle = y + BAR / 2;
  return s('polygon', { points: `${x},${middle} ${x + tip},${y} ${x + width},${y} ${x + width},${y + BAR} ${x + tip},${y + BAR}` });
}

const BAR_SIGNS = { run: '▶', good: '✓', bad: '✗', late: '◷', retry: '', queue: '' };

function barOf(bar, scale, y, spans) {
  const x = scale.x(bar.from);
  const width = Math.max(4, scale.x(bar.to) - x);
  const top = y + (bar.undo ? BAR + 4 : 2);
  const long = bar.to === null ? `for ${duration(spans.to - bar.from)} so far` : duration(bar.to - bar.from);
  const text = bar.attempt ? `${bar.attempt} ${BAR_SIGNS[bar.kind]}` : '';
  const due = deadlineOf(bar);
  const deadline = due !== null && scale.has(due) ? scale.x(due) : null;
  return s('g', { class: `span ${bar.kind}${bar.undo ? ' undo' : ''}` },
    s('title', null, `${visible(bar.words ?? '')}\n${localTime(bar.from, true)}, ${long}`),
    shape(x, top, width, bar.undo),
    text && width > 24 ? s('text', { x: x + (bar.undo ? 10 : 5), y: top + BAR - 4 }, text) : null,
    deadline !== null ? s('g', { class: 'deadline' },
      s('title', null, `the attempt times out\n${localTime(due, true)}`),
      s('line', { x1: deadline, x2: deadline, y1: top - 3, y2: top + BAR + 3 })) : null);
}

function bandOf(band, scale, height) {
  const x = scale.x(band.from);
  const width = Math.max(2, scale.x(band.to) - x);
  const words = { error: 'in Error', compensation: '◀ compensation', pause: 'paused' }[band.kind];
  return s('g', { class: `band ${band.kind}` },
    s('title', null, words), s('rect', { x, y: TOP - 6, width, height: height - TOP + 6 }),
    width > 8 * words.length ? s('text', { x: x + 5, y: height - 5 }, words) : null);
}

function row(name, track, index, scale, spans) {
  const y = TOP + index * ROW;
  const label = visible(name);
  return s('g', null,
    s('line', { class: 'row', x1: 0, x2: WIDTH, y1: y + ROW - 2, y2: y + ROW - 2 }),
    s('text', { class: 'label', x: 4, y: y + 14 }, label.length > 19 ? `${label.slice(0, 18)}…` : label,
      s('title', null, label)),
    track.bars.map((bar) => barOf(bar, scale, y, spans)),
    track.marks.map((mark) => s('g', { class: `mark ${mark.kind}` },
      s('title', null, `${visible(mark.words)}\n${localTime(mark.at, true)}`),
      s('circle', { cx: scale.x(mark.at), cy: y + 2 + BAR / 2, r: 5 }))));
}

// What happened to the order itself, above the steps; words where there is room for them.
function marksOf(spans, scale, height) {
  let free = 0;
  return spans.marks.map((mark) => {
    const x = scale.x(mark.at);
    const width = mark.words.length * CHAR;
    const before = x + 8 + width > WIDTH;
    const from = before ? x - 8 - width : x + 8;
    const room = from >= free;
    if (room) free = from + width + 6;
    return s('g', { class: `moment-of ${mark.kind}` },
      s('title', null, `${mark.words}\n${localTime(mark.at, true)}`),
      s('line', { x1: x, x2: x, y1: TOP - 16, y2: height }),
      s('polygon', { points: `${x - 5},${TOP - 20} ${x + 5},${TOP - 20} ${x},${TOP - 11}` }),
      room ? s('text', { x: before ? x - 8 : x + 8, y: TOP - 12, 'text-anchor': before ? 'end' : 'start' }, mark.words) : null);
  });
}

// Between what happened and what is to come.
function future(spans, scale, height) {
  const x = scale.x(spans.to);
  const due = spans.deadline !== null && scale.has(spans.deadline) ? scale.x(spans.deadline) : null;
  return [
    scale.points[scale.points.length - 1] > spans.to ? s('g', { class: 'now' },
      s('title', null, `now\n${localTime(spans.to, true)}`), s('line', { x1: x, x2: x, y1: TOP - 26, y2: height }),
      s('text', { x: x - 4, y: height - 5, 'text-anchor': 'end' }, 'now')) : null,
    due !== null ? s('g', { class: 'deadline of-order' },
      s('title', null, `the order’s deadline\n${localTime(spans.deadline, true)}`),
      s('line', { x1: due, x2: due, y1: TOP - 16, y2: height }),
      s('text', { x: due - 4, y: height - 5, 'text-anchor': 'end' }, 'deadline')) : null,
  ];
}

const LEGEND = [['good', 'succeeded'], ['run', 'running'], ['bad', 'failed'], ['late', 'timed out'],
  ['retry', 'waits for its next attempt'], ['queue', 'waits for an agent'], ['timed', 'waits for a time or a signal'],
  ['undo', 'undo, runs backwards'], ['hand', 'ended by hand'], ['decided', 'skipped, or passed without an agent'],
  ['received', 'signal that passed no step when it came'], ['unstarted', 'failed without an attempt'], ['item', 'sub-order that failed'], ['recalled', 'sub-orders recalled'], ['ignored', 'report that came too late'], ['deadline', 'deadline'],
  ['moment-of', 'of the whole order']];

function sample(kind) {
  if (['hand', 'ignored', 'decided', 'received', 'unstarted', 'item', 'recalled'].includes(kind))
    return s('g', { class: `mark ${kind}` }, s('circle', { cx: 9, cy: 5, r: 3.8 }));
  if (kind === 'deadline') return s('g', { class: kind }, s('line', { x1: 9, x2: 9, y1: 0, y2: 10 }));
  if (kind === 'moment-of') return s('g', { class: kind }, s('polygon', { points: '4,0 14,0 9,9' }));
  return s('g', { class: `span ${kind}` }, kind === 'undo'
    ? s('polygon', { points: '0,5 6,0 18,0 18,10 6,10' }) : s('rect', { width: 18, height: 10, rx: 2 }));
}

export function timeline(entries, order, { toScale, onScale, now = Date.now() }) {
  if (!entries.length) return null;
  const spans = spansOf(entries, order, now);
  const scale = scaleOf(spans, toScale);
  const height = TOP + spans.tracks.size * ROW + 16;
  const used = new Set();
  for (const { bars, marks } of spans.tracks.values()) {
    for (const bar of bars) {
      used.add(bar.kind);
      if (bar.undo) used.add('undo');
    }
    marks.forEach((mark) => used.add(mark.kind));
  }
  if (deadlinesOf(spans, toScale).length) used.add('deadline');
  if (spans.marks.length) used.add('moment-of');
  const beyond = spans.deadline !== null && !scale.has(spans.deadline);
  return [
    h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Timeline' },
      s('svg', { class: 'timeline', viewBox: `0 0 ${WIDTH} ${height}`, role: 'img',
        'aria-label': `Timeline of ${spans.tracks.size} steps over ${duration(spans.to - spans.from)}; the history below has the same in words` },
      spans.bands.map((band) => bandOf(band, scale, height)),
      axis(scale, spans, height), marksOf(spans, scale, height), future(spans, scale, height),
      [...spans.tracks].map(([name, track], i) => row(name, track, i, scale, spans)))),
    h('div', { class: 'legend' }, LEGEND.filter(([kind]) => used.has(kind)).map(([kind, words]) =>
      h('span', { 'data-key': kind }, s('svg', { width: 18, height: 10, 'aria-hidden': 'true' }, sample(kind)), words)),
    h('label', { class: 'check' }, h('input', { type: 'checkbox', checked: toScale,
      on: { change: (event) => onScale(event.target.checked) } }), ' true to scale'),
    toScale ? null : h('span', { class: 'dim' }, 'quiet stretches are shortened'),
    beyond ? h('span', null, `the order’s deadline, ${localTime(spans.deadline)}, is further to the right`) : null),
  ];
}
