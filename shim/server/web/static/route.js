// The view, and all that was chosen in it, stand in the address: `#/applications?where=state%3DRUNNING&sort=user`.

import { useEffect, useState } from "./vendor/htm-preact.js";

/** @typedef {import("./types.js").Route} Route */

/**
 * @param {string} hash
 * @returns {Route}
 */
export function routeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/");
  return { page: page || "overview", item: decode(rest.join("/")), params: new URLSearchParams(query) };
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/**
 * @param {string} page
 * @param {string} item
 * @param {URLSearchParams} params
 */
export function addressOf(page, item = "", params = new URLSearchParams()) {
  const query = params.toString();
  return `#/${page}${item ? `/${encodeURIComponent(item)}` : ""}${query ? `?${query}` : ""}`;
}

export function useRoute() {
  const [route, go] = useState(routeOf(location.hash));
  useEffect(() => {
    const changed = () => go(routeOf(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/**
 * The address of the same view with some parameters changed: null takes one away, a list repeats it.
 * @param {Route} route
 * @param {Record<string, string | string[] | null>} changes
 */
export function changed(route, changes) {
  const params = new URLSearchParams(route.params);
  for (const [name, value] of Object.entries(changes)) {
    params.delete(name);
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== "") params.append(name, each);
    }
  }
  return addressOf(route.page, route.item, params);
}
