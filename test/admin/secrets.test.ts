import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { KnownSecrets } from "../../src/admin/secrets.ts";

const SECRETS = ["abcabc-1", "abcdef", "xxabcdefzz", "sk-proj-Zm9vYmFyYmF6"];
const KEY = SECRETS[3] ?? "";
const known = new KnownSecrets();
known.add(SECRETS);

test("a text that is still being written ends before what may become a secret", () => {
  for (const [text, shown] of [
    ["nothing", "nothing"],
    ["my key is s", "my key is "],
    [`my key is ${KEY}`, "my key is •••"],
    [`my key is ${KEY.slice(0, -1)}`, "my key is "],
    [`my key is ${KEY.slice(0, -1)}!`, `my key is ${KEY.slice(0, -1)}!`],
    ["abcabc", ""],
    ["abcabd", "abcabd"],
    ["xxabcdef", ""],
    ["xxabcdefzy", "xx•••zy"],
    ["xxabcdefzz", "•••"],
    ["", ""],
  ] as const)
    assert.equal(known.maskedSoFar(text), shown, text);
});

test("nothing of it is taken back once more is written, whatever the pieces", () => {
  const pieces = fc.constantFrom("abc", "abcdef", "xx", "zz", "-1", "a", " ", KEY, KEY.slice(0, 9));
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), fc.nat(200), (parts, length) => {
      const whole = parts.join("");
      const shown = known.maskedSoFar(whole.slice(0, length));
      assert.ok(!SECRETS.some((one) => shown.includes(one)), shown);
      assert.ok(known.masked(whole).startsWith(shown), `${shown} of ${known.masked(whole)}`);
    }),
  );
});
