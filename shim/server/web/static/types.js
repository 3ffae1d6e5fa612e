// Forms that several modules speak of, for the type checker alone: no module loads this one.

/** @typedef {import("./vendor/htm-preact.js").Child} Child */

/**
 * What an address names.
 * @typedef {{ page: string, item: string, params: URLSearchParams }} Route
 */

/**
 * A document as it was last told; `at` is when, in ms.
 * @template T
 * @typedef {{ data: T | null, error: string, at: number }} Told
 */

/**
 * A column of a table: its title, the cell of a row, and whether that is a number.
 * @template T
 * @typedef {[title: string, cell: (row: T) => any, isNumber?: boolean]} Column
 */

/**
 * A question before something is changed; `act` gets what was typed, and is missing where it would be refused.
 * @typedef {{
 *   title: string, text: string, act?: (typed: string) => Promise<unknown>, field?: string, value?: string | number,
 *   verb?: string, lines?: import("./diff.js").DiffLine[],
 * }} Ask
 */

/** @typedef {{ user: string, role: string, rights: string[], is_operator: boolean, may_ask: boolean, is_anonymous: boolean, has_session: boolean }} Caller */

/**
 * @typedef {{
 *   id: string, state: string, admission: string, version: string, scheduler: string, age_s: number | null, is_heard?: boolean,
 *   running: number, nodes: number, web: string, failure: string,
 * }} Cluster
 */

/**
 * @typedef {{
 *   cluster: string, node: string, rack: string, state: string, labels: string[], memory_mib: number, used_mib: number,
 *   vcores: number, used_vcores: number,
 * }} ClusterNode
 */

/** @typedef {{ cluster: string, state: string, used_mib: number, capacity_mib: number, pending_mib: number, used_vcores: number, capacity_vcores: number, pending_vcores: number, applications: number }} QueuePart */

/**
 * A queue as clusters have it, with what the policy says of it.
 * @typedef {{
 *   queue: string, parts: QueuePart[], used_mib?: number, capacity_mib?: number, pending_mib?: number,
 *   applications?: number, running?: number, used?: number, entitlement?: number, share?: number, weight?: number,
 *   borrowed?: number, lent?: number, is_owed?: boolean, waiting?: number, preempted?: number, reason?: string,
 *   given_s?: number, received_s?: number, used_part?: number,
 * }} Queue
 */

/**
 * @typedef {{ version: number, applied_by: string, applied_at_ms: number, note: string, text: string }} PolicyVersion
 */

/** @typedef {PolicyVersion & { clusters: string[] }} ClusterVersion */

/**
 * A row of the list of applications.
 * @typedef {{
 *   id: string, name: string, cluster: string, user: string, queue: string, type: string, state: string,
 *   final_status: string, tags: string[], started_ms: number, finished_ms: number, progress: number | null,
 *   containers: number | null, memory_mib: number | null, vcores: number | null, priority: number | null,
 *   diagnostics: string, [field: string]: any,
 * }} ApplicationRow
 */

/**
 * One line of a chart: a value for each time, null where there is none.
 * @typedef {{ name: string, values: (number | null)[], isDashed?: boolean, colour?: number }} Line
 */

/**
 * Something that lasts, on a row of a timeline; `start` is when what comes before it was over.
 * @typedef {{ name: string, group: string, from: number, start: number, to: number, isOpen?: boolean, title?: string }} Bar
 */

export {};
