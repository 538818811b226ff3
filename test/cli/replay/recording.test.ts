// proves: src/cli/replay.ts
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";

import { readRecording, type Recording } from "../../../src/cli/replay/recording.ts";
import { OperatorError } from "../../../src/core/errors.ts";

const dir = mkdtempSync(join(tmpdir(), "weir-recording-"));
after(() => rmSync(dir, { recursive: true, force: true }));
const file = join(dir, "talk.jsonl");

function line(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    conversation_id: "irc",
    author: "ann",
    ts: "2026-11-21T14:05:00Z",
    text: "hi",
    ...fields,
  });
}

function read(content: string, options: { channel?: string; replyEvery?: number } = {}): Recording {
  writeFileSync(file, content);
  return readRecording(file, { channel: options.channel, replyEvery: options.replyEvery ?? 0 });
}

function refusal(content: string): string {
  try {
    read(content);
  } catch (error) {
    assert.ok(error instanceof OperatorError);
    return error.message;
  }
  return "";
}

describe("a recording", () => {
  test("is read message by message, each conversation as a channel", () => {
    const { messages } = read(`${line({ seq: 7, other: true })}\n${line({ conversation_id: "dev" })}\n`);
    assert.deepEqual(messages[0], {
      type: "message",
      channel: { platform: "terminal", name: "irc" },
      kind: "channel",
      workspace: "",
      id: "irc/7",
      author: { id: "ann", name: "ann", isBot: false },
      text: "hi",
      at: new Date("2026-11-21T14:05:00Z"),
      addressed: false,
    });
    assert.deepEqual(messages[1]?.channel, { platform: "terminal", name: "dev" });
    assert.equal(messages[1]?.id, "dev/1");
  });

  test("goes into one channel where that is wanted, and its messages stay distinct", () => {
    const content = `${line({ seq: 1 })}\n${line({ conversation_id: "dev", seq: 1 })}`;
    const { messages } = read(content, { channel: "all" });
    assert.deepEqual(
      messages.map(({ channel, id }) => [channel.name, id]),
      [
        ["all", "irc/1"],
        ["all", "dev/1"],
      ],
    );
  });

  test("wants a reply to every N-th message of a channel", () => {
    const names = ["a", "b", "a", "a", "b", "a"];
    const content = names.map((name) => line({ conversation_id: name })).join("\n");
    assert.deepEqual(
      read(content, { replyEvery: 2 }).messages.map(({ addressed }) => addressed),
      [false, false, true, false, true, true],
    );
    assert.ok(read(content, { replyEvery: 1 }).messages.every(({ addressed }) => addressed));
  });

  test("counts its empty lines, and the end of the file is none", () => {
    assert.equal(read(`${line()}\n${line()}\n`).skipped, 0);
    assert.equal(read(`${line()}\n\n${line()}`).skipped, 1);
    assert.equal(read(`${line()}\n \n\n`).skipped, 2);
    assert.deepEqual(read(""), { messages: [], skipped: 0 });
  });

  test("may come from Windows", () => {
    assert.equal(read(`\uFEFF${line()}\r\n${line()}\r\n`).messages.length, 2);
  });
});

describe("a line that is wrong", () => {
  test("is named by file and line, with what was expected", () => {
    const notJson = refusal(`${line()}\n\n{"author":\n`);
    assert.ok(notJson.startsWith(`${file}:3: not JSON. Expected {"conversation_id"`));
    assert.ok(refusal(`${line()}\n${line({ author: "" })}`).startsWith(`${file}:2: `));
    assert.match(refusal(line({ ts: "yesterday" })), /:1: [\s\S]*ts/);
    assert.match(
      refusal(line({ ts: "2026-01-01 10:00:00" })),
      /:1: [\s\S]*with its zone, such as 2026-05-01T/,
    );
    assert.match(refusal(line({ text: undefined })), /:1: [\s\S]*text/);
    assert.match(refusal("[]"), /:1: /);
  });

  test("is told apart from a file that is not there", () => {
    const missing = join(dir, "missing.jsonl");
    assert.throws(
      () => readRecording(missing, { channel: undefined, replyEvery: 0 }),
      /cannot be read.*missing\.jsonl/,
    );
  });
});
