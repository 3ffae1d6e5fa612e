// Policies of shares: the one that holds, what another would change, and every one that ever held.

import { send, useRead } from "./api.js";
import { differenceOf, folded } from "./diff.js";
import { change, percent, time, wordsOf } from "./format.js";
import { Confirm, Difference, Table, Trouble } from "./parts.js";
import { may } from "./rights.js";
import { changed } from "./route.js";
import { html, useEffect, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Ask} Ask */
/** @typedef {import("./types.js").Caller} Caller */
/** @typedef {import("./types.js").PolicyVersion} PolicyVersion */
/** @typedef {import("./types.js").Route} Route */
/**
 * How a queue would stand, beside how it does; shares are parts of the federation.
 * @typedef {{ queue: string, [figure: string]: any }} Compared
 */
/** @typedef {{ text: string, version: number, queues: Compared[], nowhere: string[] }} Comparison */

const EVERY_MS = 10_000;
const SOURCE = "the policy";

/** What somebody has typed stays while other views are looked at. */
const draft = { text: "", from: -1 };

/** @param {{ route: Route, caller: Caller | null }} props */
export function Policies({ route, caller }) {
  const history = useRead("heddle/v1/policy/history", EVERY_MS);
  /** @type {PolicyVersion[]} */
  const versions = history.data?.versions ?? [];
  const [ask, setAsk] = useState(/** @type {Ask | null} */ (null));
  const [newest] = versions;
  return html`<h1>Policies</h1>
    <${Trouble} error=${history.error} at=${history.at} />
    ${newest && html`<p>Version ${newest.version} holds${applied(newest)}.</p>`}
    ${newest && caller?.may_ask && html`<${Trial} versions=${versions} route=${route} caller=${caller} setAsk=${setAsk} />`}
    <h2>Every policy that ever held, newest first</h2>
    ${versions.map((each, place) => html`<${Version} key=${each.version} of=${each} before=${versions[place + 1]} isNewest=${place === 0} route=${route} caller=${caller} setAsk=${setAsk} />`)}
    <${Confirm} ask=${ask} close=${() => setAsk(null)} />`;
}

/** @param {PolicyVersion} version */
const applied = (version) =>
  `${version.applied_by ? `, applied by ${version.applied_by}` : ""}${version.applied_at_ms ? `, ${time(version.applied_at_ms)}` : ""}${version.note ? `: ${version.note}` : ""}`;

/**
 * A text to change, and what it would change: looked at before it is applied.
 * @param {{ versions: PolicyVersion[], route: Route, caller: Caller, setAsk: (ask: Ask) => void }} props
 */
function Trial({ versions, route, caller, setAsk }) {
  const [newest] = versions;
  const from = Number(route.params.get("from") ?? newest.version);
  const start = versions.find((each) => each.version === from) ?? newest;
  const [text, setText] = useState(draft.from === start.version ? draft.text : start.text);
  const [compared, setCompared] = useState(/** @type {Comparison | null} */ (null));
  const [error, fail] = useState("");
  const write = (/** @type {string} */ typed) => {
    Object.assign(draft, { text: typed, from: start.version });
    setText(typed);
    setCompared(null);
  };
  useEffect(() => {
    if (draft.from !== start.version) write(start.text);
  }, [start.version]);
  async function compare() {
    fail("");
    try {
      const body = { text, source: SOURCE };
      // one after the other: the server reads one policy of each user at a time
      const valid = await send("POST", "heddle/v1/policy/validate", body);
      const told = await send("POST", "heddle/v1/shares/whatif", body);
      setCompared({ text, version: told.version, queues: told.queues, nowhere: valid.nowhere });
    } catch (wrong) {
      setCompared(null);
      fail(wordsOf(wrong));
    }
  }
  return html`<h2>What another policy would change</h2>
    <label class="stacked">A policy: <code>[[queue]]</code> and <code>[[mapping]]</code> tables${start === newest ? "" : `, from version ${start.version}`}
      <textarea rows="14" spellcheck="false" value=${text} onInput=${(/** @type {any} */ event) => write(event.target.value)}></textarea></label>
    <div class="row">
      <button onClick=${compare}>Compare with what holds</button>
      <button onClick=${() => write(start.text)} disabled=${text === start.text}>Start over</button>
      ${may(caller, "administer") && compared && html`<button class="danger" onClick=${() => prepare(compared, setAsk, fail)}>Apply…</button>`}
    </div>
    <${Trouble} error=${error} />
    ${compared && html`<${SideBySide} of=${compared} holds=${newest} />`}`;
}

/**
 * The dry run first: what does not count at once. Refused if another one was applied since it was compared.
 * @param {Comparison} compared
 * @param {(ask: Ask) => void} setAsk
 * @param {(error: string) => void} fail
 */
async function prepare(compared, setAsk, fail) {
  const body = { text: compared.text, source: SOURCE, expected: compared.version };
  try {
    const dry = await send("POST", "heddle/v1/policy?dryRun=true", body);
    const notes = [`It holds instead of version ${compared.version}, at once, in every Heddle.`, ...dry.not_at_once];
    setAsk({
      title: "Apply this policy",
      verb: "Apply",
      text: notes.join(" "),
      field: "Why",
      value: "",
      act: (note) => send("POST", "heddle/v1/policy", { ...body, note }),
    });
  } catch (wrong) {
    fail(wordsOf(wrong));
  }
}

/** @param {{ of: Comparison, holds: PolicyVersion }} props */
function SideBySide({ of, holds }) {
  const lines = folded(differenceOf(holds.text, of.text));
  return html`<h3>Queues, now and then</h3>
    ${of.nowhere.length > 0 && html`<p class="trouble">No cluster has ${of.nowhere.join(", ")}: a slip, or of a cluster that is away.</p>`}
    <${Table} label="Queues, now and then" rows=${of.queues} columns=${COMPARED} empty="Neither policy has a queue with a weight." />
    <h3>The text</h3>
    <${Difference} lines=${lines} empty="The text is that of what holds." />`;
}

/**
 * @param {string} title
 * @param {string} name
 * @returns {import("./types.js").Column<Compared>[]}
 */
const pair = (title, name) => [
  [`${title} now`, (row) => percent(row[`${name}_now`]) || "–", true],
  [`${title} then`, (row) => percent(row[`${name}_then`]) || "–", true],
  ["Change", (row) => changeOf(row, name), true],
];

/** @param {Compared} row @param {string} name */
function changeOf(row, name) {
  const text = change(row[`${name}_now`], row[`${name}_then`]);
  return text && html`<span class=${text.startsWith("+") ? "good" : "bad"}>${text}</span>`;
}

/** @type {import("./types.js").Column<Compared>[]} */
const COMPARED = [
  ["Queue", (row) => row.queue],
  ...pair("Entitled", "entitlement"),
  ...pair("Share", "share"),
  ["Used now", (row) => percent(row.used_now ?? row.used_then), true],
  ["Wants", (row) => percent(row.wanted_then ?? row.wanted_now), true],
  ["Below its entitlement", (row) => owedOf(row)],
];

/** @param {Compared} row */
function owedOf(row) {
  if (row.is_owed_now === row.is_owed_then) return row.is_owed_now ? "now and then" : "";
  return row.is_owed_then ? "then" : "now";
}

/**
 * @param {{ of: PolicyVersion, before?: PolicyVersion, isNewest: boolean, route: Route, caller: Caller | null, setAsk: (ask: Ask) => void }} props
 */
function Version({ of, before, isNewest, route, caller, setAsk }) {
  const [isOpen, open] = useState(false);
  const lines = isOpen && before ? folded(differenceOf(before.text, of.text)) : [];
  return html`<details onToggle=${(/** @type {any} */ event) => open(event.currentTarget.open)}>
    <summary>Version ${of.version}${applied(of)}</summary>
    ${isOpen && before && html`<h3>What it changed in version ${before.version}</h3><${Difference} lines=${lines} empty="Nothing." />`}
    ${isOpen && html`<h3>All of it</h3><pre>${of.text}</pre>`}
    <div class="row">
      ${caller?.may_ask && html`<a href=${changed(route, { from: String(of.version) })}>Compare with what holds</a>`}
      ${may(caller, "administer") && !isNewest && html`<button onClick=${() => rollBack(of, setAsk)}>Roll back…</button>`}
    </div>
  </details>`;
}

/**
 * @param {PolicyVersion} version
 * @param {(ask: Ask) => void} setAsk
 */
async function rollBack(version, setAsk) {
  const path = `heddle/v1/policy/rollback/${version.version}`;
  /** @type {Ask} */
  const ask = {
    title: `Roll back to version ${version.version}`,
    verb: "Roll back",
    text: "",
    act: () => send("POST", path),
  };
  try {
    const dry = await send("POST", `${path}?dryRun=true`);
    const which =
      version.version === 0
        ? "Each Heddle's configuration file holds again."
        : "Its text holds again, as a new version.";
    setAsk({ ...ask, text: [which, ...dry.not_at_once].join(" ") });
  } catch (wrong) {
    setAsk({ ...ask, text: wordsOf(wrong), act: undefined });
  }
}
