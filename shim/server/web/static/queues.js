// Queues over all clusters: shares, what they borrow, lend and wait for; the policy that holds, and the ones before it.

import { html } from "./vendor/htm-preact.js";
import { useLive } from "./api.js";
import { Bar, memory, percent, Table, time, Trouble } from "./parts.js";
import { addressOf } from "./route.js";

export function Queues({ route }) {
  const queues = useLive("queues", 3000);
  const shares = useLive("shares", 3000);
  const history = useLive("policy/history", 20000);
  const byQueue = new Map((shares.data?.queues ?? []).map((each) => [each.queue, each]));
  const rows = merged(queues.data?.queues ?? [], byQueue);
  const shown = route.item ? rows.filter((each) => each.queue === route.item || each.queue.startsWith(`${route.item}.`)) : rows;
  const isAltruistic = rows.some((row) => row.given_s !== undefined);
  return html`<h1>Queues${route.item ? `: ${route.item}` : ""}</h1>
    ${route.item && html`<p><a href=${addressOf("queues")}>All queues</a>, <a
      href=${addressOf("applications", "", new URLSearchParams({ where: `queue=${route.item}` }))}>its applications</a></p>`}
    <${Trouble} error=${queues.error || shares.error} at=${queues.at} />
    <${Table} rows=${shown} empty=${queues.data ? "None." : "Asking…"} columns=${isAltruistic ? [...COLUMNS, ...CREDITS] : COLUMNS} />
    ${route.item && shown.length === 1 && html`<h2>On each cluster</h2><${Table} rows=${shown[0].parts} columns=${PARTS} />`}
    ${isAltruistic && !route.item && html`<${Users} />`}
    <h2>Policies, newest first</h2>
    <${Trouble} error=${history.error} at=${history.at} />
    <${Policies} versions=${history.data?.versions ?? []} />`;
}

/** Leaf queues of the clusters, with the shares of those that the policy names; and those that no cluster has. */
function merged(queues, shares) {
  const found = queues.map((each) => ({ ...each, ...shares.get(each.queue), used_part: shares.get(each.queue)?.used }));
  const known = new Set(queues.map((each) => each.queue));
  for (const [queue, share] of shares) if (!known.has(queue)) found.push({ parts: [], ...share, used_part: share.used });
  return found.sort((one, other) => (one.queue < other.queue ? -1 : 1));
}

const COLUMNS = [
  ["Queue", (row) => html`<a href=${addressOf("queues", row.queue)}>${row.queue}</a>`],
  ["Use", (row) =>
    row.entitlement === undefined
      ? html`<${Bar} used=${row.used_mib} of=${row.capacity_mib} label=${`memory used by ${row.queue}`} />`
      : html`<${Bar} used=${row.used_part} of=${1} mark=${row.entitlement} label=${`used by ${row.queue}`} />`],
  ["Memory", (row) => (row.used_mib === undefined ? "" : memory(row.used_mib)), true],
  ["Used", (row) => percent(row.used_part), true],
  ["Entitled", (row) => percent(row.entitlement), true],
  ["Share", (row) => percent(row.share), true],
  ["Weight", (row) => row.weight, true],
  ["Borrowed", (row) => percent(row.borrowed), true],
  ["Lent", (row) => percent(row.lent), true],
  ["Waiting", (row) => row.waiting, true],
  ["Pending", (row) => (row.pending_mib > 0 ? memory(row.pending_mib) : ""), true],
  ["Preempted", (row) => row.preempted, true],
  ["Applications", (row) => row.applications ?? row.running, true],
  ["Why it waits", (row) => row.reason],
];

/** Seconds of a queue's whole share that its jobs put off for others, and held beyond theirs. */
const CREDITS = [
  ["Gave", (row) => (row.given_s === undefined ? "" : `${row.given_s} s`), true],
  ["Received", (row) => (row.received_s === undefined ? "" : `${row.received_s} s`), true],
];

/** What users' jobs gave and received, over all queues: administrators see everybody, others themselves. */
function Users() {
  const used = useLive("usage?by=user", 30000);
  const rows = (used.data?.usage ?? []).filter((row) => row.given_mib_s > 0 || row.received_mib_s > 0);
  return html`<h2>Given and received by users</h2>
    <${Trouble} error=${used.error} at=${used.at} />
    <${Table} rows=${rows} label="Users" empty=${used.data ? "None." : "Asking…"} columns=${USERS} />`;
}

const USERS = [
  ["User", (row) => row.user],
  ["Gave", (row) => `${row.given_mib_s} MiB s`, true],
  ["Received", (row) => `${row.received_mib_s} MiB s`, true],
];

const PARTS = [
  ["Cluster", (row) => row.cluster],
  ["State", (row) => row.state],
  ["Used", (row) => memory(row.used_mib), true],
  ["Capacity", (row) => memory(row.capacity_mib), true],
  ["Pending", (row) => memory(row.pending_mib), true],
  ["Applications", (row) => row.applications, true],
];

function Policies({ versions }) {
  return versions.map(
    (each, number) => html`<details open=${number === 0}>
      <summary>Version ${each.version}${each.applied_by ? ` by ${each.applied_by}` : ""}${each.applied_at_ms ? `, ${time(each.applied_at_ms)}` : ""} ${each.note}</summary>
      <pre>${each.text}</pre>
    </details>`,
  );
}
