// proves: src/daemon/http/page/places/search.ts, src/memory/channel-search.ts, src/daemon/http/page/markup.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openStore } from "../../../../store/open-store.ts";
import { coverRoom, indexAll } from "../../../../support/covered.ts";
import { ANN, authorOf, BEN } from "../../../../support/commands.ts";
import { createTestDatabase } from "../../../../support/database.ts";
import { text } from "../../../../support/model-behaviours.ts";
import { startModelServer } from "../../../../support/model-server.ts";
import { startPage } from "../../../../support/page.ts";
import { readConfig, startWeir } from "../../../../support/weir.ts";

const SECRET = "sk-search-secret-0123456789";
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const model = stack.use(await startModelServer());
model.respond(() => text("It lies under the stone."));
const { connection } = stack.use(await createTestDatabase());
const beside = stack.use(openStore(connection));
const options = { connection, modelUrl: model.url, apiKey: SECRET };
const weir = stack.use(await startWeir(options));
const page = stack.use(await startPage(weir.daemon, await readConfig(options), Date.now()));
const operator = await page.signIn();

async function say(room: string, words: string, id?: string, author = authorOf(ANN)): Promise<void> {
  await weir.say(words, { room, addressed: false, author, ...(id !== undefined && { id }) });
}

/** The results for an address. */
async function search(room: string, asked: Readonly<Record<string, string>>): Promise<string> {
  const query = new URLSearchParams({ id: `test:${room}`, ...asked }).toString();
  const { status, body } = await page.get(`/page/search?${query}`, operator);
  assert.equal(status, 200, body);
  assert.ok(!body.includes(SECRET));
  assert.doesNotMatch(body, /<img|style=/);
  return body;
}

test("words are found with those beside them, and lead to their place; markup and secrets are texts", async () => {
  await say("harbor", "the tide turns at noon");
  await say("harbor", `the lighthouse is painted <img src=x> ${SECRET}`);
  await say("harbor", "by whom?", undefined, authorOf(BEN));
  for (let n = 1; n <= 5; n++) await say("harbor", `of other things ${n}`);
  await say("cellar", "the lighthouse of the cellar");
  await indexAll(weir.daemon.store.search);
  const body = await search("harbor", { q: "lighthouse" });
  assert.match(body, /<a href="\/page\/channel\?id=test%3Aharbor&amp;before=52#entry-2">entry 2<\/a>/);
  assert.match(
    body,
    /the tide turns[^]*class="person result"[^]*painted &lt;img src=x&gt; •••[^]*by whom\?[^]*other things 1/,
  );
  assert.doesNotMatch(body, /cellar/);
  const { body: place } = await page.get("/page/channel?id=test%3Aharbor&before=52", operator);
  assert.match(place, /id="entry-2"/);
});

test("a result that a summary covers leads into the log", async () => {
  await say("mill", "the wheel turns slowly");
  await indexAll(weir.daemon.store.search);
  await coverRoom(connection, "mill", "They spoke of a mill.");
  const body = await search("mill", { q: "wheel" });
  const [, where = ""] = /<h2 class="result">\s*<a href="([^"]*)#entry-1">entry 1<\/a>/.exec(body) ?? [];
  assert.match(where, /^\/page\/source\?id=test%3Amill&amp;from=1&amp;to=51$/);
  const { status, body: log } = await page.get(where.replaceAll("&amp;", "&"), operator);
  assert.equal(status, 200);
  assert.match(log, /id="entry-1"[^]*the wheel turns slowly/);
});

test("what was deleted is not found, nor shown beside something", async () => {
  await say("pier", "the word is swordfish", "pier-1");
  await say("pier", "the net is torn", "pier-2");
  await indexAll(weir.daemon.store.search);
  assert.match(await search("pier", { q: "swordfish" }), /entry 1<\/a>/);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "pier-1", at: new Date() });
  const gone = await search("pier", { q: "swordfish" });
  assert.match(gone, /Nothing was found\./);
  assert.doesNotMatch(gone, /<ol class="log">/);
  const near = await search("pier", { q: "net torn" });
  assert.match(near, /<small>deleted<\/small>[^]*the net is torn/);
  assert.doesNotMatch(near, /the word is/);
});

test("what a person said is found by their name and by the time, and a wrong one says so", async () => {
  assert.match(await search("harbor", { who: "Ben" }), /class="person result"[^]*by whom\?/);
  assert.match(
    await search("harbor", { who: "Bena" }),
    /Nobody spoke here under that\s+name\. Did you mean Ben\?/,
  );
  assert.match(await search("harbor", { q: "tide", when: "today" }), /the tide turns/);
  assert.match(await search("harbor", { q: "tide", when: "2001" }), /Nothing was found\./);
  assert.match(await search("harbor", { q: "tide", when: "<b>soon" }), /This names no time[^]*2026-05-07/);
});

test("a search of 10,000 entries has pages, each result once", async () => {
  await say("long", "the first of many");
  await beside.sql(
    `insert into entries (channel_id, seq, kind, message_id, author_id, author_name, text, tokens, at, addressed)
     select c.id, n, 'user', 'many-' || n, 'u-ann', 'Ann', 'crate ' || n || ' holds ' || case when n % 400 = 0 then 'oranges' else 'rope' end, 5, now(), false
       from channels c, generate_series(2, 10000) n where c.name = 'long' order by n`,
  );
  await indexAll(weir.daemon.store.search);
  const seen: string[] = [];
  for (let number = 1; ; number++) {
    const body = await search("long", { q: "oranges", ...(number > 1 && { page: String(number) }) });
    const found = [...body.matchAll(/>entry ([\d,]+)<\/a>/g)].map(([, seq = ""]) => seq);
    assert.ok(found.length > 0 && found.length <= 10);
    seen.push(...found);
    if (!body.includes(`page=${number + 1}"`)) break;
  }
  assert.equal(new Set(seen).size, seen.length, "each once");
  const wanted = Array.from({ length: 25 }, (_, n) => ((n + 1) * 400).toLocaleString("en-US"));
  assert.deepEqual(
    wanted.filter((seq) => !seen.includes(seq)),
    [],
  );
  assert.match(await search("long", { q: "oranges", page: "50" }), /Nothing more was found\.[^]*← Page 49/);
});

test("whatever is asked is answered: nothing, signs, a text that is too long, no such channel, nobody signed in", async () => {
  assert.match(await search("harbor", {}), /What was deleted is not found\./);
  assert.match(await search("harbor", { q: `"><img src=x>` }), /value="&quot;&gt;&lt;img src=x&gt;"/);
  for (const q of ["\0", "%", "'; drop table entries; --", "\\", "🏴‍☠️", "a & b | !c:*", "x".repeat(6000)])
    await search("harbor", { q, page: "-1" });
  const long = await page.get(`/page/search?id=test:harbor&q=${"x".repeat(100_000)}`, operator);
  assert.equal(long.status, 431);
  assert.equal((await page.get("/page/search?id=test:none&q=x", operator)).status, 404);
  assert.equal((await page.get("/page/search?id=test:harbor&q=tide")).status, 401);
});
