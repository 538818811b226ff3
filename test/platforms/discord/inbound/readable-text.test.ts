import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { besideText, readableText } from "../../../../src/platforms/discord/inbound/readable-text.ts";
import { messagePayload } from "../../../../src/platforms/discord/inbound/payload.ts";
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

test("what stands beside a text is read: forwards, polls, stickers; of other bots the boxes", () => {
  const message = messagePayload.parse({
    id: "1",
    channel_id: "2",
    author: { id: "3", username: "ann" },
    timestamp: "2026-05-01T12:00:00Z",
    message_snapshots: [{ message: { content: "said elsewhere" } }],
    poll: {
      question: { text: "Tea?" },
      answers: [{ poll_media: { text: "yes" } }, { poll_media: { text: "no" } }],
    },
    sticker_items: [{ name: "wave" }],
    embeds: [{ title: "News", description: "Rain.", fields: [{ name: "mm", value: "12" }] }],
  });
  const mine = ["[forwarded message]\nsaid elsewhere", "[poll] Tea?\n- yes\n- no", "[sticker wave]"];
  assert.deepEqual(besideText(message, false), mine);
  assert.deepEqual(besideText(message, true), [...mine, "News\nRain.\nmm: 12"]);
});
