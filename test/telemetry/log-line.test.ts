import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLogLine, parseLogLine } from "../../src/telemetry/log-line.ts";

const TIME = new Date(2026, 10, 21, 3, 21, 37).toISOString();

function shown(record: object, hasColor = false): string {
  const parsed = parseLogLine(JSON.stringify({ level: 30, time: TIME, msg: "event", ...record }));
  assert.ok(parsed !== null);
  return formatLogLine(parsed, hasColor);
}

test("a line an event, with the ids by which a message is followed", () => {
  const turn = {
    msg: "turn_settled",
    channel: "discord:12",
    turn: 7,
    outcome: "answered",
    reason: null,
    inReplyTo: ["m1"],
    turnMs: 3912,
    modelMs: 3000,
  };
  assert.equal(
    shown({ ...turn, tokensIn: 1240, tokensOut: 85 }),
    '03:21:37 turn      discord:12  answered 3.9 s  1,240 → 85 tok  turn=7 inReplyTo=["m1"]',
  );
  assert.equal(
    shown({ level: 40, ...turn, outcome: "failed", reason: "the server refused the key" }),
    '03:21:37 warn turn      discord:12  failed 3.9 s  the server refused the key  turn=7 inReplyTo=["m1"]',
  );
  assert.equal(
    shown({
      level: 20,
      msg: "message_accepted",
      channel: "slack:C1",
      seq: 4,
      messageId: "m1",
      addressed: true,
    }),
    "03:21:37 message   slack:C1  messageId=m1 seq=4 addressed=true",
  );
  assert.equal(
    shown({
      level: 20,
      msg: "reply_delivered",
      channel: "slack:C1",
      turn: 7,
      parts: 1,
      turnMs: 5,
      inReplyTo: ["m1"],
      messageIds: ["m2"],
    }),
    '03:21:37 sent      slack:C1  turn=7 messageIds=["m2"] inReplyTo=["m1"]',
  );
  assert.equal(
    shown({ msg: "platform_connected", platform: "discord" }),
    "03:21:37 platform_connected  platform=discord",
  );
});

test("nothing in a line is obeyed, a long value is cut, and a line of another kind is none", () => {
  const line = shown({ why: `\u001B[31mred\nnext \u202E${"x".repeat(1000)}` }, true);
  assert.ok(!line.includes("\n") && !line.includes("\u001B") && !line.includes("\u202E"));
  assert.ok(line.length < 400);
  const red = shown({ level: 50 }, true);
  assert.ok(red.startsWith("\u001B[31m") && red.endsWith("\u001B[0m"));
  for (const other of ["", "not JSON", "[]", "null", '{"msg":"x"}', '{"level":"info","msg":"x"}'])
    assert.equal(parseLogLine(other), null);
  assert.match(shown({ time: "never" }), /^--:--:-- /);
});
