import assert from "node:assert/strict";
import { test } from "node:test";
import type { TranscriptionConfig } from "../../src/config/config.ts";
import { createTranscription, type TranscriptionCost } from "../../src/llm/transcription.ts";
import { ModelError } from "../../src/llm/model.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { opus } from "../support/sounds.ts";

const KEY = "sk-transcription-key";
const SOUND = { name: "sound.ogg", type: "audio/ogg", bytes: opus(100) };

function configOf(server: ModelServer): TranscriptionConfig {
  return {
    model: "hears",
    sentAs: "hears-1",
    baseUrl: server.url,
    apiKey: KEY,
    serverHeaders: {},
    withinMs: 60_000,
  };
}

async function asked(
  server: ModelServer,
  signal = new AbortController().signal,
): Promise<{ text: string | ModelError; cost: TranscriptionCost | undefined }> {
  let cost: TranscriptionCost | undefined;
  const made = createTranscription(configOf(server));
  try {
    return { text: await made.transcribe(SOUND, signal, (told) => (cost = told)), cost };
  } catch (error) {
    assert.ok(error instanceof ModelError, String(error));
    assert.doesNotMatch(error.message, new RegExp(KEY));
    return { text: error, cost };
  }
}

test("a sound is sent as a form, and its words come back with what they cost", async () => {
  await using server = await startModelServer();
  for (const [usage, cost] of [
    [
      { type: "tokens", input_tokens: 40, output_tokens: 7, total_tokens: 47 },
      { tokens: { prompt: 40, completion: 7 }, seconds: null },
    ],
    [
      { type: "duration", seconds: 12 },
      { tokens: null, seconds: 12 },
    ],
    [undefined, { tokens: null, seconds: null }],
    [
      { type: "duration", seconds: -1 },
      { tokens: null, seconds: null },
    ],
    ["much", { tokens: null, seconds: null }],
  ] as const) {
    server.transcribe = () => ({ text: "buy salt", usage });
    assert.deepEqual(await asked(server), { text: "buy salt", cost: { isPaid: true, ...cost } });
  }
  assert.deepEqual(server.transcribed[0], {
    model: "hears-1",
    format: "json",
    file: { name: "sound.ogg", type: "audio/ogg", bytes: 148 },
  });
});

test("a refusal, an answer of another form and the end of the wait are a model's failures", async () => {
  await using server = await startModelServer();
  server.transcribe = () => ({ status: 401, message: `Incorrect API key provided: ${KEY}` });
  const refused = await asked(server);
  assert.ok(refused.text instanceof ModelError);
  assert.equal(refused.cost?.isPaid, false);
  server.transcribe = () => ({ text: 7 });
  const odd = await asked(server);
  assert.ok(odd.text instanceof ModelError);
  assert.match(odd.text.message, /no transcript/);
  assert.equal(odd.cost?.isPaid, true);
  const ended = new AbortController();
  server.transcribe = async () => {
    ended.abort();
    return new Promise(() => undefined);
  };
  const late = await asked(server, ended.signal);
  assert.ok(late.text instanceof ModelError);
  assert.equal(late.text.kind, "aborted");
  assert.equal(late.cost?.isPaid, true);
});
