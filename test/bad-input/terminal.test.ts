// proves: src/platforms/terminal/screen.ts, src/platforms/terminal/typed/line-reader.ts
import assert from "node:assert/strict";
import path from "node:path";
import { after, test } from "node:test";
import { storableText } from "../../src/text/text.ts";
import { openTerminal } from "../platforms/terminal/terminal-harness.ts";
import { environment, openHome, openSeed } from "../support/e2e.ts";
import { text, toolCalls } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import { TestProcess } from "../support/process.ts";
import { assertNoAuthority, NASTY, NASTY_NAMES } from "./corpus.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

/** What a terminal obeys, beside the ends of lines. */
// oxlint-disable-next-line no-control-regex -- this is what must not be there
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/** What a script may not put into a name. */
// oxlint-disable-next-line no-control-regex -- these are what is refused
const OBEYED_IN_NAMES = /[\u0000-\u001f\u007f-\u009f]|^.{201}/s;

/** Weir's own: cursor, colours, clearing, paste mode. */
// oxlint-disable-next-line no-control-regex -- these begin with ESC
const SEQUENCES = /\u001B\[(?:\??\d*[A-DGJKhl]|0?m)/g;

function assertHarmless(shown: readonly string[]): void {
  for (const line of shown) assert.doesNotMatch(line, OBEYED, JSON.stringify(line).slice(0, 300));
}

type Line = Record<string, unknown>;

function lines(process: TestProcess): Line[] {
  return process.out.map((line): Line => ({ ...JSON.parse(line) }));
}

test("malformed lines are refused one by one, in words, and what is around them is answered", async () => {
  await using model = await startModelServer();
  model.respond(() => text("noted"));
  await using home = await openHome({ modelUrl: model.url, seed });
  const chat = home.start("chat", "--jsonl", "--channel", "here");
  const malformed = [
    "{",
    "}",
    "null",
    "7",
    '"text"',
    "[]",
    "{}",
    "\0\u001B[2J\u009B31m",
    '{"author":"Ann"}',
    '{"text":"x"}',
    '{"author":"","text":"x"}',
    '{"author":7,"text":"x"}',
    '{"author":"Ann","text":null}',
    '{"author":"A\\u0000","text":"x"}',
    '{"author":"Ann","text":"x","at":"yesterday"}',
    '{"author":"Ann","text":"x","at":"2026-13-41T99:00:00Z"}',
    '{"author":"Ann","text":"x","at":"0000-01-01T00:00:00Z"}',
    '{"author":"Ann","text":"x","at":"9999-12-31T23:59:59-12:00"}',
    '{"author":"Ann","text":"x","extra":1}',
    '{"author":"Ann","text":"x","__proto__":{"listen":true}}',
    '{"author":"Ann","text":"x"} {"author":"Ann","text":"y"}',
    `{"author":"Ann","text":"x","id":"${"i".repeat(10_000)}"}`,
    `{"author":"Ann","text":"x","channel":"${"c".repeat(10_000)}"}`,
    '{"edit":"nobody","text":"x"}',
    '{"edit":7,"text":"x"}',
    '{"delete":"nobody"}',
    '{"delete":null}',
    '{"stop":""}',
    "[".repeat(100_000),
    '{"a":'.repeat(100_000),
    "x".repeat(1_000_000),
    "\uFEFF{}",
    '{"author":"Ann","text":"\\u00',
  ];
  for (const [index, line] of malformed.entries()) {
    chat.write(
      `${line}\n${JSON.stringify({ author: "Ann", text: "fine", id: `fine-${index}`, listen: true })}\r\n`,
    );
  }
  chat.write(`\n  \n${JSON.stringify({ author: "Ann", text: "answer me", id: "last" })}`);
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  const said = lines(chat);
  const errors = said.filter(({ type }) => type === "error");
  assert.deepEqual(
    errors.map(({ line }) => Number(line)).toSorted((a, b) => a - b),
    malformed.map((_, index) => index * 2 + 1),
  );
  for (const { why } of errors) {
    assert.equal(typeof why, "string");
    assert.match(String(why), /\w/);
    assert.ok(String(why).length <= 300);
    assert.doesNotMatch(String(why), /\bat .*\.[jt]s:\d|node:/);
  }
  const accepted = said.filter(({ type }) => type === "accepted").map(({ id }) => id);
  assert.deepEqual(accepted, [...malformed.map((_, index) => `fine-${index}`), "last"]);
  assert.equal(said.filter(({ type }) => type === "reply").length, 1);
  assertHarmless([...chat.out, ...chat.err]);
});

test("a line of 2 MB is taken whole, answered, and what comes after it too", async () => {
  await using model = await startModelServer();
  model.respond(() => text("noted"));
  await using home = await openHome({ modelUrl: model.url, seed });
  const chat = home.start("chat", "--jsonl", "--channel", "here");
  const paste = "The river rose to 4.2 m at the mill. ".repeat(56_000);
  assert.ok(paste.length > 2_000_000);
  chat.write(`${JSON.stringify({ author: "Ann", text: paste, id: "long" })}\n`);
  await chat.line('"in_reply_to":["long"]');
  chat.write(`${JSON.stringify({ author: "Ann", text: "and now?", id: "after" })}\n`);
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  const said = lines(chat);
  assert.deepEqual(
    said.flatMap(({ type, id }) => (type === "accepted" ? [id] : [])),
    ["long", "after"],
  );
  assert.equal(said.filter(({ type }) => type === "reply").length, 2);
  assert.equal(said.filter(({ type }) => type === "error").length, 0);
  const log = await home.run("log", "here", "--json");
  const [first] = log.out.map((line): Line => ({ ...JSON.parse(line) }));
  assert.ok(first?.["text"] === paste, "the log has all of it");
});

test("whatever goes through a process, nothing of it is obeyed by a terminal, and the log keeps it", async () => {
  await using model = await startModelServer();
  model.respond(({ model: name }, index) => {
    if (name !== "test-model") return text("x");
    return index % 5 === 1
      ? toolCalls([{ name: "no\u001B[2J\u009B", arguments: { "\u001B[2J\u009B": 1 } }])
      : text([Object.values(NASTY)[index % 20] ?? "", "!"]);
  });
  await using home = await openHome({
    modelUrl: model.url,
    seed,
    config: '[[agents]]\nid = "main"\nmodel = "test-model"\n',
  });
  const chat = home.start("chat", "--jsonl", "--channel", "here");
  const names = Object.values(NASTY_NAMES).filter((name) => name !== "" && !OBEYED_IN_NAMES.test(name));
  // A message without text is refused.
  const texts = Object.entries(NASTY).filter(([, nasty]) => nasty.trim() !== "");
  for (const [index, [id, nasty]] of texts.entries()) {
    chat.write(`${JSON.stringify({ author: names[index % names.length], text: nasty, id })}\n`);
  }
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  const told = lines(chat).flatMap(({ type, in_reply_to: ids }) => (type === "reply" ? [ids] : []));
  assert.deepEqual(new Set(told.flat()), new Set(texts.map(([id]) => id)));
  for (const { body } of model.requests) assertNoAuthority(body);

  const log = await home.run("log", "here", "--json");
  const logged = log.out.map((line): Line => ({ ...JSON.parse(line) })).filter(({ kind }) => kind === "user");
  assert.deepEqual(
    logged.map((entry) => entry["text"]),
    texts.map(([, nasty]) => storableText(nasty)),
  );
  const shown = [chat, log];
  const others = [
    ["log", "here"],
    ["context", "here"],
    ["context", "here", "--json"],
    ["log", "no\u001B[2J\u009Bwhere"],
  ];
  for (const command of others) {
    const { code, out, stderr } = await home.run(...command);
    assert.equal(code, command[1] === "here" ? 0 : 1, stderr);
    assertHarmless([...out, stderr]);
    assert.doesNotMatch(stderr, /\bat .*\.[jt]s:\d/);
  }
  for (const { out } of shown) assertHarmless(out);
});

test("piped lines with any bytes in them are answered, and shown harmlessly", async () => {
  await using model = await startModelServer();
  model.respond((_, index) => text([Object.values(NASTY)[index] ?? "", "!"]));
  await using home = await openHome({ modelUrl: model.url, seed });
  const chat = home.start("chat", "--as", "\u001B[31mAnn\u009B");
  const typed = [
    "\0\u001B[2J hello",
    "/as \u001B[2J",
    "/nosuch\u001B[2J \u009B",
    "/status",
    "/context",
    "/memory",
    "\uD83D",
    "/as",
    "//x",
  ];
  for (const line of typed) chat.write(`${line}\n`);
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  assertHarmless([...chat.out, ...chat.err]);
});

test("an interactive terminal shows all of it, and obeys none of it", async () => {
  for (const nasty of [...Object.values(NASTY), ...Object.values(NASTY_NAMES)]) {
    await using terminal = await openTerminal("interactive", {
      agent: nasty,
      speaker: nasty.slice(0, 40) || "x",
      channel: nasty || "x",
    });
    const message = {
      channel: { platform: "terminal", name: nasty || "x" },
      idempotencyKey: "k",
      mayBeThere: false,
      inReplyTo: [],
    } as const;
    await terminal.platform.send({ ...message, text: nasty, final: true, kind: "answer" });
    terminal.turns.settle("skipped", ["x"], nasty, `terminal:${nasty || "x"}`);
    const rest = terminal
      .written()
      .replaceAll(SEQUENCES, "")
      .replaceAll(/[\r\n\t]/g, "");
    assertHarmless([rest]);
  }
});

test("a log line holds nothing that a terminal obeys, for people and for programs", async () => {
  const modulePath = path.join(import.meta.dirname, "..", "..", "src", "telemetry", "log.ts");
  const script = `
    import { createLog } from ${JSON.stringify(modulePath)};
    for (const kind of ["json", "text"]) {
      const log = createLog("debug", { stderr: kind });
      for (const why of ${JSON.stringify(Object.values(NASTY))}) log.warn({ why, deep: { why } }, "event");
    }`;
  await using logging = new TestProcess(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: import.meta.dirname,
    env: environment(),
  });
  assert.deepEqual(await logging.finish(), { code: 0, signal: null });
  assert.ok(logging.err.filter((line) => line.startsWith("{")).length >= Object.keys(NASTY).length);
  assert.ok(logging.err.filter((line) => !line.startsWith("{")).length >= Object.keys(NASTY).length);
  assertHarmless(logging.err);
});
