// One application: what it is, where it runs and why there, what is asked for it where, what was taken from it.

import { html, useState } from "./vendor/htm-preact.js";
import { send, useLive } from "./api.js";
import { Confirm, lasting, memory, State, Table, time, Trouble } from "./parts.js";
import { addressOf } from "./route.js";

const ENDED = new Set(["FINISHED", "FAILED", "KILLED"]);

export function Application({ route }) {
  const name = `apps/${encodeURIComponent(route.item)}`;
  const told = useLive(name, 2000);
  const why = useLive(`${name}/why`, 3000);
  const app = told.data?.app;
  return html`<h1>${app ? app.name || app.id : route.item}</h1>
    <${Trouble} error=${told.error} at=${told.at} />
    ${app && html`<${Facts} app=${app} /><${Actions} app=${app} />`}
    <h2>Why there</h2>
    <${Trouble} error=${why.error} at=${why.at} />
    ${why.data && html`<${Why} why=${why.data} />`}`;
}

function Facts({ app }) {
  const url = /^https?:\/\//.test(app.trackingUrl ?? "") ? app.trackingUrl : "";
  const facts = [
    ["ID", app.id],
    ["State", html`<${State} of=${app.state} /> ${["UNDEFINED", app.state].includes(app.finalStatus) ? "" : app.finalStatus}`],
    ["Cluster", html`<a href=${addressOf("clusters")}>${app.cluster}</a>`],
    ["User", app.user],
    ["Queue", html`<a href=${addressOf("queues", app.queue)}>${app.queue}</a>`],
    ["Type", app.applicationType],
    ["Tags", app.applicationTags],
    ["Priority", app.priority],
    ["Started", time(app.startedTime)],
    ["Finished", time(app.finishedTime)],
    ["Lasts", lasting(app.startedTime, app.finishedTime)],
    ["Progress", app.progress === undefined ? "" : `${Math.round(app.progress)} %`],
    ["Holds", app.runningContainers > 0 ? `${app.runningContainers} containers, ${memory(app.allocatedMB)}, ${app.allocatedVCores} cores` : ""],
    ["Its pages", url && html`<a rel="noreferrer noopener" href=${url}>${url}</a>`],
    ["Logs", html`<a href=${addressOf("logs", app.id)}>of its containers</a>`],
    ["In the plain pages", html`<a href=${`../cluster/app/${encodeURIComponent(app.id)}`}>with attempts</a>`],
  ];
  return html`<dl class="facts">${facts
      .filter(([, value]) => value !== "" && value !== undefined && value !== null)
      .map(([title, value]) => html`<dt>${title}</dt><dd>${value}</dd>`)}</dl>
    ${app.diagnostics && html`<h2>Diagnostics</h2><pre>${app.diagnostics}</pre>`}`;
}

function Actions({ app }) {
  const [ask, setAsk] = useState(null);
  if (ENDED.has(app.state)) return null;
  const base = `ws/v1/cluster/apps/${encodeURIComponent(app.id)}`;
  const told = `${app.name || app.id} of ${app.user}, in ${app.cluster}.`;
  const asks = [
    { title: "Kill", text: told, act: () => send("PUT", `${base}/state`, { state: "KILLED" }) },
    { title: "Move", text: told, field: "To queue", value: app.queue, act: (queue) => send("PUT", `${base}/queue`, { queue }) },
    {
      title: "Set priority", text: told, field: "Priority", value: app.priority,
      act: (priority) => send("PUT", `${base}/priority`, { priority: Number.parseInt(priority, 10) }),
    },
  ];
  return html`<div class="row">${asks.map((each) => html`<button onClick=${() => setAsk(each)}>${each.title}…</button>`)}</div>
    <${Confirm} ask=${ask} close=${() => setAsk(null)} />`;
}

function Why({ why }) {
  return html`<p>${why.reason}</p>
    ${why.waited && html`<p>It waited for ${why.waited.waited_s.toFixed(1)} s for its queue's turn: ${why.waited.reason}</p>`}
    ${why.deadline && html`<p class=${why.deadline.met === "no" ? "trouble" : ""}>Deadline: ${why.deadline.text}</p>`}
    ${why.rejection && html`<p class="trouble">Refused: ${why.rejection}</p>`}
    ${why.last_failure && html`<p class="trouble">${why.failed_attempts} attempts to hand it over failed: ${why.last_failure}; next in ${why.next_attempt_in_s} s</p>`}
    <${Table} empty="No choice was made." rows=${why.candidates ?? []} columns=${[
      ["Candidate", (row) => html`${row.cluster}${row.cluster === why.home ? " (its home)" : ""}`],
      ["Score", (row) => (row.score === null ? "" : row.score.toFixed(3)), true],
      ["Why", (row) => row.reason],
      ["Age of the view", (row) => (row.age_s === null ? "" : `${row.age_s.toFixed(1)} s`), true],
    ]} />
    ${why.verdicts?.length > 0 && html`<h2>What Local Masters said</h2><${Table} rows=${why.verdicts} columns=${[
      ["Cluster", (row) => row.cluster],
      ["Verdict", (row) => row.verdict],
      ["Why", (row) => row.reason],
    ]} />`}
    ${why.asks?.length > 0 && html`<h2>Containers that it waits for</h2><${Asks} asks=${why.asks} />`}
    ${why.preemption?.length > 0 && html`<h2>Taken back from it</h2><${Table} rows=${why.preemption} columns=${[
      ["When", (row) => time(row.at_ms)],
      ["What", (row) => `${row.done} ${row.container}`],
      ["Cluster", (row) => row.cluster],
      ["For", (row) => row.for],
      ["Why", (row) => row.reason],
    ]} />`}
    ${why.altruism && html`<h2>Altruism</h2><${Altruism} of=${why.altruism} />`}`;
}

/** The stages of a job as Heddle knows them, and what of them it puts off for others. */
function Altruism({ of }) {
  const putOff = new Map(of.puts_off.map((each) => [each.stage, each]));
  return html`<p>${of.unknown || `The graph is that of ${of.graph} (${of.graph_from}).`}
      ${of.ends_by_ms ? ` With its share alone it would end by ${time(of.ends_by_ms)}.` : ""}
      ${` Given ${of.given_s} s, received ${of.received_s} s of a queue's share.`}
      ${of.lent_containers ? ` ${of.lent_containers} of its containers are lent, since ${time(of.lent_since_ms)}.` : ""}
      ${of.shadow ? " This is only computed: the queue's altruism is a shadow." : ""}</p>
    <${Table} label="Stages" rows=${of.stages} empty="Its stages are not known." columns=${[
      ["Stage", (row) => row.stage],
      ["Waits for", (row) => row.waits_for.join(", ")],
      ["Tasks", (row) => row.tasks, true],
      ["Waiting", (row) => row.waiting ?? "?", true],
      ["Running", (row) => row.running, true],
      ["Ended", (row) => row.ended, true],
      ["Put off", (row) => putOff.get(row.stage)?.containers ?? "", true],
      ["A task lasts", (row) => (row.task_s === null ? "?" : `${row.task_s} s`), true],
      ["How sure", (row) => row.sure],
    ]} />`;
}

function Asks({ asks }) {
  const columns = [
    ["Priority", (row) => row.priority, true],
    ["Each", (row) => `${memory(row.memory_mib)}, ${row.vcores} cores${row.label ? `, label ${row.label}` : ""}`],
    ["Waits for", (row) => row.wanted, true],
    ["Held in Heddle", (row) => row.withheld, true],
    ["Asked of", (row) => row.candidates.filter((each) => each.asked).map((each) => `${each.cluster}: ${each.asked}`).join(", ")],
    ["Rule", (row) => row.rule || row.by],
    ["Why", (row) => row.reason],
    ["Behind", (row) => row.behind.map((each) => html`<a href=${addressOf("application", each)}>${each}</a> `)],
  ];
  return html`<${Table} columns=${columns} rows=${asks} />`;
}
