// Clusters and their nodes: a square for each node by its use; what operators may do to a cluster, shown before it is done.

import { html, useState } from "./vendor/htm-preact.js";
import { send, useLive } from "./api.js";
import { Confirm, memory, State, Table, Trouble } from "./parts.js";

const MOST_SQUARES = 3000;
const UP = new Set(["RUNNING", "DECOMMISSIONING"]);
const VERBS = ["cordon", "drain", "undrain"];

export function Clusters({ caller }) {
  const clusters = useLive("clusters", 2000);
  const nodes = useLive("console/nodes", 5000);
  const [ask, setAsk] = useState(null);
  const byCluster = new Map();
  for (const node of nodes.data?.nodes ?? []) {
    if (!byCluster.has(node.cluster)) byCluster.set(node.cluster, []);
    byCluster.get(node.cluster).push(node);
  }
  return html`<h1>Clusters and nodes</h1>
    <${Trouble} error=${clusters.error || nodes.error} at=${clusters.at} />
    ${(clusters.data?.clusters ?? []).map(
      (each) => html`<section key=${each.id}>
        <h2>${each.id} <${State} of=${each.state} />${each.admission === "open" ? "" : ` (${each.admission})`}</h2>
        <p class="note">Hadoop ${each.version}, ${each.scheduler}; heard of ${each.age_s === null ? "never" : `${each.age_s.toFixed(1)} s ago`}; ${each.running} live applications. <a rel="noreferrer noopener" href=${httpOnly(each.web)}>Its own pages</a></p>
        ${each.failure && html`<p class="trouble">${each.failure}</p>`}
        ${caller?.is_operator && html`<div class="row">${VERBS.map(
          (verb) => html`<button onClick=${() => look(each.id, verb, setAsk)}>${verb}…</button>`,
        )}</div>`}
        <${Heat} nodes=${byCluster.get(each.id) ?? []} />
      </section>`,
    )}
    <${Confirm} ask=${ask} close=${() => setAsk(null)} />`;
}

const httpOnly = (web) => {
  const first = String(web).split(",")[0];
  return /^https?:\/\//.test(first) ? first : undefined;
};

/** The dry run first: what it would leave running. */
async function look(cluster, verb, setAsk) {
  const path = `heddle/v1/clusters/${encodeURIComponent(cluster)}/${verb}`;
  const title = `${verb} ${cluster}`;
  try {
    const told = await send("POST", `${path}?dryRun=true`);
    const left = told.still_running.length;
    const text = `It is ${told.was} now. ${left} applications still run there${left ? `: ${told.still_running.slice(0, 5).join(", ")}${left > 5 ? " …" : ""}` : ""}.`;
    setAsk({ title, text, act: () => send("POST", path) });
  } catch (error) {
    setAsk({ title, text: String(error.message ?? error), act: () => send("POST", path) });
  }
}

const useOf = (node) => Math.max(node.used_mib / (node.memory_mib || 1), node.used_vcores / (node.vcores || 1));
const levelOf = (node) => (UP.has(node.state) ? `u${Math.min(5, Math.ceil(5 * useOf(node)))}` : "down");
const wordsOf = (node) =>
  `${node.node} ${node.state}, ${node.rack}: ${memory(node.used_mib)} of ${memory(node.memory_mib)}, ${node.used_vcores} of ${node.vcores} cores${node.labels.length ? `, ${node.labels.join(", ")}` : ""}`;

function Heat({ nodes }) {
  const sorted = [...nodes].sort((one, other) => (one.rack + one.node < other.rack + other.node ? -1 : 1));
  const racks = new Set(nodes.map((each) => each.rack)).size;
  const shown = sorted.slice(0, MOST_SQUARES);
  return html`<p class="note">${nodes.length} nodes in ${racks} ${racks === 1 ? "rack" : "racks"}${nodes.length > shown.length ? `; the first ${shown.length} are shown` : ""}.
      The stronger the blue, the fuller; red ones are not in service.</p>
    <div class="heat" aria-hidden="true">${shown.map((each) => html`<span class=${levelOf(each)} title=${wordsOf(each)}></span>`)}</div>
    <details><summary>As a table</summary><${Table} rows=${shown} columns=${[
      ["Node", (row) => row.node],
      ["Rack", (row) => row.rack],
      ["State", (row) => html`<${State} of=${row.state} />`],
      ["Memory used", (row) => memory(row.used_mib), true],
      ["Memory", (row) => memory(row.memory_mib), true],
      ["Cores used", (row) => row.used_vcores, true],
      ["Cores", (row) => row.vcores, true],
      ["Labels", (row) => row.labels.join(", ")],
    ]} /></details>`;
}
