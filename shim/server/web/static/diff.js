// What changed between two texts, line by line.

const MOST_CELLS = 4_000_000; // 2,000 changed lines against as many: a moment, and 16 MB
const CONTEXT = 2;

/** @typedef {{ kind: "same" | "gone" | "new" | "skipped", text: string }} DiffLine */

/**
 * The lines of both texts in one order, each with what became of it.
 * @param {string} before
 * @param {string} after
 * @returns {DiffLine[]}
 */
export function differenceOf(before, after) {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return [
    ...marked("same", now.slice(0, head)),
    ...between(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...marked("same", now.slice(now.length - tail)),
  ];
}

/** @param {string} text */
const linesOf = (text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/**
 * @param {DiffLine["kind"]} kind
 * @param {string[]} lines
 * @returns {DiffLine[]}
 */
const marked = (kind, lines) => lines.map((text) => ({ kind, text }));

/**
 * By a longest common subsequence; texts that are too long for it count as replaced.
 * @param {string[]} old
 * @param {string[]} now
 * @returns {DiffLine[]}
 */
function between(old, now) {
  if (!old.length || !now.length || old.length * now.length > MOST_CELLS) {
    return [...marked("gone", old), ...marked("new", now)];
  }
  const width = now.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        old[i] === now[j]
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  /** @type {DiffLine[]} */
  const lines = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ kind: "same", text: old[i] });
      i += 1;
      j += 1;
    } else if (j >= now.length || (i < old.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      lines.push({ kind: "gone", text: old[i] });
      i += 1;
    } else {
      lines.push({ kind: "new", text: now[j] });
      j += 1;
    }
  }
  return lines;
}

/**
 * The same without what is far from any change; empty if nothing changed.
 * @param {DiffLine[]} lines
 * @returns {DiffLine[]}
 */
export function folded(lines) {
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((each) => each.kind !== "same"),
  );
  if (!isNear.includes(true)) return [];
  /** @type {DiffLine[]} */
  const shown = [];
  lines.forEach((line, at) => {
    if (isNear[at]) shown.push(line);
    else if (shown.at(-1)?.kind !== "skipped") shown.push({ kind: "skipped", text: "⋯" });
  });
  return shown;
}
