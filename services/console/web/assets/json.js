// SPDX-License-Identifier: Apache-2.0
// JSON with all its digits. A number that JavaScript would round is kept as its text (a raw JSON
// value of the browser), which JSON.stringify() writes as it is. Browsers without raw JSON round, so
// what they have read is not to be sent back.

// Every decimal of up to 15 digits survives being a double.
const DIGITS_MAX = 15;
const digits = (source) => source.replace(/e.*$/i, '').replace(/[-.]/g, '').replace(/^0+/, '').length;
export const keepsRaw = typeof JSON.rawJSON === 'function';

const exact = (name, value, context) =>
  keepsRaw && typeof value === 'number' && digits(context.source) > DIGITS_MAX && String(value) !== context.source
    ? JSON.rawJSON(context.source) : value;

// Throws where the text is not JSON.
export const parse = (text) => JSON.parse(text, exact);

// Whether the value has no members or elements: a text, a number, true, false or null.
export const isScalar = (value) =>
  value === null || typeof value !== 'object' || (keepsRaw && JSON.isRawJSON(value));
