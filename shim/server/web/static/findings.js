// What the doctor finds, as a night shift reads it: the worst first, and what is the same in several clusters once.

/** @typedef {{ level: string, cluster: string, message: string, advice: string }} Finding */

const ORDER = ["critical", "error", "warning"];

/**
 * @param {Finding[]} findings
 * @returns {Finding[]} `cluster` names all that a finding is of
 */
export function gathered(findings) {
  /** @type {Map<string, Finding>} */
  const found = new Map();
  for (const each of findings) {
    if (each.level === "ok") continue;
    const key = JSON.stringify([each.level, each.message, each.advice]);
    const known = found.get(key);
    found.set(key, known ? { ...known, cluster: `${known.cluster}, ${each.cluster}` } : each);
  }
  const rank = (/** @type {Finding} */ each) => (ORDER.indexOf(each.level) + ORDER.length + 1) % (ORDER.length + 1);
  return [...found.values()].sort((one, other) => rank(one) - rank(other));
}
