// What the caller may do, as `console/caller` tells: what is not allowed is not shown.

/** @typedef {import("./types.js").Caller} Caller */

/**
 * Whether a caller has a right; nobody has any before it is known who calls.
 * @param {Caller | null | undefined} caller
 * @param {string} right
 */
export const may = (caller, right) => Boolean(caller?.rights.includes(right));
