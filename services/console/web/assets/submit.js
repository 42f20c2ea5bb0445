// SPDX-License-Identifier: Apache-2.0
// A new order: the dialog asks for the input that a version's InputShape describes, and shows the
// command that submits it. The console itself takes no orders.
import { h, patch } from './dom.js';
import { visible } from './format.js';
import { commandBox } from './parts.js';
import { labelled, showDialog } from './actions.js';
import { isScalar, parse } from './json.js';

const EXPECTED = { string: 'a text', number: 'a number', integer: 'a whole number', boolean: 'true or false',
  array: 'a list as JSON', object: 'an object as JSON' };

// A field {node, read}: read() returns the value, undefined where it is left out, and throws what is
// wrong. `label` is also its place in the input.
function field(label, required, hint, control, valueOf) {
  const read = () => {
    const text = control.value.trim();
    if (text === '' && !required) return undefined;
    return valueOf(text);
  };
  return { node: labelled(`${visible(label)}${required ? '' : ' (optional)'}`, control, hint), read };
}

function wrong(label, schema) {
  return new Error(`${visible(label)}: expected ${EXPECTED[schema.type]}`);
}

function readNumber(label, schema, text) {
  let value;
  try {
    value = parse(text);
  } catch {
    throw wrong(label, schema);
  }
  const number = typeof value === 'number' || (isScalar(value) && value !== null && typeof value === 'object');
  if (!number || (schema.type === 'integer' && !/^-?\d+$/.test(text))) throw wrong(label, schema);
  return value;
}

function readJson(label, schema, text) {
  let value;
  try {
    value = parse(text);
  } catch (error) {
    throw new Error(`${visible(label)}: expected JSON (${error.message})`);
  }
  if (schema.type === 'array' && !Array.isArray(value)) throw wrong(label, schema);
  if (schema.type === 'object' && (isScalar(value) || Array.isArray(value))) throw wrong(label, schema);
  return value;
}

function members(label, schema) {
  const fields = Object.entries(schema.properties).map(([name, member]) =>
    [name, fieldOf(`${label}.${name}`, member, schema.required.includes(name))]);
  const read = () => Object.fromEntries(fields.map(([name, each]) => [name, each.read()])
    .filter(([, value]) => value !== undefined));
  return { node: h('fieldset', null, h('legend', null, visible(label)), fields.map(([, each]) => each.node)), read };
}

function fieldOf(label, schema, required) {
  const expected = EXPECTED[schema.type] ?? 'any value as JSON';
  const hint = `${expected[0].toUpperCase()}${expected.slice(1)}.`;
  const line = () => h('input', { autocomplete: 'off', spellcheck: 'false' });
  switch (schema.type) {
    case 'object':
      if (required) return members(label, schema);
      break;
    case 'string':
      return field(label, required, hint, line(), (text) => text);
    case 'number':
    case 'integer':
      return field(label, required, hint, line(), (text) => readNumber(label, schema, text));
    case 'boolean':
      return field(label, required, null, h('select', null, required ? null : h('option', { value: '' }, 'left out'),
        h('option', { value: 'false' }, 'false'), h('option', { value: 'true' }, 'true')), (text) => text === 'true');
  }
  return field(label, required, hint, h('textarea', { rows: 2, spellcheck: 'false' }),
    (text) => readJson(label, schema, text));
}

// `version`: as /api/workflows has it.
export function openSubmit(version) {
  const id = h('input', { autocomplete: 'off', maxlength: 128 });
  const input = version.input_schema ? fieldOf('input', version.input_schema, true)
    : fieldOf('input', {}, false);
  const problem = h('p', { class: 'problem', role: 'alert' });
  const terminal = h('div');
  const show = () => {
    try {
      const order = { order_id: id.value.trim() || 'ORDER', workflow: version.workflow, workflow_version: version.version,
        input: input.read() };
      problem.textContent = '';
      patch(terminal, commandBox(`reeve submit - <<'END'\n${JSON.stringify(order, null, 2)}\nEND`));
    } catch (error) {
      problem.textContent = error.message;
      patch(terminal, null);
    }
  };
  const form = h('form', { on: { submit: (event) => event.preventDefault(), input: show } },
    h('fieldset', null, labelled('Order', id, 'Its id, of your choice.'), input.node), problem, terminal,
    h('div', { class: 'buttons' }, h('button', { type: 'button', on: { click: () => dialog.close() } }, 'Close')));
  const dialog = h('dialog', { class: 'action', 'aria-labelledby': 'submit-title' },
    h('h2', { id: 'submit-title' }, `Order for ${visible(version.workflow)}:${version.version}`),
    h('p', null, version.input_schema ? 'The command submits an order with this input.'
      : 'The version has no InputShape: it takes any input.'), form);
  show();
  showDialog(dialog);
}
