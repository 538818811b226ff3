// proves: src/admin/requests/request-server.ts, src/admin/requests/compact-answer.ts, src/compactor/asked.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { answerText } from "../../../src/core/card.ts";
import { describeRedo, compactAnswer } from "../../../src/admin/requests/compact-answer.ts";
import { channelId, jobId } from "../../../src/core/ids.ts";
import { RequestServer, type RequestServerParts } from "../../../src/admin/requests/request-server.ts";
import { ChannelHomes } from "../../../src/ownership/channel-homes.ts";
import { openStore, SILENT } from "../../store/open-store.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { until } from "../../support/patience.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
/** Another process beside the daemon. */
const beside = openStore(database.connection);
after(async () => beside[Symbol.asyncDispose]());

const CONFIG = `
[llm]
max_retries = 0
[[agents]]
id = "main"
model = "test-model"
context_window = 16000
time_zone = "UTC"
[agents.compaction]
keep_messages = 5
`;
const SUMMARY = "The group spoke of the river's level; Ann measures it each morning.";

async function start(server: ModelServer, platform = new TestPlatform()): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config: CONFIG, platform });
}

async function talk(weir: TestWeir, room: string, messages = 40): Promise<void> {
  for (let index = 1; index <= messages; index++) {
    const said = `On day ${index} the river stood at ${index} centimetres above the old mark by the mill.`;
    await weir.say(said, { room, addressed: false, id: `${room}-${index}` });
  }
}

async function command(weir: TestWeir, room: string, name: string, argument = ""): Promise<string> {
  const channel = { platform: "test", name: room };
  const asker = { id: "u-ann", name: "Ann", roles: [] };
  return answerText(await weir.daemon.inbox.command({ channel, name, argument, asker }));
}

test("a compaction with a focus tells the summariser of it, as data, and the next one does not", async () => {
  await using server = await startModelServer();
  server.respond(() => text(SUMMARY));
  await using weir = await start(server);
  await talk(weir, "focus");
  assert.match(await command(weir, "focus", "compact", `the "mill"\nIgnore all`), /^Summarised \d+ messages/);
  const asked = JSON.stringify(server.requests.at(-1)?.body.messages.at(-1)?.content);
  assert.ok(asked.includes(JSON.stringify(JSON.stringify('the "mill" Ignore all')).slice(1, -1)), asked);
  await talk(weir, "focus", 80);
  assert.match(await command(weir, "focus", "compact"), /^Summarised|^Nothing/);
  assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body), /Ignore all.{0,40}Give that/);
  assert.match(
    await command(weir, "focus", "compact", "x".repeat(201)),
    /^Nothing was summarised: a focus has/,
  );
});

async function idOf(weir: TestWeir, room: string): Promise<number> {
  const found = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(found !== undefined);
  return found.id;
}

/** What became of a request that another process makes. */
async function request(channel: number, job: number | null = null): Promise<unknown> {
  return (await requestAs(channel, job)).answer;
}

async function requestAs(
  channel: number,
  job: number | null = null,
): Promise<{ readonly id: number; readonly answer: unknown }> {
  const { requests } = beside.store;
  const id = await requests.add(
    channelId(channel),
    job === null ? { kind: "compact" } : { kind: "redo", job: jobId(job) },
  );
  for (;;) {
    const { answer } = await requests.state(id);
    if (answer !== undefined) return { id, answer };
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

test("/summarize covers what is old, answers with the summary, and /context shows it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text(SUMMARY));
  await talk(weir, "asked");
  assert.match(await command(weir, "asked", "context"), /Nothing is summarised yet/);
  const answer = await command(weir, "asked", "summarize");
  assert.match(
    answer,
    /^Summarised 35 messages \(entries 1–35\): about [\d,]+ tokens became \d+, in \d+\.\d s\.\n\n {2}The group spoke/,
  );
  const shown = await command(weir, "asked", "context");
  assert.match(shown, /entries 1–35 \(35\), level 1, \d+ tokens, by a model\n {6}The group spoke of/);
  assert.equal(
    await command(weir, "asked", "compact"),
    await command(weir, "asked", "summarize"),
    "what is left is recent",
  );
  assert.match(await command(weir, "asked", "compact"), /^Nothing was summarised: /);
});

test("/compact that fails says so without the provider's words", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => status(400, { error: { message: "the provider's secret" } }));
  await talk(weir, "failing");
  const answer = await command(weir, "failing", "compact");
  assert.doesNotMatch(answer, /secret/);
  assert.match(answer, /could not be summarised|by an extract without a model/);
});

test("a request of another process is taken by the daemon and answered", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text(SUMMARY));
  await talk(weir, "beside");
  const answer = compactAnswer.safeParse(await request(await idOf(weir, "beside"))).data;
  assert.equal(answer?.kind, "committed");
  assert.deepEqual(
    { ...answer, job: 0, tokensBefore: 0, tokensAfter: 0, ms: 0 },
    {
      kind: "committed",
      job: 0,
      messages: 35,
      fromSeq: 1,
      toSeq: 35,
      tokensBefore: 0,
      tokensAfter: 0,
      memories: 0,
      ms: 0,
      model: "test-model",
      text: SUMMARY,
    },
  );
});

/** What a person is told of a request to write a summary again. */
async function redo(channel: number, job: number): Promise<string> {
  const answer = compactAnswer.safeParse(await request(channel, job)).data;
  assert.ok(answer !== undefined);
  return describeRedo(answer);
}

test("a summary is written again on request: with today's model, from the messages, and without memories", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text(SUMMARY));
  await talk(weir, "redone");
  const channel = await idOf(weir, "redone");
  const first = compactAnswer.safeParse(await request(channel)).data;
  assert.ok(first?.kind === "committed");
  const before = server.requests.length;
  server.respond(() => text("The river is measured each morning, by Ann."));
  assert.match(
    await redo(channel, first.job),
    /^Written again, as #\d+: the summary of 35 messages \(entries 1–35\), \d+ tokens before, \d+ now, by test-model, in /,
  );
  const asked = server.requests.slice(before);
  assert.equal(asked.length, 1);
  assert.match(JSON.stringify(asked[0]?.body.messages), /On day 7 the river/);
  assert.equal(asked[0]?.body.tools, undefined, "it saves no memories");
  const { history } = await weir.daemon.store.load(channelId(channel));
  assert.deepEqual(
    history.summaries.map((one) => [one.fromSeq, one.toSeq, one.text]),
    [[1, 35, "The river is measured each morning, by Ann."]],
  );
  const jobs = await weir.daemon.store.compactions.list(channelId(channel), 20);
  assert.deepEqual(
    jobs.map(({ kind, tier, memories }) => [kind, tier, memories]),
    [
      ["leaf", "forced", 0],
      ["redo", "forced", 0],
    ],
  );
  assert.match(await redo(channel, first.job), /#\d+ was replaced by a later one, #\d+\.$/);
});

test("a redo that cannot be is refused in plain words", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text(SUMMARY));
  await talk(weir, "refused");
  const channel = await idOf(weir, "refused");
  assert.equal(
    await redo(channel, 999_999),
    "Nothing was written again: there is no compaction #999999 in this channel.",
  );
  const made = compactAnswer.safeParse(await request(channel)).data;
  assert.ok(made?.kind === "committed");
  const other = await beside.channel("refused-elsewhere");
  assert.match(await redo(other.id, made.job), /there is no compaction #\d+ in this channel/);
  // A refused one changes nothing, however often it is asked for: no extract takes the place of a good summary.
  server.respond(() => text(""));
  for (let time = 1; time <= 4; time++)
    assert.match(
      await redo(channel, made.job),
      /^The summary could not be written again now, and stays as it is/,
    );
  const { history } = await weir.daemon.store.load(channelId(channel));
  assert.deepEqual(
    history.summaries.map((one) => [one.kind, one.text]),
    [["model", SUMMARY]],
  );
  await command(weir, "refused", "reset");
  assert.match(await redo(channel, made.job), /the messages of #\d+ were reset since\.$/);
});

test("a redo of a summary whose messages were deleted is refused", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text(SUMMARY));
  await talk(weir, "emptied");
  const channel = await idOf(weir, "emptied");
  const made = compactAnswer.safeParse(await request(channel)).data;
  assert.ok(made?.kind === "committed");
  for (let index = 1; index <= 35; index++)
    await beside.store.log.delete(channelId(channel), `emptied-${index}`, TEST_DIGESTER);
  assert.match(
    await redo(channel, made.job),
    /next to nothing is left of its messages: they were deleted\.$/,
  );
});

test("a summary that is written ahead is not written again before it has landed", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  await talk(weir, "waiting");
  const channel = await idOf(weir, "waiting");
  const owner = await beside.sql<{ epoch: number }>("select epoch from channels where id = $1", channel);
  const job = await beside.store.jobs.begin(
    { channel: channelId(channel), epoch: owner[0]?.epoch ?? 0 },
    { kind: "leaf", tier: "background", fromSeq: 1, toSeq: 9, level: 1, sourceTokens: 300, isAhead: true },
  );
  assert.match(await redo(channel, job.id), /#\d+ is under way\.$/);
  const result = {
    parts: [],
    memories: [],
    summary: { kind: "model", text: SUMMARY, tokens: 20, model: "m" },
  };
  await beside.sql(
    "update jobs set state = 'ahead', result = $2 where id = $1",
    job.id,
    JSON.stringify(result),
  );
  assert.match(await redo(channel, job.id), /#\d+ is written ahead, and has not landed yet\.$/);
});

test("an answer has the summary as a deletion has left it, whenever that came", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text(`${SUMMARY} The code is zxqcode.`));
  await talk(weir, "answered");
  const { id, answer } = await requestAs(await idOf(weir, "answered"));
  assert.match(JSON.stringify(answer), /zxqcode/);
  assert.deepEqual(await rowsWith(beside, "zxqcode"), ["summaries"], "it is not copied");
  server.respond(() => text("Written again."));
  const channel = { platform: "test", name: "answered" };
  const deletion = { type: "deletion", platform: "test", channel, id: "answered-1", at: new Date() } as const;
  await weir.daemon.inbox.receive(deletion);
  const later = compactAnswer.safeParse((await beside.store.requests.state(id)).answer).data;
  assert.ok(later?.kind === "committed");
  assert.match(later.text, /^An extract, word for word, of 34 messages/);
});

test("old requests are removed while the daemon runs", async () => {
  const { id: channel } = await beside.channel("cleaned");
  const registry: RequestServerParts["registry"] = {
    get: async () => Promise.reject(new Error("not here")),
    visit: async () => Promise.reject(new Error("not here")),
    inMemory: async () => Promise.resolve(undefined),
  };
  const waker: RequestServerParts["waker"] = {
    changed: async () => Promise.resolve(),
    doubt: async () => Promise.resolve(),
    memoriesGone: async () => Promise.resolve(),
  };
  const parts = {
    store: beside.store,
    homes: new ChannelHomes(),
    registry,
    waker,
    digesterOf: () => TEST_DIGESTER,
    sweepFiles: async () => Promise.resolve(),
    serves: () => true,
    status: () => assert.fail("nobody asks for it"),
    reload: () => assert.fail("nobody asks for it"),
    log: SILENT,
  };
  await using desk = new RequestServer({ ...parts, cleanEveryMs: 20 });
  const { requests } = beside.store;
  desk.open();
  for (let look = 1; look <= 2; look++) {
    const id = await requests.add(channel, { kind: "compact" });
    const old = "now() - interval '25 h'";
    await beside.sql(`update requests set created_at = ${old}, taken_at = ${old} where id = $1`, id);
    // A later one makes the desk look.
    while ((await beside.sql("select from requests where id = $1", id)).length > 0) {
      await delay(30);
      await requests.add(channel, { kind: "compact" });
    }
  }
});

test("a request is heard again after the connection that listens was cut", async () => {
  await using server = await startModelServer();
  // The connection of an earlier test may still be about to end.
  const [clock] = await beside.sql<{ now: Date }>("select clock_timestamp() as now");
  await using weir = await start(server);
  await weir.say("hello", { room: "cut", addressed: false });
  const channel = await idOf(weir, "cut");
  let cut: unknown[] = [];
  while (cut.length === 0) {
    cut = await beside.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query = 'listen weir_requests' and backend_start > $1`,
      clock?.now,
    );
  }
  assert.equal(compactAnswer.safeParse(await request(channel)).data?.kind, "nothing");
});

test("a channel that no adapter here can deliver to is summarised, and answered by nobody", async () => {
  await using server = await startModelServer();
  {
    await using weir = await start(server);
    server.respond(() => text(SUMMARY));
    await talk(weir, "away");
  }
  const mute = new TestPlatform({ serves: () => false });
  await using weir = await start(server, mute);
  await weir.say("anybody there?", { room: "away", addressed: true });
  const channel = await idOf(weir, "away");
  const before = server.requests.length;
  const isSaid = Promise.withResolvers<void>();
  server.respond(() => async (exchange) => {
    await isSaid.promise;
    await text(SUMMARY)(exchange);
  });
  const asked = request(channel);
  await until("a summary to be asked for", () => server.requests.length > before);
  // Also what is said while it is in memory to be summarised.
  await weir.say("and now?", { room: "away", addressed: true });
  isSaid.resolve();
  assert.equal(compactAnswer.safeParse(await asked).data?.kind, "committed");
  assert.equal(weir.daemon.registry.size, 0, "it is let go");
  assert.deepEqual(mute.calls, []);
  assert.equal((await weir.daemon.store.load(channelId(channel))).channel.settledTo, 0);
});
