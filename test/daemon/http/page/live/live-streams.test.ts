// proves: src/daemon/http/page/live/live-streams.ts, src/daemon/http/page/live/channel-watch.ts, src/daemon/http/page/live/event-stream.ts, src/daemon/http/page/live/position.ts, src/daemon/http/page/channel/live-line.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ENTRIES_ON_PAGE } from "../../../../../src/daemon/http/page/channel/entries.ts";
import { ALL_PARTITIONS, openCluster } from "../../../../support/cluster/test-cluster.ts";
import { command } from "../../../../support/commands.ts";
import { coverRoom } from "../../../../support/covered.ts";
import { createTestDatabase, withClient } from "../../../../support/database.ts";
import type { TestStream } from "../../../../support/event-stream.ts";
import { ask } from "../../../../support/http-client.ts";
import { heldText, text, toolCalls } from "../../../../support/model-behaviours.ts";
import { startModelServer } from "../../../../support/model-server.ts";
import { startPage } from "../../../../support/page.ts";
import { until } from "../../../../support/patience.ts";
import { readConfig, startWeir } from "../../../../support/weir.ts";

const SECRET = "sk-live-secret-0123456789";
const CONFIG = `
[[agents]]
id = "main"
model = "test-model"
context_window = 16000
time_zone = "UTC"
[agents.compaction]
keep_messages = 5
`;
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const model = stack.use(await startModelServer());
model.respond(() => text("It lies under the stone."));
const { connection } = stack.use(await createTestDatabase());
const options = { connection, modelUrl: model.url, apiKey: SECRET, config: CONFIG };
const weir = stack.use(await startWeir(options));
const page = stack.use(await startPage(weir.daemon, await readConfig(options), Date.now(), 50));
const operator = await page.signIn();
/** Before any stream is open. */
const { listening } = weir.daemon.events;

/** The address of a room's stream, as its page has it. */
async function addressOf(room: string): Promise<string> {
  const { body } = await page.get(`/page/channel?id=test:${room}`, operator);
  const [, events = "", from = ""] = /data-events="([^"]+)"\s+data-from="([^"]+)"/.exec(body) ?? [];
  assert.match(from, /^\d+-\d+-\d+$/);
  return `${events.replaceAll("&amp;", "&")}${from}`;
}

/** A stream of a room's page that has been told what there is. */
async function watch(
  room: string,
  headers: Readonly<Record<string, string>> = operator,
): Promise<TestStream> {
  const stream = await page.stream(await addressOf(room), headers);
  assert.equal(stream.status, 200, stream.body);
  await stream.next("where");
  return stream;
}

async function say(words: string, room: string, id?: string): Promise<void> {
  await weir.say(words, { room, addressed: false, ...(id !== undefined && { id }) });
}

function rows(stream: TestStream): unknown[] {
  return stream.events.filter(({ event }) => event === "row").map(({ data }) => data["text"]);
}

test("an answer is shown while it is written, and its row replaces it, once", async () => {
  await say("hello", "river");
  using stream = await watch("river");
  const gate = Promise.withResolvers<void>();
  model.reply(heldText("It lies under ", gate.promise, "the stone."));
  await weir.say("where is the key?", { room: "river" });
  const asked = await stream.next("row", (row) => row["text"] === "where is the key?");
  assert.deepEqual([asked.data["speaks"], asked.data["marks"]], ["person", ["waiting"]]);
  const draft = await stream.next("draft");
  assert.deepEqual(draft.data, { speaker: "[main]", text: "It lies under " });
  gate.resolve();
  const answer = await stream.next("row", (row) => row["speaks"] === "agent");
  assert.equal(answer.data["text"], "It lies under the stone.");
  assert.equal(answer.data["after"], 2);
  await stream.next("settled", ({ outcome }) => outcome === "answered");
  const end = stream.events.findLast(({ event }) => event === "draft");
  assert.equal(end?.data["text"], "", "nothing is being written any more");
  assert.equal(rows(stream).filter((words) => words === "It lies under the stone.").length, 1);
  const again = await stream.next("row", (row) => row["seq"] === 2 && String(row["marks"]) === "");
  assert.equal(again.data["text"], "where is the key?", "it waits no more");
});

test("of a long answer the end is shown, and nothing of one whose message is deleted", async () => {
  await say("hello", "long-answer");
  using stream = await watch("long-answer");
  const gate = Promise.withResolvers<void>();
  // A secret may begin with the last letter, which then waits for the next piece; none begins with a space.
  model.reply(heldText(`${"word ".repeat(1000)}and the end `, gate.promise, "."));
  await weir.say("tell me all", { room: "long-answer", id: "all" });
  const draft = await stream.next("draft", ({ text: words }) => String(words).endsWith(" and the end "));
  assert.match(String(draft.data["text"]), /^… [a-z ]{4000}$/);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "all", at: new Date() });
  await stream.next("settled", ({ outcome }) => outcome === "skipped");
  const last = stream.events.findLast(({ event }) => event === "draft");
  assert.equal(last?.data["text"], "", "the message that it answers is gone");
  gate.resolve();
});

test("a stream has the page's policy, and only GET with a session opens it", async () => {
  using stream = await watch("river");
  assert.match(
    String(stream.headers["content-security-policy"]),
    /connect-src 'self'.*trusted-types 'none'$/,
  );
  assert.equal(stream.headers["cache-control"], "no-store");
  const where = await addressOf("river");
  assert.equal((await page.get(where)).status, 401);
  assert.equal((await page.get(where, { ...operator, host: `127.0.0.1:${page.port}` })).status, 403);
  const head = { method: "HEAD", headers: { host: page.host, ...operator } };
  assert.equal((await ask(`http://127.0.0.1:${page.port}${where}`, head)).status, 405);
  assert.equal((await page.get("/page/events?id=test:none", operator)).status, 404);
  const older = await page.get("/page/channel?id=test:river&before=2", operator);
  assert.doesNotMatch(older.body, /data-events/, "older entries are not live");
});

test("an edit and a deletion replace the row, and void what is made of it", async () => {
  await say("the code is 4711", "edits", "e-1");
  await say("and the door is green", "edits", "e-2");
  using stream = await watch("edits");
  const edit = { platform: "test", id: "e-1", at: new Date() } as const;
  await weir.daemon.inbox.receive({ type: "edit", ...edit, text: "the code has changed" });
  await stream.next("row", (row) => row["seq"] === 1 && row["text"] === "the code has changed");
  await stream.next("changed");
  await weir.daemon.inbox.receive({ type: "deletion", ...edit, id: "e-2" });
  const gone = await stream.next("row", (row) => row["seq"] === 2);
  assert.deepEqual(
    [gone.data["text"], gone.data["isDim"], gone.data["marks"]],
    ["its text is gone", true, ["deleted", "listened"]],
  );
  await until("both are told", () => stream.events.filter(({ event }) => event === "changed").length >= 2);
  assert.equal(rows(stream).length, 2, "no other row is sent");
});

test("the begin and the landing of a compaction are told", async () => {
  for (let day = 1; day <= 60; day++)
    await say(`On day ${day} the river stood at ${day} centimetres above the old mark by the mill.`, "mill");
  using stream = await watch("mill");
  model.reply(text("The group spoke of the river's level; Ann measures it each morning."));
  assert.match(await command(weir, "mill", "compact"), /^Summarised \d+ messages/);
  const begun = await stream.next("compaction");
  assert.match(String(begun.data["words"]), /^Beside the talk: summarising \d+ older messages\.$/);
  const landed = await stream.next("compaction", ({ isOver }) => isOver === true);
  assert.match(String(landed.data["words"]), /^A summary has landed \(\d+ older messages summarised: /);
});

test("calls of tools are told while their turn goes on", async () => {
  await say("hello", "tools");
  using stream = await watch("tools");
  const gate = Promise.withResolvers<void>();
  model.reply(toolCalls([{ name: "search_history", arguments: { query: "key" } }]));
  model.reply(heldText("", gate.promise, "Nobody said it."));
  await weir.say("who had the key?", { room: "tools" });
  await stream.next(
    "row",
    (row) => row["speaks"] === "tool" && String(row["text"]).includes("search_history"),
  );
  assert.ok(!weir.events.some((event) => event.type === "turn_settled" && event.channel === "test:tools"));
  gate.resolve();
  await stream.next("row", (row) => row["text"] === "Nobody said it.");
});

test("a cut stream resumes without a double and without a hole, or loads the page again", async () => {
  for (let n = 1; n <= 3; n++) await say(`line ${n}`, "cut", `c-${n}`);
  const where = await addressOf("cut");
  const first = await page.stream(where, operator);
  await first.next("where");
  await say("line 4", "cut");
  const { id } = await first.next("row");
  first[Symbol.dispose]();
  await say("line 5", "cut");
  await say("line 6", "cut");
  // The address still has the older position.
  using second = await page.stream(where, { ...operator, "last-event-id": id });
  await second.next("row", (row) => row["text"] === "line 6");
  await say("line 7", "cut");
  await second.next("row", (row) => row["text"] === "line 7");
  assert.deepEqual(rows(second), ["line 5", "line 6", "line 7"]);
  const last = second.events.at(-1)?.id ?? "";
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "c-2", at: new Date() });
  using third = await page.stream(where, { ...operator, "last-event-id": last });
  await third.next("stale");
  assert.ok(!second.events.some(({ event }) => event === "stale"));
});

test("after more entries than a page has, a stream resumes with the newest", async () => {
  await say("line 1", "long");
  const where = await addressOf("long");
  for (let n = 2; n <= ENTRIES_ON_PAGE + 9; n++) await say(`line ${n}`, "long");
  using stream = await page.stream(where, operator);
  await stream.next("row", (row) => row["text"] === `line ${ENTRIES_ON_PAGE + 9}`);
  assert.equal(rows(stream).length, ENTRIES_ON_PAGE);
  assert.equal(rows(stream)[0], "line 10");
});

test("no piece of a secret is sent while it is written, nor as a row", async () => {
  await say("hello", "secret");
  using stream = await watch("secret");
  const gate = Promise.withResolvers<void>();
  const [half, rest] = [SECRET.slice(0, 12), SECRET.slice(12)];
  model.reply(heldText(`The key is ${half}`, gate.promise, `${rest}, and so on`));
  await weir.say("what is the key?", { room: "secret" });
  const begun = await stream.next("draft");
  assert.equal(begun.data["text"], "The key is ");
  gate.resolve();
  await stream.next("row", (row) => row["text"] === "The key is •••, and so on");
  assert.ok(!JSON.stringify(stream.events).includes(SECRET.slice(0, 8)));
});

test("sign-out closes the session's streams, and those of no other", async () => {
  const one = await page.signIn();
  using closed = await watch("river", one);
  using kept = await watch("river");
  const { body } = await page.get("/", one);
  const token = /name="token" value="(?<token>[^"]+)"/.exec(body)?.groups?.["token"] ?? "";
  assert.equal((await page.post("/page/sign-out", { token }, { ...page.own, ...one })).status, 303);
  await closed.ended;
  await say("still there?", "river");
  await kept.next("row", (row) => row["text"] === "still there?");
});

test("a stream ends with its session, which gives way to many newer ones", async () => {
  const one = await page.signIn();
  using closed = await watch("river", one);
  // It is used since.
  await page.get("/", operator);
  for (let newer = 0; newer < 99; newer++) await page.signIn();
  await page.get("/", operator);
  await closed.ended;
});

test("the ninth stream of a session is refused, in a sentence", async () => {
  const one = await page.signIn();
  using open = new DisposableStack();
  for (let n = 1; n <= 8; n++) open.use(await watch("river", one));
  const ninth = await page.get(await addressOf("river"), one);
  assert.equal(ninth.status, 429);
  assert.match(ninth.body, /Too many live pages are open: close one\./);
  using other = await watch("river");
  assert.equal(other.status, 200);
});

test("64 streams are open at most", async () => {
  using open = new DisposableStack();
  const where = await addressOf("river");
  for (let session = 1; session <= 8; session++) {
    const one = await page.signIn();
    for (let n = 1; n <= 8; n++) open.use(await page.stream(where, one));
  }
  assert.equal((await page.get(where, operator)).status, 429);
});

test("a reader that never reads delays no turn, and no other reader", async () => {
  for (let n = 1; n <= ENTRIES_ON_PAGE; n++) await say(`${n} ${"☃".repeat(3990)}`, "deaf");
  const where = (await addressOf("deaf")).replace(/from=.*/, "from=0-0-0");
  using deaf = await page.stream(where, operator, false);
  assert.equal(deaf.status, 200);
  using stream = await page.stream(where, operator);
  // More than is sent at once: the rest follows.
  await stream.next("row", (row) => String(row["text"]).startsWith(`${ENTRIES_ON_PAGE} `));
  assert.equal(rows(stream).length, ENTRIES_ON_PAGE);
  await weir.say("is anybody there?", { room: "deaf" });
  await weir.event("turn_settled", ({ channel }) => channel === "test:deaf");
  await stream.next("row", (row) => row["speaks"] === "agent");
});

test("a channel that another daemon runs is looked at, and the page says so", async () => {
  await using other = await createTestDatabase();
  await using scene = await openCluster({ connection: other.connection });
  await scene.cluster.give("b", ALL_PARTITIONS);
  const config = await readConfig({ connection: other.connection, modelUrl: scene.server.url });
  await using there = await startPage(scene.a.daemon, config, Date.now());
  const signedIn = await there.signIn();
  await scene.b.say("hello", { room: "away", addressed: false });
  using stream = await there.stream("/page/events?id=test:away&from=0-0-0", signedIn);
  assert.deepEqual((await stream.next("where")).data, { isHere: false });
  await scene.b.say("is anybody there?", { room: "away" });
  await stream.next("row", (row) => row["text"] === "noted");
  await coverRoom(other.connection, "away");
  assert.deepEqual((await stream.next("compaction")).data, { words: "A summary has landed.", isOver: true });
  // As retention does, which tells nobody.
  await withClient(other.connection, async (client) =>
    client.query("update entries set text = '', expired_at = now() where seq = 1"),
  );
  await stream.next("row", (row) => row["seq"] === 1 && row["text"] === "(text no longer kept)");
  assert.ok(!stream.events.some(({ event }) => event === "draft"));
});

test("a page that nobody saw while a text became too old loses it when it resumes", async () => {
  await say("the old word", "dusty");
  await say("the new word", "dusty");
  const resumed = await addressOf("dusty");
  await coverRoom(connection, "dusty");
  await withClient(connection, async (client) =>
    client.query(
      `update entries set text = '', expired_at = now()
        where seq = 1 and channel_id = (select id from channels where name = 'dusty')`,
    ),
  );
  using stream = await page.stream(resumed, operator);
  await stream.next("row", (row) => row["seq"] === 1 && row["text"] === "(text no longer kept)");
});

test("without an open stream nothing listens", async () => {
  await until("all have ended", () => weir.daemon.events.listening === listening);
  using stream = await watch("river");
  assert.equal(weir.daemon.events.listening, listening + 2);
  stream[Symbol.dispose]();
  await until("it has ended", () => weir.daemon.events.listening === listening);
});
