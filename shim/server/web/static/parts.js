// Pieces that several views are made of.

import { html, useEffect, useRef } from "./vendor/htm-preact.js";
import { changed } from "./route.js";

const UNITS = ["MiB", "GiB", "TiB", "PiB"];

export function memory(mib) {
  let value = Number(mib);
  if (!Number.isFinite(value) || value < 0) return "";
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export const percent = (part) => (Number.isFinite(part) ? `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %` : "");
// Swedes write dates as ISO 8601 does
export const time = (ms) => (ms > 0 ? new Date(ms).toLocaleString("sv-SE") : "");

export function lasting(fromMs, toMs) {
  if (!(fromMs > 0)) return "";
  const seconds = Math.max(0, Math.round(((toMs > 0 ? toMs : Date.now()) - fromMs) / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

const GOOD = new Set(["RUNNING", "SUCCEEDED", "UP", "OK", "ok", "ACTIVE"]);
const BAD = new Set(["FAILED", "KILLED", "LOST", "UNHEALTHY", "RETIRED", "error", "critical"]);

export function State({ of }) {
  const kind = GOOD.has(of) ? "good" : BAD.has(of) ? "bad" : "other";
  return html`<span class="state ${kind}">${of}</span>`;
}

/** A part of a whole, with a mark where it is entitled to be. */
export function Bar({ used, of, mark, label }) {
  const part = of > 0 ? Math.min(1, used / of) : 0;
  return html`<div class="bar" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax=${of || 0} aria-valuenow=${used || 0}>
    <div class="fill" style=${{ width: `${100 * part}%` }}></div>
    ${mark > 0 && of > 0 && html`<div class="mark" style=${{ left: `${100 * Math.min(1, mark / of)}%` }}></div>`}
  </div>`;
}

export function Trouble({ error, at }) {
  if (!error) return null;
  return html`<p class="trouble" role="alert">${error}${at ? ` What is shown is of ${time(at)}.` : ""}</p>`;
}

/** A table of texts; `columns` are `[title, cell of a row, is a number]`. */
export function Table({ columns, rows, label = "Table", empty = "None." }) {
  if (!rows.length) return html`<p class="note">${empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr>${columns.map(([title, , isNumber]) => html`<th scope="col" class=${isNumber ? "number" : ""}>${title}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row) => html`<tr>${columns.map(([, cell, isNumber]) => html`<td class=${isNumber ? "number" : ""}>${cell(row)}</td>`)}</tr>`,
    )}</tbody>
  </table></div>`;
}

/** Words that are looked for in all columns; they stand in the address, once nobody types any more. */
export function Search({ route, label, hint = "Words in any column" }) {
  const timer = useRef(0);
  const typed = (event) => {
    const text = event.target.value;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => location.replace(changed(route, { search: text })), 250);
  };
  return html`<input type="search" aria-label=${label} placeholder=${hint} maxlength="200"
    value=${route.params.get("search") ?? ""} onInput=${typed} />`;
}

/** A question before something is changed. `ask` is `{ title, text, field, value, act }`; null closes it. */
export function Confirm({ ask, close }) {
  const dialog = useRef(null);
  const input = useRef(null);
  const failure = useRef(null);
  useEffect(() => {
    if (ask) dialog.current?.showModal();
  }, [ask]);
  if (!ask) return null;
  async function act() {
    try {
      await ask.act(input.current?.value ?? "");
      close();
    } catch (error) {
      failure.current.textContent = String(error.message ?? error);
    }
  }
  return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="confirm-title">
    <h2 id="confirm-title">${ask.title}</h2>
    <p>${ask.text}</p>
    ${ask.field && html`<label>${ask.field} <input ref=${input} value=${ask.value ?? ""} /></label>`}
    <p class="trouble" ref=${failure} role="alert"></p>
    <div class="row"><button class="danger" onClick=${act}>${ask.title}</button><button onClick=${close}>Leave it</button></div>
  </dialog>`;
}
