// Shares of queues as lines over time.

/** @typedef {import("./types.js").Queue} Queue */
/** @typedef {import("./types.js").Line} Line */
/** @typedef {{ at_ms: number[], queues: { queue: string, used: (number | null)[], entitlement: (number | null)[] }[] }} History */

const MOST_QUEUES = 6;

/**
 * Lines of what was kept and of what was told after that.
 * @param {History | null} kept
 * @param {{ at: number, rows: Map<string, Queue> }[]} since
 * @param {number} fromMs
 */
export function linesOf(kept, since, fromMs) {
  const names = kept?.queues.map((each) => each.queue).slice(0, MOST_QUEUES) ?? [];
  if (!names.length) names.push(...largest(since.at(-1)?.rows));
  const last = kept?.at_ms.at(-1) ?? 0;
  const first = kept?.at_ms.findIndex((each) => each >= fromMs) ?? -1;
  const old = first < 0 ? [] : (kept?.at_ms.slice(first) ?? []);
  const later = since.filter((each) => each.at > last && each.at >= fromMs);
  const at = [...old, ...later.map((each) => each.at)].map((each) => each / 1000);
  /** @type {Line[]} */
  const lines = names.flatMap((name, colour) => {
    const series = kept?.queues.find((each) => each.queue === name);
    const values = (/** @type {"used" | "entitlement"} */ key) => [
      ...(first < 0 ? [] : (series?.[key].slice(first) ?? old.map(() => null))),
      ...later.map((each) => each.rows.get(name)?.[key] ?? null),
    ];
    const parts = (/** @type {(number | null)[]} */ some) => some.map((each) => (each === null ? null : 100 * each));
    return [
      { name, values: parts(values("used")), colour },
      { name: `${name}: entitled`, values: parts(values("entitlement")), colour, isDashed: true },
    ];
  });
  return { at, lines };
}

/** @param {Map<string, Queue> | undefined} rows */
const largest = (rows) =>
  [...(rows?.values() ?? [])]
    .filter((each) => each.entitlement !== undefined)
    .sort((one, other) => (other.entitlement ?? 0) - (one.entitlement ?? 0))
    .slice(0, MOST_QUEUES)
    .map((each) => each.queue);
