// Pieces that several views are made of.

import { time, wordsOf } from "./format.js";
import { changed } from "./route.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Ask} Ask */
/** @typedef {import("./types.js").Route} Route */
/** @template T @typedef {import("./types.js").Column<T>} Column */

const GOOD = new Set(["RUNNING", "SUCCEEDED", "UP", "OK", "ok", "ACTIVE"]);
const BAD = new Set(["FAILED", "KILLED", "LOST", "UNHEALTHY", "RETIRED", "error", "critical"]);
const PALETTE = 8;

/** @param {string} of */
export function kindOf(of) {
  if (GOOD.has(of)) return "good";
  return BAD.has(of) ? "bad" : "other";
}

/** @param {{ of: string }} props */
export const State = ({ of }) => html`<span class="state ${kindOf(of)}">${of}</span>`;

/**
 * A colour of the palette for a thing among others; the same in every view that lists them in one order.
 * @param {number} place
 */
export const colourOf = (place) => `c${place % PALETTE}`;

/**
 * A part of a whole, with a mark where it is entitled to be; in segments where it is made of parts.
 * @param {{
 *   used: number | undefined, of: number | undefined, mark?: number, label: string,
 *   segments?: { name: string, amount: number, colour: string }[],
 * }} props
 */
export function Bar({ used = 0, of = 0, mark = 0, label, segments = [] }) {
  const part = of > 0 ? Math.min(1, used / of) : 0;
  const sum = segments.reduce((total, each) => total + each.amount, 0);
  return html`<div class="bar" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax=${of} aria-valuenow=${used}>
    <div class="fill" style=${{ width: `${100 * part}%` }}>
      ${
        sum > 0 &&
        segments.map(
          (each) =>
            html`<i class=${each.colour} title=${each.name} style=${{ width: `${(100 * each.amount) / sum}%` }}></i>`,
        )
      }
    </div>
    ${mark > 0 && of > 0 && html`<div class="mark" style=${{ left: `${100 * Math.min(1, mark / of)}%` }}></div>`}
  </div>`;
}

/** @param {{ error: string, at?: number }} props */
export function Trouble({ error, at = 0 }) {
  if (!error) return null;
  return html`<p class="trouble" role="alert">${error}${at ? ` What is shown is of ${time(at)}.` : ""}</p>`;
}

/**
 * A table of texts.
 * @param {{ columns: Column<any>[], rows: any[], label?: string, empty?: string }} props
 */
export function Table({ columns, rows, label = "Table", empty = "None." }) {
  if (!rows.length) return html`<p class="note">${empty}</p>`;
  const kind = (/** @type {boolean | undefined} */ isNumber) => (isNumber ? "number" : "");
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr>${columns.map(([title, , isNumber]) => html`<th scope="col" class=${kind(isNumber)}>${title}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row) =>
        html`<tr>${columns.map(([, cell, isNumber]) => html`<td class=${kind(isNumber)}>${cell(row)}</td>`)}</tr>`,
    )}</tbody>
  </table></div>`;
}

/**
 * Words that are looked for in all columns; they stand in the address, once nobody types any more.
 * @param {{ route: Route, label: string, hint?: string }} props
 */
export function Search({ route, label, hint = "Words in any column" }) {
  const timer = useRef(0);
  const typed = (/** @type {Event & { target: HTMLInputElement }} */ event) => {
    const text = event.target.value;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => location.replace(changed(route, { search: text })), 250);
  };
  return html`<input type="search" aria-label=${label} placeholder=${hint} maxlength="200"
    value=${route.params.get("search") ?? ""} onInput=${typed} />`;
}

/** @param {{ lines: import("./diff.js").DiffLine[], empty: string }} props */
export function Difference({ lines, empty }) {
  if (!lines.length) return html`<p class="note">${empty}</p>`;
  const signs = { same: "  ", gone: "− ", new: "+ ", skipped: "  " };
  return html`<pre class="diff">${lines.map((line) => html`<span class=${line.kind}>${signs[line.kind]}${line.text}${"\n"}</span>`)}</pre>`;
}

/**
 * A question before something is changed; null closes it.
 * @param {{ ask: Ask | null, close: () => void }} props
 */
export function Confirm({ ask, close }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [failure, fail] = useState("");
  useEffect(() => {
    fail("");
    // set here once: as a property it would be set again with each poll, over what has been typed
    if (input.current) input.current.value = String(ask?.value ?? "");
    if (ask) dialog.current?.showModal();
  }, [ask]);
  if (!ask) return null;
  async function act() {
    try {
      await ask?.act?.(input.current?.value ?? "");
      close();
    } catch (error) {
      fail(wordsOf(error));
    }
  }
  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="confirm-title">
    <h2 id="confirm-title">${ask.title}</h2>
    <p>${ask.text}</p>
    ${ask.lines && html`<${Difference} lines=${ask.lines} empty="" />`}
    ${ask.field && html`<label>${ask.field} <input ref=${input} /></label>`}
    <p class="trouble" role="alert">${failure}</p>
    <div class="row">${ask.act && html`<button class="danger" onClick=${act}>${ask.verb ?? ask.title}</button>`}<button onClick=${close}>Leave it</button></div>
  </dialog>`;
}
