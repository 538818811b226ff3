import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { isTalk, saysTooLittle, withoutOffer } from "../../../src/compactor/summary/not-a-summary.ts";
import { wordsOf } from "../../../src/compactor/summary/source.ts";
import { atOnce } from "../../support/at-once.ts";
import { line } from "./source-lines.ts";

const PEOPLE = new Set(["Ann", "Ben Miller", "千早"]);
const GATE = atOnce(
  wordsOf([
    line("Ann", "Which colour for the garden gate? The old paint is coming off since the storm."),
    line("Ben Miller", "Green would hide the rust, red goes well with the white windows."),
    line("Ann", "The shop has both, a can is 34 €. I can fetch one on Saturday and bring brushes."),
  ]),
);

const ANSWERS: readonly string[] = [
  "Sure! I would paint it red, because red goes well with the white windows.",
  "Sure! I'd go with red. It looks warm.",
  "As an AI, I have no taste, but your windows are white, so I'd suggest red.",
  "That sounds like a lovely project! What would you like the mood of your entrance to be? I can suggest palettes.",
  "Great question! You should sand the rust first. Then I recommend two coats of primer.",
  "Gerne! Ich würde das Tor rot streichen. Soll ich dir eine Einkaufsliste machen?",
  "Du solltest es rot streichen, dann passt es zu den Fenstern.",
  "Bien sûr ! Je peindrais le portail en rouge. Voulez-vous une liste de courses ?",
  "もちろんです！私なら赤に塗ります。リストをお作りしましょうか？",
  "当然可以！我建议刷成红色。你需要我列一个购物清单吗？",
];

const SUMMARIES: readonly string[] = [
  "Ann asks which colour the garden gate should have. Ben Miller prefers red to green. Ann fetches paint on Saturday.",
  'Ann asked: "Would you paint it red?" Ben Miller answered: "I would paint it green."',
  "The gate is to be painted red or green; the paint costs 34 €.",
  "Sure! Here is what was said: Ann asks for a colour, and Ben Miller prefers red to green.",
  "I ragazzi parlano del cancello e il colore non è deciso, ma i prezzi sono noti: 34 €.",
  "Le groupe parle du portail et du prix. La couleur du mur reste ouverte. Le coût du pot est de 34 €.",
  "The coal mine is closed since the storm. Its pumps are sold.",
  "Ann fragt nach der Farbe des Tors. Ben Miller ist für Rot. Ann holt am Samstag Farbe.",
  "千早は門の色を尋ねた。赤に決まった。",
  "Ann möchte das Tor streichen und bittet Ben Miller: bring mir deine Pinsel mit.",
];

suite("an answer to the people of a chat", () => {
  for (const text of ANSWERS)
    test(`is no summary: ${text}`, () => assert.equal(isTalk(text, GATE, PEOPLE), true));
  for (const text of SUMMARIES)
    test(`is not: ${text}`, () => assert.equal(isTalk(text, GATE, PEOPLE), false));

  test("is not a diary that is told in its own words, in the first person", () => {
    const diary = line(
      "Ann",
      "I walked to the harbour and sold my boat. My knee hurts, I will rest on Sunday.",
    );
    const words = atOnce(wordsOf([diary]));
    const told = "I walked to the harbour and sold my boat. My knee hurts. I will rest on Sunday.";
    assert.equal(isTalk(told, words, new Set(["Ann"])), false);
    assert.equal(isTalk(`Sure! ${told}`, words, new Set(["Ann"])), true);
  });

  test("is recognised by its beginning however long it is", () => {
    assert.equal(isTalk("I would ask you for your wishes. ".repeat(5000), GATE, PEOPLE), true);
  });
});

suite("an offer at the end of a summary", () => {
  const told = "Ann paints the gate red.";

  test("is left out, and nothing else", () => {
    assert.equal(withoutOffer(`${told} Let me know if you need more details!`), told);
    assert.equal(withoutOffer(`${told}\n\nWould you like me to go on?`), told);
    assert.equal(withoutOffer(told), told);
    assert.equal(withoutOffer("Let me know if you need more."), "Let me know if you need more.");
  });

  test("stays where somebody has made it", () => {
    for (const text of [
      `${told} Ben asked: "Would you like tea?"`,
      `${told} Ben will let Ann know whether there is anything else.`,
    ])
      assert.equal(withoutOffer(text), text);
  });
});

suite("a summary that says next to nothing", () => {
  const topics =
    "harbour lantern budget release kettle bridge window garden ticket engine sailor market winter recipe".split(
      " ",
    );
  const adjectives = "red old wide cold green early empty broken second heavy narrow quiet".split(" ");
  const talk = Array.from({ length: 51 }, (_, index) => {
    const topic = `${topics[index % 14]}${topics[(index * 3) % 13]}`;
    return line(
      index % 2 === 0 ? "Ann" : "Ben",
      `${topic} near ${adjectives[index % 12]} ${topic}side${topics[index % 11]}, ${topic}house${topics[index % 13]}`,
    );
  });

  test("is one of twelve tokens for 51 messages about many things", () => {
    const words = atOnce(wordsOf(talk));
    assert.ok(words.size > 130, `${words.size} words`);
    assert.equal(saysTooLittle("Ann and Ben talked about things.", words), true);
    assert.equal(
      saysTooLittle(`Ann and Ben talked about the ${topics.join(", ")}, and about what each costs.`, words),
      false,
    );
  });

  test("is none for 51 messages that say nothing themselves", () => {
    const words = atOnce(wordsOf(Array.from({ length: 51 }, () => line("Ann", "ok"))));
    assert.equal(saysTooLittle("Ann agrees.", words), false);
  });
});
