// SPDX-License-Identifier: Apache-2.0
// Schedules: when orders are due by the clock, what became of the last ones, and whether they are
// held back.
import { h } from './dom.js';
import { ago, command, count, interval, time, visible } from './format.js';
import { get, orderPage, post } from './api.js';
import { isOld } from './live.js';
import { badge, commandBox, data, empty, facts, link, notice, panel, table } from './parts.js';
import { mayAct, noActions } from './session.js';
import { openQuestion } from './actions.js';

const path = (schedule, verb) => `/api/schedules/${encodeURIComponent(schedule.schedule)}/${verb}`;

function standing(schedule) {
  if (schedule.problem) return badge('stopped', 'submits nothing');
  return schedule.paused ? badge('stalled', 'paused') : badge('ok', 'active');
}

const when = (schedule) => (schedule.every_seconds ? `every ${interval(schedule.every_seconds)}`
  : schedule.cron ? h('code', null, visible(schedule.cron)) : data(null));

function next(schedule) {
  return table(`Next ticks of ${schedule.schedule}`, [
    { name: 'Next tick', cell: (tick) => time(tick.tick) },
    { name: schedule.time_zone ?? 'Local', cell: (tick) => data(tick.local) },
    { name: 'Order', cell: (tick) => data(tick.order_id) },
  ], schedule.next, { key: (tick) => tick.tick });
}

function last(schedule) {
  return table(`Last ticks of ${schedule.schedule}`, [
    { name: 'Last tick', cell: (tick) => time(tick.tick) },
    { name: schedule.time_zone ?? 'Local', cell: (tick) => data(tick.local) },
    { name: 'Order', cell: (tick) => (tick.state ? link(orderPage(tick.order_id), null, data(tick.order_id)) : data(tick.order_id)) },
    { name: 'State', cell: (tick) => (tick.state ? badge(tick.state) : 'not known') },
  ], schedule.last, { key: (tick) => tick.tick });
}

export function open(view) {
  function pause(schedule) {
    const name = schedule.schedule;
    const verb = schedule.paused ? 'resume' : 'pause';
    openQuestion({
      title: `${schedule.paused ? 'Resume' : 'Pause'} schedule ${name}`,
      about: schedule.paused ? 'Its ticks count from now on. Those of the pause are not made up.'
        : 'No tick is submitted, and those of the pause are not made up. Orders that run go on.',
      label: schedule.paused ? 'Resume' : 'Pause', danger: !schedule.paused,
      commandFor: ({ by, reason }) => command(['reeve', 'schedule', verb, '--reason', reason, '--by', by], name),
      send: async (body) => {
        await post(path(schedule, verb), body);
        return `Schedule ${name} ${schedule.paused ? 'resumed' : 'paused'}`;
      },
      done: view.reload,
    });
  }

  function trigger(schedule) {
    const name = schedule.schedule;
    openQuestion({
      title: `Trigger schedule ${name}`,
      about: 'The order of a tick of now is submitted.',
      label: 'Trigger', reason: false,
      commandFor: () => command(['reeve', 'schedule', 'trigger'], name),
      send: async ({ by }) => {
        const tick = await post(path(schedule, 'trigger'), { by });
        return `Order ${tick.order_id} submitted`;
      },
      done: view.reload,
    });
  }

  function one(schedule) {
    const name = schedule.schedule;
    const button = (label, click) => h('button', { type: 'button', 'aria-label': `${label} ${name}`, on: { click } }, label);
    const made = panel(visible(name), {
      tools: mayAct() && [button(schedule.paused ? 'Resume' : 'Pause', () => pause(schedule)), button('Trigger', () => trigger(schedule))],
      note: standing(schedule), command: command(['reeve', 'schedule', 'get'], name) },
    schedule.problem ? notice('bad', 'It submits no orders: ', data(schedule.problem)) : null,
    schedule.paused ? notice('warn', h('b', null, 'Paused'), ' by ', data(schedule.paused.by), ' ', ago(schedule.paused.at), ': ', data(schedule.paused.reason)) : null,
    facts([
      ['When', when(schedule)], ['Time zone', data(schedule.time_zone)],
      ['Workflow', schedule.workflow ? link(`/workflows#${encodeURIComponent(schedule.workflow)}`, null, data(schedule.workflow)) : data(null)],
      ['Makes up', schedule.catch_up_seconds ? interval(schedule.catch_up_seconds) : 'nothing'],
      ['Deployed', schedule.deployed_at ? [time(schedule.deployed_at), ' by ', data(schedule.deployed_by)] : data(null)],
    ]),
    schedule.next.length ? next(schedule) : null,
    schedule.last.length ? last(schedule) : null,
    h('details', null, h('summary', null, 'Text'), h('pre', { class: 'json', tabindex: '0' }, visible(schedule.source).replaceAll('\\u000a', '\n'))));
    made.setAttribute('data-key', `schedule-${name}`);
    return made;
  }

  async function load() {
    const answer = await get('/api/schedules');
    view.draw([
      h('div', { class: 'title' }, h('h1', null, 'Schedules'), h('p', null, count(answer.schedules.length, 'schedule'))),
      noActions(), answer.complete === false && !isOld() ? notice('warn', 'The console is still reading which schedules there are.') : null,
      answer.schedules.length ? answer.schedules.map(one)
        : empty('No schedule is deployed. ', h('code', null, 'reeve schedule deploy FILE')),
      commandBox('reeve schedule list'),
    ]);
  }
  return { load };
}
