// Queues over all clusters, as a tree: shares, what they borrow, lend and wait for, on each cluster and over time.

import { useLive, useRead } from "./api.js";
import { Legend } from "./charts.js";
import { count, memory, percent } from "./format.js";
import { Bar, colourOf, State, Table, Trouble } from "./parts.js";
import { addressOf, changed } from "./route.js";
import { SharesOverTime } from "./share_lines.js";
import { merged, opened, treeOf } from "./trees.js";
import { html } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Route} Route */
/** @typedef {import("./trees.js").TreeRow} TreeRow */
/** @typedef {import("./types.js").QueuePart} QueuePart */
/** @typedef {{ user: string, given_mib_s: number, received_mib_s: number }} UserCredits */
/** @template T @typedef {import("./types.js").Column<T>} Column */

/** What a percentage of a queue is of: without it those of several queues seem to be too many. */
const PARTS_NOTE =
  "Parts are of all clusters together: of cores or of memory, whichever is more for the queue. So those of several queues can sum up to more than 100 %. Entitled is what a queue may have now, Share what its weight gives it when all want theirs.";

/** @param {{ route: Route }} props */
export function Queues({ route }) {
  const queues = useLive("queues", 3000);
  const shares = useLive("shares", 3000);
  const rows = treeOf(merged(queues.data?.queues ?? [], shares.data?.queues ?? []));
  const item = route.item;
  const shown = item ? rows.filter((each) => each.queue === item || each.queue.startsWith(`${item}.`)) : rows;
  const clusters = [...new Set(rows.flatMap((each) => each.parts.map((part) => part.cluster)))].sort();
  const one = shown.find((each) => each.queue === item);
  const named = item && one?.entitlement !== undefined ? [item] : [];
  const isAltruistic = rows.some((row) => row.given_s !== undefined);
  const isShared = rows.some((row) => row.entitlement !== undefined);
  const columns = columnsFor(route, clusters, isAltruistic);
  return html`<h1>Queues${item ? `: ${item}` : ""}</h1>
    ${item && html`<p><a href=${addressOf("queues")}>All queues</a>, <a href=${addressOf("applications", "", new URLSearchParams({ where: `queue=${item}` }))}>its applications</a></p>`}
    <${Trouble} error=${queues.error || shares.error} at=${queues.at} />
    ${isShared && html`<p class="note">${PARTS_NOTE}</p>`}
    <${Table} label="Queues" rows=${opened(shown, route.params.getAll("closed"))} empty=${queues.data ? "None." : "Asking…"} columns=${columns} />
    <${Legend} names=${clusters} />
    ${one && html`<h2>On each cluster</h2><${Table} label="Clusters" rows=${one.parts} columns=${PARTS} />`}
    ${isAltruistic && !item && html`<${Users} />`}
    <h2>Shares over time</h2>
    ${shares.data && !shares.data.queues.length && html`<p class="note">No queue has a weight: shares are each cluster's own.</p>`}
    <${SharesOverTime} key=${item} told=${shares} queues=${named} route=${route} />
    <p><a href=${addressOf("policies")}>The policy, its history, and what another one would change</a></p>`;
}

/**
 * @param {Route} route
 * @param {string[]} clusters
 * @param {boolean} hasCredits
 * @returns {Column<TreeRow>[]}
 */
function columnsFor(route, clusters, hasCredits) {
  const closed = route.params.getAll("closed");
  const toggled = (/** @type {string} */ path) =>
    closed.includes(path) ? closed.filter((each) => each !== path) : [...closed, path];
  /** @type {Column<TreeRow>} */
  const first = [
    "Queue",
    (row) => html`<span class="tree" style=${{ paddingLeft: `${Math.min(row.depth, 12)}rem` }}>
      ${
        row.isParent &&
        html`<button class="plain twist" aria-expanded=${!closed.includes(row.queue)} aria-label=${`What is below ${row.queue}`}
        onClick=${() => location.replace(changed(route, { closed: toggled(row.queue) }))}>${closed.includes(row.queue) ? "▸" : "▾"}</button>`
      }
      <a href=${addressOf("queues", row.queue)} title=${row.queue}>${row.queue.split(".").at(-1)}</a></span>`,
  ];
  /** @type {Column<TreeRow>} */
  const use = [
    "Use",
    (row) => {
      const segments = row.parts.map((part) => ({
        name: `${part.cluster}: ${memory(part.used_mib)}`,
        amount: part.used_mib,
        colour: colourOf(clusters.indexOf(part.cluster)),
      }));
      const isShared = row.entitlement !== undefined;
      return html`<${Bar} used=${isShared ? row.used_part : row.used_mib} of=${isShared ? 1 : row.capacity_mib} mark=${row.entitlement}
        segments=${segments} label=${`used by ${row.queue}`} />`;
    },
  ];
  return [first, use, ...AMOUNTS, ...(hasCredits ? CREDITS : []), REASON];
}

/** @type {Column<TreeRow>[]} */
const AMOUNTS = [
  ["Used", (row) => percent(row.used_part), true],
  ["Entitled", (row) => percent(row.entitlement), true],
  ["Share", (row) => percent(row.share), true],
  ["Weight", (row) => row.weight, true],
  ["Borrowed", (row) => percent(row.borrowed), true],
  ["Lent", (row) => percent(row.lent), true],
  ["Owed", (row) => (row.is_owed ? html`<span class="state bad">owed</span>` : "")],
  ["Waiting", (row) => row.waiting, true],
  ["Memory", (row) => (row.used_mib === undefined ? "" : memory(row.used_mib)), true],
  ["Pending", (row) => ((row.pending_mib ?? 0) > 0 ? memory(row.pending_mib) : ""), true],
  ["Preempted", (row) => row.preempted, true],
  ["Applications", (row) => count(row.applications ?? row.running), true],
];

/** Seconds of a queue's whole share that its jobs put off for others, and held beyond theirs. @type {Column<TreeRow>[]} */
const CREDITS = [
  ["Gave", (row) => (row.given_s === undefined ? "" : `${row.given_s} s`), true],
  ["Received", (row) => (row.received_s === undefined ? "" : `${row.received_s} s`), true],
];

/** What users' jobs gave and received, over all queues: administrators see everybody, others themselves. */
function Users() {
  const used = useRead("heddle/v1/usage?by=user", 30_000);
  /** @type {UserCredits[]} */
  const told = used.data?.usage ?? [];
  const rows = told.filter((row) => row.given_mib_s > 0 || row.received_mib_s > 0);
  return html`<h2>Given and received by users</h2>
    <${Trouble} error=${used.error} at=${used.at} />
    <${Table} label="Users" rows=${rows} empty=${used.data ? "None." : "Asking…"} columns=${USERS} />`;
}

/** @type {Column<UserCredits>[]} */
const USERS = [
  ["User", (row) => row.user],
  ["Gave", (row) => `${row.given_mib_s} MiB s`, true],
  ["Received", (row) => `${row.received_mib_s} MiB s`, true],
];

/** @type {Column<TreeRow>} */
const REASON = ["Why it waits", (row) => row.reason];

/** @type {Column<QueuePart>[]} */
const PARTS = [
  ["Cluster", (row) => row.cluster],
  ["State", (row) => html`<${State} of=${row.state} />`],
  ["Used", (row) => memory(row.used_mib), true],
  ["Capacity", (row) => memory(row.capacity_mib), true],
  ["Pending", (row) => memory(row.pending_mib), true],
  ["Applications", (row) => row.applications, true],
];
