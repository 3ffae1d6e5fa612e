// Documents as they change, by one stream of server-sent events for the whole page: a browser opens few connections to
// a host. While nobody looks at the page there is none.

const ROOT = new URL("../heddle/v1/", document.baseURI);
const GATHER_MS = 30; // a view asks for its documents one after another
const AGAIN_MS = 30_000;
const SILENT_MS = 15_000; // the server says that it is alive every ten seconds

/** By address: `{ document, heard, listeners }`; `heard` is when the stream last told of it (ms), 0 for never. */
const watched = new Map();
let stream = null;
let opening = 0;

/** A member of its own: somebody may have named a thing `__proto__`. */
const own = (holder, name) => (Object.hasOwn(holder, name) ? holder[name] : undefined);

/** What a patch of RFC 6902 makes of a document; of its operations those that the server writes. */
export function applied(before, patch) {
  const whole = { "": structuredClone(before) };
  for (const { op, path, value } of patch) {
    const names = path.split("/").map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = names.pop();
    const at = names.reduce(own, whole);
    if (!Array.isArray(at)) {
      if (op === "remove") delete at[last];
      else Object.defineProperty(at, last, { value, writable: true, enumerable: true, configurable: true });
    } else if (op === "remove") at.splice(Number(last), 1);
    else if (op === "replace") at[Number(last)] = value;
    else at.splice(last === "-" ? at.length : Number(last), 0, value);
  }
  return whole[""];
}

function tell(name, told) {
  const one = watched.get(name);
  if (!one) return;
  one.heard = Date.now();
  for (const listener of one.listeners) listener({ ...told, at: one.heard });
}

function hear(data, documentOf) {
  const told = JSON.parse(data);
  const one = watched.get(told.watch);
  if (!one) return;
  one.document = documentOf(told, one);
  tell(told.watch, { data: one.document, error: "" });
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
  stream.addEventListener("state", (event) => hear(event.data, (told) => told.document));
  stream.addEventListener("change", (event) => hear(event.data, (told, one) => applied(one.document, told.patch)));
  stream.addEventListener("trouble", (event) => {
    const { watch, message } = JSON.parse(event.data);
    tell(watch, { error: message });
  });
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

/** Tell a listener of a document's changes, as `{ data?, error?, at }`; returns what ends that. */
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
    left.listeners.delete(listener);
    if (left.listeners.size) return;
    watched.delete(name);
    openSoon();
  };
}

/** Whether the stream tells of a document now, so that nobody need ask for it. */
export const isTold = (name) => Date.now() - (watched.get(name)?.heard ?? 0) < SILENT_MS;
