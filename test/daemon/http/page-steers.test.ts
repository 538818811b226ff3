// proves: src/daemon/http/page/places/forget.ts, src/daemon/http/page/places/channel-acts.ts, src/admin/commands/forget.ts, src/store/deletion/personal-data.ts
// The operator forgets a memory, summarises a channel and stops its answer on the page: as `/forget`, `/compact` and `/stop` do.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import { foldBehind, rememberIn } from "../../store/remember.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { openCluster } from "../../support/cluster/test-cluster.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { compactions, hold, listen, openScene, script } from "../../support/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { formsIn, startPage, type TestForm, type TestPage } from "../../support/page.ts";
import { readConfig } from "../../support/weir.ts";

const [OURS, THEIRS] = ["zxqann", "zxqben"];
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const scene = stack.use(await openScene());
const mill = await scene.open.store.channels.open({
  address: { platform: "discord", name: "mill" },
  kind: "channel",
  workspace: "w",
  agent: agentId("main"),
});
const first = await scene.open.say(mill, `the mill is old, ${OURS}`, {
  addressed: false,
  author: authorOf(ANN),
});
const second = await scene.open.say(mill, `the mill is old, ${THEIRS}`, {
  addressed: false,
  author: authorOf(BEN),
});
const remember = async (statement: string, ...seqs: number[]): Promise<number> =>
  rememberIn(scene.open, mill, { statement, sources: seqs.map((seq) => ({ seq, quote: "the mill" })) });
const both = await remember(`The mill is old: ${OURS}.`, first, second);
const same = await remember("There is an old mill.", second);
await remember("Ann knows the mill <b>.", first);
const third = await scene.open.say(mill, "the weir is new", { addressed: false, author: authorOf(BEN) });
const kept = await remember("The weir is new.", third, second);
await foldBehind(scene.open, both, same);
const weir = stack.use(await scene.start());
const page = stack.use(await startPage(weir.daemon, await scene.config(), Date.now()));
const operator = await page.signIn();

const forgetting = (memory: number): string => `/page/forget?id=discord%3Amill&agent=main&memory=${memory}`;

async function formAt(where: string, by: TestPage = page, cookie = operator, place = 0): Promise<TestForm> {
  const form = (await by.forms(where, cookie))[place];
  assert.ok(form !== undefined, where);
  return form;
}

test("forgetting says in numbers what goes, asks first, and takes that: not more, and nothing is left of it", async () => {
  const list = await page.get("/page/memories", operator);
  assert.ok(list.body.includes(forgetting(both).replaceAll("&", "&amp;")), list.body);
  const asked = await page.get(forgetting(both), operator);
  assert.match(asked.body, /<li>2 messages that it comes from lose their text/);
  assert.match(asked.body, /<li>1 statement that says the same in other words goes/);
  assert.match(asked.body, /<li>1 memory more that comes from there alone goes/);
  assert.equal((await rowsWith(scene.open, OURS)).length > 0, true, "asking changes nothing");
  const form = await formAt(forgetting(both));
  const forged = await page.post(form.path, { ...form.fields, token: "no" }, { ...page.own, ...operator });
  assert.equal(forged.status, 403);
  // Fewer messages stood behind it when the form was shown.
  const stale = await page.act(form, operator, { reach: "1 0 0" });
  assert.match(stale.body, /<li>2 messages that it comes from lose their text/, "it is asked again");
  assert.equal((await rowsWith(scene.open, OURS)).length > 0, true, "nothing is forgotten yet");
  const pressed = await Promise.all([page.act(form, operator), page.act(form, operator)]);
  for (const { body } of pressed) assert.match(body, /Forgotten: #|There is no such memory any more/);
  assert.match(
    pressed.map(({ body }) => body).join("\n"),
    new RegExp(
      `Forgotten: #${both}\\. 2 messages that it came from lost their text, in the log and in summaries\\. 1 memory more came from there alone, and went, too\\.`,
    ),
  );
  for (const word of [OURS, THEIRS]) assert.deepEqual(await rowsWith(scene.open, word), []);
  const left = await scene.open.sql("select id from memories order by id");
  assert.deepEqual(left, [{ id: kept }]);
  const afterwards = await page.get("/page/memories", operator);
  assert.doesNotMatch(afterwards.body, /old mill|mill is old|knows the mill/);
  assert.match((await page.act(form, operator)).body, /There is no such memory any more/);
});

test("a memory that was forgotten meanwhile, or that a form makes up, changes nothing", async () => {
  const form = await formAt(forgetting(kept));
  for (const [fields, status] of [
    [{ memory: "0" }, 400],
    [{ memory: "1 or 1" }, 400],
    [{ id: "discord:none" }, 404],
    [{ agent: "other" }, 200],
    [{ agent: "a\0b" }, 200],
    [{ memory: "999999" }, 200],
  ] as const) {
    const answer = await page.act({ ...form, fields: { ...form.fields, ...fields } }, operator);
    assert.equal(answer.status, status, JSON.stringify(fields));
  }
  for (const wrong of ["memory=999999", "memory=%00", `memory=${kept}&agent=%00`, `memory=${kept}&agent=x`])
    assert.equal((await page.get(`/page/forget?id=discord%3Amill&${wrong}`, operator)).status, 404, wrong);
  assert.equal((await scene.open.sql("select from memories")).length, 1);
  await command(weir, "mill", `/forget ${kept}`, BEN, "discord");
  assert.equal((await scene.open.sql("select from memories")).length, 0);
  assert.match((await page.act(form, operator)).body, /There is no such memory any more/);
  const audit = page.lines.filter((line) => line.includes("page_act")).join("\n");
  assert.match(
    audit,
    new RegExp(`"act":"/page/forget/act","on":"memory ${both}","session":"[\\da-f]{8}","outcome":"done"`),
  );
  assert.doesNotMatch(audit, /mill is/);
});

test(
  "another daemon of a cluster summarises and stops where the page asks it to",
  { timeout: 300_000 },
  async () => {
    const database = stack.use(await createTestDatabase());
    const { connection } = database;
    const lines = `
[[agents]]
id = "main"
model = "test-model"
compactor_model = "summariser"
context_window = 16000
[agents.compaction]
keep_messages = 5
write_ahead = false
`;
    await using cluster = await openCluster({ connection, config: lines });
    await cluster.cluster.give("b");
    const { a, b, server } = cluster;
    const config = await readConfig({ connection, modelUrl: server.url, config: lines });
    await using elsewhere = await startPage(a.daemon, config, Date.now());
    const signedIn = await elsewhere.signIn();
    const where = "/page/channel-acts?id=test%3Agauge";
    script(server, () => text("Ann reads the gauge each morning."));
    await listen(a, "gauge", 1, 40);
    const [compact, stop] = await elsewhere.forms(where, signedIn);
    assert.ok(compact !== undefined && stop !== undefined);
    assert.match((await elsewhere.act(stop, signedIn)).body, /Nothing is being written just now/);
    const compacted = await elsewhere.act(compact, signedIn);
    assert.match(compacted.body, /Summarised \d+ messages|It is still being summarised/);
    await b.event("compaction", () => compactions(b, "gauge", "committed").length === 1);
    assert.match((await elsewhere.act(compact, signedIn)).body, /Nothing was summarised/);
    const held = hold();
    script(
      server,
      () => text("none"),
      () => held.behaviour,
    );
    const asked = server.requests.length;
    await a.say("hello", { room: "gauge" });
    await server.received(asked + 1);
    assert.match((await elsewhere.act(stop, signedIn)).body, /role="status">\s*Stopped\./);
    const { outcome } = await b.event("turn_settled", ({ channel }) => channel === "test:gauge");
    assert.equal(outcome, "stopped");
    assert.match((await elsewhere.act(stop, signedIn)).body, /Nothing is being written just now/);
    assert.equal((await elsewhere.act(stop, signedIn, { act: "reset" })).status, 400);
    assert.equal((await elsewhere.act(stop, signedIn, { id: "test:none" })).status, 404);
    assert.deepEqual(formsIn((await elsewhere.get("/page/turn?id=test%3Agauge", signedIn)).body), []);
    assert.ok((await elsewhere.get("/page/turn?id=test%3Agauge", signedIn)).body.includes(`href="${where}"`));
  },
);
