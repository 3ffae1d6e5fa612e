// Global and Local Masters: who lives, who owns which queue, how links are, and how often views were wrong.

import { useLive } from "./api.js";
import { State, Table, Trouble } from "./parts.js";
import { html } from "./vendor/htm-preact.js";

/** @template T @typedef {import("./types.js").Column<T>} Column */

export function Masters() {
  const told = useLive("masters", 2000);
  const clusters = useLive("clusters", 2000);
  return html`<h1>Masters</h1>
    <${Trouble} error=${told.error} at=${told.at} />
    ${told.data && html`<${Shown} masters=${told.data} clusters=${clusters.data?.clusters ?? []} />`}`;
}

/** @param {{ masters: any, clusters: import("./types.js").Cluster[] }} props */
function Shown({ masters, clusters }) {
  const verdicts = Object.entries(/** @type {Record<string, number>} */ (masters.asks?.verdicts ?? {})).map(
    ([verdict, asks]) => ({ verdict, asks, homes: masters.verdicts[verdict] ?? 0 }),
  );
  const decided = verdicts.reduce((sum, each) => sum + each.asks + each.homes, 0);
  const wrong = masters.inconsistencies + (masters.asks?.inconsistencies ?? 0);
  const repairs = masters.repairs + (masters.asks?.repairs ?? 0);
  /** @type {Column<any>[]} */
  const globals = [
    ["Master", (row) => row.master],
    ["Address", (row) => row.address],
    ["Is", (row) => html`<${State} of=${row.is_live ? "RUNNING" : "LOST"} />`],
    ["Lease lasts", (row) => `${row.remaining_s.toFixed(1)} s`, true],
    ["Fence", (row) => row.fence, true],
    ["Owns", (row) => owned(masters.queues, row.master)],
  ];
  return html`<div class="tiles">
      <span><b>${masters.name || "the only one"}</b> serves this page</span>
      <span><b>${decided ? ((1000 * wrong) / decided).toFixed(1) : "0"}</b> inconsistencies per 1,000 verdicts (${wrong} of ${decided})</span>
      <span><b>${repairs}</b> repairs</span>
    </div>
    <h2>Global Masters</h2>
    <${Table} label="Global Masters" rows=${masters.masters} empty="One process, without leases." columns=${globals} />
    <h2>Ages of views</h2>
    <${Table} label="Ages of views" rows=${clusters} columns=${AGES} />
    <h2>Links to Local Masters</h2>
    <${Table} label="Links" rows=${masters.links} empty="Local Masters run in this process." columns=${LINKS} />
    <h2>Verdicts</h2>
    <${Table} label="Verdicts" rows=${verdicts} columns=${VERDICTS} />`;
}

/** @param {{ queue: string, owner: string }[]} queues @param {string} master */
const owned = (queues, master) =>
  queues
    .filter((each) => each.owner === master)
    .map((each) => each.queue)
    .join(", ");

/** @type {Column<import("./types.js").Cluster>[]} */
const AGES = [
  ["Cluster", (row) => row.id],
  ["State", (row) => html`<${State} of=${row.state} />`],
  ["Age of the view", (row) => (row.age_s === null ? "never reported" : `${row.age_s.toFixed(1)} s`), true],
];

/** @type {Column<any>[]} */
const LINKS = [
  ["Cluster", (row) => row.cluster],
  ["Linked", (row) => html`<${State} of=${row.is_linked ? "OK" : "LOST"} />`],
  ["Address", (row) => row.address],
  ["Reports", (row) => row.reports, true],
  ["Whole views sent again", (row) => row.resyncs, true],
  ["Trouble", (row) => row.trouble],
];

/** @type {Column<any>[]} */
const VERDICTS = [
  ["Verdict", (row) => row.verdict],
  ["On homes", (row) => row.homes, true],
  ["On containers", (row) => row.asks, true],
];
