// SPDX-License-Identifier: Apache-2.0
// This console and the services that console.services names: their checks, their versions, and where
// each of their settings comes from.
import { h } from './dom.js';
import { ago, bytes, visible } from './format.js';
import { get } from './api.js';
import { badge, data, failure, facts, panel, table } from './parts.js';

export function open(view) {
  let wanted = '';
  let health = null;
  let services = [];
  let shown = ''; // the address of the service whose settings are shown; '': this console

  const name = (service) => `${service.service} ${service.instance}`;

  function configuration() {
    const service = services.find((each) => each.address === shown && each.configuration);
    return service ? service.configuration : health.configuration ?? [];
  }

  function chooser() {
    const choices = services.filter((each) => each.configuration);
    if (!choices.length) return null;
    return h('select', { 'aria-label': 'Service', on: { change: (event) => {
      shown = event.target.value;
      draw();
    } } }, h('option', { value: '' }, `console ${visible(health.instance)}`),
    choices.map((each) => h('option', { value: each.address, selected: each.address === shown }, visible(name(each)))));
  }

  function result(service) {
    if (!service.ready) return badge('Error', 'failed');
    return service.reason ? badge('growing', 'degraded') : badge('ok', 'OK');
  }

  function list() {
    return panel('Services', { command: 'reeve services', note: services.length ? '' : 'Name them with console.services' },
      services.length ? table('Services', [
        { name: 'Result', cell: result },
        { name: 'Service', cell: (each) => h('b', null, data(each.error ? each.address : name(each))) },
        { name: 'Version', cell: (each) => (each.error ? '' : data(each.version)) },
        { name: 'Started', cell: (each) => (each.error ? '' : ago(each.started_at)) },
        { name: 'Message', class: 'wide', cell: (each) => data(each.error ?? each.reason ?? each.address) },
      ], services, { key: (each) => each.address }) : null);
  }

  function settings() {
    const word = wanted.toLowerCase();
    const list = configuration().filter((each) =>
      `${each.key} ${each.value} ${each.origin}`.toLowerCase().includes(word));
    return panel('Configuration', { note: 'Secrets are not shown', command: 'reeve health --output json', tools: [chooser(), h('input', { type: 'search', 'aria-label': 'Filter the settings',
      placeholder: 'Filter', 'data-search': '', on: { input: (event) => {
        wanted = event.target.value;
        draw();
      } } })] }, table('Configuration', [
      { name: 'Key', cell: (each) => h('code', null, visible(each.key)) },
      { name: 'Value', class: 'wide', cell: (each) => data(each.value) },
      { name: 'Origin', cell: (each) => data(each.origin) },
    ], list, { key: (each) => each.key }));
  }

  function draw() {
    view.draw([
      h('div', { class: 'title' }, h('h1', null, 'Health'),
        h('p', null, health.checks.every((check) => check.ok) && services.every((each) => each.ready) ? 'all checks pass' : 'something is wrong')),
      facts([['Version', data(health.version)], ['Instance', data(health.instance)]]),
      panel('Checks', { command: 'reeve health' }, table('Checks', [
        { name: 'Result', cell: (check) => (check.ok ? badge('ok', 'OK') : badge('Error', 'failed')) },
        { name: 'Check', cell: (check) => h('b', null, data(check.name)) },
        { name: 'Message', class: 'wide', cell: (check) => data(check.message) },
      ], health.checks, { key: (check) => check.name })),
      list(),
      Array.isArray(health.stores) && health.stores.length ? panel('Stores', {}, table('Stores', [
        { name: 'Store', cell: (store) => data(store.name ?? store.path ?? store.partition) },
        { name: 'Size', class: 'number', cell: (store) => bytes(store.bytes ?? store.size) },
      ], health.stores)) : null,
      health.configuration ? settings() : null,
    ]);
  }

  async function load() {
    try {
      health = await get('/api/health');
      services = (await get('/api/services')).services;
    } catch (error) {
      if (!error.unsupported) throw error;
      view.draw([h('div', { class: 'title' }, h('h1', null, 'Health')), failure(error, 'the health page')]);
      return;
    }
    draw();
  }
  return { load };
}
