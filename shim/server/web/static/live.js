// Documents as they change, by one stream of server-sent events for the whole page: a browser opens few connections to
// a host. While nobody looks at the page there is none.

import { heard } from "./patches.js";

const ROOT = new URL("../heddle/v1/", document.baseURI);
const GATHER_MS = 30; // a view asks for its documents one after another
const AGAIN_MS = 30_000;
const SILENT_MS = 15_000; // the server says that it is alive every ten seconds

/** @typedef {(news: { data?: any, error?: string, at: number }) => void} Listener */
/** `heard` is when the stream last told of it (ms), 0 for never. @typedef {{ document: any, heard: number, listeners: Set<Listener> }} Watched */

/** @type {Map<string, Watched>} */
const watched = new Map();
/** @type {EventSource | null} */
let stream = null;
let opening = 0;

/**
 * @param {string} name
 * @param {{ data?: any, error?: string }} news
 */
function tell(name, news) {
  const one = watched.get(name);
  if (!one) return;
  one.heard = Date.now();
  for (const listener of one.listeners) listener({ ...news, at: one.heard });
}

/** @param {MessageEvent} event */
function hear(event) {
  const told = JSON.parse(event.data);
  const one = watched.get(told.watch);
  if (!one) return;
  const { document, news } = heard(one.document, event.type, told);
  one.document = document;
  tell(told.watch, news);
}

function close() {
  clearTimeout(opening);
  stream?.close();
  stream = null;
  for (const one of watched.values()) one.heard = 0;
}

function open() {
  close();
  if (document.hidden || !watched.size) return;
  const address = new URL("live", ROOT);
  for (const name of [...watched.keys()].sort()) address.searchParams.append("watch", name);
  stream = new EventSource(address);
  for (const kind of ["state", "change", "trouble"]) stream.addEventListener(kind, hear);
  stream.addEventListener("alive", () => {
    for (const name of watched.keys()) tell(name, {});
  });
  stream.addEventListener("error", () => {
    for (const one of watched.values()) one.heard = 0;
    if (stream?.readyState === EventSource.CLOSED) opening = setTimeout(open, AGAIN_MS);
  });
}

function openSoon() {
  clearTimeout(opening);
  opening = setTimeout(open, GATHER_MS);
}

document.addEventListener("visibilitychange", () => (document.hidden ? close() : openSoon()));

/**
 * Tell a listener of a document's changes; returns what ends that.
 * @param {string} name
 * @param {Listener} listener
 */
export function watch(name, listener) {
  const one = watched.get(name);
  if (one) {
    one.listeners.add(listener);
    if (one.heard) listener({ data: one.document, error: "", at: one.heard });
  } else {
    watched.set(name, { document: null, heard: 0, listeners: new Set([listener]) });
    openSoon();
  }
  return () => {
    const left = watched.get(name);
    left?.listeners.delete(listener);
    if (left?.listeners.size) return;
    watched.delete(name);
    openSoon();
  };
}

/** Whether the stream tells of a document now, so that nobody need ask for it. @param {string} name */
export const isTold = (name) => Date.now() - (watched.get(name)?.heard ?? 0) < SILENT_MS;
