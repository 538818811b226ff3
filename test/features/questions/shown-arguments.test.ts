import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pagesOf, shownArguments, shownPart } from "../../../src/features/questions/shown-arguments.ts";
import { cpuMs } from "../../support/cpu-time.ts";

const masked = (text: string): string => text.replaceAll("hunter22", "•••");
const shown = (json: string): string => shownArguments(json, masked);

describe("arguments are shown as they run", () => {
  const cases: readonly (readonly [what: string, json: string, shown: string])[] = [
    ["short ones on one line", '{ "text": "buy milk", "n": 2 }', '{"text":"buy milk","n":2}'],
    ["none", "", "{}"],
    ["of a key that stands twice, the last", '{"to":"ann","to":"mallory"}', '{"to":"mallory"}'],
    ["a number as it was read", '{"n":12345678901234567890,"m":-0}', '{"n":12345678901234567000,"m":-0}'],
    [
      "a key that means something to programs",
      '{"__proto__":{"admin":true}}',
      '{"__proto__":{"admin":true}}',
    ],
    [
      "what JSON itself escapes",
      String.raw`{"to":"p\u0430ypal\u202e\ud800"}`,
      String.raw`{"to":"p\u{430}ypal\u{202E}\u{D800}"}`,
    ],
    ["keys, too", String.raw`{"t\u043e":"a","\u200b":1}`, String.raw`{"t\u{43E}":"a","\u{200B}":1}`],
    ["a feigned escape", String.raw`{"a":"\\u{430}"}`, String.raw`{"a":"\\u{430}"}`],
    ["tags in the middle", '{"a":"x\u{e0041}y"}', String.raw`{"a":"x\u{E0041}y"}`],
    [
      "the end of a block of code",
      '{"a":"```\\n**b** ||c|| <!channel>"}',
      String.raw`{"a":"\u{60}\u{60}\u{60}\n**b** ||c|| <!channel>"}`,
    ],
    ["escapes of a terminal", String.raw`{"a":"\u001b[2J\u009b1m"}`, String.raw`{"a":"\u{1B}[2J\u{9B}1m"}`],
    [
      "a secret, however it is written",
      String.raw`{"a":"\u0068unter22","hunter22":1}`,
      '{"a":"•••","•••":1}',
    ],
    ["what is no JSON", '{"a":\u202e', String.raw`{"a":\u{202E}`],
  ];
  for (const [what, json, expected] of cases) test(what, () => assert.equal(shown(json), expected));
});

test("long ones stand on lines, and so do the lines of a text", () => {
  const json = JSON.stringify({
    path: "/srv/run.sh",
    lines: "set -e\nrm -r x\\n\n",
    to: ["ann", {}],
    more: { a: "x".repeat(40), b: [] },
  });
  assert.equal(
    shown(json),
    String.raw`{
  "path": "/srv/run.sh",
  "lines": "set -e\n
    rm -r x\\n\n",
  "to": [
    "ann",
    {}
  ],
  "more": {
    "a": "${"x".repeat(40)}",
    "b": []
  }
}`,
  );
});

test("letters that run from right to left change no places with another value, nor with a key", () => {
  assert.equal(shown('{"to":"אבא","from":"אמא","n":3}'), '{\n  "to": "אבא",\n  "from": "אמא",\n  "n": 3\n}');
  assert.equal(shown('{"אל":"אבא"}'), '{\n  "אל":\n    "אבא"\n}');
});

test("in a list they take one line", () => {
  const json = JSON.stringify({ a: "x\ny", b: "z".repeat(100) });
  assert.equal(shownArguments(json, masked, "line"), json);
});

test("of what is cut, it says how much, and where it is; pages have all of it", () => {
  const whole = shown(JSON.stringify({ a: `${"\u202e".repeat(500)}${"&".repeat(500)}` }));
  assert.deepEqual(shownPart("short", 10, "there"), { text: "short", isWhole: true });
  const { text, isWhole } = shownPart(whole, 100, "/approvals 7");
  assert.equal(isWhole, false);
  assert.match(text, /^\{\n {2}"a": "(?:\\u\{202E\})+… and 4,4\d\d characters more: \/approvals 7$/);
  const pages = pagesOf(whole, 1000);
  assert.equal(pages.join(""), whole);
  assert.ok(pages.length > 4);
});

test("any arguments are shown in short time, however deep", () => {
  const texts = ["\\", '"', "\n", "`", "\u202e", "\u0430a"].map((piece) =>
    JSON.stringify({ a: piece.repeat(50_000) }),
  );
  const deep = [`${"[".repeat(25_000)}${"]".repeat(25_000)}`, `${'{"a":'.repeat(9000)}1${"}".repeat(9000)}`];
  for (const json of [...texts, ...deep]) {
    const ms = cpuMs(() => void pagesOf(shown(json), 12_000));
    assert.ok(ms < 2000, `${json.slice(0, 20)}: ${ms} ms`);
  }
});
