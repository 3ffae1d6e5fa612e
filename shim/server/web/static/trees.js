// Queues as a tree: leaf queues as they are told, and above them the sums of what is below.

/** @typedef {import("./types.js").Queue} Queue */
/** @typedef {import("./types.js").QueuePart} QueuePart */
/** @typedef {Queue & { depth: number, isParent: boolean }} TreeRow */

/**
 * The queues of clusters, with the shares of those that the policy names; and those that no cluster has.
 * @param {Queue[]} queues
 * @param {Queue[]} shares
 * @returns {Queue[]}
 */
export function merged(queues, shares) {
  const found = new Map(queues.map((each) => [each.queue, { ...each }]));
  for (const share of shares) {
    const known = found.get(share.queue) ?? { queue: share.queue, parts: [] };
    found.set(share.queue, { ...known, ...share, parts: known.parts, used_part: share.used });
  }
  return [...found.values()].sort(byPath);
}

/**
 * @param {Queue} one
 * @param {Queue} other
 */
function byPath(one, other) {
  const [left, right] = [one.queue.split("."), other.queue.split(".")];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    if (left[at] !== right[at]) return left[at] < right[at] ? -1 : 1;
  }
  return left.length - right.length;
}

/** @param {string} path */
export const parentOf = (path) => path.slice(0, Math.max(0, path.lastIndexOf(".")));

const SUMS = /** @type {const} */ (["used_mib", "capacity_mib", "pending_mib", "applications"]);

/**
 * Parents before what is below them, each with its depth. What a parent has in the clusters is the sum of its leaves.
 * @param {Queue[]} queues
 * @returns {TreeRow[]}
 */
export function treeOf(queues) {
  const known = new Map(queues.map((each) => [each.queue, each]));
  const parents = new Set(queues.flatMap((each) => ancestors(each.queue)));
  for (const path of parents) {
    const leaves = queues.filter((each) => each.queue.startsWith(`${path}.`) && !parents.has(each.queue));
    known.set(path, { ...summed(leaves), ...known.get(path), queue: path, parts: partsOf(leaves) });
  }
  return [...known.values()]
    .sort(byPath)
    .map((each) => ({ ...each, depth: each.queue.split(".").length - 1, isParent: parents.has(each.queue) }));
}

/** @param {string} path */
function ancestors(path) {
  /** @type {string[]} */
  const found = [];
  for (let above = parentOf(path); above; above = parentOf(above)) found.push(above);
  return found;
}

/** @param {Queue[]} leaves */
function summed(leaves) {
  const told = leaves.filter((each) => each.used_mib !== undefined);
  if (!told.length) return {};
  return Object.fromEntries(SUMS.map((name) => [name, told.reduce((sum, each) => sum + (each[name] ?? 0), 0)]));
}

/**
 * @param {Queue[]} leaves
 * @returns {QueuePart[]}
 */
function partsOf(leaves) {
  /** @type {Map<string, QueuePart>} */
  const found = new Map();
  for (const part of leaves.flatMap((each) => each.parts)) {
    const sum = found.get(part.cluster) ?? { ...part, used_mib: 0, capacity_mib: 0, pending_mib: 0, applications: 0 };
    sum.used_mib += part.used_mib;
    sum.capacity_mib += part.capacity_mib;
    sum.pending_mib += part.pending_mib;
    sum.applications += part.applications;
    if (sum.state !== part.state) sum.state = "";
    found.set(part.cluster, sum);
  }
  return [...found.values()];
}

/** @typedef {{ used: number, pending: number, capacity: number }} Amount */
/** @typedef {{ memory: Amount, cores: Amount }} Amounts Memory is in MiB. */

/**
 * What leaf queues of each cluster have, use and wait for.
 * @param {Queue[]} queues
 * @returns {Map<string, Amounts>}
 */
export function amountsOf(queues) {
  const found = new Map();
  for (const part of queues.flatMap((queue) => queue.parts)) {
    const { memory, cores } = found.get(part.cluster) ?? together([]);
    added(memory, part.used_mib, part.pending_mib, part.capacity_mib);
    added(cores, part.used_vcores, part.pending_vcores, part.capacity_vcores);
    found.set(part.cluster, { memory, cores });
  }
  return found;
}

/**
 * The amounts of several clusters in one.
 * @param {Iterable<Amounts>} each
 * @returns {Amounts}
 */
export function together(each) {
  const sum = { memory: { used: 0, pending: 0, capacity: 0 }, cores: { used: 0, pending: 0, capacity: 0 } };
  for (const { memory, cores } of each) {
    added(sum.memory, memory.used, memory.pending, memory.capacity);
    added(sum.cores, cores.used, cores.pending, cores.capacity);
  }
  return sum;
}

/** @param {Amount} sum @param {number} used @param {number} pending @param {number} capacity */
function added(sum, used, pending, capacity) {
  sum.used += used;
  sum.pending += pending;
  sum.capacity += capacity;
}

/**
 * Cores or memory: whichever is used more; that is what the next container waits for.
 * @param {Amounts} of
 * @returns {"memory" | "cores"}
 */
export const dominant = ({ memory, cores }) => (partOf(cores) > partOf(memory) ? "cores" : "memory");

/** @param {Amount} of */
export const partOf = ({ used, capacity }) => (capacity > 0 ? used / capacity : 0);

/**
 * The rows that are seen where some parents are closed.
 * @param {TreeRow[]} rows
 * @param {string[]} closed
 */
export const opened = (rows, closed) => rows.filter((row) => !closed.some((path) => row.queue.startsWith(`${path}.`)));
