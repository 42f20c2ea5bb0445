// SPDX-License-Identifier: Apache-2.0
// The life cycle of a workflow's versions: the dialogs that activate, roll back, retire, compare and
// deploy them.
import { h, patch } from './dom.js';
import { command, count, visible } from './format.js';
import { get, post, query } from './api.js';
import { commandBox, consequences, data, empty, table } from './parts.js';
import { labelled, openQuestion, showDialog } from './actions.js';

const pathOf = (name, ...rest) => ['/api/workflows', ...[name, ...rest].map(encodeURIComponent)].join('/');

const CHANGES = {
  activate: { label: 'Activate', about: 'New orders that name no version take this one. Orders that run keep theirs.' },
  rollback: { label: 'Roll back', about: 'New orders take the version that was active before. Orders that run keep theirs.' },
  retire: { label: 'Retire', danger: true, about: 'New orders for this version are refused, with the reason. Orders that run go on.' },
};

// `version`: as /api/workflows has it; a rollback needs only its `workflow`.
export function openChange(change, version, done) {
  const { label, about, danger } = CHANGES[change];
  const rollsBack = change === 'rollback';
  const name = rollsBack ? version.workflow : `${version.workflow}:${version.version}`;
  const warns = change === 'retire' && version.active;
  openQuestion({
    title: `${label} ${visible(name)}`,
    about: warns ? `${about} This is the active version: new orders that name no version are refused until another one is activated.` : about,
    label, danger,
    commandFor: ({ by, reason }) => command(['reeve', 'workflow', change, '--reason', reason, '--by', by], name),
    send: async (body) => {
      const answer = await post(rollsBack ? pathOf(version.workflow, 'rollback')
        : pathOf(version.workflow, String(version.version), change), body);
      return `${visible(answer.workflow)}:${answer.version}: ${answer.result}`;
    },
    done,
  });
}

// What the text of a version, as it is deployed from a file or from the clipboard, has to pass.
async function deploy(body, form) {
  const source = form.elements.source.value;
  const format = source.trimStart().startsWith('{') ? 'json' : 'yaml';
  try {
    const answer = await post('/api/workflows', { by: body.by, source, format, activate: form.elements.activate.checked });
    return { said: `${visible(answer.workflow)}:${answer.version}: ${answer.result}`, warnings: answer.warnings };
  } catch (error) {
    throw Object.assign(new Error(error.message), { command: error.body?.command, problems: error.body?.problems });
  }
}

export function openDeploy(done) {
  const text = h('textarea', { name: 'source', rows: 14, required: true, spellcheck: 'false',
    placeholder: 'Name: order-fulfilment\nVersion: 2\nSteps: ...' });
  const read = async (event) => {
    const [file] = event.target.files;
    if (file) text.value = await file.text();
  };
  openQuestion({
    title: 'Deploy a workflow',
    about: 'A deployed version never changes: increase Version to change one. Nothing is deployed if the text has an error.',
    label: 'Deploy', reason: false,
    extra: [
      labelled('File (optional)', h('input', { type: 'file', name: 'file', accept: '.yaml,.yml,.json', on: { change: read } })),
      labelled('Text', text, 'YAML or JSON.'),
      h('label', { class: 'check' }, h('input', { type: 'checkbox', name: 'activate', checked: true }), ' New orders take this version'),
    ],
    commandFor: (asked, form) => command(['reeve', 'workflow', 'deploy',
      ...(form.elements.activate.checked ? [] : ['--no-activate'])], form.elements.file.files[0]?.name ?? 'FILE'),
    send: deploy,
    done,
  });
}

function differences(list) {
  if (!list.length) return empty('Nothing differs but the number of the version.');
  return table('Differences', [
    { name: 'Step', cell: (each) => data(each.step ?? 'the whole workflow') },
    { name: 'Field', cell: (each) => data(each.field) },
    { name: 'Left', class: 'wide', cell: (each) => data(each.left) },
    { name: 'Right', class: 'wide', cell: (each) => data(each.right) },
  ], list, { key: (each) => `${each.step}/${each.field}` });
}

// What differs between two versions of a workflow; `list`: all of them.
export function openDiff(name, list) {
  const problem = h('p', { class: 'problem', role: 'alert' });
  const result = h('div', { class: 'stack' });
  const terminal = h('div');
  const active = list.find((v) => v.active) ?? list[0];
  const other = list.findLast((v) => v !== active);
  const choice = (label, chosen) => labelled(label, h('select', { name: label.toLowerCase(), value: String(chosen.version),
    on: { change: () => show() } }, list.map((v) => h('option', { value: String(v.version) }, String(v.version)))));
  const form = h('form', null, h('fieldset', null, choice('Left', active), choice('Right', other)), problem, result, terminal,
    h('div', { class: 'buttons' }, h('button', { type: 'button', on: { click: () => dialog.close() } }, 'Close')));
  const dialog = h('dialog', { class: 'action', 'aria-labelledby': 'diff-title' },
    h('h2', { id: 'diff-title' }, `Versions of ${visible(name)}`), form);
  let latest = 0;
  const show = async () => {
    const mine = ++latest;
    const left = form.elements.left.value;
    const right = form.elements.right.value;
    patch(terminal, commandBox(command(['reeve', 'workflow', 'diff'], `${name}:${left}`, `${name}:${right}`)));
    try {
      const answer = await get(`${pathOf(name, 'diff')}${query({ left, right })}`);
      if (mine !== latest) return;
      problem.textContent = '';
      patch(result, [h('p', { role: 'status', class: 'summary' }, count(answer.differences.length, 'difference')),
        consequences(answer), differences(answer.differences)]);
    } catch (error) {
      if (mine === latest) problem.textContent = visible(error.message);
    }
  };
  show();
  showDialog(dialog);
}
