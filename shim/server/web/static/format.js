// Numbers, amounts and times as people read them.

const UNITS = ["MiB", "GiB", "TiB", "PiB"];

/**
 * An amount of memory.
 * @param {unknown} mib
 */
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

/** @param {number | null | undefined} part */
export function percent(part) {
  if (part === null || part === undefined || !Number.isFinite(part)) return "";
  return `${(100 * part).toFixed(part > 0 && part < 0.1 ? 1 : 0)} %`;
}

/**
 * The difference of two parts, with its sign; empty where there is none to see.
 * @param {number | undefined} before
 * @param {number | undefined} after
 */
export function change(before, after) {
  if (before === undefined || after === undefined) return "";
  const points = 100 * (after - before);
  if (Math.abs(points) < 0.05) return "";
  return `${points > 0 ? "+" : "−"}${Math.abs(points).toFixed(1)}`;
}

/**
 * A moment, in the browser's time zone; Swedes write dates as ISO 8601 does.
 * @param {number | null | undefined} ms
 */
export const time = (ms) => (ms && ms > 0 ? new Date(ms).toLocaleString("sv-SE") : "");

/**
 * Seconds as people say them.
 * @param {number | null | undefined} given
 */
export function seconds(given) {
  if (given === null || given === undefined || !Number.isFinite(given)) return "";
  const whole = Math.max(0, Math.round(given));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

/**
 * From a moment to another, or to now while it lasts.
 * @param {number} fromMs
 * @param {number} toMs
 */
export function lasting(fromMs, toMs, nowMs = Date.now()) {
  return fromMs > 0 ? seconds(((toMs > 0 ? toMs : nowMs) - fromMs) / 1000) : "";
}

/**
 * A count with a space between thousands.
 * @param {number | null | undefined} number
 */
export const count = (number) =>
  number === null || number === undefined ? "" : number.toLocaleString("sv-SE").replaceAll(" ", " ");

const WAITING = new Set(["NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"]);

/** Whether an application of a state has begun: before, it was submitted. @param {string} state */
export const hasBegun = (state) => !WAITING.has(state);

/** States of a cluster in which what is told of it is of now. */
const HEARD = new Set(["RUNNING", "CORDONED", "DRAINING"]);

/** @param {string} state */
export const isHeard = (state) => HEARD.has(state);

/**
 * What to say beside a thing of a cluster that does not answer; empty of others.
 * @param {{ id: string, state: string, age_s: number | null }[]} clusters
 * @param {string} id
 */
export function agedOf(clusters, id, nowMs = Date.now()) {
  const found = clusters.find((each) => each.id === id);
  if (!found || isHeard(found.state)) return "";
  const at = found.age_s === null ? "" : `as of ${time(nowMs - 1000 * found.age_s)}, `;
  return `${at}${id} is ${found.state}`;
}

/** What an error says. @param {unknown} error */
export const wordsOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * A list of a ResourceManager's, which writes one of one as that one, and one of none as nothing.
 * @template T
 * @param {T[] | T | null | undefined} told
 * @returns {T[]}
 */
export function several(told) {
  if (told === null || told === undefined) return [];
  return Array.isArray(told) ? told : [told];
}
