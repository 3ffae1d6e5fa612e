// Components' pure parts: what they show, by what they are given.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { differenceOf, folded } from "../../shim/server/web/static/diff.js";
import { aligned, figuresOf, steps } from "../../shim/server/web/static/figures.js";
import { gathered } from "../../shim/server/web/static/findings.js";
import {
  agedOf,
  change,
  count,
  lasting,
  memory,
  percent,
  seconds,
  several,
} from "../../shim/server/web/static/format.js";
import { applied, heard } from "../../shim/server/web/static/patches.js";
import { addressOf, changed, routeOf } from "../../shim/server/web/static/route.js";
import { linesOf } from "../../shim/server/web/static/series.js";
import { boundsOf, chosenMoment, shownMoment } from "../../shim/server/web/static/time_range.js";
import { barsOf, seen } from "../../shim/server/web/static/timeline.js";
import { amountsOf, dominant, merged, opened, together, treeOf } from "../../shim/server/web/static/trees.js";

describe("lists of a ResourceManager", () => {
  it("are lists, though one of one comes as that one and one of none as nothing", () => {
    assert.deepEqual(several([{ id: 1 }, { id: 2 }]), [{ id: 1 }, { id: 2 }]);
    assert.deepEqual(several({ id: 1 }), [{ id: 1 }]);
    assert.deepEqual([several(null), several(undefined), several([])], [[], [], []]);
  });
});

describe("amounts", () => {
  const part = (cluster, used_mib, used_vcores) => ({
    ...{ cluster, used_mib, used_vcores, pending_mib: 512, pending_vcores: 1, capacity_mib: 4096, capacity_vcores: 4 },
  });
  const queues = [
    { queue: "root.a", parts: [part("east", 1024, 4), part("west", 2048, 1)] },
    { queue: "root.b", parts: [part("east", 0, 0)] },
  ];
  it("are of each cluster, cores beside memory, and of all together", () => {
    const found = amountsOf(queues);
    assert.deepEqual(found.get("east"), {
      memory: { used: 1024, pending: 1024, capacity: 8192 },
      cores: { used: 4, pending: 2, capacity: 8 },
    });
    assert.deepEqual(together(found.values()).cores, { used: 5, pending: 3, capacity: 12 });
  });
  it("are told by what is used more", () => {
    const found = amountsOf(queues);
    assert.deepEqual([dominant(found.get("east")), dominant(found.get("west"))], ["cores", "memory"]);
    assert.equal(dominant(together([])), "memory");
  });
});

describe("format", () => {
  it("tells amounts in the largest unit that fits", () => {
    assert.deepEqual([0, 512, 1536, 102_400, 1_048_576, 3e9].map(memory), [
      "0 MiB",
      "512 MiB",
      "1.5 GiB",
      "100 GiB",
      "1 TiB",
      "2861 TiB".replace("2861 TiB", "2.8 PiB"),
    ]);
    assert.deepEqual([-1, Number.NaN, "x", undefined].map(memory), ["", "", "", ""]);
  });
  it("tells small parts more exactly, and nothing of what is unknown", () => {
    assert.deepEqual([0, 0.004, 0.5, 1].map(percent), ["0 %", "0.4 %", "50 %", "100 %"]);
    assert.deepEqual([null, undefined, Number.NaN].map(percent), ["", "", ""]);
  });
  it("tells differences with their sign, and none that nobody sees", () => {
    assert.equal(change(0.25, 0.455), "+20.5");
    assert.equal(change(0.5, 0.4), "−10.0");
    assert.equal(change(0.5, 0.5003), "");
    assert.equal(change(undefined, 0.5), "");
  });
  it("tells how old things of a cluster are that is not heard of", () => {
    const clusters = [
      { id: "east", state: "LOST", age_s: 60 },
      { id: "west", state: "DRAINING", age_s: 1 },
      { id: "north", state: "NEW", age_s: null },
    ];
    assert.match(agedOf(clusters, "east", 120_000), /^as of 1970-01-01 .*:01:00, east is LOST$/);
    assert.deepEqual(
      ["west", "north", "gone"].map((id) => agedOf(clusters, id)),
      ["", "north is NEW", ""],
    );
  });
  it("tells how long something lasts", () => {
    assert.deepEqual([0.4, 75, 3700, 200_000].map(seconds), ["0 s", "1 min 15 s", "1 h 1 min", "2 d 7 h"]);
    assert.equal(lasting(1000, 0, 61_000), "1 min 0 s");
    assert.equal(lasting(1000, 31_000, 61_000), "30 s");
    assert.equal(lasting(0, 0), "");
  });
  it("parts thousands", () => assert.equal(count(1234567).replace(/\s/g, " "), "1 234 567"));
});

describe("the state of a document by events of the stream", () => {
  it("is whole at first, then changed, and stays as it was in trouble", () => {
    let { document, news } = heard(null, "state", { document: { a: [1, 2] } });
    assert.deepEqual(news, { data: { a: [1, 2] }, error: "" });
    ({ document, news } = heard(document, "change", { patch: [{ op: "replace", path: "/a/0", value: 9 }] }));
    assert.deepEqual(document, { a: [9, 2] });
    ({ document, news } = heard(document, "trouble", { message: "away" }));
    assert.deepEqual([document, news], [{ a: [9, 2] }, { error: "away" }]);
  });
  it("leaves what was told before untouched, and reaches no prototype", () => {
    const before = { a: {} };
    const after = applied(before, [{ op: "add", path: "/a/__proto__", value: { taken: 1 } }]);
    assert.deepEqual(before, { a: {} });
    assert.ok(Object.hasOwn(after.a, "__proto__"));
    assert.equal({}.taken, undefined);
    assert.throws(() => applied({}, [{ op: "add", path: "/constructor/x", value: 1 }]));
  });
  it("adds to lists and takes from them", () => {
    const patch = [
      { op: "add", path: "/-", value: 3 },
      { op: "remove", path: "/0" },
      { op: "add", path: "/1", value: "x" },
    ];
    assert.deepEqual(applied([1, 2], patch), [2, "x", 3]);
  });
});

describe("addresses", () => {
  it("are read as they were written", () => {
    const address = addressOf(
      "queues",
      "root.ä/b",
      new URLSearchParams([
        ["where", "a=1"],
        ["where", "b=2"],
      ]),
    );
    const route = routeOf(address);
    assert.deepEqual([route.page, route.item, route.params.getAll("where")], ["queues", "root.ä/b", ["a=1", "b=2"]]);
  });
  it("change by parameters: null and nothing take one away, a list repeats it", () => {
    const route = routeOf("#/applications?where=a%3D1&sort=id&order=up");
    assert.equal(
      changed(route, { where: ["a=1", "b=2"], sort: null, order: "" }),
      "#/applications?where=a%3D1&where=b%3D2",
    );
  });
  it("that are no addresses lead to the overview, or to nothing", () => {
    assert.equal(routeOf("").page, "overview");
    assert.equal(routeOf("#/application/%E0%A4%A").item, "");
  });
});

describe("differences of texts", () => {
  const signs = { same: " ", gone: "-", new: "+", skipped: "~" };
  const shown = (before, after) => differenceOf(before, after).map((line) => signs[line.kind] + line.text);
  it("are the fewest lines", () => {
    assert.deepEqual(shown("a\nb\nc\n", "a\nx\nc\nd\n"), [" a", "-b", "+x", " c", "+d"]);
    assert.deepEqual(shown("", "a"), ["+a"]);
    assert.deepEqual(shown("a\n", ""), ["-a"]);
    assert.deepEqual(shown("a\na\nb", "a\nb"), [" a", "-a", " b"]);
  });
  it("give both texts back", () => {
    const [before, after] = ["q\nw\ne\nr\nt\ny", "w\nq\ne\nt\nr\nz"];
    const lines = differenceOf(before, after);
    const without = (kind) =>
      lines
        .filter((line) => line.kind !== kind)
        .map((line) => line.text)
        .join("\n");
    assert.deepEqual([without("new"), without("gone")], [before, after]);
  });
  it("are shown with two lines around, and not at all where there are none", () => {
    const text = "1\n2\n3\n4\n5\n6\n7\n8\n9";
    assert.deepEqual(folded(differenceOf(text, text)), []);
    const lines = folded(differenceOf(text, text.replace("5", "x")));
    assert.deepEqual(
      lines.map((line) => signs[line.kind] + line.text),
      ["~⋯", " 3", " 4", "-5", "+x", " 6", " 7", "~⋯"],
    );
  });
  it("of very long texts take a moment: all counts as replaced", () => {
    const long = (name) => Array.from({ length: 5000 }, (_, line) => `${name} ${line}`).join("\n");
    assert.equal(differenceOf(long("a"), long("b")).length, 10_000);
  });
});

describe("queues as a tree", () => {
  const part = { cluster: "east", state: "RUNNING", used_mib: 1, capacity_mib: 10, pending_mib: 0, applications: 2 };
  const leaf = (queue, parts = [part]) => ({
    queue,
    parts,
    used_mib: 1,
    capacity_mib: 10,
    pending_mib: 0,
    applications: 2,
  });
  const rows = treeOf(
    merged(
      [leaf("root.b.y"), leaf("root.b-c"), leaf("root.b.x", [{ ...part, state: "STOPPED" }])],
      [{ queue: "root.b", parts: [], used: 0.5, weight: 3 }],
    ),
  );
  it("has parents before what is below them", () => {
    assert.deepEqual(
      rows.map((row) => [row.queue, row.depth, row.isParent]),
      [
        ["root", 0, true],
        ["root.b", 1, true],
        ["root.b.x", 2, false],
        ["root.b.y", 2, false],
        ["root.b-c", 1, false],
      ],
    );
  });
  it("adds up what is below a parent, on each cluster, and keeps what the policy says of it", () => {
    const b = rows.find((row) => row.queue === "root.b");
    assert.deepEqual([b?.used_mib, b?.applications, b?.weight, b?.used_part], [2, 4, 3, 0.5]);
    assert.deepEqual(b?.parts, [{ ...part, state: "", used_mib: 2, capacity_mib: 20, applications: 4 }]);
    assert.equal(rows[0].used_mib, 3);
  });
  it("hides what is below a closed one, and no other", () => {
    assert.deepEqual(
      opened(rows, ["root.b"]).map((row) => row.queue),
      ["root", "root.b", "root.b-c"],
    );
  });
});

describe("containers on a timeline", () => {
  const places = { home: "east", elsewhere: { container_1_1_01_000002: "west" } };
  const [one, two] = [1, 2].map((number) => ({
    containerId: `container_1_1_01_00000${number}`,
    startedTime: 100 * number,
    assignedNodeId: "n:1",
  }));
  it("end when they are listed no longer, and are where they are", () => {
    const first = seen(new Map(), [one, two], places, 1000);
    const second = seen(first, [two], { home: "east", elsewhere: {} }, 2000);
    assert.deepEqual(
      barsOf(second.values(), 3000).map((bar) => [bar.name, bar.group, bar.from, bar.to, bar.isOpen]),
      [
        ["01_000001", "east", 100, 2000, false],
        ["01_000002", "west", 200, 3000, true],
      ],
    );
  });
  it("run on where a manager writes its numbers as texts, as real ones do", () => {
    const text = { ...one, startedTime: "100", finishedTime: "0", allocatedMB: "1024" };
    const [bar] = barsOf(seen(new Map(), [text], places, 1000).values(), 5000);
    assert.deepEqual([bar.from, bar.to, bar.isOpen], [100, 5000, true]);
  });
  it("are not more than a thousand", () => {
    const many = Array.from({ length: 1200 }, (_, number) => ({ containerId: `container_1_1_01_${number}` }));
    assert.equal(seen(new Map(), many, places, 1).size, 1000);
  });
});

describe("shares over time", () => {
  const kept = { at_ms: [1000, 2000], queues: [{ queue: "root.a", used: [0.1, null], entitlement: [0.5, 0.5] }] };
  const told = (at, used) => ({
    at,
    rows: new Map([["root.a", { queue: "root.a", parts: [], used, entitlement: 0.5 }]]),
  });
  it("are what the server kept, and what was told after that", () => {
    const { at, lines } = linesOf(kept, [told(1500, 0.9), told(3000, 0.2)], 0);
    assert.deepEqual(at, [1, 2, 3]);
    assert.deepEqual(
      lines.map((line) => line.values),
      [
        [10, null, 20],
        [50, 50, 50],
      ],
    );
  });
  it("begin with the range", () => assert.deepEqual(linesOf(kept, [told(3000, 0.2)], 1500).at, [2, 3]));
  it("are of the queues that are entitled to most where the server kept nothing", () => {
    assert.deepEqual(
      linesOf(null, [told(3000, 0.2)], 0).lines.map((line) => line.name),
      ["root.a", "root.a: entitled"],
    );
    assert.deepEqual(linesOf(null, [], 0), { at: [], lines: [] });
  });
});

describe("findings", () => {
  it("that are the same are one, and the worst is first", () => {
    const finding = { level: "warning", message: "m", advice: "a" };
    const found = [
      { ...finding, cluster: "east" },
      { ...finding, level: "ok", cluster: "north" },
      { ...finding, cluster: "west" },
      { ...finding, level: "error", cluster: "west" },
    ];
    assert.deepEqual(
      gathered(found).map((each) => [each.level, each.cluster]),
      [
        ["error", "west"],
        ["warning", "east, west"],
      ],
    );
  });
});

describe("a file of figures", () => {
  const figures = {
    heddle_figures: 1,
    title: "t",
    columns: [["A", "a"]],
    rows: [{ a: "1" }],
    distributions: [{ title: "d", lines: [{ name: "x", percentiles: Array(101).fill(1) }] }],
    over_time: [
      {
        title: "o",
        lines: [
          { name: "x", at_s: [1, 3], values: [5, null] },
          { name: "y", at_s: [2], values: [7] },
        ],
      },
    ],
    jobs: [{ name: "x", bars: [{ name: "j", from_s: 0, start_s: 1, to_s: 2 }] }],
  };
  it("is read whole", () => {
    const told = figuresOf(JSON.stringify(figures));
    assert.equal(steps(told.distributions[0]).at.length, 101);
    assert.deepEqual(aligned(told.over_time[0]), {
      at: [1, 2, 3],
      lines: [
        { name: "x", values: [5, null, null] },
        { name: "y", values: [null, 7, null] },
      ],
    });
  });
  for (const [what, wrong] of Object.entries({
    "another document": { apps: [] },
    "no title": { ...figures, title: 7 },
    "times that lack values": {
      ...figures,
      over_time: [{ title: "o", lines: [{ name: "x", at_s: [1, 2], values: [1] }] }],
    },
    "no numbers": { ...figures, over_time: [{ title: "o", lines: [{ name: "x", at_s: ["1"], values: [1] }] }] },
    "a job that ends before it starts": {
      ...figures,
      jobs: [{ name: "x", bars: [{ name: "j", from_s: 0, start_s: 3, to_s: 2 }] }],
    },
    "more lines than anybody sees": { ...figures, distributions: Array(65).fill(figures.distributions[0]) },
  })) {
    it(`is refused with ${what}`, () => assert.throws(() => figuresOf(JSON.stringify(wrong)), /malformed|no figures/));
  }
  it("is refused where it is no JSON", () => assert.throws(() => figuresOf("{"), /not JSON/));
});

describe("a range of time", () => {
  const named = new URLSearchParams("started_from=1700000000000&finished_to=x&search=a");
  it("has the bounds that are numbers", () => {
    assert.deepEqual(
      boundsOf(named).map((each) => each.name),
      ["started_from"],
    );
  });
  it("is chosen to the minute, its end to the end of it", () => {
    const shown = shownMoment(1_700_000_000_000);
    assert.equal(chosenMoment(shown, false), String(1_700_000_000_000 - 20_000));
    assert.equal(chosenMoment(shown, true), String(1_700_000_000_000 + 39_999));
    assert.equal(chosenMoment("", true), null);
    assert.equal(shownMoment(null), "");
  });
});
