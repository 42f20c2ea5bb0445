// SPDX-License-Identifier: Apache-2.0
// How values are written: times, durations, numbers, and the words of a command line.
import { h } from './dom.js';

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

// Text of an order, with what cannot be seen, or turns the direction of writing, made visible.
export function visible(text) {
  return String(text).replace(
    HIDDEN,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const two = (n) => String(n).padStart(2, '0');
const day = (d) => `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;

// A time of the API ("2010-12-01T08:26:00.000Z"), or one in milliseconds already; null: none.
export function millis(at) {
  return at === null || at === undefined || typeof at === 'number' ? at ?? null : Date.parse(at);
}

export function localTime(at, precise) {
  const d = new Date(at);
  const clock = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  const fine = precise ? `.${String(d.getMilliseconds()).padStart(3, '0')}` : '';
  return (day(d) === day(new Date()) ? '' : `${day(d)} `) + clock + fine;
}

// Local time; UTC when the mouse rests on it.
export function time(at, precise) {
  if (at === null || at === undefined) return h('span', { class: 'none' }, '–');
  const utc = new Date(at).toISOString();
  return h('time', { datetime: utc, title: `${utc.replace('T', ' ').replace('Z', '')} UTC` },
    localTime(at, precise));
}

export function duration(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// What was set, exactly: `1 h`, `1 min 30 s`.
export function interval(seconds) {
  const parts = [];
  for (const [size, unit] of [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']]) {
    if (seconds >= size) parts.push(`${Math.floor(seconds / size)} ${unit}`);
    seconds %= size;
  }
  return parts.join(' ') || '0 s';
}

// One unit is enough for how long ago something was.
function roughly(ms) {
  if (ms < 60000) return `${Math.round(ms / 1000)} s`;
  if (ms < 3600000) return `${Math.floor(ms / 60000)} min`;
  return ms < 86400000 ? `${Math.floor(ms / 3600000)} h` : `${Math.floor(ms / 86400000)} d`;
}

export function ago(at, now = Date.now()) {
  const node = time(at);
  const ms = millis(at);
  if (ms === null) return node;
  node.title = `${localTime(ms)} local, ${node.title}`;
  node.textContent = now - ms < 1000 ? 'now' : `${roughly(now - ms)} ago`;
  return node;
}

export function until(at, now = Date.now()) {
  const node = time(at);
  const ms = millis(at);
  if (ms === null) return node;
  node.title = `${localTime(ms)} local, ${node.title}`;
  node.textContent = ms >= now ? `in ${roughly(ms - now)}` : `${roughly(now - ms)} ago`;
  return node;
}

export const number = (n) =>
  n === null || n === undefined ? '–' : Number(n).toLocaleString('en').replaceAll(',', '\u202f');

export const count = (n, noun) => `${number(n)} ${noun}${n === 1 ? '' : 's'}`;

export function bytes(n) {
  if (n === null || n === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; n >= 1024 && unit < units.length - 1; unit++) n /= 1024;
  return `${unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[unit]}`;
}

// Of hexadecimal digits, as hexdump -C has it; `kept`: how many bytes there are.
export function hexDump(hex, kept) {
  const lines = [];
  for (let at = 0; at < hex.length; at += 32) {
    const pairs = hex.slice(at, at + 32).match(/../g) ?? [];
    const words = pairs.map((pair, i) => (i === 8 ? ` ${pair}` : pair)).join(' ').padEnd(48);
    const text = pairs.map((pair) => {
      const code = parseInt(pair, 16);
      return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : '.';
    }).join('');
    lines.push(`${(at / 2).toString(16).padStart(8, '0')}  ${words}  |${text}|`);
  }
  if (kept > hex.length / 2) lines.push(`and ${kept - hex.length / 2} more bytes`);
  return lines.join('\n');
}

// "6" * "2.55" + ...: exact, as prices are decimals and not binary fractions. null if a price is
// missing or not a number.
export function orderValue(lines) {
  const SCALE = 10;
  let sum = 0n;
  for (const line of lines) {
    const parts = /^(-?)(\d{1,30})(?:\.(\d{1,10}))?$/.exec(line.unit_price ?? '');
    if (!parts || !Number.isSafeInteger(line.quantity)) return null;
    const price = BigInt(parts[2] + (parts[3] || '').padEnd(SCALE, '0'));
    sum += (parts[1] ? -price : price) * BigInt(line.quantity);
  }
  const digits = (sum < 0n ? -sum : sum).toString().padStart(SCALE + 1, '0');
  const cents = digits.slice(-SCALE).replace(/0+$/, '').padEnd(2, '0');
  return `${sum < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${cents}`;
}

// A word of a POSIX shell's command line. Within the id of a sub-order, a ~ stands for nothing else.
export function quote(word) {
  return /^(?:[\w@%+=:,./-]|(?<=[\w.-])~{1,2})+$/.test(word) ? word : `'${String(word).replaceAll("'", "'\\''")}'`;
}

// Operands (ids, names) stand behind "--": none is taken for a flag, whatever it begins with.
export const command = (words, ...operands) =>
  [...words, ...(operands.length ? ['--', ...operands] : [])].map((word) => quote(String(word))).join(' ');

const UNITS = { s: 1000, m: 60000, h: 3600000, d: 86400000 };
// "90s", "15m", "2h", "3d" before now, or a date and time: milliseconds. null: neither.
export function moment(text, now = Date.now()) {
  const back = /^(\d{1,7})\s*([smhd])$/.exec(text.trim());
  if (back) return now - Number(back[1]) * UNITS[back[2]];
  if (!/^\d{4}-\d\d-\d\d/.test(text.trim())) return null;
  const at = Date.parse(text.trim().replace(' ', 'T'));
  return Number.isNaN(at) ? null : at;
}

export const DURATION = /^\d{1,7}\s*[smhd]$/;
export function milliseconds(text) {
  const parts = /^(\d{1,7})\s*([smhd])$/.exec(text.trim());
  return parts ? Number(parts[1]) * UNITS[parts[2]] : null;
}
