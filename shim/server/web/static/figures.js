// Figures of simulations, as `--plot FILE.json` of `heddle simulate` and `heddle whatif` writes them. The file is
// chosen by whoever looks and does not leave the browser; whatever does not have the form is refused.

const MOST_BYTES = 32 * 1024 * 1024;
const MOST_ITEMS = 64;
const MOST_VALUES = 100_000;
const MOST_BARS = 2000;

/** @typedef {{ title: string, lines: { name: string, percentiles: (number | null)[] }[] }} Distribution */
/** @typedef {{ title: string, lines: { name: string, at_s: number[], values: (number | null)[] }[] }} OverTime */
/** @typedef {{ name: string, from_s: number, start_s: number, to_s: number }} JobBar */
/**
 * @typedef {{
 *   title: string, columns: [string, string][], rows: Record<string, string>[], distributions: Distribution[],
 *   over_time: OverTime[], jobs: { name: string, bars: JobBar[] }[],
 * }} Figures
 */

/**
 * Read a file's text; throws what is wrong with it.
 * @param {string} text
 * @returns {Figures}
 */
export function figuresOf(text) {
  if (text.length > MOST_BYTES) throw new Error("The file is larger than 32 MiB.");
  let told;
  try {
    told = JSON.parse(text);
  } catch {
    throw new Error("The file is not JSON.");
  }
  if (told?.heddle_figures !== 1) {
    throw new Error("These are no figures: write them by heddle simulate or heddle whatif with --plot FILE.json.");
  }
  return {
    title: string(told.title),
    columns: list(told.columns, MOST_ITEMS).map(([title, key]) => [string(title), string(key)]),
    rows: list(told.rows, MOST_BARS).map(texts),
    distributions: list(told.distributions, MOST_ITEMS).map((each) => ({
      title: string(each.title),
      lines: list(each.lines, MOST_ITEMS).map((line) => ({
        name: string(line.name),
        percentiles: numbers(line.percentiles, 101),
      })),
    })),
    over_time: list(told.over_time, MOST_ITEMS).map((each) => ({
      title: string(each.title),
      lines: list(each.lines, MOST_ITEMS).map(overTime),
    })),
    jobs: list(told.jobs, MOST_ITEMS).map((each) => ({
      name: string(each.name),
      bars: list(each.bars, MOST_BARS).map(bar),
    })),
  };
}

/** @param {any} line */
function overTime(line) {
  const [atS, values] = [numbers(line.at_s, MOST_VALUES), numbers(line.values, MOST_VALUES)];
  if (atS.length !== values.length || atS.some((each) => each === null)) throw malformed("times and values");
  return { name: string(line.name), at_s: /** @type {number[]} */ (atS), values };
}

/** @param {any} told */
function bar(told) {
  const [from, start, to] = numbers([told.from_s, told.start_s, told.to_s], 3);
  if (from === null || start === null || to === null || from > start || start > to) throw malformed("a job's times");
  return { name: string(told.name), from_s: from, start_s: start, to_s: to };
}

/** @param {any} value */
function string(value) {
  if (typeof value !== "string") throw malformed("a text");
  return value.slice(0, 500);
}

/** @param {any} value @param {number} most @returns {any[]} */
function list(value, most) {
  if (!Array.isArray(value) || value.length > most) throw malformed("a list");
  return value;
}

/** @param {any} value @param {number} most @returns {(number | null)[]} */
function numbers(value, most) {
  const found = list(value, most);
  if (!found.every((each) => each === null || Number.isFinite(each))) throw malformed("a number");
  return found;
}

/** @param {any} row @returns {Record<string, string>} */
function texts(row) {
  if (typeof row !== "object" || row === null) throw malformed("a row");
  return Object.fromEntries(Object.entries(row).map(([key, value]) => [key, String(value ?? "")]));
}

/** @param {string} what */
const malformed = (what) => new Error(`The figures are malformed: ${what} is not as it should be.`);

/**
 * A distribution's lines over one axis: its values from 0 to 100 % of the jobs, by percentile.
 * @param {Distribution} distribution
 */
export function steps(distribution) {
  return {
    at: Array.from({ length: 101 }, (_, percentile) => percentile),
    lines: distribution.lines.map(({ name, percentiles }) => ({ name, values: percentiles })),
  };
}

/**
 * Lines with times of their own over one axis of all times; null where a line has no value.
 * @param {OverTime} told
 */
export function aligned(told) {
  const at = [...new Set(told.lines.flatMap((line) => line.at_s))].sort((one, other) => one - other);
  const place = new Map(at.map((each, index) => [each, index]));
  const lines = told.lines.map((line) => {
    /** @type {(number | null)[]} */
    const values = new Array(at.length).fill(null);
    line.at_s.forEach((each, index) => {
      values[place.get(each) ?? 0] = line.values[index];
    });
    return { name: line.name, values };
  });
  return { at, lines };
}
