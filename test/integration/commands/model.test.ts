// proves: src/admin/commands/model.ts, src/channel/lost-models.ts, src/store/channels/channel-models.ts, src/agents.ts, src/channel/renewal.ts
// A model that an owner chooses for a channel: it answers there until somebody changes it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { command } from "../../support/commands.ts";
import {
  ask as askIn,
  checkFold,
  compaction,
  openScene,
  quiet,
  hold,
  reading,
  SUMMARISER,
} from "../../support/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { heldText, text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const AGENTS = `
[[agents]]
id = "main"
model = "own-model"
fallbacks = ["spare-model"]
context_window = 16384
[agents.subagents]
enabled = true
`;
const CONFIG = `${OWNED}
[llm]
max_retries = 0
[models."large-model"]
context_window = 65536
[models."tiny-model"]
context_window = 1100
[models."plain-model"]
${AGENTS}`;

async function start(server: ModelServer, platform = everywhere(), config = CONFIG): Promise<TestWeir> {
  server.respond(() => text("an answer"));
  return startWeir({ connection: database.connection, modelUrl: server.url, config, platform });
}

function everywhere(): TestPlatform {
  return new TestPlatform({ serves: () => true });
}

/** Says something in a channel of Discord, and waits until it is answered. @returns the model that was asked */
async function ask(weir: TestWeir, server: ModelServer, room: string): Promise<string> {
  const before = server.requests.length;
  const receipt = await weir.say("hello", { channel: { platform: "discord", name: room }, workspace: "w" });
  assert.equal(receipt.outcome, "accepted");
  const seq = "seq" in receipt ? receipt.seq : 0;
  const { messageId } = await weir.event(
    "message_accepted",
    (event) => event.channel === `discord:${room}` && event.seq === seq,
  );
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(messageId));
  return server.requests[before]?.body.model ?? "";
}

const typed = async (weir: TestWeir, room: string, words: string, asker = OWNER): Promise<string> =>
  command(weir, room, words, asker, "discord");

test("it says which model answers, why, and which others may be chosen; only owners choose one", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  assert.equal(await ask(weir, server, "told"), "own-model");
  const before = await typed(weir, "told", "/model");
  assert.match(
    before,
    /^This channel is answered with own-model \(a window of 16,384 tokens, as it is configured\)\.\n/,
  );
  assert.match(before, /It is the model of the agent main\./);
  assert.match(before, /Others that may be chosen: spare-model, large-model, tiny-model, plain-model\./);
  const stranger = { id: "u-ann", name: "Ann", roles: [] };
  const seen = await typed(weir, "told", "/model", stranger);
  assert.match(seen, /own-model[^]*Owners may choose another\.$/);
  assert.doesNotMatch(seen, /large-model/);
  const refused = await typed(weir, "told", "/model large-model", stranger);
  assert.match(refused, /^\/model NAME is for owners only, also in a direct message\./);
  assert.match(await typed(weir, "told", "/model larg-model"), /Did you mean large-model\?/);
  assert.equal(await ask(weir, server, "told"), "own-model");

  const chosen = await typed(weir, "told", "/model large-model");
  assert.match(
    chosen,
    /is answered with large-model \(a window of 65,536 tokens, as it is configured\), until somebody changes it\.$/,
  );
  assert.equal(await ask(weir, server, "told"), "large-model");
  assert.equal(await ask(weir, server, "elsewhere"), "own-model");
  assert.match(await typed(weir, "told", "/context"), /large-model/);
  const told = await typed(weir, "told", "/model");
  assert.match(told, /is answered with large-model/);
  assert.match(told, /chosen here by the person with the id u-own at .*; the agent main has own-model\./);
  await weir.say("I chose it", {
    channel: { platform: "discord", name: "told" },
    workspace: "w",
    author: { id: "u-own", name: "Olga", isBot: false },
    addressed: false,
  });
  assert.match(await typed(weir, "told", "/model"), /chosen here by Olga at/);

  assert.match(
    await typed(weir, "told", "/model default"),
    /is answered with own-model, the model of the agent main, again/,
  );
  assert.equal(await ask(weir, server, "told"), "own-model");
  assert.match(await typed(weir, "told", "/model default"), /Nothing was chosen here/);
});

test("it stays over /new, reloads and restarts; what is too small for the agent is refused", async () => {
  await using server = await startModelServer();
  {
    await using weir = await start(server);
    await ask(weir, server, "stays");
    assert.match(
      await typed(weir, "stays", "/model tiny-model"),
      /too small for this agent, so nothing was changed/,
    );
    assert.equal(await ask(weir, server, "stays"), "own-model");
    // One of which the configuration says nothing but its name.
    await typed(weir, "stays", "/model plain-model");
    await typed(weir, "stays", "/new");
    assert.equal(await ask(weir, server, "stays"), "plain-model");
    await weir.reload(CONFIG.replace("16384", "20000"));
    assert.equal(await ask(weir, server, "stays"), "plain-model");
    const [request] = server.requests.slice(-1);
    const spawn = request?.body.tools?.find((tool) => tool.function.name === "spawn_agent");
    assert.match(JSON.stringify(spawn), /plain-model/);
    assert.doesNotMatch(JSON.stringify(spawn), /own-model/);
  }
  await using again = await start(server);
  assert.equal(await ask(again, server, "stays"), "plain-model");
});

test("who chose a model is forgotten with the person, and the model stays", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  assert.equal(await ask(weir, server, "forgets"), "own-model");
  await typed(weir, "forgets", "/model large-model");
  assert.match(await typed(weir, "forgets", "/model"), /u-own/);
  await typed(weir, "forgets", "/forget me everywhere yes");
  assert.doesNotMatch(await typed(weir, "forgets", "/model"), /u-own|Olga/);
  assert.equal(await ask(weir, server, "forgets"), "large-model");
});

test("a turn that runs ends with the model that it began with, and the next one has the other", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  await ask(weir, server, "runs");
  const gate = Promise.withResolvers<void>();
  const before = server.requests.length;
  server.reply(heldText("well", gate.promise, " said"));
  const channel = { platform: "discord", name: "runs" };
  await weir.say("one", { channel, workspace: "w" });
  await until("the model is asked", () => server.requests.length > before);
  await typed(weir, "runs", "/model large-model");
  await weir.say("two", { channel, workspace: "w" });
  gate.resolve();
  await until("the next turn is asked", () => server.requests.length > before + 1);
  assert.deepEqual(
    server.requests.slice(before).map(({ body }) => body.model),
    ["own-model", "large-model"],
  );
});

test("a model that the configuration loses makes way for the agent's, and the channel is told once", async () => {
  await using server = await startModelServer();
  const platform = everywhere();
  const notices = (): string[] =>
    [...platform.shown.values()]
      .filter(({ kind, channel }) => kind === "notice" && channel.name === "loses")
      .map((one) => one.text);
  {
    await using weir = await start(server, platform);
    await ask(weir, server, "loses");
    await typed(weir, "loses", "/model large-model");
    assert.equal(await ask(weir, server, "loses"), "large-model");
    const without = `${OWNED}\n[llm]\nmax_retries = 0\n${AGENTS}`;
    // The platform takes nothing at first: it is told with the next look.
    platform.fail = (_, { kind }) => {
      if (kind === "notice") throw new Error("nothing is taken");
    };
    await weir.reload(without);
    assert.equal(await ask(weir, server, "loses"), "own-model");
    const list = await typed(weir, "loses", "/model");
    assert.match(list, /is answered with own-model/);
    assert.match(list, /large-model, chosen here by .*, is not set up any more/);
    platform.fail = () => undefined;
    assert.equal((await weir.reload(`${without}max_parallel = 2\n`)).kind, "reloaded");
    await until("it is told", () => notices().length === 1);
    assert.match(
      notices()[0] ?? "",
      /^The model large-model, which was chosen here, is not set up any more\./,
    );
    await weir.reload(without);
    await ask(weir, server, "loses");
  }
  await using again = await start(server, platform, `${OWNED}\n${AGENTS}`);
  assert.equal(await ask(again, server, "loses"), "own-model");
  // It comes back with its configuration.
  await again.reload(CONFIG);
  assert.equal(await ask(again, server, "loses"), "large-model");
  await again.reload(`${OWNED}\n${AGENTS}`);
  await until("it is told of another loss", () => notices().length === 2);
});

test("a smaller window compacts at once by its own thresholds, and no turn breaks", async () => {
  await using scene = await openScene();
  const { server } = scene;
  server.respond(({ model }) =>
    model === SUMMARISER ? text("Ann measures the river each morning.") : text("noted", { usage: "none" }),
  );
  await fillTo(scene, "shrinks", BACKGROUND - 0.2);
  await using weir = await scene.start({ top: '[models."small-model"]\ncontext_window = 4600\n' });
  await askIn(weir, server, "shrinks", reading(1));
  await quiet(weir, "shrinks");
  const asked = (model: string): number => server.requests.filter(({ body }) => body.model === model).length;
  assert.equal(asked(SUMMARISER), 0);
  assert.match(await command(weir, "shrinks", "/model small-model"), /It holds less than the one before/);
  // Nobody says anything.
  await compaction(weir, "shrinks", "committed");
  assert.ok(asked(SUMMARISER) > 0);
  await weir.say("what is the level?", { room: "shrinks", id: "level" });
  const { outcome } = await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("level"));
  assert.equal(outcome, "answered");
  assert.equal(asked("small-model"), 1);
  await quiet(weir, "shrinks");
  await checkFold(weir, "shrinks");
});

test("a turn that begins before anything is summarised fits the smaller window all the same", async () => {
  await using scene = await openScene();
  const { server } = scene;
  const held = hold();
  server.respond(({ model }) => (model === SUMMARISER ? held.behaviour : text("noted", { usage: "none" })));
  await fillTo(scene, "cuts", BACKGROUND - 0.05);
  await using weir = await scene.start({ top: '[models."small-model"]\ncontext_window = 4096\n' });
  await command(weir, "cuts", "/model small-model");
  await weir.say("what is the level?", { room: "cuts", id: "level" });
  const { outcome } = await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("level"));
  assert.equal(outcome, "answered");
  held.release(text("Ann measures the river each morning."));
  await quiet(weir, "cuts");
  await checkFold(weir, "cuts");
});
