// What events of the stream make of a document: the state that the console holds of it.

/**
 * A member of its own: somebody may have named a thing `__proto__`.
 * @param {any} holder
 * @param {string} name
 */
const own = (holder, name) => (Object.hasOwn(holder, name) ? holder[name] : undefined);

/**
 * What a patch of RFC 6902 makes of a document; of its operations those that the server writes.
 * @param {any} before
 * @param {{ op: string, path: string, value?: any }[]} patch
 */
export function applied(before, patch) {
  const whole = { "": structuredClone(before) };
  for (const { op, path, value } of patch) {
    const names = path.split("/").map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = names.pop() ?? "";
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

/**
 * What an event tells of a document that was `before`: the document as it is now, and what listeners are told.
 * @param {any} before
 * @param {string} kind `state`, `change` or `trouble`
 * @param {any} told The event's data
 * @returns {{ document: any, news: { data?: any, error: string } }}
 */
export function heard(before, kind, told) {
  if (kind === "trouble") return { document: before, news: { error: told.message } };
  const document = kind === "change" ? applied(before, told.patch) : told.document;
  return { document, news: { data: document, error: "" } };
}
