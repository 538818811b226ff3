import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, type TestContext, test } from "node:test";
import { z } from "zod";
import { assertWhole, openHome, openSeed } from "../support/e2e.ts";
import { echo } from "../support/e2e-model.ts";
import { postmasterPid } from "../support/embedded-folder.ts";
import { startModelServer } from "../support/model-server.ts";
import type { TestProcess } from "../support/process.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

/** Where a process is killed: another place in every run, named so that it can be tried again. */
function somewhere(context: TestContext, from: number, to: number): number {
  const place = from + Math.floor(Math.random() * (to - from));
  context.diagnostic(`killed at ${place}`);
  return place;
}

function count(process: TestProcess, type: string): number {
  return process.out.filter((line) => line.startsWith(`{"type":"${type}"`)).length;
}

const outputLine = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  seq: z.number().optional(),
  channel: z.string().optional(),
  in_reply_to: z.array(z.string()).default([]),
});

test("a chat that is killed in the middle and sent everything again has lost and doubled nothing", async (t) => {
  await using model = await startModelServer();
  model.respond(echo);
  await using home = await openHome({ modelUrl: model.url, seed });
  const channels = ["left", "right", "far"];
  const messages = Array.from({ length: 90 }, (_, index) => ({
    author: index % 2 === 0 ? "Ann" : "Bob",
    text: `message number ${index}`,
    id: `m${index}`,
    channel: channels[index % channels.length],
    listen: index % 5 !== 0,
  }));
  const input = messages.map((message) => `${JSON.stringify(message)}\n`).join("");

  const killed = home.start("chat", "--jsonl");
  const place = somewhere(t, 1, messages.length);
  killed.write(input);
  await killed.until(`${place} accepted messages`, () => count(killed, "accepted") >= place);
  await killed.kill();
  // The Postgres runs on without it.
  process.kill(await postmasterPid(home.dataDir), 0);

  const again = home.start("chat", "--jsonl");
  again.write(input);
  assert.deepEqual(await again.finish(), { code: 0, signal: null });
  assert.match(again.stderr, /"adopted":true/);
  await assert.rejects(postmasterPid(home.dataDir), /ENOENT/, "the Postgres that was left is stopped");

  const seqs = new Map<string, number>();
  for (const line of [...killed.out, ...again.out].map((text) => outputLine.parse(JSON.parse(text)))) {
    if (line.type !== "accepted" || line.id === undefined || line.seq === undefined) continue;
    assert.equal(line.seq, seqs.get(line.id) ?? line.seq, `${line.id} keeps its place`);
    seqs.set(line.id, line.seq);
  }
  assert.equal(seqs.size, messages.length);
  for (const channel of channels) {
    const log = await home.log(channel);
    assertWhole(
      log,
      messages.filter((message) => message.channel === channel).map(({ id }) => id),
    );
    for (const { kind, messageId, seq } of log) {
      if (kind === "user") assert.equal(seqs.get(messageId ?? ""), seq);
    }
  }
});

test("a chat that is killed with answers on their way brings each of them to its successor's output", async () => {
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url, seed });
  // The killed one never hears from its model.
  model.reply(() => undefined);
  const killed = home.start("chat", "--jsonl");
  const message = JSON.stringify({ author: "Ann", text: "are you there?", id: "asked", channel: "left" });
  killed.write(`${message}\n`);
  await model.received(1);
  await killed.kill();
  assert.equal(count(killed, "accepted"), 1);

  model.respond(echo);
  // Nothing is said to it: what is due follows from the log.
  const heir = home.start("chat", "--jsonl");
  await heir.line('"in_reply_to":["asked"]');
  assert.equal((await heir.finish()).code, 0);
  assert.equal(count(heir, "reply"), 1);
  assertWhole(await home.log("left"), ["asked"]);
});

test("a replay that is killed half-way goes on where it was", async () => {
  await using model = await startModelServer();
  model.respond(echo);
  await using home = await openHome({ modelUrl: model.url, seed });
  const ids = Array.from({ length: 240 }, (_, index) => `talk/${index}`);
  const recording = ids.map((_, index) => ({
    conversation_id: "talk",
    author: `person ${index % 7}`,
    ts: new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString(),
    text: `sentence ${index} of a long conversation`,
  }));
  const file = path.join(home.folder, "talk.jsonl");
  await writeFile(file, recording.map((line) => `${JSON.stringify(line)}\n`).join(""));

  const killed = home.start("replay", file, "--channel", "room", "--reply-every", "20");
  await killed.errorLine("50 %");
  await killed.kill();
  const again = await home.run("replay", file, "--channel", "room", "--reply-every", "20");
  assert.equal(again.code, 0, again.stderr);
  const [, appended, known] = /^messages +(\d+) appended, (\d+) known/m.exec(again.out.join("\n")) ?? [];
  assert.equal(Number(appended) + Number(known), ids.length);
  assert.ok(Number(known) >= 120, `${known} messages were known`);
  const log = await home.log("room");
  assertWhole(log, ids);
  assert.deepEqual(
    log.filter(({ kind }) => kind === "user").map((entry) => entry.text),
    recording.map((line) => line.text),
  );

  // As `weir log room | head -1` would.
  const piped = home.start("log", "room", "--json");
  await piped.line('"seq":1');
  piped.closeOutput();
  assert.deepEqual(await piped.ended, { code: 0, signal: null });
  assert.equal(piped.stderr, "");
  await assert.rejects(postmasterPid(home.dataDir), /ENOENT/, "its Postgres is stopped all the same");
  // The recording itself is only read.
  assert.equal((await readFile(file, "utf8")).split("\n").length, ids.length + 1);
});
