import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentId, type ChannelId } from "../../../src/core/ids.ts";
import { findPieces, orQuery, pairLexemes } from "../../../src/memory/terms.ts";
import type { SearchQuery } from "../../../src/store/search/search.ts";
import { createTestDatabase } from "../../support/database.ts";
import { byWords } from "../../support/search-words.ts";
import { linesOf } from "../../support/found-lines.ts";
import { beginTurn } from "../../support/turns.ts";
import { openStore } from "../open-store.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { search } = weir.store;

const NO_QUERY: SearchQuery = { pick: "", terms: [], literals: [], from: 1, to: 100, limit: 5 };

/** What a search brings: the lines that are ranked, and the entries with an identifier. */
async function find(channel: ChannelId, query: Partial<SearchQuery>): Promise<number[][]> {
  const { lines, literals } = await search.find(channel, { ...NO_QUERY, ...query });
  return [[...lines.seqs], [...literals]];
}

/** The lines that hold one of the terms. */
async function holding(channel: ChannelId, ...terms: string[]): Promise<number[]> {
  const { lines } = await search.find(channel, { ...NO_QUERY, pick: orQuery(terms), terms });
  return linesOf(lines)
    .filter(({ words }) => terms.some((term) => words.includes(` ${term} `)))
    .map(({ seq }) => seq);
}

const said = [
  "the kettle is on the shelf", // 1
  "see src/tea_pot.ts",
  "and the kettle again, with the lid", // 3
  "今日は寿司を食べた",
  "nothing of note", // 5
];

test("a search brings the lines with a picking term, and two on each side of them", async () => {
  const { id } = await weir.channel("arms");
  const other = await weir.channel("other");
  const texts = [...said, "six", "seven", "eight", "nine: the kettle?"];
  for (const text of texts) {
    await weir.say(id, text);
    await weir.say(other.id, text);
  }
  await search.indexAll([id, other.id], 100);
  const words = { pick: "'lid'", terms: ["kettl", "lid"] };
  // What was said before a line is in its index row as well.
  assert.deepEqual(await find(id, words), [[1, 2, 3, 4, 5, 6], []]);
  assert.deepEqual(await find(id, { ...words, from: 2, to: 4 }), [[2, 3, 4], []]);
  assert.deepEqual(await find(id, { ...words, to: 2 }), [[], []]);
  assert.deepEqual(await holding(id, "kettl"), [1, 3, 9]);
  assert.deepEqual(await find(id, { literals: ["tea_pot"] }), [[], [2]]);
  assert.deepEqual(await find(id, { literals: ["tea%pot"] }), [[], []]);
  assert.deepEqual(await find(id, {}), [[], []]);
  const { lines } = await search.find(id, { ...NO_QUERY, pick: "'kettl'", terms: ["kettl"] });
  assert.deepEqual(
    linesOf(lines)
      .filter(({ asks }) => asks)
      .map(({ seq, author, words: one }) => [seq, author, one]),
    [[9, "Ann", " ann kettl nine "]],
  );
  assert.ok(linesOf(lines).every(({ at }) => at !== null && Number.isSafeInteger(at)));
});

test("of a long line the terms that it holds are told", async () => {
  const { id } = await weir.channel("long");
  await weir.say(id, "it's o'clock: the kettle, the lid and the shelf?");
  await weir.say(id, `the lid ${Array.from({ length: 900 }, (_, index) => `word${index}`).join(" ")}`);
  await weir.say(id, "寿司と src/tea_pot.ts");
  await search.indexAll([id], 100);
  const terms = ["kettl", "o'clock", "lid", "ladder", "~寿司", "=tea", "back\\slash"];
  const query = { ...NO_QUERY, pick: orQuery(terms), terms };
  const { lines } = await search.find(id, query);
  const held = linesOf(lines).map(({ words }) => terms.filter((term) => words.includes(` ${term} `)));
  assert.deepEqual(held, [["kettl", "lid"], ["lid"], ["~寿司", "=tea"]]);
});

test("a search brings five lines for each one that is wanted, and 300 at least", async () => {
  const { id } = await weir.channel("many");
  const count = 420;
  for (let index = 0; index < count; index++) await weir.say(id, `kettle ${index}`);
  await search.indexAll([id], 1000);
  const brought = async (limit: number): Promise<number> => {
    const query = { ...NO_QUERY, pick: "'kettl':A", terms: ["kettl"], to: count, limit };
    return (await search.find(id, query)).lines.count;
  };
  assert.deepEqual([await brought(5), await brought(60), await brought(70)], [300, 300, 350]);
  assert.equal(await brought(120), count);
});

test("a name of several lines, with tabs and worse, is one field of its line", async () => {
  const { id } = await weir.channel("names");
  await weir.say(id, "the kettle", { author: { id: "x", name: "Ann\tof\nthe\u0007 mill", isBot: false } });
  await search.indexAll([id], 100);
  const { lines } = await search.find(id, { ...NO_QUERY, pick: "'kettl'", terms: ["kettl"] });
  assert.deepEqual(
    linesOf(lines).map(({ author, words }) => [author, words.includes(" kettl ")]),
    [["Ann of the mill", true]],
  );
});

test("an acronym is found as it is written, and the word that it would be in small letters is none", async () => {
  const { id } = await weir.channel("acronyms");
  for (const text of [
    "the office in the US is closed",
    "it told us so",
    "WHO CAN TELL US",
    "ask IT for a key",
  ])
    await weir.say(id, text);
  await search.indexAll([id], 100);
  assert.deepEqual(await search.lexemes("the US, IT"), ["us", "=IT", "=US"]);
  assert.deepEqual(await search.lexemes("us, it"), ["us"]);
  assert.deepEqual(await holding(id, "=US"), [1]);
  assert.deepEqual(await holding(id, "=IT"), [4]);
  assert.deepEqual(await holding(id, "=WHO"), [], "who writes all in capitals writes no acronym");
});

test("a script without spaces is found by its pairs, as far as it is indexed", async () => {
  const { id } = await weir.channel("unspaced");
  const texts = [
    "会議の場所は東京駅の前です", // 1
    "カタカナのデータベース",
    "ประชุมที่กรุงเทพ", // 3
    "서울에서 만나요",
    `${"x".repeat(1990)} 山の上の湖`, // 5
    `${"x".repeat(2000)} 海の底の船`,
    "nothing of that, and 𠮷野家 in the end", // 7
  ];
  for (const text of texts) await weir.say(id, text);
  await search.indexAll([id], 100);
  const hits = async (unspaced: string): Promise<number[]> => holding(id, ...pairLexemes(unspaced));
  assert.deepEqual(await hits("東京駅の前"), [1]);
  assert.deepEqual(await hits("データベース"), [2]);
  assert.deepEqual(await hits("ประชุม"), [3]);
  assert.deepEqual(await hits("서울에서"), [4]);
  assert.deepEqual(await hits("𠮷野家"), [7]);
  // The author is in front of it: what lies behind the first 2,000 characters is not looked at.
  assert.deepEqual(await hits("山の上"), [5]);
  assert.deepEqual(await hits("海の底の船"), []);
});

test("the pairs of the query are those of the index", async () => {
  for (const text of [
    "寿司を食べた",
    "データー",
    "ประชุมที่กรุงเทพ",
    "서울에서 만나요",
    "𠮷野家",
    "々〇〆",
    "山",
    "abc",
  ]) {
    const { unspaced } = findPieces(text);
    const [row] = await weir.sql<{ pairs: string[] }>("select character_pairs($1) as pairs", text);
    assert.deepEqual(pairLexemes(unspaced), row?.pairs, text);
  }
});

test("one look-up brings the best as far as there is room, and of a long text its beginning", async () => {
  const { id } = await weir.channel("long");
  for (let index = 0; index < 9; index++) await weir.say(id, `kettle ${index} ${"and so on ".repeat(3000)}`);
  await weir.say(id, "a kettle, and nothing else");
  await search.indexAll([id], 100);
  const found = await search.said(id, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  const total = found.reduce((sum, { text }) => sum + (text?.length ?? 0), 0);
  assert.ok(total <= 16_000 && found.length >= 3, `${found.length} with ${total} characters`);
  assert.ok(found.every(({ text }) => text?.endsWith(" […]") === true || (text?.length ?? 0) < 100));
  const seqs = found.map(({ seq }) => seq);
  assert.deepEqual(seqs.slice(0, 3), [10, 9, 8]);
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => b - a),
  );
  // Read again, as from a stored result, it is the same.
  const again = await weir.store.log.readAt(id, [9]);
  assert.equal(again[0]?.text.slice(0, 4000), found[1]?.text?.slice(0, 4000));
});

test("what is found, replied to or looked up reads as it does now, also where a turn has read an earlier text", async () => {
  const { id, epoch } = await weir.channel("edited");
  const at = (second: number): Date => new Date(Date.UTC(2026, 10, 21, 12, 0, second));
  await weir.say(id, "the password is zxqhunter", { id: "e-1", at: at(0) });
  await beginTurn(weir.store, { channel: id, epoch }, 1, 1);
  const now = "the password is elsewhere";
  assert.equal((await weir.store.log.edit(id, "e-1", now, at(1), TEST_DIGESTER)).outcome, "noted");
  await search.indexAll([id], 100);
  const words = { ...NO_QUERY, pick: "'elsewher'", terms: ["elsewher"] };
  const asker = { agent: agentId("main"), channel: id, workspace: "", kind: "channel" } as const;
  const both = await search.findWithMemories(asker, words, { words: "", pieces: [], times: [], limit: 1 });
  assert.deepEqual(both.found, await search.find(id, words));
  const texts = [
    ...(await search.said(id, [...both.found.lines.seqs])),
    ...(await weir.store.attached.said(id, ["e-1"])).values(),
    ...(await weir.store.log.readAt(id, [1])),
  ].map(({ text }) => text);
  assert.deepEqual(texts, [now, now, now]);
});

test("an identifier is found where all of its parts are, letter by letter", async () => {
  const { id } = await weir.channel("identifiers");
  const texts = [
    "it is in src/core/splitText.ts", // 1
    "see https://example.org/guide/split_text?page=12 for that",
    "SPLIT_TEXT is not set", // 3
    "we split text here",
    "the version is v1.20.3-beta, as said", // 5
    `a token of ${"x".repeat(900)}_${"y".repeat(900)} is long`,
    "it is split-text, then FooBar", // 7
  ];
  for (const text of texts) await weir.say(id, text);
  await search.indexAll([id], 100);
  const literally = async (...literals: string[]): Promise<number[]> =>
    ((await find(id, { literals }))[1] ?? []).toReversed();
  assert.deepEqual(await literally("split_text"), [2, 3]);
  assert.deepEqual(await literally("splitText"), [1]);
  assert.deepEqual(await literally("core/splitText.ts"), [1]);
  assert.deepEqual(await literally("guide/split_text?page=12"), [2]);
  // A part is found whole, or not at all.
  assert.deepEqual(await literally("plit_text"), []);
  assert.deepEqual(await literally("guide/split_text?page=1"), []);
  // All of its parts are there, and it is not.
  assert.deepEqual(await literally("text_split"), []);
  assert.deepEqual(await literally("v1.20"), [5]);
  assert.deepEqual(await literally("v1.20", "split_text"), [2, 3, 5]);
  assert.deepEqual(await literally(`${"x".repeat(900)}_${"y".repeat(900)}`), [6]);
  assert.deepEqual(await literally("split-text"), [7]);
  assert.deepEqual(await literally("fooBar"), [7]);
});

test("several channels are indexed at once, each up to the limit, and the index is found by whatever plan", async () => {
  const one = await weir.channel("index-one");
  const two = await weir.channel("index-two");
  for (let index = 0; index < 5; index++) await weir.say(one.id, `apple ${index}`);
  await weir.say(two.id, "apple");
  const taken = await search.indexAll([two.id, one.id], 3);
  assert.deepEqual([taken.get(one.id), taken.get(two.id)], [3, 1]);
  assert.equal((await search.indexAll([one.id], 3)).get(one.id), 2);
  assert.deepEqual(await holding(one.id, "appl"), [1, 2, 3, 4, 5]);
  const plan = await weir.sql<{ "QUERY PLAN": string }>(
    `explain select seq from entry_search where channel_id + 0 = ${one.id} and tsv @@ 'appl'::tsquery and seq + 0 > 1`,
  );
  assert.match(plan.map((row) => row["QUERY PLAN"]).join("\n"), /entry_search_words/);
});

test("the text before an entry finds it by rank, and is none of its own words", async () => {
  const { id } = await weir.channel("before");
  for (const text of ["where is the ladder?", "behind the shed", "thanks"]) await weir.say(id, text);
  await search.indexAll([id], 1);
  await search.indexAll([id], 5);
  const query = { pick: "'ladder'", terms: "'ladder'", to: 9, limit: 5 };
  assert.deepEqual(await byWords(weir.db, id, query), [1, 2]);
  assert.deepEqual(await holding(id, "ladder"), [1]);
});
