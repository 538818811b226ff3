import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { Home, environment, openHome, openSeed } from "../support/e2e.ts";
import { status, streamError, text } from "../support/model-behaviours.ts";
import { type Behaviour, startModelServer } from "../support/model-server.ts";
import type { TestProcess } from "../support/process.ts";

/** As `openHome` sets it. */
const KEY = "sk-e2e-secret";
const PASSWORD = "pw-7f3e91d2";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

function assertSilent(
  { out, stderr }: Pick<TestProcess, "out" | "stderr">,
  ...secrets: readonly string[]
): void {
  for (const secret of secrets) {
    for (const output of [out.join("\n"), stderr]) {
      const at = output.indexOf(secret);
      assert.ok(at < 0, `${secret} shows: ${output.slice(Math.max(0, at - 200), at + 50)}`);
    }
  }
  assert.doesNotMatch(stderr, /\n {4}at /);
}

test("a key that a server repeats in its refusals is in no output, at whatever level, wherever it is cut", async () => {
  await using model = await startModelServer();
  await using home = await openHome({
    modelUrl: model.url,
    seed,
    config: '[log]\nlevel = "trace"\n[llm]\nmax_retries = 0\n[[agents]]\nid = "main"\nmodel = "m"\n',
  });
  const refusals: Behaviour[] = [
    status(401, { error: { message: `Incorrect key: Bearer ${KEY}`, code: "invalid_api_key" } }),
    status(401, { detail: `key=${KEY}&key=${encodeURIComponent(KEY)}` }),
    status(403, `<html>authorization: Bearer ${KEY}</html>`),
    status(500, { error: KEY }),
    status(400, { error: { message: `${"x".repeat(985)}${KEY}` } }),
    status(400, { error: { message: `${"x".repeat(987)}${KEY}` } }),
    status(400, { error: { message: KEY, type: KEY, code: KEY, param: KEY } }),
    streamError({ message: KEY, code: KEY }),
    streamError(KEY, "half an answer"),
    status(429, { error: { message: KEY } }, { "x-request-id": KEY }),
  ];
  const chat = home.start("chat", "--jsonl");
  for (const [index, refusal] of refusals.entries()) {
    model.reply(refusal);
    const id = `m${index}`;
    chat.write(`${JSON.stringify({ author: "Ann", text: "hello", id })}\n`);
    await chat.line(`"in_reply_to":["${id}"]`);
  }
  model.respond(() => text("noted"));
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  // A piece of it is as good as all to whoever guesses the rest.
  assertSilent(chat, KEY, KEY.slice(0, 8));
  assert.ok(chat.err.length > refusals.length, "it does log");
  for (const command of [
    ["log", "terminal:main", "--json"],
    ["config", "check"],
    ["context", "terminal:main", "--json"],
  ]) {
    assertSilent(await home.run(...command), KEY);
  }
});

test("a database's password is in no output: it is away, refuses, or is no address", async () => {
  const addresses = [
    `postgres://weir:${PASSWORD}@127.0.0.1:9/weir`,
    `postgres://weir:${PASSWORD}@127.0.0.1:notaport/weir`,
    `postgres://weir:${PASSWORD}@no.such.host.invalid/weir?password=${PASSWORD}`,
    `postgres://weir:${PASSWORD}%zz@127.0.0.1:9/weir`,
    `postgres://weir:${PASSWORD}@[::1/weir`,
    `mysql://weir:${PASSWORD}@127.0.0.1/weir`,
    PASSWORD,
  ];
  for (const url of addresses) {
    const env = environment({
      OPENAI_BASE_URL: "http://127.0.0.1:9/v1",
      OPENAI_API_KEY: KEY,
      DATABASE_URL: url,
    });
    const folder = await mkdtemp(path.join(tmpdir(), "weir-secrets-"));
    await writeFile(path.join(folder, "config.toml"), '[log]\nlevel = "trace"\n');
    await using home = new Home(folder, env);
    const ran = url === addresses[0] ? await home.run("migrate") : await home.run("memories");
    assert.ok(ran.code === 1 || ran.code === 78, url);
    assert.notEqual(ran.stderr, "");
    assertSilent(ran, PASSWORD, KEY);
  }
});
