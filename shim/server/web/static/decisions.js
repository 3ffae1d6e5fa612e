// What was decided on applications lately, and why, as it is decided.

import { useLive } from "./api.js";
import { time } from "./format.js";
import { Search, Table, Trouble } from "./parts.js";
import { addressOf, changed } from "./route.js";
import { html } from "./vendor/htm-preact.js";

/** Facts that have a column, or that others say better. */
const IN_COLUMNS = new Set(["home", "cluster", "reason", "scores", "was"]);

/** @param {{ route: import("./types.js").Route }} props */
export function Decisions({ route }) {
  const search = route.params.get("search") ?? "";
  const event = route.params.get("event") ?? "";
  const told = useLive(`console/decisions?${new URLSearchParams({ search, event, limit: "200" })}`, 2000);
  const choose = (/** @type {any} */ chosen) => location.replace(changed(route, { event: chosen.target.value }));
  return html`<h1>Decisions</h1>
    <${Trouble} error=${told.error} at=${told.at} />
    <div class="row" role="search">
      <${Search} route=${route} label="Search decisions" />
      <label>Event <select value=${event} onChange=${choose}>
        <option value="">all</option>
        ${(told.data?.events ?? []).map((/** @type {string} */ name) => html`<option value=${name}>${plain(name)}</option>`)}
      </select></label>
    </div>
    ${
      told.data &&
      html`<${Table} label="Decisions" rows=${told.data.decisions} columns=${COLUMNS}
      empty="Nothing as yet: the newest 5,000 of this Heddle's process are kept, and its log has all of them." />`
    }`;
}

/** @param {string} name */
const plain = (name) => name.toLowerCase().replaceAll("_", " ");

/** @type {import("./types.js").Column<any>[]} */
const COLUMNS = [
  ["When", (row) => time(row.at_ms)],
  ["Event", (row) => plain(row.event)],
  ["Application", (row) => html`<a href=${addressOf("application", row.application)}>${row.application}</a>`],
  ["User", (row) => row.user],
  ["Queue", (row) => row.queue],
  ["Where", (row) => (row.facts.was ? `${row.facts.was} → ` : "") + (row.facts.home ?? row.facts.cluster ?? "")],
  ["Why", (row) => whyOf(row.facts)],
];

/**
 * @param {string} name
 * @param {any} value
 */
const plainly = (name, value) =>
  name.endsWith("_s") && typeof value === "number"
    ? `${plain(name.slice(0, -2))} ${value.toFixed(1)} s`
    : `${name.replaceAll("_", " ")} ${value}`;

/** @param {Record<string, any>} facts */
function whyOf(facts) {
  const scores = Object.entries(facts.scores ?? {})
    .map(([cluster, score]) => `${cluster}: ${score}`)
    .join(", ");
  const others = Object.entries(facts).filter(
    ([name, value]) => !IN_COLUMNS.has(name) && value !== "" && value !== null,
  );
  const told = others.map(([name, value]) => plainly(name, value)).join(", ");
  return [facts.reason, scores && `(${scores})`, told].filter(Boolean).join(" ");
}
