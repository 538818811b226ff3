import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseJsonlLine } from "../../../../src/platforms/terminal/presenters/jsonl-grammar.ts";
import { anyCharacter } from "../../../support/any-character.ts";

describe("the grammar of JSON lines", () => {
  test("reads a message with all it may say", () => {
    const line =
      '{"author":"ana","text":"hi","id":"7","at":"2026-05-01T14:00:00+02:00","channel":"x","listen":true}';
    assert.deepEqual(parseJsonlLine(line), {
      ok: true,
      command: {
        type: "message",
        author: "ana",
        text: "hi",
        id: "7",
        at: new Date("2026-05-01T12:00:00Z"),
        channel: "x",
        addressed: false,
      },
    });
  });

  test("reads the shortest message, an edit, a deletion and a stop", () => {
    const short = parseJsonlLine('{"author":"ana","text":"x"}');
    assert.ok(short.ok && short.command.type === "message" && short.command.addressed);
    assert.equal(short.command.id, undefined);
    const edit = parseJsonlLine('{"edit":"7","text":"ho"}');
    assert.deepEqual(edit, { ok: true, command: { type: "edit", id: "7", text: "ho" } });
    assert.deepEqual(parseJsonlLine('{"delete":"7"}'), { ok: true, command: { type: "delete", id: "7" } });
    assert.deepEqual(parseJsonlLine('{"stop":"x"}'), { ok: true, command: { type: "stop", channel: "x" } });
  });

  const refused: [line: string, why: RegExp, id?: string][] = [
    ["hello", /^not JSON/],
    ["[]", /^not a JSON object/],
    ["null", /^not a JSON object/],
    ['{"text":"hi"}', /author/],
    ['{"author":"","text":"hi"}', /author/],
    ['{"author":"a\\nb","text":"hi"}', /author.*control/],
    ['{"author":"a","text":5,"id":"7"}', /text/, "7"],
    ['{"author":"a","text":"","id":"7"}', /^text: must not be blank$/, "7"],
    ['{"author":"a","text":" \\n"}', /^text: must not be blank$/],
    ['{"author":"a","text":"hi","foo":1}', /foo/],
    ['{"author":"a","text":"hi","at":"yesterday"}', /at: must be an ISO 8601 time/],
    ['{"author":"a","text":"hi","at":"2026-02-30T12:00:00Z"}', /at/],
    ['{"author":"a","text":"hi","at":"2026-02-03T12:00:00"}', /at/],
    ['{"edit":"7"}', /text/, "7"],
    ['{"edit":"7","text":"x","author":"a"}', /author/, "7"],
    ['{"delete":7}', /delete/],
    ['{"stop":""}', /stop/],
  ];
  for (const [line, why, id] of refused) {
    test(`refuses ${line} and says why on one line`, () => {
      const parsed = parseJsonlLine(line);
      assert.ok(!parsed.ok);
      assert.match(parsed.why, why);
      assert.doesNotMatch(parsed.why, /\n/);
      assert.equal(parsed.id, id);
    });
  }

  test("never throws, and keeps a refusal short", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.json()), (line) => {
        const parsed = parseJsonlLine(line);
        assert.ok(parsed.ok || parsed.why.length <= 300);
      }),
    );
  });
});
