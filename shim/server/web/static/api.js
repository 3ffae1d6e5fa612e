// Reads Heddle's web services, by addresses relative to the page: it works below a gateway's prefix too.

import { wordsOf } from "./format.js";
import { isTold, watch } from "./live.js";
import { useEffect, useState } from "./vendor/htm-preact.js";

/** @template T @typedef {import("./types.js").Told<T>} Told */

const ROOT = new URL("../", document.baseURI);
const LONGEST_PAUSE_MS = 30_000;

/**
 * What a server's refusal says, in whichever of its forms.
 * @param {number} status
 * @param {string} text
 */
function refusalOf(status, text) {
  try {
    const body = JSON.parse(text);
    return String(body.RemoteException?.message ?? body.error ?? text).replace(/^java\.lang\.Exception: /, "");
  } catch {
    return `the server answered ${status}`;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<any>}
 */
async function answerOf(path, options) {
  const answer = await fetch(new URL(path, ROOT), { credentials: "same-origin", ...options }).catch((error) => {
    throw options.signal?.aborted ? error : new Error("Heddle does not answer.");
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(refusalOf(answer.status, text));
  return text ? JSON.parse(text) : {};
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 */
export const read = (path, signal) => answerOf(path, { signal, headers: { Accept: "application/json" } });

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
export const send = (method, path, body) =>
  answerOf(path, {
    method,
    headers: { Accept: "application/json", "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });

/**
 * The newest state of a document of Heddle's web services, by its address below `heddle/v1/`: as the stream tells it,
 * or asked for again and again where the stream does not come through.
 * After a failure `data` stays the last that was told, and `at` is when.
 * @param {string} name
 * @returns {Told<any>}
 */
export function useLive(name, everyMs = 3000) {
  const [told, tell] = useState(/** @type {Told<any>} */ ({ data: null, error: "", at: 0 }));
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
          tell((before) => ({ ...before, error: wordsOf(error) }));
        }
      }
      timer = setTimeout(ask, pauseMs);
    }
    const seen = () => void (document.hidden || ask());
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

/**
 * A document that changes seldom, read now and again while somebody looks; an empty name reads nothing.
 * @param {string} path Below the root of the server
 * @param {number} everyMs
 * @returns {Told<any>}
 */
export function useRead(path, everyMs) {
  const [told, tell] = useState(/** @type {Told<any>} */ ({ data: null, error: "", at: 0 }));
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    async function ask() {
      if (!document.hidden && path) {
        try {
          const data = await read(path, stop.signal);
          if (stop.signal.aborted) return;
          tell({ data, error: "", at: Date.now() });
        } catch (error) {
          if (stop.signal.aborted) return;
          tell((before) => ({ ...before, error: wordsOf(error) }));
        }
      }
      timer = setTimeout(ask, everyMs);
    }
    ask();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [path, everyMs]);
  return told;
}
