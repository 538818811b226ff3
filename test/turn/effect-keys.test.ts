import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, ToolCall } from "../../src/core/entry.ts";
import type { History, TurnRange } from "../../src/core/history.ts";
import { turnId } from "../../src/core/ids.ts";
import { effectKeys } from "../../src/turn/effect-keys.ts";
import { NOTHING_LEARNED } from "../../src/core/learned.ts";

const at = new Date("2026-11-21T14:05:00Z");
const turn: TurnRange = { id: turnId(7), fromSeq: 1, toSeq: 1 };
const call = (json: string, id = "c1", name = "kit__send"): ToolCall => ({ id, name, arguments: json });
const said: Entry = {
  kind: "user",
  seq: 1,
  at,
  deleted: false,
  tokens: 1,
  author: { id: "u", name: "Ann", isBot: false },
  text: "go",
  messageId: "m",
  replyTo: null,
  addressed: true,
};

function history(...logged: readonly ToolCall[]): History {
  const own = logged.map((one, index): Entry => ({
    kind: "tool_call",
    seq: index + 2,
    at,
    deleted: false,
    tokens: 1,
    turnId: turn.id,
    after: 1,
    text: "",
    calls: [one],
  }));
  const none = { summaries: [], omission: null, ahead: [], learned: NOTHING_LEARNED };
  const marks = { coveredTo: 0, omittedTo: 0, settledTo: 0, lastSeq: own.length + 1 };
  return { ...none, ...marks, entries: [said, ...own] };
}

const keys = (calls: readonly ToolCall[], of = history(), more: Partial<TurnRange> = {}): string[] =>
  effectKeys(calls, { channel: "room", turn: { ...turn, ...more }, history: of });

test("the same call of the same turn has the same key, whatever id and form the model gives it", () => {
  assert.deepEqual(keys([call('{"a":1,"b":[2]}')]), keys([call('{ "b": [2], "a": 1 }', "other")]));
  const both = keys([call('{"a":1}'), call('{"a":2}')]);
  assert.deepEqual(keys([call('{"a":2}'), call('{"a":1}')]), both.toReversed());
});

test("what the log has counts: only the next one like it has another key", () => {
  const [first, second] = keys([call('{"a":1}'), call('{"a":1}')]);
  assert.notEqual(first, second);
  assert.deepEqual(keys([call('{"a":1}')], history(call('{"a":1}', "x"))), [second]);
  assert.deepEqual(keys([call('{"a":1}')], history(call('{"a":2}', "x"))), [first]);
});

test("another tool, argument, turn or channel has another key", () => {
  const all = [
    ...keys([call("{}"), call("[]"), call("no json"), call("{}", "c", "kit__other")]),
    ...keys([call("{}")], history(), { id: turnId(8) }),
    ...effectKeys([call("{}")], { channel: "elsewhere", turn, history: history() }),
    ...keys([call("{}")], { ...history(), entries: [{ ...said, at: new Date(0) }] }),
  ];
  assert.equal(new Set(all).size, all.length);
  for (const key of all) assert.match(key, /^[0-9a-f]{32}$/);
});
