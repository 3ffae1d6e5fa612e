// Shares of queues over time: the last day as the server kept it, and what was told since.

import { useRead } from "./api.js";
import { Lines } from "./charts.js";
import { changed } from "./route.js";
import { linesOf } from "./series.js";
import { html, useMemo, useRef } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Queue} Queue */

const EVERY_MS = 60_000;
const MOST_SINCE = 600;

/** Ranges that can be chosen, in hours. */
export const RANGES = { "1 h": 1, "6 h": 6, "24 h": 24 };

/**
 * @param {{ told: import("./types.js").Told<any>, queues: string[], route?: import("./types.js").Route }} props
 *   `queues` are drawn, or those that are entitled to most
 */
export function SharesOverTime({ told, queues, route }) {
  const hours = Number(route?.params.get("hours") ?? 24);
  const query = new URLSearchParams(queues.map((each) => ["shown", each]));
  const kept = useRead(`heddle/v1/shares/history?${query}`, EVERY_MS);
  const since = useRef(/** @type {{ at: number, rows: Map<string, Queue> }[]} */ ([]));
  if (told.data && told.at > (since.current.at(-1)?.at ?? 0)) {
    since.current.push({
      at: told.at,
      rows: new Map(told.data.queues.map((/** @type {Queue} */ each) => [each.queue, each])),
    });
    if (since.current.length > MOST_SINCE) since.current.shift();
  }
  const drawn = useMemo(
    () => linesOf(kept.data, since.current, (told.at || Date.now()) - hours * 3_600_000),
    [kept.data, told.at, hours],
  );
  if (!drawn.lines.length) return null;
  return html`${
    route &&
    html`<div class="row" role="group" aria-label="Range">${Object.entries(RANGES).map(
      ([name, each]) =>
        html`<button class="chip" aria-pressed=${each === hours} onClick=${() => location.replace(changed(route, { hours: String(each) }))}>${name}</button>`,
    )}</div>`
  }
    <${Lines} label="Used parts of the federation over time, and dashed what queues are entitled to"
      at=${drawn.at} lines=${drawn.lines} unit=" %" least=${10} />`;
}
