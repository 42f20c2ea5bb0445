// SPDX-License-Identifier: Apache-2.0
// The filters of orders: in the page's address, in calls of the API, and as flags of `reeve`. They
// have the same names everywhere.
import { DURATION, moment, command } from './format.js';
import { query } from './api.js';

export const FILTERS = [
  { name: 'id_prefix', label: 'Order id begins with', flag: '--prefix' },
  { name: 'state', label: 'State', flag: '--state' },
  { name: 'workflow', label: 'Workflow', flag: '--workflow' },
  { name: 'workflow_version', label: 'Workflow version', flag: '--workflow-version' },
  { name: 'step', label: 'Step in progress or in Error', flag: '--step' },
  { name: 'waiting_for', label: 'Step that waits', flag: '--waiting-for' },
  { name: 'group', label: 'Waits for the group', flag: '--group' },
  { name: 'error', label: 'Error', flag: '--error' },
  { name: 'customer', label: 'Customer', flag: '--customer' },
  { name: 'attribute', label: 'Attribute', flag: '--attribute', hint: 'country=France', list: true },
  { name: 'since', label: 'Accepted since', flag: '--since', hint: '1h, 2d or 2026-11-22 17:00', moment: true },
  { name: 'until', label: 'Accepted until', flag: '--until', hint: '30m or 2026-11-22 18:00', moment: true },
  { name: 'alert', label: 'Open alert', flag: '--alert', switch: 'open' },
  { name: 'paused', label: 'Paused', flag: '--paused', switch: '1' },
  { name: 'all', label: 'Also sub-orders', flag: '--all', switch: '1' },
];

// {name: text, or a list} of what the address asks for.
export function readFilters(search) {
  const filters = {};
  for (const filter of FILTERS) {
    const values = search.getAll(filter.name).map((value) => value.trim()).filter((value) => value);
    if (values.length) filters[filter.name] = filter.list ? values : values[0];
  }
  return filters;
}

export const ordersPage = (filters = {}, more = {}) => `/orders${query({ ...filters, ...more })}`;

// For the API. Throws what is wrong with a value.
export function apiFilters(filters) {
  const fields = { ...filters };
  for (const filter of FILTERS) {
    if (!filter.moment || !fields[filter.name]) continue;
    const at = moment(fields[filter.name]);
    if (at === null)
      throw new Error(`${filter.label}: expected a time before now such as 90s, 15m, 2h or 3d, or a date such as 2026-11-22 17:00`);
    fields[filter.name] = new Date(at).toISOString();
  }
  return fields;
}

// A local date and time as the command line reads it.
function shellMoment(text) {
  const at = moment(text);
  return at === null || DURATION.test(text) ? text : new Date(at).toISOString().replace('.000Z', 'Z');
}

// The words that follow `reeve orders list`.
export function filterWords(filters) {
  const words = [];
  for (const filter of FILTERS) {
    const value = filters[filter.name];
    if (value === undefined) continue;
    if (filter.switch) words.push(filter.flag);
    else if (filter.moment) words.push(filter.flag, shellMoment(value));
    else for (const each of [value].flat()) words.push(filter.flag, each);
  }
  return words;
}

export const listCommand = (filters) => command(['reeve', 'orders', 'list', ...filterWords(filters)]);
export const countCommand = (filters) => command(['reeve', 'orders', 'count', ...filterWords(filters), '--states']);
