// SPDX-License-Identifier: Apache-2.0
// The agents: who runs, what they can take, how they do, and whether their steps are held back.
import { h } from './dom.js';
import { ago, command, count, duration, millis, number } from './format.js';
import { dataAge, get, post } from './api.js';
import { isOld } from './live.js';
import { badge, bar, commandBox, data, empty, link, notice, panel, table } from './parts.js';
import { mayAct, noActions } from './session.js';
import { openQuestion } from './actions.js';
import { allSteps } from './graph.js';

const LATE_BEATS = 3;

function health(agent, now) {
  const silent = now - millis(agent.heard_at);
  if (silent > LATE_BEATS * agent.heartbeat_ms + 2000) return badge('stalled', `silent for ${duration(silent)}`);
  if (agent.circuit === 'open') return badge('stopped', 'circuit open');
  return agent.circuit === 'closed' ? badge('ok', 'healthy') : badge('growing', `circuit ${agent.circuit}`);
}

function none(named) {
  if (isOld()) return 'Not known: no agent can be heard while the brokers are away.';
  if (!named.length) return 'No instance is running, and no workflow that takes orders names it.';
  const more = named.length > 4 ? ` and ${number(named.length - 4)} more` : '';
  return `No instance is running. Named by ${named.slice(-4).join(', ')}${more}.`;
}

export function open(view) {
  function ask(name, verb) {
    const pause = verb === 'pause';
    openQuestion({
      title: `${pause ? 'Pause' : 'Resume'} agent ${name}`,
      about: pause ? 'No step is sent to it: its steps wait, and meanwhile only orders as a whole time out. Attempts in flight may end.'
        : 'Its waiting steps are sent.',
      label: pause ? 'Pause' : 'Resume', danger: pause,
      commandFor: ({ by, reason }) => command(['reeve', 'agents', verb, '--reason', reason, '--by', by], name),
      send: async (body) => {
        await post(`/api/agents/${encodeURIComponent(name)}/${verb}`, body);
        return `Agent ${name} ${pause ? 'paused' : 'resumed'}`;
      },
      done: view.reload,
    });
  }

  // `named`: the versions of workflows that name the agent.
  function one(name, list, pause, named) {
    const now = Date.now() - dataAge(); // when something could last be heard
    const tools = mayAct() && h('button', { type: 'button', on: { click: () => ask(name, pause ? 'resume' : 'pause') } },
      pause ? 'Resume' : 'Pause');
    const made = panel(name, { tools, note: list.length || isOld() ? count(list.length, 'instance') : badge('stopped', 'no instance') },
      pause ? notice('warn', h('b', null, 'Paused'), ' by ', data(pause.by), ' ', ago(pause.at), ': ', data(pause.reason)) : null,
      list.length ? table(`Instances of ${name}`, [
        { name: 'Instance', class: 'short', cell: (agent) => data(agent.instance) },
        { name: 'Health', cell: (agent) => health(agent, now) },
        { name: 'In flight', class: 'number', cell: (agent) => `${number(agent.in_flight)} of ${number(agent.capacity)}` },
        { name: 'Load', class: 'bars', cell: (agent) => bar(agent.in_flight, agent.capacity) },
        { name: 'Queued', class: 'number', cell: (agent) => number(agent.queued) },
        { name: 'p50', class: 'number', cell: (agent) => duration(agent.latency_p50_ms) },
        { name: 'p95', class: 'number', cell: (agent) => duration(agent.latency_p95_ms) },
        { name: 'Errors', class: 'number', cell: (agent) => `${(agent.errors_permille / 10).toFixed(1)} %` },
        { name: 'Last error', class: 'wide', cell: (agent) => data(agent.last_error) },
        { name: 'Partitions', class: 'number', cell: (agent) => number(agent.partitions) },
        { name: 'Version', cell: (agent) => data(agent.version) },
        { name: 'Heard', class: 'when', cell: (agent) => ago(agent.heard_at, now) },
      ], list, { key: (agent) => agent.instance })
        : empty(none(named)));
    made.setAttribute('data-key', `agent-${name}`);
    return made;
  }

  async function load() {
    const [answer, deployed] = await Promise.all([get('/api/agents'), get('/api/workflows').catch(() => null)]);
    const named = new Map(); // agent -> ["workflow:version"]
    for (const version of deployed?.workflows ?? []) {
      if (version.retired && !version.orders?.unfinished) continue;
      for (const name of new Set(allSteps(version.steps).flatMap((step) => step.agents ?? [step.agent])))
        named.set(name, [...named.get(name) ?? [], `${version.workflow}:${version.version}`]);
    }
    const pauses = new Map((answer.pauses ?? []).map((each) => [each.agent, each]));
    const running = new Set(answer.agents.map((agent) => agent.agent));
    const names = [...new Set([...running, ...named.keys(), ...pauses.keys()])].sort();
    const absent = [...named.keys()].filter((name) => !running.has(name)).sort();
    view.draw([
      h('div', { class: 'title' }, h('h1', null, 'Agents'), h('p', null, `${count(answer.agents.length, 'instance')} of ${count(names.length, 'agent')}`)),
      noActions(), answer.complete === false && !isOld() ? notice('warn', 'The console is still reading which agents there are.') : null,
      absent.length && answer.complete !== false ? notice('bad', `No instance of ${absent.join(', ')} is running: ${absent.length === 1 ? 'its' : 'their'} steps wait. `, link('/workflows', null, 'Workflows')) : null,
      names.length ? names.map((name) => one(name, answer.agents.filter((agent) => agent.agent === name),
        pauses.get(name), named.get(name) ?? []))
        : empty('No agent is running, and no workflow names one.'),
      commandBox('reeve agents list'),
    ]);
  }
  return { load };
}
