// Clusters and their nodes: a square for each node by its use; what operators may do to a cluster, shown before it is done.

import { send, useLive, useRead } from "./api.js";
import { ClusterList } from "./cluster_list.js";
import { count, isHeard, memory, wordsOf } from "./format.js";
import { Bar, Confirm, State, Table, Trouble } from "./parts.js";
import { may } from "./rights.js";
import { addressOf } from "./route.js";
import { html, useRef, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Ask} Ask */
/** @typedef {import("./types.js").Caller} Caller */
/** @typedef {import("./types.js").Cluster} Cluster */
/** @typedef {import("./types.js").ClusterNode} ClusterNode */
/** @typedef {(ask: Ask) => void} SetAsk */

const MOST_SQUARES = 3000;
const MOST_NAMED = 5;
const DRAINAGE_MS = 3000;
const UP = new Set(["RUNNING", "DECOMMISSIONING"]);

/** What may be done to a cluster, by what holds for it. @type {Record<string, string[]>} */
const VERBS = {
  open: ["cordon", "drain", "retire"],
  cordoned: ["undrain", "drain", "retire"],
  draining: ["undrain", "cordon", "retire"],
  retired: ["revive"],
};

/** @param {{ caller: Caller | null }} props */
export function Clusters({ caller }) {
  const clusters = useLive("clusters", 2000);
  const nodes = useLive("console/nodes", 5000);
  const [ask, setAsk] = useState(/** @type {Ask | null} */ (null));
  /** @type {Map<string, ClusterNode[]>} */
  const byCluster = new Map();
  for (const node of /** @type {ClusterNode[]} */ (nodes.data?.nodes ?? [])) {
    byCluster.set(node.cluster, [...(byCluster.get(node.cluster) ?? []), node]);
  }
  /** @type {Cluster[]} */
  const shown = clusters.data?.clusters ?? [];
  return html`<h1>Clusters and nodes</h1>
    <${Trouble} error=${clusters.error || nodes.error} at=${clusters.at} />
    <${Scale} />
    ${shown.map((each) => html`<${One} key=${each.id} of=${each} nodes=${byCluster.get(each.id) ?? []} caller=${caller} setAsk=${setAsk} isOld=${Boolean(clusters.error)} />`)}
    ${may(caller, "administer") && html`<${ClusterList} setAsk=${setAsk} />`}
    <${Confirm} ask=${ask} close=${() => setAsk(null)} />`;
}

const Scale = () =>
  html`<p class="legend">${[0, 1, 2, 3, 4, 5].map(
    (level) => html`<span><i class=${`u${level}`}></i>${level ? `${20 * level - 20}–${20 * level} %` : "idle"}</span>`,
  )}<span><i class="down"></i>not in service</span></p>`;

/** @param {{ of: Cluster, nodes: ClusterNode[], caller: Caller | null, setAsk: SetAsk, isOld: boolean }} props */
function One({ of, nodes, caller, setAsk, isOld }) {
  const age = of.age_s === null || of.is_heard === false ? "never" : `${of.age_s.toFixed(1)} s ago`;
  const web = httpOnly(of.web);
  return html`<section class=${isOld || !isHeard(of.state) ? "card wide old" : "card wide"}>
    <h2>${of.id} <${State} of=${of.state} />${["open", of.state.toLowerCase()].includes(of.admission) ? "" : ` (${of.admission})`}</h2>
    <p class="note">Hadoop ${of.version}, ${of.scheduler}; reported ${age}; <a
      href=${addressOf("applications", "", new URLSearchParams({ where: `cluster=${of.id}` }))}>${count(of.running)} live applications</a>${
        web && html`; <a rel="noreferrer noopener" href=${web}>its own pages</a>`
      }</p>
    ${of.failure && html`<p class="trouble">${of.failure}</p>`}
    ${may(caller, "operate") && of.admission === "draining" && html`<${Draining} cluster=${of.id} />`}
    ${may(caller, "operate") && html`<div class="row">${(VERBS[of.admission] ?? []).map((verb) => html`<button onClick=${() => look(of.id, verb, setAsk)}>${verb}…</button>`)}</div>`}
    <${Heat} nodes=${nodes} />
  </section>`;
}

/** How far a drain is, and who is left. @param {{ cluster: string }} props */
function Draining({ cluster }) {
  const told = useRead(`heddle/v1/clusters/${encodeURIComponent(cluster)}/drainage`, DRAINAGE_MS);
  const most = useRef(0);
  if (!told.data) return html`<${Trouble} error=${told.error} />`;
  /** @type {string[]} */
  const left = told.data.still_running;
  const spanning = Object.entries(/** @type {Record<string, number>} */ (told.data.spanning));
  const number = left.length + spanning.length;
  most.current = Math.max(most.current, number);
  const links = [...left, ...spanning.map(([id]) => id)];
  if (!number) return html`<p class="good" role="status">Drained: nothing runs here any more.</p>`;
  return html`<div role="status"><p>Draining: ${left.length} applications${spanning.length ? ` and containers of ${spanning.length} others` : ""} are left, of ${most.current} since this page was opened.</p>
    <${Bar} used=${most.current - number} of=${most.current} label=${`drained of ${cluster}`} />
    <p class="note">${links.slice(0, MOST_NAMED).map((id) => html`<a href=${addressOf("application", id)}>${id}</a> `)}${links.length > MOST_NAMED ? "…" : ""}</p></div>`;
}

/** @param {string} web */
const httpOnly = (web) => {
  const first = String(web).split(",")[0];
  return /^https?:\/\//.test(first) ? first : undefined;
};

/**
 * The dry run first: what it would leave running, move or lose.
 * @param {string} cluster
 * @param {string} verb
 * @param {SetAsk} setAsk
 */
async function look(cluster, verb, setAsk) {
  const path = `heddle/v1/clusters/${encodeURIComponent(cluster)}/${verb}`;
  const title = `${verb} ${cluster}`;
  const act = () => send("POST", path);
  try {
    setAsk({ title, text: foretold(verb, await send("POST", `${path}?dryRun=true`)), act });
  } catch (error) {
    setAsk({ title, text: wordsOf(error) });
  }
}

/**
 * @param {string} verb
 * @param {any} told
 */
function foretold(verb, told) {
  if (verb === "revive") return `It is ${told.was} now, and takes applications again.`;
  if (verb === "retire") {
    const moved = `${told.to_move.length} applications would be submitted to other clusters`;
    return `It is ${told.was} now. For clusters that never come back: ${moved}, and ${listed(told.to_lose)} would be lost.`;
  }
  return `It is ${told.was} now. ${listed(told.still_running)} still run there.`;
}

/** @param {string[]} ids */
function listed(ids) {
  const named = ids.slice(0, MOST_NAMED).join(", ");
  return `${ids.length} applications${ids.length ? ` (${named}${ids.length > MOST_NAMED ? " …" : ""})` : ""}`;
}

/** @param {ClusterNode} node */
const useOf = (node) => Math.max(node.used_mib / (node.memory_mib || 1), node.used_vcores / (node.vcores || 1));
/** @param {ClusterNode} node */
const levelOf = (node) => (UP.has(node.state) ? `u${Math.min(5, Math.ceil(5 * useOf(node)))}` : "down");
/** @param {ClusterNode} node */
const describe = (node) =>
  `${node.node} ${node.state}, ${node.rack}: ${memory(node.used_mib)} of ${memory(node.memory_mib)}, ${node.used_vcores} of ${node.vcores} cores${node.labels.length ? `, ${node.labels.join(", ")}` : ""}`;

/** @type {import("./types.js").Column<ClusterNode>[]} */
const NODES = [
  ["Node", (row) => row.node],
  ["Rack", (row) => row.rack],
  ["State", (row) => html`<${State} of=${row.state} />`],
  ["Memory used", (row) => memory(row.used_mib), true],
  ["Memory", (row) => memory(row.memory_mib), true],
  ["Cores used", (row) => row.used_vcores, true],
  ["Cores", (row) => row.vcores, true],
  ["Labels", (row) => row.labels.join(", ")],
];

/** @param {{ nodes: ClusterNode[] }} props */
function Heat({ nodes }) {
  const [isOpen, open] = useState(false);
  const key = (/** @type {ClusterNode} */ node) => `${node.rack} ${node.node}`;
  const sorted = [...nodes].sort((one, other) => (key(one) < key(other) ? -1 : 1));
  const shown = sorted.slice(0, MOST_SQUARES);
  const racks = [...new Set(shown.map((each) => each.rack))];
  const cut = nodes.length > shown.length ? `; the first ${shown.length} are shown` : "";
  return html`<p class="note">${count(nodes.length)} nodes in ${racks.length} ${racks.length === 1 ? "rack" : "racks"}${cut}.</p>
    ${racks.map(
      (rack) =>
        html`<div class="rack" aria-hidden="true">${racks.length > 1 && html`<b>${rack}</b>`}<div class="heat">${shown
          .filter((each) => each.rack === rack)
          .map((each) => html`<span class=${levelOf(each)} title=${describe(each)}></span>`)}</div></div>`,
    )}
    <details onToggle=${(/** @type {any} */ event) => open(event.currentTarget.open)}><summary>As a table</summary>
      ${isOpen && html`<${Table} label="Nodes" rows=${shown} columns=${NODES} />`}</details>`;
}
