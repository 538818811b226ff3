import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { OutboundMessage } from "../../../../src/core/message.ts";
import { outbound } from "../../contract.ts";
import { jsonLines, openTerminal, type Terminal } from "../terminal-harness.ts";

function reply(
  channel: string,
  inReplyTo: string[],
  text: string,
  more: Partial<OutboundMessage> = {},
): OutboundMessage {
  const message = outbound({ platform: { name: "terminal" }, channel }, { text });
  return { ...message, channel: { platform: "terminal", name: channel }, inReplyTo, ...more };
}

async function say(terminal: Terminal, ...lines: object[]): Promise<void> {
  const told = jsonLines(terminal.written()).filter(({ type }) => type === "accepted").length + lines.length;
  for (const line of lines) terminal.input.write(`${JSON.stringify(line)}\n`);
  await terminal.writes(new RegExp(`^(?:[^]*"accepted".*\\n){${told}}`));
}

describe("JSON lines", () => {
  test("name what was accepted, then the reply, and end when all is answered", async () => {
    await using terminal = await openTerminal("jsonl");
    await say(
      terminal,
      { author: "ana", text: "hi", channel: "x" },
      { author: "ben", text: "psst", id: "7", listen: true },
    );
    terminal.input.end();
    const timing = { turnMs: 12.345678, modelMs: 10 };
    await terminal.platform.send(reply("x", ["id-1"], "ho", { timing }));
    terminal.turns.settle("answered", ["id-1"], null, "terminal:x");
    await terminal.platform.closed;
    assert.deepEqual(jsonLines(terminal.written()), [
      { type: "accepted", id: "id-1", channel: "x", seq: 1 },
      { type: "accepted", id: "7", channel: "main", seq: 2 },
      { type: "reply", channel: "x", in_reply_to: ["id-1"], text: "ho", turn_ms: 12.346, model_ms: 10 },
    ]);
  });

  test("tell of a message being accepted before its reply, however fast that is", async () => {
    await using terminal = await openTerminal("jsonl");
    const { platform, inbox, turns } = terminal;
    inbox.onEvent = ({ id }) => {
      void platform.send(reply("main", [id], "at once"));
      turns.settle("answered", [id]);
    };
    terminal.input.end('{"author":"ana","text":"hi"}\n');
    await platform.closed;
    const types = jsonLines(terminal.written()).map(({ type }) => type);
    assert.deepEqual(types, ["accepted", "reply"]);
  });

  test("tell of skips, stops, failures, emergencies and compactions", async () => {
    await using terminal = await openTerminal("jsonl");
    const { platform, turns } = terminal;
    await say(terminal, ...["1", "2", "3"].map((id) => ({ author: "ana", text: "hi", id })));
    terminal.input.end();
    turns.settle("skipped", ["1"], "small talk");
    turns.settle("stopped", ["2"]);
    turns.settle("failed", ["3"], "the model is away");
    turns.settle("skipped", ["1"], "elsewhere", "discord:main");
    turns.tell({ type: "emergency", news: { channel: "terminal:main", omitted: 12 } });
    const range = { fromSeq: 1, toSeq: 9, tokensBefore: 900, tokensAfter: 90, memories: 2, ms: 5 };
    const job = { kind: "leaf", tier: "background", ...range } as const;
    turns.tell({ type: "compaction", news: { channel: "terminal:main", phase: "committed", ...job } });
    await platform.send(reply("main", ["3"], "Sorry, that failed.", { kind: "notice" }));
    await platform.closed;
    assert.deepEqual(jsonLines(terminal.written()).slice(3), [
      { type: "emergency", channel: "main", omitted: 12 },
      {
        type: "compaction",
        channel: "main",
        phase: "committed",
        kind: "leaf",
        tier: "background",
        from_seq: 1,
        to_seq: 9,
        tokens_before: 900,
        tokens_after: 90,
        memories: 2,
        ms: 5,
      },
      { type: "skipped", channel: "main", in_reply_to: ["1"], why: "small talk" },
      { type: "stopped", channel: "main", in_reply_to: ["2"], why: null },
      { type: "reply", channel: "main", in_reply_to: ["3"], text: "Sorry, that failed.", failed: true },
    ]);
  });
});

describe("JSON lines that come in", () => {
  test("say what is wrong with a line, and go on", async () => {
    await using terminal = await openTerminal("jsonl");
    terminal.inbox.failures.push(new Error("the database is away"));
    const lines = [
      "{",
      '{"author":"a","text":"x","id":"7"}',
      "",
      '{"edit":"nope","text":"x"}',
      '{"author":"a","text":"y","listen":true}',
    ];
    terminal.input.end(lines.join("\n"));
    await terminal.platform.closed;
    const [first, ...rest] = jsonLines(terminal.written()).toSorted(
      (a, b) => Number(a["line"] ?? 99) - Number(b["line"] ?? 99),
    );
    assert.deepEqual({ type: first?.["type"], line: first?.["line"] }, { type: "error", line: 1 });
    assert.deepEqual(rest, [
      { type: "error", line: 2, id: "7", channel: "main", why: "the database is away" },
      { type: "error", line: 4, id: "nope", why: "no message has this id" },
      { type: "accepted", id: "id-1", channel: "main", seq: 1 },
    ]);
  });

  test("answer a duplicate with the same seq, and don't wait for what may have been answered before", async () => {
    await using terminal = await openTerminal("jsonl");
    await say(terminal, { author: "a", text: "x", id: "7" });
    terminal.turns.settle("skipped", ["7"]);
    await say(terminal, { author: "a", text: "x", id: "7" });
    terminal.input.end();
    await terminal.platform.closed;
    const accepted = jsonLines(terminal.written()).filter(({ type }) => type === "accepted");
    assert.deepEqual(accepted, [
      { type: "accepted", id: "7", channel: "main", seq: 1 },
      { type: "accepted", id: "7", channel: "main", seq: 1, duplicate: true },
    ]);
  });

  test("change, take back and stop, in the order of the lines", async () => {
    await using terminal = await openTerminal("jsonl");
    const lines = [
      { author: "a", text: "x", id: "7" },
      { edit: "7", text: "y" },
      { delete: "7" },
      { stop: "main" },
    ];
    terminal.input.end(lines.map((line) => JSON.stringify(line)).join("\n"));
    await terminal.platform.closed;
    const shown = jsonLines(terminal.written());
    assert.deepEqual(
      shown.find(({ type }) => type === "command"),
      {
        type: "command",
        channel: "main",
        name: "stop",
        text: "did stop",
      },
    );
    assert.deepEqual(
      shown.filter(({ type }) => type === "accepted").map(({ change }) => change),
      [undefined, "edit", "delete"],
    );
    assert.deepEqual(
      terminal.inbox.events.map(({ type }) => type),
      ["message", "edit", "deletion"],
    );
  });
});

describe("JSON lines of many channels", () => {
  test("keep each channel's order while channels pass one another", async () => {
    await using terminal = await openTerminal("jsonl");
    const lines = Array.from({ length: 600 }, (_, index) => ({
      author: "a",
      text: `${index}`,
      channel: `c${index % 7}`,
      listen: true,
    }));
    terminal.input.end(lines.map((line) => JSON.stringify(line)).join("\n"));
    await terminal.platform.closed;
    const byChannel = Map.groupBy(terminal.inbox.events, (event) =>
      event.type === "message" ? event.channel.name : "",
    );
    assert.equal(byChannel.size, 7);
    for (const events of byChannel.values()) {
      const order = events.map((event) => (event.type === "message" ? Number(event.text) : 0));
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
      );
    }
    assert.equal(jsonLines(terminal.written()).length, 600);
  });
});

describe("JSON lines that go out", () => {
  test("never hold what a terminal would obey", async () => {
    await using terminal = await openTerminal("jsonl");
    const text = "\u001B[2J \u009B31m \u007F \u2028 \uD83D";
    await terminal.platform.send(reply("main", [], text, { inReplyTo: ["x"] }));
    // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
    assert.doesNotMatch(terminal.written().trimEnd(), /[\u0000-\u001f\u007f-\u009f\u2028]/);
    assert.equal(jsonLines(terminal.written())[0]?.["text"], text);
  });

  test("end quietly when nobody reads the output, and what is sent then is still to be sent", async () => {
    await using terminal = await openTerminal("jsonl");
    terminal.output.destroy();
    await terminal.platform.closed;
    await assert.rejects(terminal.platform.send(reply("main", [], "x")), {
      kind: "unavailable",
      retryable: true,
    });
  });
});
