// What a night shift looks at first: clusters, what is wrong and what to do, and how queues stand to their shares.

import { useLive } from "./api.js";
import { gathered } from "./findings.js";
import { count, memory, percent } from "./format.js";
import { Bar, kindOf, State, Table, Trouble } from "./parts.js";
import { may } from "./rights.js";
import { addressOf } from "./route.js";
import { SharesOverTime } from "./share_lines.js";
import { amountsOf, dominant, partOf, together } from "./trees.js";
import { html } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Cluster} ClusterTold */
/** @typedef {import("./types.js").Queue} Queue */
/** @typedef {import("./trees.js").Amounts} Amounts */
/** @typedef {import("./findings.js").Finding} Finding */

/** @param {{ route: import("./types.js").Route, caller: import("./types.js").Caller | null }} props */
export function Overview({ route, caller }) {
  const clusters = useLive("clusters", 2000);
  const queues = useLive("queues", 4000);
  const shares = useLive("shares", 4000);
  const applications = useLive("console/applications?limit=1", 4000);
  const amounts = amountsOf(queues.data?.queues ?? []);
  /** @type {ClusterTold[]} */
  const shown = clusters.data?.clusters ?? [];
  return html`<h1>Overview</h1>
    <${Trouble} error=${clusters.error} at=${clusters.at} />
    <${Counts} told=${applications.data} clusters=${shown} shares=${shares.data?.queues ?? []} amounts=${amounts} />
    ${may(caller, "diagnose") && html`<${WhatIsWrong} />`}
    <h2>Clusters</h2>
    <div class="cards">
      ${shown.map((each) => html`<${Cluster} key=${each.id} of=${each} amount=${amounts.get(each.id)} isOld=${Boolean(clusters.error)} />`)}
    </div>
    <h2>Queues: used, and what they are entitled to</h2>
    <${Shares} told=${shares} route=${route} />`;
}

/** The doctor's findings, for who may see them. */
function WhatIsWrong() {
  const doctor = useLive("doctor", 15000);
  return html`<h2>What is wrong now</h2>
    <${Trouble} error=${doctor.error} at=${doctor.at} />
    <${Findings} findings=${doctor.data?.findings} />`;
}

/**
 * The federation in six numbers, each a way to where more is told.
 * @param {{ told: any, clusters: ClusterTold[], shares: Queue[], amounts: Map<string, Amounts> }} props
 */
function Counts({ told, clusters, shares, amounts }) {
  if (!told) return html`<p class="note">Asking…</p>`;
  const sum = together(amounts.values());
  const states = Object.entries(/** @type {Record<string, number>} */ (told.states)).sort(
    (one, other) => other[1] - one[1],
  );
  const waiting = shares.reduce((total, each) => total + (each.waiting ?? 0), 0);
  const preempted = shares.reduce((total, each) => total + (each.preempted ?? 0), 0);
  const usable = clusters.filter((each) => kindOf(each.state) === "good").length;
  return html`<div class="tiles">
      <a href=${addressOf("clusters")}><b>${usable} of ${clusters.length}</b> clusters in service</a>
      <a href=${addressOf("queues")}>${used(sum)}</a>
      <a href=${addressOf("applications")}><b>${count(told.total)}</b> applications</a>
      <a href=${addressOf("queues")}><b>${count(waiting)}</b> wait for their queue's turn</a>
      <a href=${addressOf("queues")}><b>${count(preempted)}</b> containers preempted</a>
    </div>
    <p class="states">${states.map(
      ([state, number]) =>
        html`<a href=${addressOf("applications", "", new URLSearchParams({ where: `state=${state}` }))}>${count(number)} ${state.toLowerCase()}</a>`,
    )}</p>`;
}

/**
 * What is used most first: with all cores in use it does not matter that memory is left.
 * @param {Amounts} sum
 */
function used(sum) {
  const told = {
    cores: [`${count(sum.cores.used)} of ${count(sum.cores.capacity)}`, " cores"],
    memory: [percent(partOf(sum.memory)), ` of ${memory(sum.memory.capacity) || "no memory"}`],
  };
  const [first, second] = dominant(sum) === "cores" ? [told.cores, told.memory] : [told.memory, told.cores];
  return html`<b>${first[0]}</b>${first[1]} and ${second.join("")} used`;
}

/** @param {{ of: ClusterTold, amount?: Amounts, isOld: boolean }} props */
function Cluster({ of, amount, isOld }) {
  const most = amount ? dominant(amount) : "memory";
  return html`<section class=${isOld ? "card old" : "card"}>
    <h3><a href=${addressOf("clusters")}>${of.id}</a> <${State} of=${of.state} /></h3>
    ${amount && html`<${Bar} used=${amount[most].used} of=${amount[most].capacity} label=${`${most} used in ${of.id}`} />`}
    <dl>
      ${amount && html`<dt>Cores</dt><dd>${count(amount.cores.used)} of ${count(amount.cores.capacity)}</dd>`}
      ${amount && html`<dt>Memory</dt><dd>${memory(amount.memory.used)} of ${memory(amount.memory.capacity)}</dd>`}
      ${amount && amount.memory.pending > 0 && html`<dt>Waiting</dt><dd>${count(amount.cores.pending)} ${amount.cores.pending === 1 ? "core" : "cores"}, ${memory(amount.memory.pending)}</dd>`}
      <dt>Nodes</dt><dd>${of.nodes}</dd>
      <dt>Live applications</dt><dd>${of.running}</dd>
      <dt>Heard of</dt><dd>${of.age_s === null || of.is_heard === false ? "never" : `${of.age_s.toFixed(1)} s ago`}</dd>
      <dt>Hadoop</dt><dd>${of.version}</dd>
    </dl>
    ${of.failure && html`<p class="trouble">${of.failure}</p>`}
  </section>`;
}

/** @param {{ findings?: Finding[] }} props */
function Findings({ findings }) {
  if (!findings) return html`<p class="note">Asking…</p>`;
  /** @type {import("./types.js").Column<Finding>[]} */
  const columns = [
    ["Level", (row) => html`<${State} of=${row.level} />`],
    ["Where", (row) => row.cluster],
    ["What", (row) => row.message],
    ["What to do", (row) => row.advice],
  ];
  return html`<${Table} label="Findings" columns=${columns} rows=${gathered(findings)}
    empty="Nothing that the doctor knows of." />`;
}

/** @param {{ told: import("./types.js").Told<any>, route: import("./types.js").Route }} props */
function Shares({ told, route }) {
  /** @type {Queue[]} */
  const rows = (told.data?.queues ?? []).filter((/** @type {Queue} */ each) => each.entitlement !== undefined);
  if (told.data && !rows.length) return html`<p class="note">No queue has a weight: shares are each cluster's own.</p>`;
  /** @type {import("./types.js").Column<Queue>[]} */
  const columns = [
    ["Queue", (row) => html`<a href=${addressOf("queues", row.queue)}>${row.queue}</a>`],
    [
      "Use, and a mark at what it is entitled to",
      (row) => html`<${Bar} used=${row.used} of=${1} mark=${row.entitlement} label=${`used by ${row.queue}`} />`,
    ],
    ["Used", (row) => percent(row.used), true],
    ["Entitled", (row) => percent(row.entitlement), true],
    ["Waiting", (row) => row.waiting, true],
    ["Preempted", (row) => row.preempted, true],
  ];
  return html`<${Trouble} error=${told.error} at=${told.at} />
    <${Table} label="Shares" columns=${columns} rows=${rows} empty="Asking…" />
    <${SharesOverTime} told=${told} queues=${[]} route=${route} />`;
}
