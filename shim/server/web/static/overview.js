// What a night shift looks at first: clusters, what is wrong and what to do, and how queues stand to their shares.

import { html, useEffect, useRef } from "./vendor/htm-preact.js";
import UPlot from "./vendor/uplot.js";
import { useLive } from "./api.js";
import { Bar, memory, percent, State, Table, Trouble } from "./parts.js";
import { addressOf } from "./route.js";

const MOST_SAMPLES = 1200;
const MOST_LINES = 6;
const COLOURS = ["#4a86cf", "#d08a2e", "#4f9e58", "#b2559b", "#8a6fd1", "#c0524a"];

export function Overview() {
  const clusters = useLive("clusters", 2000);
  const queues = useLive("queues", 4000);
  const shares = useLive("shares", 4000);
  const doctor = useLive("doctor", 15000);
  const applications = useLive("console/applications?limit=1", 4000);
  const amounts = amountsOf(queues.data?.queues ?? []);
  return html`<h1>Overview</h1>
    <${Trouble} error=${clusters.error} at=${clusters.at} />
    <${Counts} told=${applications.data} />
    <div class="cards">
      ${(clusters.data?.clusters ?? []).map((each) => html`<${Cluster} key=${each.id} of=${each} amount=${amounts.get(each.id)} />`)}
    </div>
    <h2>What is wrong now</h2>
    <${Trouble} error=${doctor.error} at=${doctor.at} />
    <${Findings} findings=${doctor.data?.findings} />
    <h2>Queues: used, and what they are entitled to</h2>
    <${Shares} told=${shares} />`;
}

function Counts({ told }) {
  if (!told) return html`<p class="note">Asking…</p>`;
  const states = Object.entries(told.states).sort((one, other) => other[1] - one[1]);
  return html`<p>
    <a href=${addressOf("applications")}>${told.total} applications</a>${states.map(
      ([state, count]) =>
        html`, <a href=${addressOf("applications", "", new URLSearchParams({ where: `state=${state}` }))}>${count} ${state.toLowerCase()}</a>`,
    )}
  </p>`;
}

/** What leaf queues of each cluster have, use and wait for, in MiB. */
function amountsOf(queues) {
  const found = new Map();
  for (const part of queues.flatMap((queue) => queue.parts)) {
    const sum = found.get(part.cluster) ?? { used: 0, pending: 0, capacity: 0 };
    sum.used += part.used_mib;
    sum.pending += part.pending_mib;
    sum.capacity += part.capacity_mib;
    found.set(part.cluster, sum);
  }
  return found;
}

function Cluster({ of, amount }) {
  return html`<section class="card">
    <h2><a href=${addressOf("clusters")}>${of.id}</a> <${State} of=${of.state} /></h2>
    ${amount && html`<${Bar} used=${amount.used} of=${amount.capacity} label=${`memory used in ${of.id}`} />`}
    <dl>
      ${amount && html`<dt>Memory</dt><dd>${memory(amount.used)} of ${memory(amount.capacity)}</dd>`}
      ${amount && amount.pending > 0 && html`<dt>Waiting</dt><dd>${memory(amount.pending)}</dd>`}
      <dt>Nodes</dt><dd>${of.nodes}</dd>
      <dt>Live applications</dt><dd>${of.running}</dd>
      <dt>Heard of</dt><dd>${of.age_s === null ? "never" : `${of.age_s.toFixed(1)} s ago`}</dd>
      <dt>Hadoop</dt><dd>${of.version}</dd>
    </dl>
    ${of.failure && html`<p class="trouble">${of.failure}</p>`}
  </section>`;
}

function Findings({ findings }) {
  if (!findings) return html`<p class="note">Asking…</p>`;
  const columns = [
    ["Level", (row) => html`<${State} of=${row.level} />`],
    ["Where", (row) => row.cluster],
    ["What", (row) => row.message],
    ["What to do", (row) => row.advice],
  ];
  return html`<${Table} columns=${columns} rows=${findings.filter((each) => each.level !== "ok")} empty="Nothing that the doctor knows of." />`;
}

function Shares({ told }) {
  const rows = (told.data?.queues ?? []).filter((each) => each.entitlement !== undefined);
  if (told.data && !rows.length) return html`<p class="note">No queue has a weight: shares are each cluster's own.</p>`;
  const columns = [
    ["Queue", (row) => html`<a href=${addressOf("queues", row.queue)}>${row.queue}</a>`],
    ["", (row) => html`<${Bar} used=${row.used} of=${1} mark=${row.entitlement} label=${`used by ${row.queue}`} />`],
    ["Used", (row) => percent(row.used), true],
    ["Entitled", (row) => percent(row.entitlement), true],
    ["Waiting", (row) => row.waiting, true],
    ["Preempted", (row) => row.preempted, true],
  ];
  return html`<${Trouble} error=${told.error} at=${told.at} />
    <${Table} columns=${columns} rows=${rows} empty="Asking…" />
    <${History} told=${told} />`;
}

/** Used parts of the largest queues, since the page was opened. */
function History({ told }) {
  const place = useRef(null);
  const kept = useRef({ names: [], plot: null, data: [] });
  useEffect(() => {
    const rows = (told.data?.queues ?? []).filter((each) => each.used !== undefined);
    if (!rows.length || !place.current) return;
    const known = kept.current;
    if (!known.plot) {
      known.names = [...rows].sort((one, other) => other.entitlement - one.entitlement).slice(0, MOST_LINES).map((each) => each.queue);
      known.data = [[], ...known.names.map(() => [])];
      known.plot = plotOf(known.names, place.current);
    }
    known.data[0].push(told.at / 1000);
    known.names.forEach((name, number) => known.data[number + 1].push(100 * (rows.find((each) => each.queue === name)?.used ?? 0)));
    if (known.data[0].length > MOST_SAMPLES) known.data.forEach((each) => each.shift());
    known.plot.setData(known.data);
  }, [told.at]);
  useEffect(() => () => kept.current.plot?.destroy(), []);
  return html`<div ref=${place}></div>`;
}

function plotOf(names, place) {
  const ink = getComputedStyle(document.body).color;
  const axis = { stroke: ink, grid: { stroke: "#8883" }, ticks: { stroke: "#8886" } };
  const options = {
    width: Math.min(1100, place.clientWidth || 600),
    height: 220,
    scales: { y: { range: (_, __, most) => [0, Math.max(10, Math.ceil(most / 10) * 10)] } },
    axes: [axis, { ...axis, label: "% of the federation" }],
    series: [{}, ...names.map((name, number) => ({ label: name, stroke: COLOURS[number], width: 2 }))],
  };
  return new UPlot(options, [[], ...names.map(() => [])], place);
}
