// proves: src/memory/meaning.ts, src/memory/vector-filler.ts, src/store/search/vectors.ts, src/llm/embeddings.ts, migrations/baseline/10_meaning.sql
// Recall by meaning, over the whole daemon: beside the words, in its scope, gone with its texts, and never waited for.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { answerText } from "../../../src/core/card.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import { openStore } from "../../store/open-store.ts";
import { marksOf } from "../../../src/memory/statement-marks.ts";
import { rememberIn } from "../../store/remember.ts";
import { command } from "../../support/commands.ts";
import { coverRoom } from "../../support/covered.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { startWeir, type TestWeir, type TestWeirOptions } from "../../support/weir.ts";
import { DIMENSIONS, wordVectors } from "../../support/word-vectors.ts";

const database = await createTestDatabase();
const open = openStore(database.connection);
after(async () => {
  await open[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** What the scripted model takes for the same. */
const SYNONYMS = { automobile: "vehicle", motorcar: "vehicle", garage: "workshop", atelier: "workshop" };
const SAID = "The automobile stands inside the garage.";
const ASKED = "Where is that motorcar? Which atelier?";

function config(embeddings: string): string {
  return `[llm]\nmax_retries = 0\n${embeddings}\n[[agents]]\nid = "main"\nmodel = "test-model"\ntime_zone = "UTC"\n`;
}

async function start(
  server: ModelServer,
  embeddings = '[llm.embeddings]\nmodel = "words"',
  more: Pick<TestWeirOptions, "onLog" | "lookUpWithinMs"> = {},
): Promise<TestWeir> {
  server.respond(() => text("noted"));
  server.embed ??= ({ input }) => wordVectors(input, SYNONYMS);
  const options = { connection: database.connection, modelUrl: server.url, config: config(embeddings) };
  return startWeir({ ...options, ...more });
}

/** Waits until all that was said and remembered in a channel has vectors. */
async function filled(channel: ChannelId, model = "words"): Promise<void> {
  const done = `select from channels c join vector_progress p on p.channel_id = c.id
                 where c.id = $1 and p.model = $2 and p.entries_to = c.last_seq
                   and p.memories_to >= (select coalesce(max(id), 0) from memories m where m.channel_id = c.id)`;
  while ((await open.sql(done, channel, model)).length === 0) await delay(10);
}

async function idOf(weir: TestWeir, room: string): Promise<ChannelId> {
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined);
  return row.id;
}

/** Says something in a room that then goes out of view, with what is remembered of it. */
async function sayOutOfView(weir: TestWeir, room: string, said = SAID, kind: "channel" | "dm" = "channel") {
  await weir.say(said, { room, id: `${room}-source`, kind, addressed: false });
  const channel = await idOf(weir, room);
  const { lastSeq } =
    (await weir.daemon.store.channels.find({ platform: "test", name: room })) ?? assert.fail();
  const sources = [{ seq: lastSeq, quote: said }];
  const memory = await rememberIn(open, channel, { subject: "parking", statement: said, sources });
  await (await weir.daemon.registry.get(channel)).reset();
  return { channel, memory };
}

/** Any text as one word of letters, which the test's vectors tell from every other one. */
function lettersOf(any: string): string {
  return Array.from(Buffer.from(any).toString("hex"))
    .map((digit) => "ghijklmnopqrstuv"[Number.parseInt(digit, 16)])
    .join("");
}

let asked = 0;

/** Asks, and returns the request of the answer. */
async function ask(
  weir: TestWeir,
  server: ModelServer,
  room: string,
  question = ASKED,
): Promise<ChatRequest> {
  const before = server.requests.length;
  const id = `${room}-ask-${++asked}`;
  await weir.say(question, { room, id });
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(id));
  return server.requests[before]?.body ?? assert.fail();
}

test("what means the same is found in other words, in its channel alone, and /why says how", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const { channel, memory } = await sayOutOfView(weir, "means");
  const dm = await sayOutOfView(weir, "means-dm", "The automobile left the garage on Zxqday.", "dm");
  await filled(channel);
  await filled(dm.channel);
  const request = JSON.stringify(await ask(weir, server, "means"));
  assert.match(request, /Remembered[^"]*The automobile stands inside the garage/);
  assert.doesNotMatch(request, /Zxqday/, "what was said in a DM");
  await weir.say("a new room", { room: "means-other", addressed: false });
  assert.doesNotMatch(JSON.stringify(await ask(weir, server, "means-other")), /automobile/);
  const why = answerText(
    await weir.daemon.inbox.command({
      name: "why",
      argument: "",
      asker: { id: "u-ann", name: "Ann", roles: [] },
      channel: { platform: "test", name: "means" },
    }),
  );
  assert.match(
    why,
    new RegExp(`#${memory} The automobile stands inside the garage\\. .*; found by meaning$`, "m"),
  );
});

test("what an embedding model is asked is in the bill of the channel, and for nobody", async () => {
  await using server = await startModelServer();
  const channel = await (async () => {
    await using weir = await start(server);
    const billed = await sayOutOfView(weir, "billed");
    await filled(billed.channel);
    await ask(weir, server, "billed");
    return billed.channel;
  })();
  const calls = await open.sql<{ calls: number; tokens: number; model: string; estimated: number }>(
    `select model, count(*) as calls, sum(prompt_tokens)::int as tokens, min(estimated_tokens) as estimated from model_calls
      where channel_id = $1 and purpose = 'embedding' and turn_id is null and outcome = 'answered' group by model`,
    channel,
  );
  const [row] = calls;
  assert.ok(row !== undefined);
  const { calls: count, tokens, model, estimated } = row;
  assert.equal(model, "words");
  assert.ok(count >= 2, "what was said, and what was asked");
  assert.ok(tokens >= 7 * 3 && estimated > 0, "two texts, and a question");
  const since = new Date(Date.now() - 3_600_000);
  const usages = await open.store.usage.by("purpose", { since, channel }, "UTC");
  const billed = usages.filter(({ key }) => key === "embedding");
  assert.deepEqual(
    billed.map(({ promptTokens, calls: made }) => [promptTokens, made]),
    [[tokens, count]],
  );
  const people = await open.store.usage.by("person", { since, channel }, "UTC");
  assert.equal(people.find(({ model: of }) => of === "words")?.key, null);
});

test("a server of embeddings that fails is in the bill without tokens", async () => {
  await using server = await startModelServer();
  server.embed = () => ({ status: 503, message: "busy" });
  const channel = await (async () => {
    await using weir = await start(server);
    server.embed = ({ input }) => wordVectors(input, SYNONYMS);
    const said = await sayOutOfView(weir, "unbilled");
    await filled(said.channel);
    server.embed = () => ({ status: 503, message: "busy" });
    await ask(weir, server, "unbilled");
    return said.channel;
  })();
  assert.deepEqual(
    await open.sql(
      "select outcome, prompt_tokens from model_calls where channel_id = $1 and purpose = 'embedding' and outcome <> 'answered' limit 1",
      channel,
    ),
    [{ outcome: "unavailable", promptTokens: null }],
  );
});

test("what says the same in other words is shown once, as a proof more, and is forgotten with it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "twice";
  const ben = { id: "u-ben", name: "Ben", isBot: false };
  const say = async (said: string, author?: typeof ben): Promise<number> => {
    await weir.say(said, { room, addressed: false, ...(author !== undefined && { author }) });
    const channel = await idOf(weir, room);
    const { lastSeq } =
      (await weir.daemon.store.channels.find({ platform: "test", name: room })) ?? assert.fail();
    const sources = [{ seq: lastSeq, quote: said }];
    return rememberIn(open, channel, { subject: "parking", statement: said, sources, ...marksOf(said) });
  };
  const first = await say(SAID);
  const channel = await idOf(weir, room);
  await filled(channel);
  await say("The motorcar stands inside the atelier.", ben);
  await filled(channel);
  while (
    (await open.sql("select from memories where channel_id = $1 and same_as = $2", channel, first)).length ===
    0
  )
    await delay(10);
  await (await weir.daemon.registry.get(channel)).reset();
  const request = JSON.stringify(await ask(weir, server, room));
  assert.match(request, /Remembered[^"]*The automobile stands inside the garage/);
  assert.doesNotMatch(request, /Remembered[^"]*motorcar stands/);
  const listed = await command(weir, room, "memory");
  assert.match(listed, new RegExp(`^- #${first} .*\n.*, 2 proofs`, "m"));
  assert.doesNotMatch(listed, /motorcar/);
  assert.match(
    await command(weir, room, `forget ${first}`),
    /2 messages that it came from lost their text, in the log and in summaries\.$/,
  );
  assert.deepEqual(await open.sql("select from memories where channel_id = $1", channel), []);
  assert.deepEqual(
    await open.sql("select from entries where text like '%motorcar stands%' and channel_id = $1", channel),
    [],
  );
  assert.doesNotMatch(await command(weir, room, "memory"), /automobile|motorcar/);
});

test("an entry out of view is found by its meaning by the tool, and by the turn", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  await weir.say(SAID, { room: "lines", id: "lines-1", addressed: false });
  const channel = await idOf(weir, "lines");
  await filled(channel);
  await coverRoom(database.connection, "lines");
  server.reply(
    toolCalls([{ name: "search_history", arguments: { query: "motorcar atelier" } }]),
    text("there"),
  );
  const before = server.requests.length;
  await ask(weir, server, "lines", "Please look for it.");
  const shown = server.requests[before + 1]?.body.messages.find(({ role }) => role === "tool")?.content;
  assert.match(shown ?? "", /The automobile stands inside the garage/);
});

test("nothing of it is there where no embedding model is configured", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, "");
  const { channel } = await sayOutOfView(weir, "off");
  assert.doesNotMatch(JSON.stringify(await ask(weir, server, "off")), /automobile/);
  assert.deepEqual(server.embedded, []);
  assert.deepEqual(await open.sql("select from vector_progress where channel_id = $1", channel), []);
});

test("what an embedding model is worth is measured on what was said, and one of chance is not searched by", async () => {
  await using own = await createTestDatabase();
  await using server = await startModelServer();
  const options = { connection: own.connection, modelUrl: server.url };
  const said: string[] = [];
  {
    await using weir = await startWeir({ ...options, config: config("") });
    for (let index = 0; index < 85; index++) {
      // Both halves of a line are about its topic.
      const topic = `topic${lettersOf(String(index))}`;
      const words = Array.from({ length: 12 }, (_, place) =>
        place % 2 === 0 ? topic : `${topic}${lettersOf(String(place))}`,
      );
      said.push(`Ann: ${words.join(" ")}`);
      await weir.say(words.join(" "), { room: "worth", addressed: false });
    }
    const row = await weir.daemon.store.channels.find({ platform: "test", name: "worth" });
    await (await weir.daemon.registry.get(row?.id ?? assert.fail())).reset();
  }
  server.respond(() => text("noted"));
  // Of each text as a whole: no text is near another one.
  const chance = (input: readonly string[]): number[][] => wordVectors(input.map(lettersOf));
  for (const [model, vectorsOf] of [
    ["chance", chance],
    ["words", wordVectors],
  ] as const) {
    const lines: string[] = [];
    const from = server.embedded.length;
    server.embed = ({ input }) => vectorsOf(input);
    const more = {
      config: config(`[llm.embeddings]\nmodel = "${model}"`),
      onLog: (line: string) => lines.push(line),
    };
    await using weir = await startWeir({ ...options, ...more });
    const isOff = (): boolean => lines.join("").includes('"model":"chance","lines":85,"weight":0,');
    // The lines themselves come after both halves of each; where the search is off, none of them comes.
    const isFilling = (): boolean =>
      server.embedded.slice(from).some(({ input }) => input.includes(said[0] ?? ""));
    await until("measurement", () => isOff() || isFilling());
    const question = `What does ${model} say?`;
    await ask(weir, server, "worth", question);
    const isAsked = server.embedded.some(({ input }) => input.includes(question));
    assert.equal(isAsked, model === "words");
    assert.deepEqual([isOff(), isFilling()], model === "chance" ? [true, false] : [false, true]);
  }
});

test("one that is slower than 150 ms is not waited for, and after a few times not asked for a while", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, undefined, { lookUpWithinMs: null });
  const { channel } = await sayOutOfView(weir, "slow");
  await filled(channel);
  // Whoever waited for it would wait for ever.
  server.embed = async () => new Promise(() => undefined);
  for (let times = 0; times < 3; times++) {
    const request = await ask(weir, server, "slow");
    assert.doesNotMatch(JSON.stringify(request), /automobile/);
  }
  const sent = server.embedded.filter(({ input }) => input[0] === ASKED).length;
  assert.equal(sent, 3);
  await ask(weir, server, "slow");
  assert.equal(server.embedded.filter(({ input }) => input[0] === ASKED).length, 3, "it rests");
});

test("one that fails is asked again later, and breaks nothing", async () => {
  await using server = await startModelServer();
  const lines: string[] = [];
  server.embed = () => ({ status: 500, message: "out of order" });
  await using weir = await start(server, undefined, { onLog: (line) => lines.push(line) });
  const { channel } = await sayOutOfView(weir, "fails");
  await ask(weir, server, "fails");
  while (!lines.some((line) => line.includes("no_vectors_made"))) await delay(10);
  assert.match(lines.join(""), /out of order/);
  await delay(200);
  assert.equal(server.embedded.length, 1, "not at once");
  assert.deepEqual(await open.sql("select from entry_vectors where channel_id = $1", channel), []);
});

test("vectors of another length than configured are refused with what to set", async () => {
  await using server = await startModelServer();
  const lines: string[] = [];
  const embeddings = '[llm.embeddings]\nmodel = "words"\ndimensions = 64';
  await using weir = await start(server, embeddings, { onLog: (line) => lines.push(line) });
  await sayOutOfView(weir, "lengths");
  while (!lines.some((line) => line.includes("no_vectors_made"))) await delay(10);
  assert.match(
    lines.join(""),
    new RegExp(
      `has ${DIMENSIONS} numbers, and not 64: set llm\\.embeddings\\.dimensions to 0 or ${DIMENSIONS}`,
    ),
  );
  assert.equal(server.embedded[0]?.dimensions, 64);
});

async function seqsWithVectors(channel: ChannelId): Promise<number[]> {
  const rows = await open.sql<{ seq: number }>(
    "select seq from entry_vectors where channel_id = $1 order by 1",
    channel,
  );
  return rows.map(({ seq }) => seq);
}

test("a text that the server refuses stays without a vector, and the others have theirs", async () => {
  await using server = await startModelServer();
  server.embed = ({ input }) =>
    input.some((one) => one.includes("zxqbad"))
      ? { status: 400, message: "not this one" }
      : wordVectors(input, SYNONYMS);
  await using weir = await start(server);
  for (const [index, said] of ["the first is fine", "zxqbad is refused", "the third is fine"].entries())
    await weir.say(said, { room: "refused", id: `refused-${index}`, addressed: false });
  const channel = await idOf(weir, "refused");
  await filled(channel);
  assert.deepEqual(await seqsWithVectors(channel), [1, 3]);
});

test("a text on which the server fails keeps no other from its vector", async () => {
  await using server = await startModelServer();
  server.embed = ({ input }) =>
    input.some((one) => one.includes("zxqtoolong"))
      ? { status: 500, message: "input is too large to process. increase the physical batch size" }
      : wordVectors(input, SYNONYMS);
  await using weir = await start(server);
  for (const [index, said] of ["the first is fine", "zxqtoolong breaks it", "the third is fine"].entries())
    await weir.say(said, { room: "failing", id: `failing-${index}`, addressed: false });
  await weir.say("another room is fine", { room: "failing-not", id: "failing-not-1", addressed: false });
  const channel = await idOf(weir, "failing");
  await filled(channel);
  await filled(await idOf(weir, "failing-not"));
  assert.deepEqual(await seqsWithVectors(channel), [1, 3]);
});

test("a text on which the server gives no answer keeps no other from its vector", async () => {
  await using server = await startModelServer();
  const lines: string[] = [];
  server.embed = ({ input }) =>
    input.some((one) => one.includes("zxqhangs"))
      ? { status: 504, message: "upstream timed out" }
      : wordVectors(input, SYNONYMS);
  await using weir = await start(server, undefined, { onLog: (line) => lines.push(line) });
  for (const [index, said] of ["the first is fine", "zxqhangs for ever", "the third is fine"].entries())
    await weir.say(said, { room: "hanging", id: `hanging-${index}`, addressed: false });
  await weir.say("another room is fine", { room: "hanging-not", id: "hanging-not-1", addressed: false });
  const channel = await idOf(weir, "hanging");
  await filled(channel);
  await filled(await idOf(weir, "hanging-not"));
  assert.deepEqual(await seqsWithVectors(channel), [1, 3]);
  assert.match(lines.join(""), /text_without_vector/);
  const tries = server.embedded.filter(({ input }) => input.some((one) => one.includes("zxqhangs")));
  assert.ok(tries.length <= 4, `${tries.length} requests with it`);
});

test("another model's vectors are made anew, and the old ones are of no use", async () => {
  await using server = await startModelServer();
  let channel: ChannelId;
  {
    await using weir = await start(server);
    ({ channel } = await sayOutOfView(weir, "renamed"));
    await filled(channel);
  }
  server.embed = ({ input }) => wordVectors(input, SYNONYMS, 2 * DIMENSIONS);
  await using weir = await start(server, '[llm.embeddings]\nmodel = "other"');
  await filled(channel, "other");
  const lengths = await open.sql(
    "select length(bits) as bits from entry_vectors where channel_id = $1",
    channel,
  );
  assert.deepEqual(lengths, [{ bits: 2 * DIMENSIONS }]);
  assert.match(JSON.stringify(await ask(weir, server, "renamed")), /The automobile stands/);
});

test("a vector goes with its text: deleted, edited, forgotten; and none comes of what is gone meanwhile", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const kept = async (channel: ChannelId): Promise<number[]> => {
    const rows = await open.sql<{ count: number }>(
      `select count(*) from entry_vectors where channel_id = $1
       union all select count(*) from memory_vectors v join memories m on m.id = v.memory_id where m.channel_id = $1`,
      channel,
    );
    return rows.map(({ count }) => count);
  };
  const deletion = async (room: string): Promise<void> => {
    const id = `${room}-source`;
    await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id, at: new Date() });
  };
  const { channel: deleted } = await sayOutOfView(weir, "deleted");
  const { channel: edited } = await sayOutOfView(weir, "edited");
  await filled(deleted);
  await filled(edited);
  assert.deepEqual(await kept(deleted), [1, 1]);
  await deletion("deleted");
  assert.deepEqual(await kept(deleted), [0, 0]);
  const [before] = await open.sql("select bits from entry_vectors where channel_id = $1", edited);
  const edit = { type: "edit", platform: "test", id: "edited-source" } as const;
  await weir.daemon.inbox.receive({ ...edit, text: "Something else entirely was meant.", at: new Date() });
  await filled(edited);
  const [now] = await open.sql("select bits from entry_vectors where channel_id = $1", edited);
  assert.ok(now !== undefined && now["bits"] !== before?.["bits"], "the vector of what it says now");
  assert.deepEqual(await kept(edited), [1, 0]);

  // A text that is taken back while its vector is being made.
  const asking = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  server.embed = async ({ input }) => {
    asking.resolve();
    await answer.promise;
    return wordVectors(input);
  };
  await weir.say(SAID, { room: "late", id: "late-source", addressed: false });
  await asking.promise;
  await deletion("late");
  answer.resolve();
  const late = await idOf(weir, "late");
  await filled(late);
  assert.deepEqual(await kept(late), [0, 0]);
});

test("what a message says after an edit has a vector, also where the edit came while one was being made", async () => {
  await using server = await startModelServer();
  const asking = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  server.embed = async ({ input }) => {
    if (input.some((one) => one.includes("zxqbefore"))) {
      asking.resolve();
      await answer.promise;
    }
    return wordVectors(input);
  };
  await using weir = await start(server);
  await weir.say("zxqbefore stands in the garage", { room: "racing", id: "racing-1", addressed: false });
  await asking.promise;
  const edit = { type: "edit", platform: "test", id: "racing-1", at: new Date() } as const;
  await weir.daemon.inbox.receive({ ...edit, text: "The wolves live in packs of eight." });
  answer.resolve();
  const racing = await idOf(weir, "racing");
  await filled(racing);
  assert.deepEqual(await seqsWithVectors(racing), [1]);
});
