// SPDX-License-Identifier: Apache-2.0
// Which operators' commands make sense for an order, as the scheduler would decide them.

const ended = (order) => order.state === 'Processed' || order.state === 'Compensated';
const phase = (order) => (order.state === 'Error' ? order.error_from : order.state);

// The entry of waiting_for, while the step waits for a signal.
export const signalWait = (order, step) =>
  (order?.waiting_for ?? []).find((wait) => wait.step === step && wait.for === 'signal');

// The steps that an operator may end by hand now, as the scheduler sees it.
export function stepsFor(action, order, workflow) {
  if (ended(order) || order.state === 'Held') return [];
  const direction = phase(order) === 'Compensating' ? 'undo' : 'do';
  const settled = new Set(order.steps.filter((step) =>
    ['Processed', 'Skipped', 'Caught'].includes(step.state)).map((step) => step.step));
  return order.steps.filter((step) => {
    const definition = workflow?.steps.find((each) => each.step === step.step);
    if (step.direction !== direction || !['Pending', 'Waiting', 'Error'].includes(step.state)) return false;
    // Only a signal of the group passes it.
    if (action !== 'fail' && signalWait(order, step.step)?.group) return false;
    if (direction === 'do' && (definition?.after ?? []).some((name) => !settled.has(name))) return false;
    if (action === 'skip') return direction === 'do' && step.effect !== 'applied';
    return action !== 'fail' || step.state !== 'Error';
  }).map((step) => step.step);
}

// The step that closes the way back, as the scheduler sees it: the pivot, or else a step after it,
// that runs or may have had an effect.
function pastPivot(order, workflow) {
  const steps = workflow?.steps ?? [];
  const pivot = steps.find((step) => step.pivot)?.step;
  const passed = new Set(pivot ? [pivot] : []);
  let known = -1;
  while (passed.size !== known) {
    known = passed.size;
    for (const step of steps) {
      if (step.after.some((name) => passed.has(name))) passed.add(step.step);
    }
  }
  const closing = order.steps.filter((step) => passed.has(step.step) &&
    (step.state === 'Processing' || step.effect !== 'none')).map((step) => step.step);
  return { pivot, step: closing.includes(pivot) ? pivot : closing[0] };
}

// Why an order that has not ended can no longer be undone, or null.
export function whyNoWayBack(order, workflow) {
  if (ended(order) || order.state === 'Held' || phase(order) === 'Compensating') return null;
  const { pivot, step } = pastPivot(order, workflow);
  if (!step) return null;
  const what = step === pivot ? `The pivot ${step}` : `Step ${step} after the pivot ${pivot}`;
  return `${what} has started: the order can no longer be undone.`;
}

// The actions that make sense for one order. `canMove`: to another version.
export function actionsFor(order, workflow, canMove) {
  if (ended(order)) return [];
  const held = order.state === 'Held'; // its parent decides
  const canUndo = !held && phase(order) !== 'Compensating' && !whyNoWayBack(order, workflow);
  const sensible = {
    resubmit: order.state === 'Error',
    complete: stepsFor('complete', order, workflow).length > 0,
    skip: stepsFor('skip', order, workflow).length > 0,
    fail: stepsFor('fail', order, workflow).length > 0,
    compensate: canUndo,
    cancel: canUndo,
    pause: !order.paused_at,
    resume: Boolean(order.paused_at),
    migrate: canMove && !held && phase(order) !== 'Compensating',
    amend: order.state === 'Error' && phase(order) !== 'Compensating' &&
      !order.steps.some((step) => step.state === 'Processing'),
  };
  return Object.keys(sensible).filter((name) => sensible[name]);
}
