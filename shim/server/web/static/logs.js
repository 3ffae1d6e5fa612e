// Logs of one application: files of its containers on all clusters, of those that run and what was aggregated; one of
// them is shown, followed and searched.

import { read } from "./api.js";
import { count, several, wordsOf } from "./format.js";
import { Search, Table, Trouble } from "./parts.js";
import { addressOf, changed } from "./route.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Route} Route */
/** @typedef {{ file: string, bytes: number, container: string, node: string, cluster: string, isRunning: boolean, key: string, path: string }} File */

const EVERY_MS = 2000;
const MOST_CONTAINERS = 100;
const AT_A_TIME = 8;
const MOST_ROWS = 500;
const FIRST_BYTES = 65_536;
const NEXT_BYTES = 1_048_576;
const MOST_KEPT = 262_144;

/** @param {{ route: Route }} props */
export function Logs({ route }) {
  const [told, tell] = useState(/** @type {{ rows: File[] | null, errors: string[] }} */ ({ rows: null, errors: [] }));
  useEffect(() => {
    const stop = new AbortController();
    filesOf(route.item, stop.signal).then((found) => !stop.signal.aborted && tell(found));
    return () => stop.abort();
  }, [route.item]);
  const shown = route.params.get("file");
  const file = told.rows?.find((row) => row.key === shown);
  return html`<h1>Logs of <a href=${addressOf("application", route.item)}>${route.item}</a></h1>
    ${told.rows === null && html`<p class="note">Asking for its files…</p>`}
    ${told.rows?.length === 0 && html`<${Trouble} error=${told.errors.at(-1)} />`}
    ${told.rows && told.rows.length > MOST_ROWS && html`<p class="note">The first ${MOST_ROWS} of ${told.rows.length} files.</p>`}
    ${told.rows && html`<${Table} label="Files" rows=${told.rows.slice(0, MOST_ROWS)} columns=${columnsFor(route)} empty="Nothing runs, or was aggregated." />`}
    ${file && html`<${Text} key=${file.key} file=${file} route=${route} />`}`;
}

/** @param {Route} route @returns {import("./types.js").Column<File>[]} */
const columnsFor = (route) => [
  [
    "File",
    (row) =>
      html`<a href=${changed(route, { file: row.key })} aria-current=${row.key === route.params.get("file") ? "true" : undefined}>${row.file}</a>`,
  ],
  ["Container", (row) => row.container],
  ["Cluster", (row) => row.cluster],
  ["Node", (row) => row.node],
  ["From", (row) => (row.isRunning ? "the node" : "what was aggregated")],
  ["Bytes", (row) => (row.bytes < 0 ? "" : count(row.bytes)), true],
];

/**
 * The rows of all files; the last error, of what was aggregated, tells why there is none.
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function filesOf(id, signal) {
  /** @type {string[]} */
  const errors = [];
  const tried = async (/** @type {string} */ path) => {
    try {
      return await read(path, signal);
    } catch (error) {
      errors.push(wordsOf(error));
      return {};
    }
  };
  const name = encodeURIComponent(id);
  const attempts = several((await tried(`ws/v1/cluster/apps/${name}/appattempts`)).appAttempts?.appAttempt);
  const newest = attempts
    .map((/** @type {any} */ each) => each.appAttemptId)
    .sort()
    .at(-1);
  const listed = newest
    ? several((await tried(`ws/v1/cluster/apps/${name}/appattempts/${newest}/containers`)).container)
    : [];
  const containers = listed.slice(0, MOST_CONTAINERS).map((/** @type {any} */ each) => each.containerId);
  /** @type {File[]} */
  const rows = [];
  for (let at = 0; at < containers.length; at += AT_A_TIME) {
    const some = containers.slice(at, at + AT_A_TIME);
    const answers = await Promise.all(
      some.map((/** @type {string} */ each) => tried(`heddle/v1/containers/${encodeURIComponent(each)}/logs`)),
    );
    rows.push(...answers.flatMap(runningRows));
  }
  const user = (await tried(`heddle/v1/apps/${name}`)).app?.user;
  const of = user ? `of=${encodeURIComponent(user)}` : "";
  const nodes = (await tried(`heddle/v1/apps/${name}/logs?${of}`)).nodes ?? [];
  for (const { node, cluster, wrong } of nodes.filter((/** @type {any} */ each) => each.wrong)) {
    errors.push(`${node ? `${node} of ` : ""}${cluster}: ${wrong}`);
  }
  return { rows: [...rows, ...nodes.flatMap((/** @type {any} */ node) => aggregatedRows(name, node, of))], errors };
}

/** @param {any} told @returns {File[]} */
const runningRows = (told) =>
  (told.files ?? []).map((/** @type {any} */ { file, bytes }) => ({
    file,
    bytes,
    container: told.container,
    node: told.node,
    cluster: told.cluster,
    isRunning: true,
    key: `${told.container}/${file}`,
    path: `heddle/v1/containers/${encodeURIComponent(told.container)}/logs/${encodeURIComponent(file)}?`,
  }));

/** @param {string} name @param {any} told @param {string} of @returns {File[]} */
const aggregatedRows = (name, { node, cluster, files }, of) =>
  files.map((/** @type {any} */ { container, file, bytes }) => ({
    file,
    bytes,
    container,
    node,
    cluster,
    isRunning: false,
    key: `${container}/${file}/${node}`,
    path: `heddle/v1/apps/${name}/logs/${encodeURIComponent(container)}/${encodeURIComponent(file)}?${of}&node=${encodeURIComponent(node)}&`,
  }));

/** @param {{ file: File, route: Route }} props */
function Text({ file, route }) {
  const search = route.params.get("search") ?? "";
  const isFollowed = file.isRunning && route.params.get("follow") !== "no";
  const [told, tell] = useState({ text: "", note: "", error: "" });
  const end = useRef(/** @type {HTMLPreElement | null} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    /** @type {number | null} */
    let at = null;
    async function ask() {
      try {
        const part = at === null || search ? `tail=${FIRST_BYTES}` : `tail=${NEXT_BYTES}&after=${at}`;
        const answer = await read(
          `${file.path}${part}${search ? `&grep=${encodeURIComponent(search)}` : ""}`,
          stop.signal,
        );
        if (stop.signal.aborted) return;
        const isNext = at !== null && answer.start === at;
        at = search ? null : answer.size;
        tell((before) => ({
          text: ((isNext ? before.text : "") + answer.text).slice(-MOST_KEPT),
          note: noteOf(answer),
          error: "",
        }));
      } catch (error) {
        if (stop.signal.aborted) return;
        tell((before) => ({ ...before, error: wordsOf(error) }));
      }
      if (isFollowed) timer = setTimeout(ask, EVERY_MS);
    }
    ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [file.path, search, isFollowed]);
  useEffect(() => {
    if (isFollowed && end.current) end.current.scrollTop = end.current.scrollHeight;
  }, [told.text]);
  return html`<h2>${file.file} of ${file.container}</h2>
    <div class="row" role="search"><${Search} route=${route} label="Search this file" hint="Lines that hold this text" />
      ${
        file.isRunning &&
        html`<label><input type="checkbox" checked=${isFollowed}
        onChange=${() => location.replace(changed(route, { follow: isFollowed ? "no" : null }))} /> Follow</label>`
      }</div>
    <${Trouble} error=${told.error} />
    <p class="note" role="status">${told.note}</p>
    <pre class="log" ref=${end} tabindex="0" role="region" aria-label="Text of the file">${told.text}</pre>`;
}

/** @param {any} answer */
function noteOf({ matches, searched, more, start, size }) {
  if (matches !== undefined)
    return `${matches} lines${more ? ", the newest of more," : ""} in the last ${searched} bytes`;
  return start > 0 ? `The end of ${size} bytes` : "";
}
