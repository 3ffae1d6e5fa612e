// Reads Heddle's web services, by addresses relative to the page: it works below a gateway's prefix too.

import { useEffect, useState } from "./vendor/htm-preact.js";
import { isTold, watch } from "./live.js";

const ROOT = new URL("../", document.baseURI);
const LONGEST_PAUSE_MS = 30_000;

/** What a server's refusal says, in whichever of its forms. */
function refusalOf(status, text) {
  try {
    const body = JSON.parse(text);
    return body.RemoteException?.message ?? body.error ?? text;
  } catch {
    return `the server answered ${status}`;
  }
}

async function answerOf(path, options) {
  const answer = await fetch(new URL(path, ROOT), { credentials: "same-origin", ...options });
  const text = await answer.text();
  if (!answer.ok) throw new Error(refusalOf(answer.status, text));
  return text ? JSON.parse(text) : {};
}

export const read = (path, signal) => answerOf(path, { signal, headers: { Accept: "application/json" } });

export const send = (method, path, body) =>
  answerOf(path, {
    method,
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

/**
 * The newest state of a document of Heddle's web services, by its address below `heddle/v1/`: as the stream tells it,
 * or asked for again and again where the stream does not come through.
 * Returns `{ data, error, at }`: after a failure `data` stays the last that was told, and `at` (ms) is when.
 */
export function useLive(name, everyMs = 3000) {
  const [told, tell] = useState({ data: null, error: "", at: 0 });
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let pauseMs = everyMs;
    async function ask() {
      clearTimeout(timer);
      if (!document.hidden && !isTold(name)) {
        try {
          const data = await read(`heddle/v1/${name}`, stop.signal);
          if (stop.signal.aborted) return;
          pauseMs = everyMs;
          if (!isTold(name)) tell({ data, error: "", at: Date.now() });
        } catch (error) {
          if (stop.signal.aborted) return;
          pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
          tell((before) => ({ ...before, error: String(error.message ?? error) }));
        }
      }
      timer = setTimeout(ask, pauseMs);
    }
    const seen = () => !document.hidden && ask();
    const leave = watch(name, (news) => tell((before) => ({ ...before, ...news })));
    document.addEventListener("visibilitychange", seen);
    ask();
    return () => {
      leave();
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [name, everyMs]);
  return told;
}
