// proves: src/memory/history-search.ts, src/store/search/spoken-lines.ts
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { agentId, type ChannelId } from "../../src/core/ids.ts";
import { type HistoryFound, type HistoryRequest, HistorySearch } from "../../src/memory/history-search.ts";
import { Recall } from "../../src/memory/recall.ts";
import { RecallMemories } from "../../src/memory/recall-memories.ts";
import { openTestStore } from "../store/open-store.ts";
import { TEST_DIGESTER } from "../support/digester.ts";

const open = await openTestStore();
const { store } = open;
const NOW = new Date("2026-11-21T20:00:00Z");
const recall = new Recall({ search: store.search, now: () => NOW.getTime() });
const memories = new RecallMemories({ memories: store.memories, search: store.search, now: () => NOW });
const history = new HistorySearch(recall, store.lines, () => NOW);
const { signal } = new AbortController();

const ANN = { id: "ann", name: "Ann Berg", isBot: false };
const BEN = { id: "ben", name: "Ben", isBot: false };
let channel: ChannelId;
/** All that is searched: what came behind it stands in view. */
const LAST = 60;

/** Every third line is Ann's and names the ferry; they are said day by day from 1 October on. */
function textOf(number: number): string {
  return number % 3 === 0 ? `the ferry of day ${number} was late` : `small talk number ${number}`;
}

before(async () => {
  channel = await store.channels.open({
    address: { platform: "local", name: "searched" },
    kind: "channel",
    workspace: "",
    agent: agentId("main"),
  });
  for (let number = 1; number <= LAST + 3; number++)
    await open.say(channel, textOf(number), {
      addressed: false,
      id: `m${number}`,
      author: number % 3 === 0 ? ANN : BEN,
      at: new Date(Date.UTC(2026, 9, number, 12)),
    });
  await store.search.indexAll([channel], 20_000);
});

async function search(request: Partial<HistoryRequest>, to = LAST): Promise<HistoryFound> {
  const whole = { query: null, limit: 8, page: 1, person: null, when: null, context: 0, ...request };
  const asked = { agent: agentId("main"), channel, workspace: "", kind: "channel" } as const;
  return history.search(
    whole,
    { channel, from: 1, to, timeZone: "UTC", signal },
    { memories, asked: { ...asked, text: whole.query ?? "", askers: [], limit: whole.limit } },
  );
}

/** The seqs of a page, which are also the numbers in the lines. */
async function found(request: Partial<HistoryRequest>): Promise<number[]> {
  const result = await search(request);
  assert.ok(result.kind === "found", result.kind);
  return result.lines.map(({ seq }) => seq);
}

const FERRIES = Array.from({ length: LAST / 3 }, (_, index) => 3 * (index + 1));

describe("a search", () => {
  test("leaves out what lies behind its range", async () => {
    const all = await found({ query: "ferry", limit: 20 });
    assert.ok(all.length > 0 && all.every((seq) => seq <= LAST));
    assert.deepEqual(await search({ query: "ferry" }, 0), { kind: "found", lines: [], hasMore: false });
  });

  test("goes on page by page, until each line was shown once", async () => {
    const shown: number[] = [];
    for (let page = 1; ; page++) {
      const result = await search({ query: "ferry", limit: 6, page });
      assert.ok(result.kind === "found");
      shown.push(...result.lines.map(({ seq }) => seq));
      if (!result.hasMore) break;
      assert.ok(page < 30, "it comes to an end");
    }
    assert.equal(new Set(shown).size, shown.length, "no line twice");
    assert.deepEqual(
      shown.filter((seq) => seq % 3 === 0).toSorted((a, b) => a - b),
      FERRIES,
    );
    assert.deepEqual(await found({ query: "ferry", limit: 6, page: 50 }), []);
  });

  test("keeps to a person, whatever the name's case, and pages through all of theirs", async () => {
    const first = await found({ query: "day talk", person: "ann berg" });
    assert.ok(first.length > 0 && first.every((seq) => seq % 3 === 0));
    const bens = await found({ query: "ferry talk", person: "Ben", limit: 20 });
    assert.ok(bens.length > 0 && bens.every((seq) => seq % 3 !== 0));
  });

  test("shows who has a name like one that nobody has", async () => {
    for (const person of ["Ann", "An Berg", "berg"]) {
      const result = await search({ query: "ferry", person });
      assert.ok(result.kind === "unknown_person", person);
      assert.deepEqual(
        result.like.map(({ author, seq }) => [author, seq]),
        [["Ann Berg", LAST]],
        person,
      );
    }
    assert.deepEqual(await search({ person: "Zoe" }), { kind: "unknown_person", like: [] });
  });

  test("keeps to a time", async () => {
    const days = await found({ query: "ferry", when: "2026-10-04/2026-10-12", limit: 20 });
    assert.ok(days.every((seq) => seq >= 4 && seq <= 12));
    for (const ferry of [6, 9, 12]) assert.ok(days.includes(ferry), `${ferry}`);
    assert.ok((await found({ query: "ferry", when: "since November", limit: 20 })).every((seq) => seq > 31));
    assert.deepEqual(await found({ query: "ferry", when: "in 2025" }), []);
    assert.equal((await search({ query: "ferry", when: "some time" })).kind, "unread_time");
  });

  test("finds by a person or a time alone, the newest first", async () => {
    assert.deepEqual(await found({ person: "Ann Berg", limit: 3 }), [54, 57, 60]);
    assert.deepEqual(await found({ person: "Ann Berg", limit: 3, page: 2 }), [45, 48, 51]);
    assert.deepEqual(await found({ when: "2026-10-02/2026-10-04" }), [2, 3, 4]);
  });

  test("brings the lines beside a result along, and none from outside of its range", async () => {
    assert.deepEqual(await found({ when: "2026-10-10", context: 2 }), [8, 9, 10, 11, 12]);
    const last = await found({ person: "Ann Berg", limit: 1, context: 3 });
    assert.deepEqual(last, [57, 58, 59, 60]);
  });
});

test("the days of a search are those of the agent's time zone", async () => {
  const { id } = await open.channel("zoned");
  const at = (iso: string) => ({ at: new Date(iso), addressed: false });
  await open.say(id, "before midnight in Auckland", at("2026-10-10T10:59:00Z"));
  await open.say(id, "behind it", at("2026-10-10T11:01:00Z"));
  const asked = { agent: agentId("main"), channel: id, workspace: "", kind: "channel" } as const;
  const result = await history.search(
    { query: null, limit: 8, page: 1, person: null, when: "2026-10-11", context: 0 },
    { channel: id, from: 1, to: 2, timeZone: "Pacific/Auckland", signal },
    { memories, asked: { ...asked, text: "", askers: [], limit: 8 } },
  );
  assert.deepEqual(result.kind === "found" && result.lines.map(({ text }) => text), ["behind it"]);
});

test("a search for a person finds the few lines of theirs, however many of others fit as well", async () => {
  const { id } = await open.channel("crowded");
  // More than are ranked.
  for (let number = 1; number <= 400; number++) {
    const isAnns = number === 20 || number === 395;
    await open.say(id, isAnns ? "the ferry, as always" : `the ferry is late, number ${number}`, {
      addressed: false,
      id: `crowded-${number}`,
      author: isAnns ? ANN : BEN,
    });
  }
  await store.search.indexAll([id], 20_000);
  const asked = { agent: agentId("main"), channel: id, workspace: "", kind: "channel" } as const;
  const result = await history.search(
    { query: "ferry late number", limit: 8, page: 1, person: "Ann Berg", when: null, context: 0 },
    { channel: id, from: 1, to: 400, timeZone: "UTC", signal },
    { memories, asked: { ...asked, text: "ferry late number", askers: [], limit: 8 } },
  );
  assert.deepEqual(result.kind === "found" && result.lines.map(({ seq }) => seq), [20, 395]);
});

test("a page goes on with the first result that had no room on the page before", async () => {
  const { id } = await open.channel("long");
  for (let number = 1; number <= 7; number++)
    await open.say(id, `the ferry ${"was late, and nobody knew why; ".repeat(70)}${number}`, {
      addressed: false,
    });
  await store.search.indexAll([id], 20_000);
  const asked = { agent: agentId("main"), channel: id, workspace: "", kind: "channel" } as const;
  const shown: number[][] = [];
  for (let page = 1, hasMore = true; hasMore && page < 9; page++) {
    const result = await history.search(
      { query: "ferry", limit: 8, page, person: null, when: null, context: 0 },
      { channel: id, from: 1, to: 7, timeZone: "UTC", signal },
      { memories, asked: { ...asked, text: "ferry", askers: [], limit: 8 } },
    );
    assert.ok(result.kind === "found");
    shown.push(result.lines.map(({ seq }) => seq));
    ({ hasMore } = result);
  }
  assert.deepEqual(
    shown.flat().toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5, 6, 7],
  );
  assert.ok(shown.length >= 3, "they had no room on two pages");
});

test("work of Weir's own is nobody's, and what is no longer kept is neither found nor read", async () => {
  const { id } = await open.channel("odd");
  await open.say(id, "the reminder of the ferry", {
    id: "reminder/7/1",
    author: { id: "weir", name: "reminder 7, set by Ann Berg", isBot: false },
  });
  await open.sql(
    `insert into entries (channel_id, seq, kind, at, text, tokens, author_id, author_name, author_bot, message_id, expired_at)
     values ($1, 2, 'user', now(), '', 4, 'ann', 'Ann Berg', false, 'old', now())`,
    id,
  );
  await open.say(id, "the ferry floats", { author: ANN, addressed: false });
  const log = { channel: id, from: 1, to: 3, timeZone: "UTC", signal };
  const asked = { agent: agentId("main"), channel: id, workspace: "", kind: "channel" } as const;
  const by = async (person: string) =>
    history.search({ query: null, limit: 8, page: 1, person, when: null, context: 0 }, log, {
      memories,
      asked: { ...asked, text: "", askers: [], limit: 8 },
    });
  assert.equal((await by("reminder 7, set by Ann Berg")).kind, "unknown_person");
  const anns = await by("Ann Berg");
  assert.deepEqual(anns.kind === "found" && anns.lines.map(({ seq }) => seq), [3]);
  const { lines } = await history.read({ from: 1, to: null }, log, null);
  assert.deepEqual(
    lines.map(({ seq }) => seq),
    [1, 3],
  );
});

describe("what is read by numbers", () => {
  const read = async (from: number, to: number | null, end: number | null = null) => {
    const log = { channel, from: 4, to: LAST, timeZone: "UTC", signal };
    const { lines, next } = await history.read({ from, to }, log, end);
    return { seqs: lines.map(({ seq }) => seq), next };
  };

  test("is in order, in parts, and no more than may be searched", async () => {
    assert.deepEqual(await read(10, 13), { seqs: [10, 11, 12, 13], next: null });
    assert.deepEqual((await read(1, 6)).seqs, [4, 5, 6]);
    assert.deepEqual(await read(LAST - 1, LAST + 3), { seqs: [LAST - 1, LAST], next: null });
    assert.deepEqual(await read(LAST + 1, null), { seqs: [], next: null });
    const first = await read(4, null);
    assert.deepEqual([first.seqs.length, first.next], [50, 54]);
    assert.deepEqual((await read(54, null)).seqs, [54, 55, 56, 57, 58, 59, 60]);
  });

  test("ends with the summary in which it begins", async () => {
    assert.deepEqual((await read(10, null, 14)).seqs, [10, 11, 12, 13, 14]);
  });

  test("has deleted messages without their texts, and no other channel's", async () => {
    const { id } = await open.channel("deleted");
    await open.say(id, "the code is 4711", { id: "gone", addressed: false });
    await open.say(id, "and what else?", { addressed: false });
    await store.log.delete(id, "gone", TEST_DIGESTER);
    const { lines } = await history.read(
      { from: 1, to: 9 },
      { channel: id, from: 1, to: 9, timeZone: "UTC", signal },
      null,
    );
    assert.deepEqual(
      lines.map(({ seq, text }) => [seq, text]),
      [
        [1, null],
        [2, "and what else?"],
      ],
    );
  });
});
