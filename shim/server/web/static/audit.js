// Who changed what, from where, and how it ended: for operators.

import { useLive } from "./api.js";
import { time } from "./format.js";
import { Search, Table, Trouble } from "./parts.js";
import { html } from "./vendor/htm-preact.js";

/** @param {{ route: import("./types.js").Route }} props */
export function Audit({ route }) {
  const search = route.params.get("search") ?? "";
  const told = useLive(`audit?${new URLSearchParams({ search, limit: "200" })}`, 5000);
  return html`<h1>Audit</h1>
    <${Trouble} error=${told.error} at=${told.at} />
    <div class="row" role="search"><${Search} route=${route} label="Search the audit" /></div>
    ${told.data && html`<${Table} label="Audit" rows=${told.data.entries} columns=${COLUMNS} empty=${told.data.advice || "Nothing was changed as yet."} />`}`;
}

/** @type {import("./types.js").Column<any>[]} */
const COLUMNS = [
  ["When", (row) => time(Date.parse(row.time))],
  [
    "Who",
    (row) => (row.real_user === row.effective_user ? row.real_user : `${row.real_user} as ${row.effective_user}`),
  ],
  ["From", (row) => row.address],
  ["What", (row) => row.operation],
  ["About", (row) => row.target],
  ["Cluster", (row) => row.subcluster],
  ["Ended", (row) => `${row.result} ${row.status}`],
  ["Why", (row) => row.reason],
  ["Request", (row) => row.request_id],
];
