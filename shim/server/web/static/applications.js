// Every application: searched, filtered, sorted and counted by the server; only the rows in sight are asked for.

import { useLive } from "./api.js";
import { count, hasBegun, lasting, memory, time } from "./format.js";
import { Search, State, Trouble } from "./parts.js";
import { addressOf, changed } from "./route.js";
import { boundsOf, TimeRange } from "./time_range.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").ApplicationRow} Row */
/** @typedef {import("./types.js").Route} Route */
/** @typedef {{ key: string, title: string, cell: (row: Row) => any, filter?: boolean, sort?: boolean, number?: boolean, hidden?: boolean }} Column */
/** @typedef {{ offset: number, matched: number, total: number, apps: Row[], groups: { value: string, applications: number }[] }} Page */

const ROW_PX = 34;
const PAGE = 25;
/** @param {any} row */
const lasts = (row) => (hasBegun(row.state) ? lasting(row.started_ms, row.finished_ms) : "");

const GROUPS = ["queue", "user", "cluster", "type", "state"];

/** @param {Row} row */
const name = (row) => html`<a href=${addressOf("application", row.id)}>${row.name || row.id}</a>`;
/** @type {Column[]} */
const COLUMNS = [
  {
    key: "state",
    title: "State",
    cell: (row) => html`<${State} of=${row.state === "FINISHED" ? row.final_status : row.state} />`,
    filter: true,
  },
  { key: "name", title: "Name", cell: name, sort: true },
  {
    key: "id",
    title: "ID",
    cell: (row) => html`<a href=${addressOf("application", row.id)}>${row.id}</a>`,
    sort: true,
  },
  { key: "cluster", title: "Cluster", cell: (row) => row.cluster, filter: true },
  { key: "user", title: "User", cell: (row) => row.user, filter: true },
  { key: "queue", title: "Queue", cell: (row) => row.queue, filter: true },
  { key: "type", title: "Type", cell: (row) => row.type, filter: true },
  { key: "started", title: "Started", cell: (row) => time(row.started_ms), sort: true },
  { key: "lasts", title: "Lasts", cell: lasts, number: true },
  { key: "finished", title: "Finished", cell: (row) => time(row.finished_ms), sort: true, hidden: true },
  {
    key: "progress",
    title: "Progress",
    cell: (row) => (row.progress === null ? "" : `${Math.round(row.progress)} %`),
    number: true,
  },
  {
    key: "containers",
    title: "Containers",
    cell: (row) => ((row.containers ?? 0) > 0 ? row.containers : ""),
    number: true,
  },
  {
    key: "memory",
    title: "Memory",
    cell: (row) => ((row.memory_mib ?? 0) > 0 ? memory(row.memory_mib) : ""),
    number: true,
  },
  { key: "priority", title: "Priority", cell: (row) => row.priority, number: true, hidden: true },
  { key: "tags", title: "Tags", cell: (row) => row.tags.join(", "), hidden: true },
  { key: "diagnostics", title: "Diagnostics", cell: (row) => row.diagnostics, hidden: true },
];
const CHOICE = "heddle.console.columns";

/** @param {{ route: Route }} props */
export function Applications({ route }) {
  const { params } = route;
  const [first, setFirst] = useState(0);
  const { columns, choose } = useColumns();
  const asked = new URLSearchParams(params);
  asked.set("offset", String(Math.max(0, Math.floor(first / PAGE) * PAGE - PAGE)));
  asked.set("limit", String(4 * PAGE));
  const told = useLive(`console/applications?${asked}`, 1500);
  const where = params.getAll("where");
  return html`<h1>Applications</h1>
    <div class="row" role="search">
      <${Search} route=${route} label="Search applications" />
      <label>Group by <select onChange=${(/** @type {any} */ event) => go(changed(route, { group: event.target.value }))}>
        <option value="">nothing</option>
        ${GROUPS.map((each) => html`<option value=${each} selected=${params.get("group") === each}>${each}</option>`)}
      </select></label>
      <${TimeRange} route=${route} />
      <details class="choice"><summary>Columns</summary><div>
        ${COLUMNS.map(
          (each) =>
            html`<label><input type="checkbox" checked=${columns.includes(each)} onChange=${() => choose(each)} /> ${each.title} </label>`,
        )}
      </div></details>
    </div>
    <div class="row">
      ${boundsOf(params).map(
        ({
          name,
          words,
        }) => html`<button class="chip" title="Take this bound away" aria-label=${`Take the bound ${words} away`}
          onClick=${() => go(changed(route, { [name]: null }))}>${words} ×</button>`,
      )}
      ${where.map(
        (each) => html`<button class="chip" title="Take this filter away" aria-label=${`Take the filter ${each} away`}
          onClick=${() => go(changed(route, { where: where.filter((other) => other !== each) }))}>${each} ×</button>`,
      )}
      <span class="note" aria-live="polite">${told.data ? `${count(told.data.matched)} of ${count(told.data.total)}` : "Asking…"}</span>
    </div>
    <${Trouble} error=${told.error} at=${told.at} />
    <${Groups} route=${route} groups=${told.data?.groups ?? []} />
    <${Rows} route=${route} told=${told.data} columns=${columns} onFirst=${setFirst} />`;
}

/** @param {string} address */
const go = (address) => {
  location.hash = address;
};

/** @param {{ route: Route, groups: Page["groups"] }} props */
function Groups({ route, groups }) {
  const field = route.params.get("group");
  const where = route.params.getAll("where");
  if (!field) return null;
  return html`<div class="row">${groups.map(
    (
      each,
    ) => html`<button class="chip" onClick=${() => go(changed(route, { where: [...new Set([...where, `${field}=${each.value}`])], group: "" }))}>
      ${each.value || "none"}: ${count(each.applications)}</button>`,
  )}</div>`;
}

/** Columns that are hidden at first, or that somebody chose to hide. @returns {Set<string>} */
function hiddenColumns() {
  const first = COLUMNS.filter((each) => each.hidden).map((each) => each.key);
  try {
    return new Set(JSON.parse(localStorage.getItem(CHOICE) ?? "null") ?? first);
  } catch {
    return new Set(first);
  }
}

function useColumns() {
  const [hidden, hide] = useState(hiddenColumns);
  const choose = (/** @type {Column} */ column) => {
    const next = new Set(hidden);
    if (!next.delete(column.key)) next.add(column.key);
    localStorage.setItem(CHOICE, JSON.stringify([...next]));
    hide(next);
  };
  return { columns: COLUMNS.filter((each) => !hidden.has(each.key)), choose };
}

/** @param {{ route: Route, told: Page | null, columns: Column[], onFirst: (first: number) => void }} props */
function Rows({ route, told, columns, onFirst }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    place.current?.scrollTo(0, 0);
    onFirst(0);
  }, [route.params.toString()]);
  if (!told) return null;
  const above = told.offset * ROW_PX;
  const below = Math.max(0, told.matched - told.offset - told.apps.length) * ROW_PX;
  const scrolled = (/** @type {any} */ event) => onFirst(Math.floor(event.target.scrollTop / ROW_PX / PAGE) * PAGE);
  return html`<div class="scroll rows" ref=${place} onScroll=${scrolled} tabindex="0" role="region" aria-label="Rows">
    <table aria-rowcount=${told.matched}>
      <thead><tr>${columns.map((each) => html`<${Head} route=${route} column=${each} />`)}</tr></thead>
      <tbody>
        ${above > 0 && html`<tr class="gap" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${above}px` }}></td></tr>`}
        ${told.apps.map((row) => html`<tr key=${row.id}>${columns.map((each) => html`<${Cell} route=${route} column=${each} row=${row} />`)}</tr>`)}
        ${below > 0 && html`<tr class="gap" aria-hidden="true"><td colspan=${columns.length} style=${{ height: `${below}px` }}></td></tr>`}
      </tbody>
    </table>
  </div>`;
}

/** @param {{ route: Route, column: Column }} props */
function Head({ route, column }) {
  const kind = column.number ? "number" : "";
  if (!column.sort && !column.filter) return html`<th scope="col" class=${kind}>${column.title}</th>`;
  const isSorted = (route.params.get("sort") ?? "started") === column.key;
  const isUp = route.params.get("order") === "up";
  const next = isSorted && !isUp ? "up" : "down";
  const [order, arrow] = isUp ? ["ascending", " ▲"] : ["descending", " ▼"];
  return html`<th scope="col" class=${kind} aria-sort=${isSorted ? order : "none"}>
    <button class="plain" onClick=${() => go(changed(route, { sort: column.key, order: next }))}>
      ${column.title}${isSorted ? arrow : ""}</button></th>`;
}

/** @param {{ route: Route, column: Column, row: Row }} props */
function Cell({ route, column, row }) {
  const kind = column.number ? "number" : "";
  if (!column.filter || !row[column.key]) return html`<td class=${kind}>${column.cell(row)}</td>`;
  const where = [...new Set([...route.params.getAll("where"), `${column.key}=${row[column.key]}`])];
  return html`<td class=${kind}><button class="plain" title=${`Only ${column.title.toLowerCase()} ${row[column.key]}`}
    onClick=${() => go(changed(route, { where }))}>${column.cell(row)}</button></td>`;
}
