// A range of time in which applications started or ended; its bounds stand in the address.

import { time } from "./format.js";
import { changed } from "./route.js";
import { html } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Route} Route */

/** Parameters of the address and of the web service, each with its words: milliseconds since the epoch, included. */
const BOUNDS = {
  started_from: "Started from",
  started_to: "Started until",
  finished_from: "Ended from",
  finished_to: "Ended until",
};
const MINUTE_MS = 60_000;

/**
 * A bound of the address in milliseconds; none if it is no number.
 * @param {string | null} text
 */
const momentOf = (text) => (text && /^[0-9]{1,15}$/.test(text) ? Number(text) : null);

/**
 * What a field for dates shows for a moment, in the browser's time zone: to the minute.
 * @param {number | null} ms
 */
export function shownMoment(ms) {
  if (ms === null) return "";
  return time(Math.max(1, ms)).replace(" ", "T").slice(0, 16);
}

/**
 * The moment that somebody chose, in milliseconds; the end of a range is the end of its minute.
 * @param {string} text
 * @param {boolean} isEnd
 */
export function chosenMoment(text, isEnd) {
  const ms = new Date(text).getTime();
  return Number.isFinite(ms) && ms >= 0 ? String(ms + (isEnd ? MINUTE_MS - 1 : 0)) : null;
}

/**
 * The bounds that an address has, in words.
 * @param {URLSearchParams} params
 */
export const boundsOf = (params) =>
  Object.entries(BOUNDS).flatMap(([name, title]) => {
    const ms = momentOf(params.get(name));
    return ms === null ? [] : [{ name, words: `${title} ${shownMoment(ms).replace("T", " ")}` }];
  });

/** @param {{ route: Route }} props */
export function TimeRange({ route }) {
  const choose = (/** @type {string} */ name) => (/** @type {any} */ event) => {
    location.hash = changed(route, { [name]: chosenMoment(event.target.value, name.endsWith("_to")) });
  };
  return html`<details class="choice times"><summary>Time</summary><div>
    ${Object.entries(BOUNDS).map(
      ([name, title]) => html`<label>${title}
        <input type="datetime-local" name=${name} value=${shownMoment(momentOf(route.params.get(name)))} onChange=${choose(name)} /></label>`,
    )}
  </div></details>`;
}
