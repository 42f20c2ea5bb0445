// SPDX-License-Identifier: Apache-2.0
// A form in the section "Your numbers" of the page Sizing, which does the sums that stand there.
// Every figure is read from the tables of the page, so none has a second home here.
'use strict';

(() => {
  const heading = document.getElementById('your-numbers');
  if (!heading) return; // another page

  // "8 to 16" is 16, "9,216" is 9216.
  const numberOf = (text) => Number(text.match(/[\d.,]+(?=\D*$)/)[0].replaceAll(',', ''));
  // The rows of the first table after a heading, as texts; the first one has the titles.
  const tableOf = (id) => {
    let element = document.getElementById(id);
    while (element.tagName !== 'TABLE') element = element.nextElementSibling;
    return [...element.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
  };

  function readFigures() {
    const [titles, ...costs] = tableOf('what-an-order-costs');
    const cost = (name, i) => numberOf(costs.find((row) => row[0].startsWith(name))[i]);
    const runs = titles.slice(1).map((title, i) => ({
      rate: Number((title.match(/([\d,]+)\/s/)?.[1] ?? '0').replaceAll(',', '')),
      services: ['submission', 'scheduler', 'supervisor', 'agent']
        .reduce((sum, name) => sum + cost(name, i + 1), 0),
      broker: cost('broker', i + 1),
    }));
    const topics = tableOf('bytes').slice(1).map(([name, kept, apart, together]) => ({
      name, days: /\d/.test(kept) ? numberOf(kept) : null, // null: as long as the log
      apart: numberOf(apart), together: numberOf(together),
    }));
    const rates = tableOf('what-a-rate-needs').slice(1).map((row) => ({
      rate: numberOf(row[0]), instances: numberOf(row[3]), memory: numberOf(row[5]) }));
    const partitions = tableOf('partitions').slice(1).map((row) => ({
      rate: numberOf(row[0]), partitions: numberOf(row[1]) }));
    const [steps, input, measured, times, retention, stored, services, stores, hours] =
      tableOf('your-numbers').slice(1).map((row) => numberOf(row[1]));
    return { runs, topics, rates, partitions, steps, input, measured, times, retention, stored,
      services, stores, hours };
  }

  const DAY = 86400;
  const GIB = 2 ** 30;
  const rowFor = (rows, rate) => rows.find((row) => row.rate >= rate) ?? rows.at(-1);

  function estimate(figures, { rate, steps, input, open, days, replicas }) {
    const records = (steps + 1) / (figures.steps + 1);
    const run = figures.runs.findLast((one) => one.rate <= rate);
    const times = rate > figures.measured ? figures.times : 1;
    const cores = (us) => rate * us * records * times / 1e6;
    const batched = rate >= figures.runs.at(-2).rate;
    const more = Math.max(0, input - figures.input);
    const topics = figures.topics.map(({ name, days: kept, apart, together }) => {
      const share = name === 'submissions' ? 1
        : name.startsWith('requests') ? steps / figures.steps : records;
      const bytes = (batched ? together : apart) * share +
        (name === 'submissions' || name === 'commands' ? more : 0);
      return { name, days: kept ?? days, bytes };
    });
    const bytes = topics.reduce((sum, topic) => sum + topic.bytes, 0);
    const needs = rowFor(figures.rates, rate);
    return {
      partitions: rowFor(figures.partitions, rate).partitions,
      instances: needs.instances,
      memory: needs.memory,
      cores: cores(run.services),
      brokerCores: cores(run.broker) * replicas,
      store: (rate * DAY * figures.retention + open) * figures.stored * 1e3,
      written: bytes * rate * replicas,
      day: bytes * rate * DAY,
      topics: topics.map((topic) => ({ ...topic, log: topic.bytes * rate * DAY * topic.days * replicas })),
      beyond: rate > figures.rates.at(-1).rate,
    };
  }

  // A month at the user's prices, each with its title; what has no price is left out.
  function costs(figures, found, { core, memory, disk }) {
    const log = found.topics.reduce((sum, topic) => sum + topic.log, 0);
    return [
      ['cores', core * figures.hours * (found.cores + found.brokerCores)],
      ['memory of the services', memory * found.instances * figures.services * found.memory * 1e6 / GIB],
      ['disks', disk * (log + figures.stores * found.store) / GIB],
    ].filter(([, cost]) => !Number.isNaN(cost));
  }

  // Two digits, as the tables have them.
  const round = (value) => Number(value.toPrecision(2)).toLocaleString('en');
  const UNITS = [['TB', 1e12], ['GB', 1e9], ['MB', 1e6], ['KB', 1e3], ['bytes', 1]];
  const size = (bytes) => {
    const [unit, of] = UNITS.find((row) => bytes >= row[1]) ?? UNITS.at(-1);
    return `${round(bytes / of)} ${unit}`;
  };

  const FIELDS = [
    ['rate', 'orders a second', 1000, 0.01], ['steps', 'steps of an order', 3, 1],
    ['input', 'bytes of its input', 200, 0], ['open', 'open orders', 1000, 0],
    ['days', 'days that the log is kept', 9, 1], ['replicas', 'replicas', 3, 1],
  ];
  // There are none until the user gives them.
  const PRICES = [
    ['core', 'price of a core for an hour'], ['memory', 'price of a GiB of memory for a month'],
    ['disk', 'price of a GiB of disk for a month'],
  ];

  function show(output, found, prices) {
    const total = found.topics.reduce((sum, topic) => sum + topic.log, 0);
    const rows = [
      ['partitions', found.partitions],
      ['instances of each service', found.instances],
      ['cores, services', round(found.cores)],
      ['cores, brokers with replicas', round(found.brokerCores)],
      ['memory of an instance, at most', `${found.memory} MB`],
      ['stores of all schedulers together', size(found.store)],
      ['written a day, one replica', size(found.day)],
      ['written to disks a second, all replicas', size(found.written)],
      ...found.topics.map((topic) => [`log of ${topic.name}, all replicas`, size(topic.log)]),
      ['log of all topics, all replicas', size(total)],
      ...prices.map(([name, cost]) => [`a month, ${name}`, round(cost)]),
    ];
    if (prices.length > 0)
      rows.push(['a month, together', round(prices.reduce((sum, [, cost]) => sum + cost, 0))]);
    output.replaceChildren(...rows.map(([name, value]) => {
      const row = document.createElement('tr');
      row.append(...[name, value].map((text) => Object.assign(document.createElement('td'),
        { textContent: text })));
      return row;
    }));
    if (found.beyond) output.createCaption().textContent = 'More than the tables of this page have.';
  }

  const figures = readFigures();
  const form = document.createElement('form');
  form.id = 'sizing-form';
  const add = (title, properties) => {
    const label = document.createElement('label');
    const input = Object.assign(document.createElement('input'), { type: 'number', ...properties });
    label.append(`${title} `, input);
    form.append(label);
    return input;
  };
  const inputs = [
    ...FIELDS.map(([name, title, value, min]) => add(title,
      { name, value, min, step: name === 'rate' ? 'any' : 1, required: true })),
    ...PRICES.map(([name, title]) => add(title, { name, min: 0, step: 'any' })),
  ];
  const output = document.createElement('table');
  output.id = 'sizing-estimate';
  output.setAttribute('aria-live', 'polite');
  const update = () => {
    output.hidden = !form.checkValidity();
    if (output.hidden) return;
    const given = Object.fromEntries(inputs.map((input) => [input.name, input.valueAsNumber]));
    const found = estimate(figures, given);
    show(output, found, costs(figures, found, given));
  };
  form.addEventListener('input', update);
  form.addEventListener('submit', (event) => event.preventDefault());
  heading.after(form, output);
  update();
})();
