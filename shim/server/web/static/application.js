// One application: what it is, where it runs and why there, what is asked for it where, what was taken from it.

import { read, send, useLive } from "./api.js";
import { Timeline } from "./charts.js";
import { agedOf, hasBegun, lasting, memory, seconds, several, time } from "./format.js";
import { Confirm, State, Table, Trouble } from "./parts.js";
import { may } from "./rights.js";
import { addressOf } from "./route.js";
import { barsOf, seen } from "./timeline.js";
import { html, useEffect, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Ask} Ask */
/** @typedef {import("./types.js").Caller} Caller */
/** @typedef {import("./types.js").Route} Route */
/** @template T @typedef {import("./types.js").Column<T>} Column */

const ENDED = new Set(["FINISHED", "FAILED", "KILLED"]);
const CONTAINERS_EVERY_MS = 4000;

/** @param {{ route: Route, caller: Caller | null }} props */
export function Application({ route, caller }) {
  const name = `apps/${encodeURIComponent(route.item)}`;
  const told = useLive(name, 2000);
  const why = useLive(`${name}/why`, 3000);
  const clusters = useLive("clusters", 5000);
  const app = told.data?.app;
  const aged = app && !ENDED.has(app.state) ? agedOf(clusters.data?.clusters ?? [], app.cluster) : "";
  return html`<h1>${app ? app.name || app.id : route.item}</h1>
    <${Trouble} error=${told.error} at=${told.at} />
    ${why.data?.waits && html`<p>It ${why.data.waits}</p>`}
    ${why.data?.overtaken && html`<p class="trouble">Overtaken: ${why.data.overtaken}</p>`}
    ${app && html`<${Facts} app=${app} place=${why.data?.place} aged=${aged} />`}
    ${app && may(caller, "submit") && html`<${Actions} app=${app} />`}
    ${app && html`<${Diagnostics} text=${app.diagnostics} />`}
    ${app && !ENDED.has(app.state) && html`<${Containers} key=${app.id} id=${app.id} />`}
    <h2>Why there</h2>
    <${Trouble} error=${why.error} at=${why.at} />
    ${why.data && html`<${Why} why=${why.data} />`}`;
}

/** @param {{ text?: string }} props */
const Diagnostics = ({ text }) => (text ? html`<h2>Diagnostics</h2><pre>${text}</pre>` : null);

/** @param {{ app: any, place?: { position: number, of: number, expected_s: number | null } | null, aged: string }} props */
function Facts({ app, place, aged }) {
  const url = /^https?:\/\//.test(app.trackingUrl ?? "") ? app.trackingUrl : "";
  const ended = ["UNDEFINED", app.state].includes(app.finalStatus) ? "" : app.finalStatus;
  const held = `${app.runningContainers} containers, ${memory(app.allocatedMB)}, ${app.allocatedVCores} cores`;
  /** @type {[string, any][]} */
  const facts = [
    ["ID", app.id],
    ["State", html`<${State} of=${app.state} /> ${ended} ${aged && html`<span class="trouble">(${aged})</span>`}`],
    ["Place", place && `${place.position} of ${place.of} that wait in its queue`],
    ["Expected start", place && expectedOf(place.expected_s)],
    ["Cluster", app.cluster && html`<a href=${addressOf("clusters")}>${app.cluster}</a>`],
    [
      "User",
      html`<a href=${addressOf("applications", "", new URLSearchParams({ where: `user=${app.user}` }))}>${app.user}</a>`,
    ],
    ["Queue", html`<a href=${addressOf("queues", app.queue)}>${app.queue}</a>`],
    ["Type", app.applicationType],
    ["Tags", app.applicationTags],
    ["Priority", app.priority >= 0 ? app.priority : ""],
    [hasBegun(app.state) ? "Started" : "Submitted", time(app.startedTime)],
    ["Finished", time(app.finishedTime)],
    ["Lasts", hasBegun(app.state) ? lasting(app.startedTime, app.finishedTime) : ""],
    ["Progress", app.progress === undefined ? "" : `${Math.round(app.progress)} %`],
    ["Holds", app.runningContainers > 0 ? held : ""],
    ["Its pages", url && html`<a rel="noreferrer noopener" href=${url}>${url}</a>`],
    ["Logs", html`<a href=${addressOf("logs", app.id)}>of its containers</a>`],
    ["In the plain pages", html`<a href=${`../cluster/app/${encodeURIComponent(app.id)}`}>with attempts</a>`],
  ];
  const shown = facts.filter(([, value]) => value !== "" && value !== undefined && value !== null);
  return html`<dl class="facts">${shown.map(([title, value]) => html`<dt>${title}</dt><dd>${value}</dd>`)}</dl>`;
}

/** @param {number | null} inS */
const expectedOf = (inS) =>
  inS === null ? "not known: too few started lately" : `in about ${seconds(inS)}, at the present rate of its queue`;

/** @param {{ app: any }} props */
function Actions({ app }) {
  const [ask, setAsk] = useState(/** @type {Ask | null} */ (null));
  if (ENDED.has(app.state)) return null;
  const base = `ws/v1/cluster/apps/${encodeURIComponent(app.id)}`;
  const text = `${app.name || app.id} of ${app.user}${app.cluster ? `, in ${app.cluster}` : ""}.`;
  /** @type {Ask[]} */
  const asks = [
    { title: "Kill", text, act: () => send("PUT", `${base}/state`, { state: "KILLED" }) },
    {
      title: "Move",
      text,
      field: "To queue",
      value: app.queue,
      act: (queue) => send("PUT", `${base}/queue`, { queue }),
    },
    {
      title: "Set priority",
      text,
      field: "Priority",
      value: app.priority,
      act: (priority) => send("PUT", `${base}/priority`, { priority: Number.parseInt(priority, 10) }),
    },
  ];
  return html`<div class="row">${asks.map((each) => html`<button onClick=${() => setAsk(each)}>${each.title}…</button>`)}</div>
    <${Confirm} ask=${ask} close=${() => setAsk(null)} />`;
}

/** Containers by cluster over time: those that run, and those that ended while this page was open. @param {{ id: string }} props */
function Containers({ id }) {
  const [told, tell] = useState({ containers: new Map(), now: Date.now(), isAsked: false });
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    async function ask() {
      if (!document.hidden) {
        try {
          const [listed, places] = await containersOf(id, stop.signal);
          if (stop.signal.aborted) return;
          const now = Date.now();
          tell((before) => ({ containers: seen(before.containers, listed, places, now), now, isAsked: true }));
        } catch {
          if (stop.signal.aborted) return;
          tell((before) => ({ ...before, isAsked: true }));
        }
      }
      timer = setTimeout(ask, CONTAINERS_EVERY_MS);
    }
    ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id]);
  const bars = barsOf(told.containers.values(), told.now);
  const from = Math.min(told.now - 60_000, ...bars.map((each) => each.from));
  return html`<h2>Containers</h2>
    ${!bars.length && html`<p class="note">${told.isAsked ? "None that runs, or none that may be seen." : "Asking…"}</p>`}
    ${bars.length > 0 && html`<p class="note">Those that run, and those that ended since this page was opened.</p>`}
    ${bars.length > 0 && html`<${Timeline} label="Containers by cluster over time" bars=${bars} from=${from} to=${told.now} tick=${clockOf} />`}`;
}

/** @param {number} ms */
const clockOf = (ms) => new Date(ms).toLocaleTimeString("sv-SE");

/**
 * Containers of the newest attempt, and where they are.
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function containersOf(id, signal) {
  const name = encodeURIComponent(id);
  const attempts = several((await read(`ws/v1/cluster/apps/${name}/appattempts`, signal)).appAttempts?.appAttempt);
  const ids = attempts.map((/** @type {any} */ each) => each.appAttemptId).sort();
  const places = await read(`heddle/v1/console/containers/${name}`, signal);
  const newest = ids.at(-1);
  const told = newest ? await read(`ws/v1/cluster/apps/${name}/appattempts/${newest}/containers`, signal) : {};
  return [several(told.container), places];
}

/** @param {{ why: any }} props */
function Why({ why }) {
  /** @type {Column<any>[]} */
  const candidates = [
    ["Candidate", (row) => html`${row.cluster}${row.cluster === why.home ? " (its home)" : ""}`],
    ["Score", (row) => (row.score === null ? "" : row.score.toFixed(3)), true],
    ["Why", (row) => row.reason],
    ["Age of the view", (row) => (row.age_s === null ? "" : `${row.age_s.toFixed(1)} s`), true],
  ];
  return html`<p>${why.reason}</p>
    ${why.waited && html`<p>It waited for ${why.waited.waited_s.toFixed(1)} s for its queue's turn: ${why.waited.reason}</p>`}
    ${why.deadline && html`<p class=${why.deadline.met === "no" ? "trouble" : ""}>Deadline: ${why.deadline.text}</p>`}
    ${why.rejection && html`<p class="trouble">Refused: ${why.rejection}</p>`}
    ${why.last_failure && html`<p class="trouble">${why.failed_attempts} attempts to hand it over failed: ${why.last_failure}; next in ${why.next_attempt_in_s} s</p>`}
    <${Table} label="Candidates" empty="No choice was made." rows=${why.candidates ?? []} columns=${candidates} />
    ${why.verdicts?.length > 0 && html`<h2>What Local Masters said</h2><${Table} label="Verdicts" rows=${why.verdicts} columns=${VERDICTS} />`}
    ${why.asks?.length > 0 && html`<h2>Containers that it waits for</h2><${Table} label="Asks" rows=${why.asks} columns=${ASKS} />`}
    ${why.preemption?.length > 0 && html`<h2>Taken back from it</h2><${Table} label="Preemption" rows=${why.preemption} columns=${PREEMPTION} />`}
    ${why.altruism && html`<h2>Altruism</h2><${Altruism} of=${why.altruism} />`}`;
}

/** @type {Column<any>[]} */
const VERDICTS = [
  ["Cluster", (row) => row.cluster],
  ["Verdict", (row) => row.verdict],
  ["Why", (row) => row.reason],
];

/** @type {Column<any>[]} */
const PREEMPTION = [
  ["When", (row) => time(row.at_ms)],
  ["What", (row) => `${row.done} ${row.container}`],
  ["Cluster", (row) => row.cluster],
  ["For", (row) => row.for],
  ["Why", (row) => row.reason],
];

/** @param {any} row */
const askedOf = (row) =>
  row.candidates
    .filter((/** @type {any} */ each) => each.asked)
    .map((/** @type {any} */ each) => `${each.cluster}: ${each.asked}`)
    .join(", ");

/** @type {Column<any>[]} */
const ASKS = [
  ["Priority", (row) => row.priority, true],
  ["Each", (row) => `${memory(row.memory_mib)}, ${row.vcores} cores${row.label ? `, label ${row.label}` : ""}`],
  ["Waits for", (row) => row.wanted, true],
  ["Held in Heddle", (row) => row.withheld, true],
  ["Asked of", askedOf],
  ["Rule", (row) => row.rule || row.by],
  ["Why", (row) => row.reason],
  [
    "Behind",
    (row) =>
      row.behind.map((/** @type {string} */ each) => html`<a href=${addressOf("application", each)}>${each}</a> `),
  ],
];

/** The stages of a job as Heddle knows them, and what of them it puts off for others. @param {{ of: any }} props */
function Altruism({ of }) {
  const putOff = new Map(of.puts_off.map((/** @type {any} */ each) => [each.stage, each]));
  /** @type {Column<any>[]} */
  const columns = [
    ["Stage", (row) => row.stage],
    ["Waits for", (row) => row.waits_for.join(", ")],
    ["Tasks", (row) => row.tasks, true],
    ["Waiting", (row) => row.waiting ?? "?", true],
    ["Running", (row) => row.running, true],
    ["Ended", (row) => row.ended, true],
    ["Put off", (row) => putOff.get(row.stage)?.containers ?? "", true],
    ["A task lasts", (row) => (row.task_s === null ? "?" : `${row.task_s} s`), true],
    ["How sure", (row) => row.sure],
  ];
  return html`<p>${of.unknown || `The graph is that of ${of.graph} (${of.graph_from}).`}
      ${of.ends_by_ms ? ` With its share alone it would end by ${time(of.ends_by_ms)}.` : ""}
      ${` Given ${of.given_s} s, received ${of.received_s} s of a queue's share.`}
      ${of.lent_containers ? ` ${of.lent_containers} of its containers are lent, since ${time(of.lent_since_ms)}.` : ""}
      ${of.shadow ? " This is only computed: the queue's altruism is a shadow." : ""}</p>
    <${Table} label="Stages" rows=${of.stages} empty="Its stages are not known." columns=${columns} />`;
}
