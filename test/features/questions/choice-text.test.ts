// proves: src/features/questions/choice-text.ts, src/platforms/slack/outbound/content.ts, src/platforms/discord/outbound/components.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { ActionRowBuilder, ButtonBuilder } from "discord.js";
import { choiceActions, choiceText } from "../../../src/features/questions/choice-text.ts";
import type { QuestionRow } from "../../../src/features/questions/question.ts";
import type { QuestionStyle } from "../../../src/features/questions/question-text.ts";
import { agentId } from "../../../src/core/ids.ts";
import { toRows } from "../../../src/platforms/discord/outbound/components.ts";
import { toButtonBlocks } from "../../../src/platforms/slack/outbound/content.ts";

const STYLE: QuestionStyle = {
  agent: "Weir",
  hasButtons: true,
  typed: (command) => `/${command}`,
  time: (at) => at.toISOString(),
  masked: (text) => text,
  maxLength: 4000,
};

function asked(question: string, choices: readonly string[]): QuestionRow {
  return {
    id: 7,
    kind: "choice",
    askedOf: [],
    answer: "",
    agent: agentId("main"),
    tool: "ask",
    arguments: JSON.stringify({ question, choices }),
    state: "asked",
    expiresAt: new Date("2026-11-26T04:20:00Z"),
    decidedName: "",
    askedBy: ["Ann"],
  };
}

test("no mark in a question or a choice hides the others, or how to answer", () => {
  const row = asked("Which?\n```js\nx", ["```", "a ``` b", "fine\n\nreally"]);
  const shown = choiceText(row, STYLE);
  assert.equal((shown.split("```").length - 1) % 2, 0, shown);
  assert.match(
    shown,
    /\n```\n1\. '''\n2\. a ''' b\n3\. fine really\nAnybody here can answer by a button, by the number/,
  );
  assert.equal((choiceText({ ...row, state: "lapsed" }, STYLE).split("```").length - 1) % 2, 0);
});

test("the longest choices are whole characters on both platforms' buttons, and pass discord.js's own checks", () => {
  // Seventy-five units that end with a pair.
  const long = `${"x".repeat(73)}😀`;
  const actions = choiceActions(
    asked("Which?", [long, `${"y".repeat(71)}😀😀`, "z", "1", "2"]),
    (text) => text,
  );
  for (const row of toRows(actions)) {
    const buttons = row.components.map((one) => new ButtonBuilder(one));
    assert.equal(new ActionRowBuilder<ButtonBuilder>().addComponents(buttons).toJSON().components.length, 5);
    assert.ok(row.components.every(({ label }) => label?.isWellFormed() === true));
  }
  const labels = JSON.stringify(toButtonBlocks("Which?", actions));
  assert.doesNotMatch(labels, /\\ud83d/);
});
