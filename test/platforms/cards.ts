import fc from "fast-check";
import type { Card } from "../../src/core/card.ts";
import { anyCharacter } from "../support/any-character.ts";

/** A card of a nearly full channel, with all kinds of parts. */
export const CARD: Card = {
  title: "#river-watch · agent weir · model some-model",
  summary: "86 % of 11,904 usable tokens: high",
  tone: "warning",
  bar: {
    share: 0.86,
    marks: [
      { label: "background 80 %", share: 0.8 },
      { label: "aggressive 85 %", share: 0.85 },
      { label: "emergency 95 %", share: 0.95 },
    ],
  },
  fields: [
    { label: "window", value: "16,000, of which 4,096 are kept for the answer" },
    { label: "compactions so far", value: "3 background, 1 aggressive" },
  ],
  lists: [{ label: "cost by type", lines: ["history 9,210", "system 640"] }],
  text: "```\n#river-watch · agent weir · model some-model\n\n  86 % of 11,904 usable tokens: high\n```",
};

/** What people and their tools put into names: markup of each platform, wide and joined characters, controls, halves of pairs. */
const WORDS = fc.oneof(
  fc.constantFrom(
    "",
    " ",
    "\u200b",
    "\0",
    "\ud83d",
    "\u001b[31m",
    "河川の水位",
    "👩‍👩‍👧‍👦",
    "\u202egnp.exe",
    "&amp;<!channel>",
    "<@123> @everyone",
    "[click](https://example.org)",
    "``````",
    "*_~|>#-\\",
    "& < >",
    "\n\n",
  ),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
);
const NAME = fc
  .tuple(fc.array(WORDS, { maxLength: 6 }), fc.constantFrom(1, 1, 1, 400))
  .map(([words, times]) => words.join(" ").repeat(times));
const SHARE = fc.oneof(fc.double({ min: -1, max: 3, noNaN: false }), fc.constantFrom(0, 1));

/** Any card, huge and malformed ones among them. */
export const ANY_CARD: fc.Arbitrary<Card> = fc.record({
  title: NAME,
  summary: NAME,
  tone: fc.constantFrom("calm", "warning", "critical"),
  bar: fc.record({
    share: SHARE,
    marks: fc.array(fc.record({ label: NAME, share: SHARE }), { maxLength: 5 }),
  }),
  fields: fc.array(fc.record({ label: NAME, value: NAME }), { maxLength: 60 }),
  lists: fc.array(fc.record({ label: NAME, lines: fc.array(NAME, { maxLength: 80 }) }), { maxLength: 30 }),
  text: NAME,
});

/** Cards are large: to make a failing one smaller takes minutes. */
export const AS_IT_IS = { endOnFailure: true };
