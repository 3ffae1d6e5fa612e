// Runs of `heddle simulate` and `heddle whatif` as plots: a file of figures that is chosen here and stays in the browser.

import { Lines, Timeline } from "./charts.js";
import { aligned, figuresOf, steps } from "./figures.js";
import { seconds, wordsOf } from "./format.js";
import { Table, Trouble } from "./parts.js";
import { html, useMemo, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./figures.js").Figures} Figures */
/** @typedef {{ name: string, figures: Figures }} Opened */

/** The last file, while other views are looked at. @type {{ file: Opened | null }} */
const kept = { file: null };

export function Simulate() {
  const [file, setFile] = useState(kept.file);
  const [error, fail] = useState("");
  const open = async (/** @type {File | undefined} */ chosen) => {
    if (!chosen) return;
    try {
      kept.file = { name: chosen.name, figures: figuresOf(await chosen.text()) };
      setFile(kept.file);
      fail("");
    } catch (wrong) {
      fail(`${chosen.name}: ${wordsOf(wrong)}`);
    }
  };
  const dropped = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    open(event.dataTransfer?.files[0]);
  };
  const chosen = async (/** @type {Event & { target: HTMLInputElement }} */ event) => {
    await open(event.target.files?.[0]);
    event.target.value = ""; // the same file may be chosen again, after another run
  };
  return html`<h1>Simulate</h1>
    <div class="drop" onDragOver=${(/** @type {DragEvent} */ event) => event.preventDefault()} onDrop=${dropped}>
      <label>A file of figures <input type="file" accept=".json,application/json"
        onChange=${chosen} /></label>
      <p class="note">It is read by this browser, and sent nowhere. Write one by</p>
      <pre>heddle simulate --compare heddle,sparrow --load 0.9 --jobs 100 --plot run.json
heddle whatif --history apps.json --config heddle.toml --policy new.toml --plot change.json</pre>
    </div>
    <${Trouble} error=${error} />
    ${file && html`<${Shown} key=${file.name} file=${file} />`}`;
}

/** @param {{ file: Opened }} props */
function Shown({ file }) {
  const { title, columns, rows, distributions, over_time: overTime, jobs } = file.figures;
  return html`<h2>${title}</h2><p class="note">${file.name}</p>
    <${Table} label="Figures" rows=${rows} columns=${columns.map(([heading, key]) => [heading, (/** @type {any} */ row) => row[key] ?? "", key !== "queue" && key !== "figure" && key !== "policy"])} />
    <div class="charts">
      ${distributions.map((each) => html`<${Chart} title=${each.title} told=${steps(each)} across="% of the jobs, fastest first" />`)}
      ${overTime.map((each) => html`<${Chart} title=${each.title} told=${aligned(each)} across="seconds from the first arrival" />`)}
    </div>
    ${jobs.map((each) => html`<${Jobs} of=${each} />`)}`;
}

/** @param {{ title: string, told: { at: number[], lines: import("./types.js").Line[] }, across: string }} props */
function Chart({ title, told, across }) {
  const drawn = useMemo(() => told, [title]);
  return html`<section><h3>${title}</h3>
    <${Lines} label=${`${title}: ${drawn.lines.map((each) => each.name).join(", ")}`} at=${drawn.at} lines=${drawn.lines} isTime=${false} across=${across} /></section>`;
}

/** @param {{ of: Figures["jobs"][number] }} props */
function Jobs({ of }) {
  const bars = of.bars.map((each) => ({
    name: each.name,
    group: of.name,
    from: each.from_s,
    start: each.start_s,
    to: each.to_s,
    title: `${each.name}: waited ${seconds(each.start_s - each.from_s)}, then ${seconds(each.to_s - each.start_s)}`,
  }));
  const to = Math.max(...bars.map((each) => each.to));
  return html`<h3>Jobs of ${of.name}: waiting is pale</h3>
    <${Timeline} label=${`When each job of ${of.name} waited and ran`} bars=${bars} from=${0} to=${to} tick=${(/** @type {number} */ at) => seconds(at)} />`;
}
