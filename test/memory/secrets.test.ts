// proves: src/memory/secrets.ts, src/memory/secret-labels.ts, src/memory/secret-numbers.ts
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { holdsSecret } from "../../src/memory/secrets.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { anyCharacter } from "../support/any-character.ts";

// `~` is left out: nobody's scanner is to take this file for a leak.
const random = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3gH5";
const SECRETS: readonly string[] = [
  `my key is sk~-${random}`,
  `sk~-proj-${random}`,
  `AKIA~IOSFODNN7EXAMPLE`,
  `the token ghp~_${random}`,
  `xox~b-1234567890-${random}`,
  `AIza~${random}`,
  `eyJ~hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${random}`,
  `-----BEGIN RSA~ PRIVATE KEY-----`,
  `Bearer ${random}`,
  "postgres://weir:hunter2@db.example.org/weir",
  "The password is hunter2!",
  "wifi password: geese-12",
  "api_key = abc123def",
  "Das Passwort ist gans123",
  "パスワードは kamo1234 です",
  "card 4111 1111 1111 1111",
  "4111-1111-1111-1111",
  "the safe combo is 12-34-56",
  "alarmanlage aus mit 4711#",
  "ログインは kenta / sakura123",
  "you get in with sunflower88",
  "card ５５００００００００００００４",
  "3782 822463 10005",
  `the deploy uses ${random}Zx81`,
  `s\u200bk-${random}`,
  `s\ufe0fk-${random}`,
  "card ٤١١١ ١١١١ ١١١١ ١١١١",
  "card ४१११ ११११ ११११ ११११",
];

const HARMLESS: readonly string[] = [
  "The code of the safe is zxqpine 774411.",
  "The password is in the safe.",
  "You log in with your work account, or with OAuth2.",
  "The combo is 2 burgers and a drink.",
  "Der Alarm geht um 6 aus, mit 2 Minuten Verzögerung.",
  "ログインは毎朝9時です",
  "Ann keeps the key of the mill under the mat.",
  "The release is commit 9fceb02d0ae598e95dc970b74767f19372d61af8.",
  "The message is 1574925470825185281.",
  "Call +49 30 901820 at noon.",
  "card 4111 1111 1111 1112",
  "0000 0000 0000 0000",
  "The gauge stood at 3.20 on 2026-11-21, at 2.95 on 2026-11-22.",
  "https://example.org/a/very/long/path/that/goes/on/and/on/with-many-words-in-it",
  "鴨池の水位は三メートルです",
  "",
];

for (const text of SECRETS)
  test(`holds a secret: ${text.slice(0, 24)}…`, () => assert.ok(holdsSecret(text.replaceAll("~", ""))));
for (const text of HARMLESS) test(`holds none: ${text}`, () => assert.ok(!holdsSecret(text)));

/** Lines of a list beside this file. */
const listed = (name: string): string[] =>
  readFileSync(`${import.meta.dirname}/samples/${name}`, "utf8")
    .split("\n")
    .filter((line) => line !== "");

test("of 100 secrets in many languages none passes", () => {
  const secrets = listed("secrets.txt").map((line) => line.replaceAll("~", ""));
  assert.equal(secrets.length, 100);
  assert.deepEqual(
    secrets.filter((line) => !holdsSecret(line)),
    [],
  );
});

test("of ordinary lines, many of them about passwords and codes, hardly one is taken for a secret", () => {
  const lines = listed("ordinary.txt");
  assert.ok(lines.length >= 500);
  assert.deepEqual(lines.filter(holdsSecret), []);
});

function withCheckDigit(digits: string): string {
  for (const last of "0123456789") if (holdsSecret(`card ${digits}${last}`)) return `${digits}${last}`;
  throw new Error("no check digit fits");
}

test("of ten numbers that begin like a card's one has the right last digit, however it is grouped", () => {
  const number = fc.stringMatching(/^4[0-9]{14}$/).filter((digits) => new Set(digits).size > 2);
  fc.assert(
    fc.property(number, fc.constantFrom("", " ", "-", "."), (digits, between) => {
      const card = withCheckDigit(digits);
      assert.ok(holdsSecret(`it is ${card.match(/.{4}/g)?.join(between)}`));
      const others = Array.from("0123456789", (last) => digits + last).filter((one) => holdsSecret(one));
      assert.deepEqual(others, [card]);
    }),
  );
});

test("any text is looked at in short time", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter, maxLength: 500 }),
      (text) => typeof holdsSecret(text) === "boolean",
    ),
  );
  for (const piece of ["a1B", "4 ", "sk-", "password is ", "://a:", "eyJaaaaaaaa.", "-"]) {
    const ms = cpuMs(() => void holdsSecret(piece.repeat(100_000)));
    assert.ok(ms < 500, `${piece}: ${ms} ms`);
  }
});
