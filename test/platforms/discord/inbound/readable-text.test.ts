import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readableText } from "../../../../src/platforms/discord/inbound/readable-text.ts";
import { anyCharacter } from "../../../support/any-character.ts";

const NAMES = {
  person: (id: string): string | undefined => (id === "1" ? "Ann" : undefined),
  channel: (id: string): string | undefined => (id === "2" ? "general" : undefined),
  role: (id: string): string | undefined => (id === "3" ? "millers" : undefined),
};

for (const [text, expected] of [
  ["<@1> <@!1> <@9>", "@Ann @Ann @9"],
  ["<#2> <#9>", "#general #9"],
  ["<@&3> <@&9>", "@millers @9"],
  ["<:weir:123> <a:spin:4>", ":weir: :spin:"],
  [
    "<t:1714564800> <t:1714564800:R> <t:-1:F>",
    "2024-05-01 12:00 UTC 2024-05-01 12:00 UTC 1969-12-31 23:59 UTC",
  ],
  ["<t:9999999999999:R>", "<t:9999999999999:R>"],
  ["</ask:77> </ask about:77>", "/ask /ask about"],
  ["`<@1>` ```\n<#2>\n```", "`<@1>` ```\n<#2>\n```"],
  ["||secret|| <https://x> a < b > c", "||secret|| <https://x> a < b > c"],
  ["half \uD83D", "half \uFFFD"],
] as const) {
  test(JSON.stringify(text), () => assert.equal(readableText(text, NAMES), expected));
}

test("any text can be read, and what was read once reads the same again", () => {
  const odd = fc.constantFrom(
    "<@1>",
    "<@&3>",
    "<#2>",
    "<:a:1>",
    "<t:1:R>",
    "<",
    ">",
    "`",
    "```",
    "<@",
    "<t:",
  );
  const text = fc
    .array(fc.oneof(odd, fc.string({ unit: anyCharacter })), { maxLength: 30 })
    .map((all) => all.join(""));
  const plain = { person: () => "Ann", channel: () => "general", role: () => "millers" };
  fc.assert(
    fc.property(text, (said) => {
      const once = readableText(said, plain);
      assert.ok(once.isWellFormed());
      // What was cut apart by an entity may form another: it gets no longer that way.
      assert.ok(readableText(once, plain).length <= once.length + 20 * said.length);
    }),
  );
});
