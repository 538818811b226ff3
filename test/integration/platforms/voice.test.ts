// proves: src/router/transcriber.ts, src/llm/transcription.ts, migrations/0082_transcription_calls.sql
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "pg";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type Mill, openMill } from "../../support/discord/mill.ts";
import { echo } from "../../support/e2e-model.ts";
import { until } from "../../support/patience.ts";
import { connectionUrl } from "../../support/weir.ts";
import { opus } from "../../support/sounds.ts";

const HEARS = '[llm.transcription]\nmodel = "hears"\nwithin_ms = 120000\n';
const BUDGET = "[agents.budget]\ntokens = 1000\n";

interface Scene extends Mill {
  readonly weir: DiscordWeir;
}

async function openScene(settings: string): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const mill = stack.use(await openMill());
  mill.model.respond(echo);
  const weir = stack.use(await startDiscordWeir({ ...mill.options, agent: settings }));
  const kept = stack.move();
  return { ...mill, weir, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** Ann says it aloud, in a direct message. */
function speak({ discord, ann }: Scene, dm: string, raw: object = { duration_secs: 3.4 }): void {
  const file = { name: "voice-message.ogg", body: opus(5952), contentType: "audio/ogg" };
  discord.world.say(ann, dm, "", { files: [{ ...file, raw: { waveform: "AAAA", ...raw } }] });
}

async function delivered({ weir }: Scene, count: number): Promise<void> {
  await until(
    `${count} answers`,
    () => weir.events.filter(({ type }) => type === "reply_delivered").length >= count,
  );
}

async function rowsOf<Row extends object>({ database }: Scene, statement: string): Promise<Row[]> {
  const client = new Client({ connectionString: connectionUrl(database.connection) });
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
}

async function textsOf(scene: Scene): Promise<string[]> {
  const statement = "select text from entries where kind = 'user' order by channel_id, seq";
  return (await rowsOf<{ text: string }>(scene, statement)).map(({ text }) => text);
}

interface CallRow {
  readonly model: string;
  readonly outcome: string;
  readonly prompt_tokens: number | null;
  readonly assumed_prompt_tokens: number | null;
  readonly completion_tokens: number | null;
}

async function callsOf(scene: Scene): Promise<CallRow[]> {
  return rowsOf<CallRow>(
    scene,
    `select model, outcome, prompt_tokens, assumed_prompt_tokens, completion_tokens
       from model_calls where purpose = 'transcription' order by id`,
  );
}

test("a voice message is answered by its words, and its cost is the channel's", async () => {
  await using scene = await openScene(HEARS);
  const { discord, model, ann } = scene;
  const usage = { type: "tokens", input_tokens: 34, output_tokens: 5, total_tokens: 39 };
  model.transcribe = () => ({ text: " Remind me to buy salt. ", usage });
  speak(scene, discord.world.openDm(ann));
  await delivered(scene, 1);
  assert.deepEqual(await textsOf(scene), [
    "[voice message voice-message.ogg, 4 s, 6 kB, transcript]\nRemind me to buy salt.",
  ]);
  assert.deepEqual(model.transcribed, [
    {
      model: "hears",
      format: "json",
      file: { name: "sound.ogg", type: "audio/ogg; codecs=opus", bytes: 6000 },
    },
  ]);
  assert.deepEqual(await callsOf(scene), [
    {
      model: "hears",
      outcome: "answered",
      prompt_tokens: 34,
      assumed_prompt_tokens: 0,
      completion_tokens: 5,
    },
  ]);
});

test("where no model is named, and where it fails, the message has its length, and is answered", async () => {
  {
    await using scene = await openScene("");
    speak(scene, scene.discord.world.openDm(scene.ann));
    await delivered(scene, 1);
    assert.deepEqual(await textsOf(scene), ["[voice message voice-message.ogg, 4 s, 6 kB]"]);
  }
  await using scene = await openScene(HEARS);
  scene.model.transcribe = () => ({ status: 500, message: "the secret reason" });
  speak(scene, scene.discord.world.openDm(scene.ann), { duration_secs: "odd" });
  await delivered(scene, 1);
  assert.deepEqual(await textsOf(scene), [
    "[voice message voice-message.ogg, audio/ogg; codecs=opus, 6 kB, not transcribed: that failed]",
  ]);
});

test("a transcript that is slow holds up its own channel alone, and for a bounded time", async () => {
  await using scene = await openScene(HEARS.replace("120000", "1000"));
  const { discord, model, ann, general, mention } = scene;
  model.transcribe = async () => new Promise(() => undefined);
  const dm = discord.world.openDm(ann);
  speak(scene, dm);
  discord.world.say(ann, dm, "and typed");
  discord.world.say(ann, general, `${mention} elsewhere`);
  await until("the other channel's answer", () => discord.answers(general).length === 1);
  await until("both are in the log", () => discord.answers(dm).length > 0);
  const spoken = (await textsOf(scene)).find((text) => text.startsWith("[voice"));
  assert.equal(spoken, "[voice message voice-message.ogg, 4 s, 6 kB, not transcribed: it took too long]");
});

test("tokens that nobody reports are estimated by the length, and a spent budget has nothing transcribed", async () => {
  await using scene = await openScene(`${BUDGET}${HEARS}`);
  const { discord, model, ann } = scene;
  model.transcribe = () => ({ text: "hello", usage: { type: "duration", seconds: 1e9 } });
  const dm = discord.world.openDm(ann);
  const file = { name: "voice-message.ogg", body: opus(59_952), contentType: "audio/ogg" };
  discord.world.say(ann, dm, "", {
    files: [{ ...file, raw: { waveform: "AAAA", duration_secs: 90 } }],
  });
  await until("it is counted", async () => (await callsOf(scene)).length === 1);
  // 120 s, at most, are in so few bytes.
  assert.equal((await callsOf(scene))[0]?.assumed_prompt_tokens, 2000);
  speak(scene, dm);
  await until("both are in the log", async () => (await textsOf(scene)).length === 2);
  assert.equal(
    (await textsOf(scene))[1],
    "[voice message voice-message.ogg, 4 s, 6 kB, not transcribed: the budget is spent for today]",
  );
  assert.equal(model.transcribed.length, 1);
});
