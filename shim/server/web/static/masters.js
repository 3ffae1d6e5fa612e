// Global and Local Masters: who lives, who owns which queue, how links are, and how often views were wrong.

import { html } from "./vendor/htm-preact.js";
import { useLive } from "./api.js";
import { State, Table, Trouble } from "./parts.js";

export function Masters() {
  const told = useLive("masters", 2000);
  return html`<h1>Masters</h1>
    <${Trouble} error=${told.error} at=${told.at} />
    ${told.data && html`<${Shown} masters=${told.data} />`}`;
}

function Shown({ masters }) {
  const verdicts = Object.entries(masters.asks?.verdicts ?? {}).map(([verdict, asks]) => ({ verdict, asks, homes: masters.verdicts[verdict] ?? 0 }));
  const decided = verdicts.reduce((sum, each) => sum + each.asks + each.homes, 0);
  const wrong = masters.inconsistencies + (masters.asks?.inconsistencies ?? 0);
  return html`<p>This one is ${masters.name || "the only one"}. ${wrong} inconsistencies in ${decided} verdicts${
      decided ? ` (${((1000 * wrong) / decided).toFixed(1)} per 1,000)` : ""
    }, ${masters.repairs + (masters.asks?.repairs ?? 0)} repairs.</p>
    <h2>Global Masters</h2>
    <${Table} rows=${masters.masters} empty="One process, without leases." columns=${[
      ["Master", (row) => row.master],
      ["Address", (row) => row.address],
      ["Is", (row) => html`<${State} of=${row.is_live ? "RUNNING" : "LOST"} />`],
      ["Lease lasts", (row) => `${row.remaining_s.toFixed(1)} s`, true],
      ["Fence", (row) => row.fence, true],
      ["Owns", (row) => masters.queues.filter((each) => each.owner === row.master).map((each) => each.queue).join(", ")],
    ]} />
    <h2>Links to Local Masters</h2>
    <${Table} rows=${masters.links} empty="Local Masters run in this process." columns=${[
      ["Cluster", (row) => row.cluster],
      ["Linked", (row) => html`<${State} of=${row.is_linked ? "OK" : "LOST"} />`],
      ["Address", (row) => row.address],
      ["Reports", (row) => row.reports, true],
      ["Whole views sent again", (row) => row.resyncs, true],
      ["Trouble", (row) => row.trouble],
    ]} />
    <h2>Verdicts</h2>
    <${Table} rows=${verdicts} columns=${[
      ["Verdict", (row) => row.verdict],
      ["On homes", (row) => row.homes, true],
      ["On containers", (row) => row.asks, true],
    ]} />`;
}
