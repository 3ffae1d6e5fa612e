// Containers of an application as bars on a timeline: those that run, and those that were seen and have gone.

/** @typedef {import("./types.js").Bar} Bar */
/** @typedef {{ containerId: string, startedTime?: number | string, finishedTime?: number | string, assignedNodeId?: string, allocatedMB?: number | string }} Container */
/** @typedef {{ id: string, cluster: string, node: string, from: number, to: number, memory_mib: number }} Seen */

const MOST_SEEN = 1000;

/**
 * What is known of containers after they were listed once more: one that is listed no longer ended meanwhile.
 * @param {Map<string, Seen>} before
 * @param {Container[]} listed
 * @param {{ home: string, elsewhere: Record<string, string> }} places
 * @param {number} now ms since the epoch
 * @returns {Map<string, Seen>}
 */
export function seen(before, listed, places, now) {
  const after = new Map(before);
  const live = new Set(listed.map((each) => each.containerId));
  for (const one of before.values()) if (one.to === 0 && !live.has(one.id)) after.set(one.id, { ...one, to: now });
  for (const each of listed) {
    if (!after.has(each.containerId) && after.size >= MOST_SEEN) break;
    const known = after.get(each.containerId);
    const elsewhere = Object.hasOwn(places.elsewhere, each.containerId) ? places.elsewhere[each.containerId] : "";
    after.set(each.containerId, {
      id: each.containerId,
      cluster: elsewhere || known?.cluster || places.home,
      node: each.assignedNodeId ?? known?.node ?? "",
      from: numberOf(each.startedTime) || known?.from || now,
      to: numberOf(each.finishedTime),
      memory_mib: numberOf(each.allocatedMB),
    });
  }
  return after;
}

/**
 * Bars by cluster and start, of containers that lasted into a range.
 * @param {Iterable<Seen>} containers
 * @param {number} now
 * @returns {Bar[]}
 */
export function barsOf(containers, now) {
  return [...containers]
    .sort((one, other) => compare(one.cluster, other.cluster) || one.from - other.from || compare(one.id, other.id))
    .map((each) => ({
      name: shortOf(each.id),
      group: each.cluster,
      from: each.from,
      start: each.from,
      to: each.to || now,
      isOpen: !each.to,
      title: `${each.id} on ${each.node || "a node"} of ${each.cluster}, ${each.memory_mib} MiB`,
    }));
}

/** ResourceManagers write numbers of containers as texts: "0" is no end. @param {number | string | undefined} told */
const numberOf = (told) => Number(told) || 0;

/** @param {string} one @param {string} other */
const compare = (one, other) => (one < other ? -1 : Number(one > other));

/** The attempt and the number of a container: what tells those of one application apart. @param {string} id */
const shortOf = (id) => id.split("_").slice(-2).join("_");
