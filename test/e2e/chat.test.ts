// proves: src/cli/start.ts, src/platforms/terminal/terminal-platform.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { z } from "zod";
import { postmasterPid } from "../support/embedded-folder.ts";
import { assertWhole, openHome, openSeed } from "../support/e2e.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { text, toolCalls } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import type { TestProcess } from "../support/process.ts";
import { piecesIn } from "../support/request-pieces.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

const outputLine = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  channel: z.string().optional(),
  seq: z.number().optional(),
  change: z.string().optional(),
  in_reply_to: z.array(z.string()).optional(),
  text: z.string().optional(),
});

function lines(process: TestProcess): z.output<typeof outputLine>[] {
  return process.out.map((line) => outputLine.parse(JSON.parse(line)));
}

function say(process: TestProcess, ...objects: readonly object[]): void {
  process.write(objects.map((object) => `${JSON.stringify(object)}\n`).join(""));
}

test("a script speaks in several channels, and the chat ends with 0 when the last reply is out", async () => {
  await using model = await startModelServer();
  model.respond(echo);
  await using home = await openHome({ modelUrl: model.url, seed });
  const chat = home.start("chat", "--jsonl");
  const channels = ["red", "green", "blue"];
  for (const channel of channels) {
    say(chat, {
      author: "Ann",
      text: `only so you know, ${channel}`,
      id: `${channel}-0`,
      channel,
      listen: true,
    });
    say(chat, { author: "Bob", text: `answer me in ${channel}`, id: `${channel}-1`, channel });
  }
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  const said = lines(chat);
  for (const channel of channels) {
    const ofChannel = said.filter((line) => line.channel === channel);
    assert.deepEqual(
      ofChannel.map(({ type, id, seq }) => ({ type, id, seq })),
      [
        { type: "accepted", id: `${channel}-0`, seq: 1 },
        { type: "accepted", id: `${channel}-1`, seq: 2 },
        { type: "reply", id: undefined, seq: undefined },
      ],
    );
    assert.deepEqual(ofChannel[2]?.in_reply_to, [`${channel}-1`]);
    assert.match(ofChannel[2]?.text ?? "", new RegExp(`answer me in ${channel}`));
    assertWhole(await home.log(channel), [`${channel}-0`, `${channel}-1`]);
  }
  assert.doesNotMatch(chat.stderr, /sk-e2e-secret/);
});

test("an edit, a deletion, a chosen silence and a stop each have a line of their own", async () => {
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url, seed });
  const chat = home.start("chat", "--jsonl", "--channel", "here");
  say(
    chat,
    { author: "Ann", text: "the mat", id: "edited", listen: true },
    { edit: "edited", text: "the roof" },
  );
  await chat.line('"change":"edit"');
  say(chat, { author: "Ann", text: "a secret", id: "deleted", listen: true }, { delete: "deleted" });
  await chat.line('"change":"delete"');
  model.reply(toolCalls([{ name: "skip", arguments: { reason: "they talk among themselves" } }]));
  say(chat, { author: "Ann", text: "right, Bob?", id: "skipped" });
  const skipped = outputLine.parse(JSON.parse(await chat.line('"type":"skipped"')));
  assert.deepEqual(skipped.in_reply_to, ["skipped"]);
  assert.equal(skipped["why"], "they talk among themselves");

  const gate = new Gate();
  model.reply(gate.between("Once upon a time", " and so on"));
  say(chat, { author: "Ann", text: "tell me a long story", id: "stopped" });
  await model.received(2);
  // Until the turn has shown its first piece there may be nothing to stop: the model was asked by now.
  say(chat, { stop: "here" });
  const stopped = outputLine.parse(JSON.parse(await chat.line('"type":"stopped"')));
  assert.deepEqual(stopped.in_reply_to, ["stopped"]);
  assert.equal(await model.requests[1]?.done, "aborted");
  say(chat, { edit: "nobody", text: "x" });
  const error = outputLine.parse(JSON.parse(await chat.line('"type":"error"')));
  assert.deepEqual([error.id, error["why"]], ["nobody", "no message has this id"]);
  assert.equal((await chat.finish()).code, 0);

  const log = await home.log("here");
  assert.deepEqual(
    log.filter(({ kind }) => kind === "user").map((entry) => entry.text),
    ["the roof", "", "right, Bob?", "tell me a long story"],
  );
  assert.doesNotMatch(JSON.stringify(log), /a secret/);
});

test("piped lines are answered one by one, and nothing but the answers is on the standard output", async () => {
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url, seed });
  model.reply(text("one"), text("two\nin two lines"), text("three"));
  const chat = home.start("chat", "--as", "Ann");
  chat.write("first\n\nsecond\nthird, without a line break at the end");
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  assert.deepEqual(chat.out, ["one", "two", "in two lines", "three"]);
  assert.equal(chat.stderr, "");
  const asked = model.requests.map(({ body }) => piecesIn(body).at(-2)?.content ?? "");
  assert.deepEqual(
    asked.map((content) => /first|second|third/.exec(content)?.[0]),
    ["first", "second", "third"],
  );
});

test("where no model answers, the person is told in plain words, and only the log says why", async () => {
  // Nothing listens on the discard port.
  await using home = await openHome({ modelUrl: "http://127.0.0.1:9/v1", seed });
  const chat = home.start("chat");
  chat.write("is anybody there?\n");
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  assert.equal(chat.out.length, 1);
  assert.doesNotMatch(chat.out.join(), /127\.0\.0\.1|Error|fetch|model/);
  assert.match(chat.stderr, /No model server answers at http:\/\/127\.0\.0\.1:9/);
  assert.doesNotMatch(chat.stderr, /sk-e2e-secret/);
});

test("a chat whose terminal closes finishes its answer, and leaves no Postgres behind", async () => {
  await using model = await startModelServer();
  model.respond(echo);
  await using home = await openHome({ modelUrl: model.url, seed });
  const chat = home.start("chat", "--jsonl", "--channel", "here");
  say(chat, { author: "Ann", text: "are you there?", id: "m1" });
  await chat.line('"reply"');
  // The shell and the kernel each hang up.
  chat.signal("SIGHUP");
  chat.signal("SIGHUP");
  assert.deepEqual(await chat.ended, { code: 0, signal: null });
  await assert.rejects(postmasterPid(home.dataDir), /ENOENT/);
});
