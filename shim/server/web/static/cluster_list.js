// The list of clusters, for administrators: one more, other keys, one less, an old list again; each shown before it is done.

import { send, useRead } from "./api.js";
import { differenceOf, folded } from "./diff.js";
import { time, wordsOf } from "./format.js";
import { Difference, Trouble } from "./parts.js";
import { html, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Ask} Ask */
/** @typedef {import("./types.js").ClusterVersion} ClusterVersion */
/** @typedef {{ managed: string, serves: number, trouble: string, versions: ClusterVersion[] }} Told */
/** @typedef {(ask: Ask) => void} SetAsk */
/**
 * A change of the list: whom to ask for it, and with what.
 * @typedef {{ title: string, verb: string, path: string, body: Record<string, unknown>, note: string }} Change
 */

const EVERY_MS = 10_000;
const LIST = "heddle/v1/cluster-versions";
const HEADER = /^\s*\[\[\s*subcluster\s*\]\]/;
const ID = /^\s*id\s*=\s*(["'])(.+?)\1/m;

/** @param {string} id @param {string} verb */
const pathOf = (id, verb) => `heddle/v1/clusters/${encodeURIComponent(id)}/${verb}`;

/** @param {{ setAsk: SetAsk }} props */
export function ClusterList({ setAsk }) {
  const read = useRead(LIST, EVERY_MS);
  const [form, open] = useState("");
  /** @type {Told | null} */
  const told = read.data;
  if (!told) return html`<${Trouble} error=${read.error} />`;
  const [newest] = told.versions;
  const ids = newest?.clusters ?? [];
  return html`<section class="card wide" aria-labelledby="cluster-list">
    <h2 id="cluster-list">The list of clusters</h2>
    <p class="note">${whereOf(told)}</p>
    <${Trouble} error=${read.error || told.trouble} at=${read.error ? read.at : 0} />
    <div class="row">
      <button onClick=${() => open("+")}>Add a cluster…</button>
      ${ids.map(
        (id) => html`<button onClick=${() => open(id)}>Edit ${id}…</button>
          <button onClick=${() => propose(removal(id), told, setAsk)}>Remove ${id}…</button>`,
      )}
    </div>
    ${form === "+" && html`<${Addition} told=${told} setAsk=${setAsk} close=${() => open("")} />`}
    ${form && form !== "+" && html`<${Edit} key=${form} id=${form} list=${newest} told=${told} setAsk=${setAsk} close=${() => open("")} />`}
    ${told.managed === "store" && html`<${History} told=${told} setAsk=${setAsk} />`}
  </section>`;
}

/** @param {Told} told */
function whereOf(told) {
  const [newest] = told.versions;
  if (told.managed === "file") return `In this Heddle's configuration file, ${newest?.note ?? "which cannot be read"}.`;
  if (!newest) return "In the store, and there is none yet.";
  const lag = told.serves === newest.version ? "" : `; this Heddle serves version ${told.serves || "none"}`;
  return `In the store: version ${newest.version}${applied(newest)}${lag}.`;
}

/** @param {ClusterVersion} version */
const applied = (version) =>
  `, by ${version.applied_by}, ${time(version.applied_at_ms)}${version.note ? `: ${version.note}` : ""}`;

/**
 * @param {string} id
 * @returns {Change}
 */
const removal = (id) => ({
  title: `Remove ${id}`,
  verb: "Remove",
  path: pathOf(id, "remove"),
  body: {},
  note: `remove ${id}`,
});

/** @param {{ told: Told, setAsk: SetAsk, close: () => void }} props */
function Addition({ told, setAsk, close }) {
  /** @param {any} event */
  function look(event) {
    event.preventDefault();
    const given = new FormData(event.target);
    const word = (/** @type {string} */ name) => String(given.get(name) ?? "").trim();
    const keys = Object.fromEntries(["conf", "web"].map((name) => [name, word(name)]).filter(([, value]) => value));
    const id = word("id");
    propose(
      { title: `Add ${id}`, verb: "Add", path: pathOf(id, "add"), body: { keys }, note: `add ${id}` },
      told,
      setAsk,
      close,
    );
  }
  return html`<form onSubmit=${look}>
    <div class="row">
      <label>Id <input name="id" required maxlength="100" autocomplete="off" /></label>
      <label>Folder of its yarn-site.xml, on Heddle's machine <input name="conf" size="30" placeholder="/etc/hadoop/west" /></label>
      <label>or the address of its ResourceManager <input name="web" size="30" placeholder="http://rm.west:8088" /></label>
    </div>
    <div class="row"><button>Show what it changes</button><button type="button" onClick=${close}>Leave it</button></div>
  </form>`;
}

/** @param {{ id: string, list: ClusterVersion, told: Told, setAsk: SetAsk, close: () => void }} props */
function Edit({ id, list, told, setAsk, close }) {
  const [start] = useState(list.text);
  const place = partsOf(start).findIndex((part) => idOf(part) === id);
  const [text, setText] = useState(partsOf(start)[place] ?? "");
  if (place < 0)
    return html`<p class="trouble">The table of ${id} cannot be told from others: edit the file itself.</p>`;
  function look() {
    const parts = partsOf(start);
    parts[place] = text.endsWith("\n") ? text : `${text}\n`;
    propose(
      { title: `Edit ${id}`, verb: "Write", path: LIST, body: { text: parts.join("") }, note: `edit ${id}` },
      told,
      setAsk,
      close,
    );
  }
  return html`<label class="stacked">What is said of ${id} (keys: configuration.md)
      <textarea rows="8" spellcheck="false" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)}></textarea></label>
    <div class="row"><button onClick=${look}>Show what it changes</button><button onClick=${close}>Leave it</button></div>`;
}

/**
 * A list cut before each of its tables.
 * @param {string} text
 */
function partsOf(text) {
  /** @type {string[]} */
  const parts = [""];
  for (const line of text.split(/(?<=\n)/)) {
    if (HEADER.test(line)) parts.push("");
    parts[parts.length - 1] += line;
  }
  return parts;
}

/** @param {string} part */
const idOf = (part) => (HEADER.test(part) ? (ID.exec(part)?.[2] ?? "") : "");

/**
 * The dry run first: the lines that change, and what else it brings. Refused if another one was made since then.
 * @param {Change} change
 * @param {Told} told
 * @param {SetAsk} setAsk
 * @param {() => void} [done]
 */
async function propose(change, told, setAsk, done) {
  const { title, verb, path, body } = change;
  try {
    const dry = await send("POST", `${path}?dryRun=true`, body);
    const lines = folded(differenceOf(dry.before, dry.text));
    if (!lines.length) return setAsk({ title, text: "Nothing would change." });
    const act = async (/** @type {string} */ note) => {
      await send("POST", path, { ...body, note, expected: dry.version });
      done?.();
    };
    setAsk({ title, verb, text: foretold(dry, told), lines, field: "Why", value: change.note, act });
  } catch (error) {
    setAsk({ title, text: wordsOf(error) });
  }
}

/** @param {any} dry @param {Told} told */
function foretold(dry, told) {
  const where =
    told.managed === "store"
      ? "It holds in every Heddle of the store within seconds."
      : "It is written into this Heddle's configuration file, which is read anew at once; others have files of their own.";
  const also = dry.changed.filter((/** @type {string} */ key) => !key.startsWith("subcluster "));
  return [where, also.length ? `What else is new there counts then, too: ${also.join(", ")}.` : "", ...dry.warnings]
    .filter(Boolean)
    .join(" ");
}

/** @param {{ told: Told, setAsk: SetAsk }} props */
function History({ told, setAsk }) {
  return html`<h3>Every list that ever held, newest first</h3>
    ${told.versions.map((each, place) => html`<${Version} key=${each.version} of=${each} before=${told.versions[place + 1]?.text ?? ""} isNewest=${place === 0} told=${told} setAsk=${setAsk} />`)}`;
}

/** @param {{ of: ClusterVersion, before: string, isNewest: boolean, told: Told, setAsk: SetAsk }} props */
function Version({ of, before, isNewest, told, setAsk }) {
  const [isOpen, open] = useState(false);
  /** @type {Change} */
  const back = {
    title: `Roll back to version ${of.version}`,
    verb: "Roll back",
    path: LIST,
    body: { text: of.text },
    note: `version ${of.version} again`,
  };
  return html`<details onToggle=${(/** @type {any} */ event) => open(event.currentTarget.open)}>
    <summary>Version ${of.version}${applied(of)}</summary>
    ${isOpen && html`<${Difference} lines=${folded(differenceOf(before, of.text))} empty="Nothing was changed." />`}
    ${!isNewest && html`<button onClick=${() => propose(back, told, setAsk)}>Roll back…</button>`}
  </details>`;
}
