// proves: src/memory/recall-memories.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { asksForPast } from "../../src/memory/recall-memories.ts";

const TODAY = "2026-11-21";

for (const text of [
  "Where did Ann live before?",
  "Does Ann still live in Berlin?",
  "has the deploy been changed?",
  "Where does Ann live, since she has moved?",
  "What was the plan for May 2026?",
  "What is known of 7 May 2026?",
  "Wo hat Ann früher gewohnt?",
  "Wohnt Ann nicht mehr in Köln?",
  "Où habitait Anne avant ?",
  "¿Dónde vivía Ana antes?",
  "Где Анна жила раньше?",
  "アンは以前どこに住んでいましたか？",
  "安以前住在哪里？",
  "앤은 전에 어디에 살았어요?",
])
  test(`asks for the past: ${text}`, () => assert.equal(asksForPast(text, TODAY), true));

for (const text of [
  "Where does Ann live?",
  "What does Ann plan for next week?",
  "Wo wohnt Ann?",
  "Où habite Anne ?",
  "アンはどこに住んでいますか？",
  "She lived in Berlin before.",
  "When is the release on 3 December 2026?",
])
  test(`does not ask for the past: ${text}`, () => assert.equal(asksForPast(text, TODAY), false));
