// SPDX-License-Identifier: Apache-2.0
// Calls of the console's API (docs/reference/console-api.md).
import { parse } from './json.js';

// Called when an answer says that the session is not what the page takes it for.
let doubt = () => {};
export const onDoubt = (handler) => (doubt = handler);

// The latest answer that says how old its data may be.
let ageMs = 0;
export const dataAge = () => ageMs;

const SESSION = '/api/session';
const GET_TIMEOUT_MS = 20000;
const POST_TIMEOUT_MS = 40000; // a command is decided within 30 s or not at all

export class ApiError extends Error {
  constructor(status, code, message, body, retryAfter = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
    this.retryAfter = retryAfter; // seconds
  }

  // No token, or one that is not right (any more).
  get unknownUser() {
    return this.status === 401 || this.code === 'TooManyFailures';
  }

  get forbidden() {
    return this.code === 'Forbidden' || this.code === 'ReadOnly';
  }

  // The server has no such path: it is of an older version than this page.
  get unsupported() {
    return (this.status === 404 && this.code === 'NotFound') || this.status === 405;
  }

  get unreachable() {
    return this.status === 0;
  }
}

// {name: text, list, null} as a query string; empty values are left out.
export function query(fields) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== null && each !== undefined && each !== '' && each !== false)
        search.append(name, each === true ? '1' : each);
  const text = search.toString();
  return text ? `?${text}` : '';
}

async function call(path, options, timeoutMs) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), timeoutMs);
  try {
    const response = await fetch(path, { ...options, signal: abort.signal, cache: 'no-store' });
    let body = null;
    try {
      body = parse(await response.text());
    } catch {
      if (response.ok && response.status !== 204) throw new ApiError(response.status, 'BadAnswer', 'the answer is not JSON');
    }
    if (response.ok) {
      if (typeof body?.data_age_ms === 'number') ageMs = body.data_age_ms;
      return body;
    }
    throw new ApiError(response.status, body?.code ?? 'Error',
      body?.detail ?? `the console answered with status ${response.status}`, body,
      response.headers.has('Retry-After') ? Number(response.headers.get('Retry-After')) : null);
  } catch (error) {
    if (error instanceof ApiError) {
      if ((error.unknownUser || error.forbidden) && path !== SESSION) doubt();
      throw error;
    }
    throw new ApiError(0, 'Unreachable', error.name === 'AbortError'
      ? 'the console did not answer in time' : 'the console cannot be reached');
  } finally {
    clearTimeout(timer);
  }
}

export const get = (path) => call(path, {}, GET_TIMEOUT_MS);

export const post = (path, body) =>
  call(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Reeve-Request': '1' },
    body: JSON.stringify(body),
  }, POST_TIMEOUT_MS);

export const login = (token) => post(SESSION, { token });
export const logout = () =>
  call(SESSION, { method: 'DELETE', headers: { 'X-Reeve-Request': '1' } }, GET_TIMEOUT_MS);

export const orderPath = (id) => `/api/orders/${encodeURIComponent(id)}`;
export const orderPage = (id) => `/orders/${encodeURIComponent(id)}`;

// The history of an order, at most `max` Decisions; {entries, complete, trimmed}: the offset before
// which not everything is kept, or null.
export async function fullHistory(id, max = 5000) {
  const entries = [];
  for (let after = null; ;) {
    const page = await get(`${orderPath(id)}/history${query({ limit: 1000, after })}`);
    const trimmed = page.whole === false ? page.begins_at ?? page.log_start : null;
    entries.push(...page.entries);
    if (page.next === null || page.next === undefined) return { entries, complete: true, trimmed };
    if (entries.length >= max) return { entries, complete: false, trimmed };
    after = String(page.next);
  }
}
