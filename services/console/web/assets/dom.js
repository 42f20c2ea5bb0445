// SPDX-License-Identifier: Apache-2.0
// Elements from values. Data only ever becomes text nodes, attributes and properties: nothing here,
// and nothing that uses it, parses data as HTML.

const SVG = 'http://www.w3.org/2000/svg';
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'indeterminate', 'selected', 'hidden']);

// One listener for each type, which calls the handler that the latest drawing gave.
function listen(node, handlers) {
  node.reeveOn = node.reeveOn || {};
  for (const [type, handler] of Object.entries(handlers)) {
    if (!(type in node.reeveOn)) node.addEventListener(type, (event) => node.reeveOn[type]?.(event));
    node.reeveOn[type] = handler;
  }
}

function append(node, child) {
  if (Array.isArray(child)) child.forEach((each) => append(node, each));
  else if (child instanceof Node) node.append(child);
  else if (child !== null && child !== undefined && child !== false) node.append(String(child));
}

function build(node, props, children) {
  node.reeveProps = {};
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined) continue;
    if (name === 'on') listen(node, value);
    else if (PROPERTIES.has(name)) node[name] = node.reeveProps[name] = value;
    else if (value !== false) node.setAttribute(name, value === true ? '' : String(value));
  }
  children.forEach((child) => append(node, child));
  // A select has its value only once it has its options.
  if (node.reeveProps.value !== undefined && node.localName === 'select')
    node.value = node.reeveProps.value;
  return node;
}

export const h = (tag, props, ...children) => build(document.createElement(tag), props, children);
export const s = (tag, props, ...children) =>
  build(document.createElementNS(SVG, tag), props, children);

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute('data-key') : null;
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
}

function patchNode(old, made) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== made.data) old.data = made.data;
    return;
  }
  for (const { name } of [...old.attributes])
    // An element that the reader opened stays open.
    if (!made.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  for (const { name, value } of made.attributes)
    if (old.getAttribute(name) !== value && !(name === 'open' && old.localName === 'details'))
      old.setAttribute(name, value);
  listen(old, made.reeveOn || {});
  for (const type of Object.keys(old.reeveOn)) if (!made.reeveOn?.[type]) old.reeveOn[type] = null;
  patch(old, [...made.childNodes]);
  // What a reader typed stays, unless the drawing wants something new.
  const before = old.reeveProps || {};
  for (const [name, value] of Object.entries(made.reeveProps || {}))
    if (before[name] !== value || name !== 'value') old[name] = value;
  old.reeveProps = made.reeveProps;
}

// Makes the children of `parent` look like `made`, and keeps the nodes that can stay: with them stay
// the focus, the selection, what is open and how far it is scrolled.
export function patch(parent, made) {
  const wanted = [];
  const collect = (child) => {
    if (Array.isArray(child)) child.forEach(collect);
    else if (child instanceof Node) wanted.push(child);
    else if (child !== null && child !== undefined && child !== false)
      wanted.push(document.createTextNode(String(child)));
  };
  collect(made);
  const keyed = new Map();
  for (const child of parent.childNodes) if (keyOf(child) !== null) keyed.set(keyOf(child), child);
  let at = parent.firstChild;
  for (const next of wanted) {
    const same = keyed.get(keyOf(next));
    if (same && same !== at && alike(same, next)) {
      parent.insertBefore(same, at);
      patchNode(same, next);
    } else if (at && alike(at, next)) {
      const following = at.nextSibling;
      patchNode(at, next);
      at = following;
    } else {
      parent.insertBefore(next, at);
    }
  }
  while (at) {
    const following = at.nextSibling;
    at.remove();
    at = following;
  }
}

let quiet = 0;
// Tells everyone, also those who listen to the page.
export function say(text) {
  const line = document.getElementById('said');
  line.textContent = text;
  clearTimeout(quiet);
  quiet = setTimeout(() => (line.textContent = ''), 4000);
}
