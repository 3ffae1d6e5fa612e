// Charts: lines by uPlot, and bars on a timeline. Both have what they show as a table for those who see no picture.

import { colourOf } from "./parts.js";
import { html, useEffect, useRef } from "./vendor/htm-preact.js";
import UPlot from "./vendor/uplot.js";

/** @typedef {import("./types.js").Line} Line */
/** @typedef {import("./types.js").Bar} Bar */

const HEIGHT_PX = 240;
const MOST_BARS = 400;

/**
 * @param {string} name Of a custom property of the style sheet
 * @returns {string}
 */
const styled = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * Lines over one axis; drawn anew with what they show, and when the window or its colours change.
 * @param {{
 *   label: string, at: number[], lines: Line[], unit?: string, isTime?: boolean, across?: string, least?: number,
 *   format?: (value: number) => string,
 * }} props `at` in seconds since the epoch where `isTime`; `across` is what the axis says; `least` the least range
 */
export function Lines({ label, at, lines, unit = "", isTime = true, across = "", least = 0, format = shortly }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    const node = place.current;
    if (!node || !at.length) return;
    /** @type {UPlot | null} */
    let plot = null;
    const draw = () => {
      plot?.destroy();
      plot = new UPlot(optionsOf(), [at, ...lines.map((each) => each.values)], node);
    };
    const optionsOf = () => {
      const grid = { stroke: styled("--line"), width: 1 };
      const axis = { stroke: styled("--quiet"), grid, ticks: grid };
      return /** @type {import("./vendor/uplot.js").default.Options} */ ({
        width: Math.max(240, node.clientWidth),
        height: HEIGHT_PX,
        scales: { x: { time: isTime }, y: { range: rangeOf } },
        axes: [
          { ...axis, label: across || undefined, labelSize: 18, ...(isTime ? { values: momentsOf } : {}) },
          { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => `${format(tick)}${unit}`) },
        ],
        series: [{ ...(isTime ? {} : { label: across }) }, ...lines.map(seriesOf)],
      });
    };
    const rangeOf = (/** @type {unknown} */ _, /** @type {number} */ low, /** @type {number} */ high) =>
      /** @type {[number, number]} */ ([Math.min(0, low ?? 0), Math.max(least, 1.05 * (high ?? 0)) || 1]);
    const seriesOf = (/** @type {Line} */ line, /** @type {number} */ index) => ({
      label: line.name,
      stroke: styled(`--${colourOf(line.colour ?? index)}`),
      width: line.isDashed ? 1 : 2,
      dash: line.isDashed ? [5, 4] : undefined,
      points: { show: at.length < 2 },
      spanGaps: !isTime,
      value: (/** @type {unknown} */ _plot, /** @type {number | null} */ value) =>
        value === null || value === undefined ? "" : `${format(value)}${unit}`,
    });
    draw();
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const sized = new ResizeObserver(() =>
      plot?.setSize({ width: Math.max(240, node.clientWidth), height: HEIGHT_PX }),
    );
    sized.observe(node);
    scheme.addEventListener("change", draw);
    return () => {
      sized.disconnect();
      scheme.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [at, lines, unit, isTime]);
  if (!at.length) return null;
  return html`<div class="chart" ref=${place} role="img" aria-label=${label}></div>`;
}

/**
 * Hours and minutes, and the date where a day begins.
 * @param {unknown} _
 * @param {number[]} ticks
 */
const momentsOf = (_, ticks) =>
  ticks.map((tick) => {
    const moment = new Date(1000 * tick);
    const clock = moment.toLocaleTimeString("sv-SE", { hour: "2-digit", minute: "2-digit" });
    return clock === "00:00" ? moment.toLocaleDateString("sv-SE") : clock;
  });

/** @param {number} value */
const shortly = (value) =>
  Math.abs(value) >= 100 || Number.isInteger(value) ? `${Math.round(value)}` : value.toPrecision(2);

/**
 * Bars on rows of one axis, by groups; what comes before `start` of each is pale.
 * @param {{ label: string, bars: Bar[], from: number, to: number, tick: (at: number) => string }} props
 */
export function Timeline({ label, bars, from, to, tick }) {
  const shown = bars.slice(0, MOST_BARS);
  const groups = [...new Set(bars.map((each) => each.group))];
  const span = Math.max(to - from, 1e-9);
  const at = (/** @type {number} */ moment) => `${(100 * Math.min(Math.max(moment - from, 0), span)) / span}%`;
  const wide = (/** @type {number} */ length) => `${Math.max(0, (100 * length) / span)}%`;
  return html`<div class="timeline" role="img" aria-label=${label}>
    <div class="axis">${[0, 0.25, 0.5, 0.75, 1].map((part) => html`<span style=${{ left: `${100 * part}%` }}>${tick(from + part * span)}</span>`)}</div>
    ${shown.map(
      (bar) => html`<div class="lane" title=${bar.title ?? bar.name}>
        <b>${bar.name}</b>
        <div class="track">
          ${bar.start > bar.from && html`<i class="before" style=${{ left: at(bar.from), width: wide(Math.min(bar.start, to) - bar.from) }}></i>`}
          <i class=${`${colourOf(groups.indexOf(bar.group))}${bar.isOpen ? " open" : ""}`}
            style=${{ left: at(bar.start), width: wide(Math.min(bar.to, to) - Math.max(bar.start, from)) }}></i>
        </div>
      </div>`,
    )}
    ${bars.length > shown.length && html`<p class="note">The first ${shown.length} of ${bars.length}.</p>`}
  </div>
  <${Legend} names=${groups} />`;
}

/** What each colour stands for. @param {{ names: string[] }} props */
export function Legend({ names }) {
  if (names.length < 2) return null;
  return html`<p class="legend">${names.map((name, place) => html`<span><i class=${colourOf(place)}></i>${name}</span>`)}</p>`;
}
