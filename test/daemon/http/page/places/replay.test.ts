// proves: src/daemon/http/page/places/replay.ts, src/daemon/http/page/replay/moments.ts, src/store/channels/replay.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { resetAtHome } from "../../../../../src/admin/requests/at-home.ts";
import { openStore } from "../../../../store/open-store.ts";
import { openCluster } from "../../../../support/cluster/test-cluster.ts";
import { coverRoom, indexAll } from "../../../../support/covered.ts";
import { createTestDatabase } from "../../../../support/database.ts";
import { text } from "../../../../support/model-behaviours.ts";
import { startModelServer } from "../../../../support/model-server.ts";
import { startPage } from "../../../../support/page.ts";
import { readConfig, startWeir } from "../../../../support/weir.ts";

const SECRET = "sk-replay-secret-0123456789";
const HOUR = 3_600_000;
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

async function replay(room: string, at?: number, more = ""): Promise<string> {
  const when = at === undefined ? "" : `&at=${Math.round(at)}`;
  const where = `/page/replay?id=${encodeURIComponent(`test:${room}`)}${when}${more}`;
  const { status, body } = await page.get(where, operator);
  assert.equal(status, 200, body);
  assert.ok(!body.includes(SECRET));
  assert.doesNotMatch(body, /<img|style=/);
  return body;
}

async function ask(room: string, question: string, id?: string): Promise<void> {
  const before = weir.events.length;
  await weir.say(question, { room, ...(id !== undefined && { id }) });
  await weir.event(
    "reply_delivered",
    (event) => event.channel === `test:${room}` && weir.events.indexOf(event) >= before,
  );
}

/** Makes all that has happened so far an hour older. */
async function hourPasses(): Promise<void> {
  const columns: Readonly<Record<string, readonly string[]>> = {
    entries: ["at", "appended_at"],
    turns: ["started_at", "settled_at"],
    deliveries: ["created_at", "ended_at"],
    jobs: ["created_at", "ended_at"],
    summaries: ["created_at"],
    model_calls: ["at"],
    context_records: ["at"],
  };
  const updates = Object.entries(columns).map(([name, times]) => {
    const sets = times.map((column) => `${column} = ${column} - interval '1 hour'`);
    return `update ${name} set ${sets.join(", ")}`;
  });
  await beside.sql(`do $$ begin set local session_replication_role = replica; ${updates.join("; ")}; end $$`);
}

test("a channel is shown as it was: before its summary, with it, and after the next question", async () => {
  const room = "<b>harbor";
  await ask(room, `where is the key? <img src=x> ${SECRET}`);
  await hourPasses();
  await coverRoom(connection, room, "They spoke of a key.");
  await hourPasses();
  await ask(room, "and the lamp?");
  const now = Date.now();
  const before = await replay(room, now - 1.5 * HOUR);
  assert.match(before, /<h1>Replay of test:&lt;b&gt;harbor<\/h1>/);
  assert.match(before, /where is the key\? &lt;img src=x&gt; •••[^]*It lies under the stone/);
  assert.match(before, /2 entries in the log, none of them summarised\./);
  assert.match(before, /Nothing is summarised: the model is shown all of it/);
  assert.doesNotMatch(before, /They spoke of a key|the lamp/);
  assert.match(before, /<meter[^>]*>[^]*?<b>[\d.]+ %<\/b> of the usable window, at the last request before/);
  const covered = await replay(room, now - 0.5 * HOUR);
  assert.match(covered, /2 entries in the log, 2 summarised\.[^]*They spoke of a key/);
  assert.doesNotMatch(covered, /where is the key|the lamp/);
  const last = await replay(room, now + HOUR);
  assert.match(
    last,
    /4 entries in the log, 2 summarised\.[^]*They spoke of a key[^]*and the lamp\?[^]*stone/,
  );
  assert.doesNotMatch(last, /where is the key/);
  assert.match(last, /class="cursor"\s+x1="9\d\.\d+%"/);
});

test("it opens at the first landing; the beginning leads by `later` through each landing and each turn to the end, and back", async () => {
  let body = await replay("<b>harbor");
  assert.match(body, /2 entries in the log, 2 summarised\./);
  for (;;) {
    const [, where] = /href="([^"]+)" title="[^"]+">← earlier/.exec(body) ?? [];
    if (where === undefined) break;
    body = (await page.get(where.replaceAll("&amp;", "&"), operator)).body;
  }
  assert.match(body, /<span class="dim">← earlier<\/span>[^]*1 entry in the log[^]*waiting<\/small>/);
  const seen = ["somebody asked"];
  for (;;) {
    const [, where, words] = /href="([^"]+)" title="([^"]+)">later →/.exec(body) ?? [];
    if (where === undefined || words === undefined) break;
    seen.push(words);
    body = (await page.get(where.replaceAll("&amp;", "&"), operator)).body;
  }
  const kinds = seen.map((words) =>
    words.replace(/ in [\d.]+ s$/, "").replace(/(?:, −992 tokens)?: .*$/, ""),
  );
  assert.deepEqual(
    kinds.filter((words) => words !== "a summary is begun"),
    ["somebody asked", "answered", "landed", "somebody asked", "answered"],
  );
  assert.match(body, /<span class="dim">later →<\/span>/);
  const [, back = ""] = /href="([^"]+)" title="somebody asked">← earlier/.exec(body) ?? [];
  assert.match((await page.get(back.replaceAll("&amp;", "&"), operator)).body, /waiting<\/small>[^]*lamp/);
  assert.match(body, /<summary>\d moments<\/summary>/);
});

test("what was deleted since is never shown, also not in a summary that told it, and the page says so", async () => {
  await ask("pier", "the word is swordfish", "pier-1");
  await ask("pier", "and the other?", "pier-2");
  await hourPasses();
  await coverRoom(connection, "pier", "They said swordfish.");
  await hourPasses();
  const times = [0.5, 1, 1.5, 2, 2.5].map((hours) => Date.now() - hours * HOUR);
  const before = await Promise.all(times.map(async (at) => replay("pier", at)));
  assert.ok(before.some((body) => body.includes("the word is swordfish")));
  assert.ok(before.some((body) => body.includes("They said swordfish")));
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "pier-1", at: new Date() });
  for (const at of times) {
    const body = await replay("pier", at);
    assert.doesNotMatch(body, /swordfish/);
    assert.match(body, /deleted since are\s+not\s+shown/);
  }
});

test("a merged summary stands only from when it was made; before, those that it was made of", async () => {
  await ask("mill", "one");
  await coverRoom(connection, "mill", "First half.");
  await ask("mill", "two");
  await coverRoom(connection, "mill", "Second half.");
  await hourPasses();
  await beside.sql(
    `with c as (select id from channels where name = 'mill'),
          off as (update summaries s set live = false from c where s.channel_id = c.id returning s.id)
     insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, model)
     select c.id, 1, 4, 2, 'model', 'Both halves.', 8, 'test-model' from c, (select count(*) from off) done`,
  );
  const early = await replay("mill", Date.now() - 0.9 * HOUR);
  assert.match(early, /First half\.[^]*Second half\./);
  assert.doesNotMatch(early, /Both halves/);
  await ask("mill", "three");
  const late = await replay("mill", Date.now());
  assert.match(late, /Both halves/);
  assert.doesNotMatch(late, /First half|Second half/);
});

test("before a reset the conversation and its summary stand, after it nothing of them", async () => {
  await ask("dock", "the first");
  await coverRoom(connection, "dock", "They began.");
  await ask("dock", "the second");
  await hourPasses();
  const found = await weir.daemon.store.channels.find({ platform: "test", name: "dock" });
  assert.ok(found !== undefined);
  assert.equal(await resetAtHome(weir.daemon, found.id), true);
  await ask("dock", "the third");
  assert.match(await replay("dock", Date.now() - 0.9 * HOUR), /They began\.[^]*the second/);
  const late = await replay("dock", Date.now());
  assert.match(late, /⟲ Reset: the model is shown nothing of entries 1–4\.[^]*the third/);
  assert.doesNotMatch(late, /They began|the second/);
});

test("older entries of a moment have pages of their own, and a long log is looked up by halves", async () => {
  await ask("long", "the first of many");
  await beside.sql(
    `insert into entries (channel_id, seq, kind, message_id, author_id, author_name, text, tokens, at, addressed)
     select c.id, n, 'user', 'many-' || n, 'u-ann', 'Ann', 'crate ' || n || '.', 5, now(), false
       from channels c, generate_series(3, 10000) n where c.name = 'long' order by n`,
  );
  await hourPasses();
  await ask("long", "the last of many");
  const at = Date.now() - 0.5 * HOUR;
  const body = await replay("long", at);
  assert.match(body, /10,000 entries in the log/);
  assert.match(body, /crate 10000\.[^]*<\/ol>/);
  assert.doesNotMatch(body, /crate 9800\.|the last of many/);
  const [, where = ""] = /class="older" href="([^"]+)"/.exec(body) ?? [];
  const { body: older } = await page.get(where.replaceAll("&amp;", "&"), operator);
  assert.match(older, /crate 9800\.[^]*↓ newest/);
  assert.doesNotMatch(older, /crate 10000\./);
});

test("what cannot be shown is told: a quiet channel, none, nobody signed in, a moment that is none", async () => {
  await weir.say("just talking", { room: "quiet", addressed: false });
  assert.match(await replay("quiet"), /Nothing was answered or compacted here yet/);
  assert.match(await replay("long", undefined, "&at=%3Cb%3E&before=x"), /in the log/);
  assert.match(await replay("long", 9e15), /10,002 entries in the log/);
  assert.equal((await page.get("/page/replay?id=test:none", operator)).status, 404);
  assert.equal((await page.get("/page/replay?id=test:long")).status, 401);
});

test("a channel that another daemon of the cluster runs is searched and replayed as any other", async () => {
  await using database = await createTestDatabase();
  await using cluster = await openCluster({ connection: database.connection });
  await cluster.cluster.give("b");
  const { a, b, server } = cluster;
  await a.say("where is the anchor?", { room: "gauge" });
  await b.event("reply_delivered", (event) => event.channel === "test:gauge");
  await indexAll(b.daemon.store.search);
  const config = await readConfig({ connection: database.connection, modelUrl: server.url });
  await using elsewhere = await startPage(a.daemon, config, Date.now());
  const signedIn = await elsewhere.signIn();
  const read = async (where: string): Promise<string> => (await elsewhere.get(where, signedIn)).body;
  assert.match(await read("/page/search?id=test:gauge&q=anchor"), /result[^]*where is the anchor/);
  assert.match(
    await read("/page/replay?id=test:gauge&at=9999999999999"),
    /2 entries in the log[^]*anchor\?[^]*noted/,
  );
});
