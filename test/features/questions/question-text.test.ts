import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isShownWhole,
  outcomeOf,
  questionActions,
  questionText,
  type QuestionStyle,
} from "../../../src/features/questions/question-text.ts";
import { agentId } from "../../../src/core/ids.ts";
import { toDiscord } from "../../../src/platforms/discord/outbound/content.ts";
import { unescapeText } from "../../../src/platforms/slack/inbound/readable-text.ts";
import { MAX_SECTION } from "../../../src/platforms/slack/outbound/content.ts";
import { fitMrkdwn } from "../../../src/platforms/slack/outbound/mrkdwn.ts";
import type { QuestionRow } from "../../../src/features/questions/question.ts";

const APPROVAL: QuestionRow = {
  id: 7,
  kind: "approval",
  askedOf: [],
  answer: "",
  agent: agentId("main"),
  tool: "note",
  arguments: '{"text":"buy milk"}',
  state: "open",
  expiresAt: new Date("2026-11-26T04:20:00Z"),
  decidedName: "",
  askedBy: ["Ann"],
};
const STYLE: QuestionStyle = {
  agent: "Weir",
  hasButtons: false,
  typed: (command) => `/weir ${command}`,
  time: (at) => at.toISOString(),
  masked: (text) => text.replaceAll("hunter22", "•••"),
  maxLength: 4000,
};

test("a question says what is asked, by whom, until when, and what to type where there are no buttons", () => {
  assert.equal(
    questionText(APPROVAL, STYLE),
    '#7: Weir asks for an approval, to use the tool note.\n```\ntool: note\nasked by: Ann\n{"text":"buy milk"}\n```\n' +
      "Approvers type /weir approve 7, /weir approve 7 always (from now on, with exactly these arguments) or /weir deny 7 REASON. " +
      "Without a decision by 2026-11-26T04:20:00.000Z it counts as denied.",
  );
  assert.match(
    questionText(APPROVAL, { ...STYLE, hasButtons: true }),
    /\nApprovers press a button, or type \/weir approve 7 or \/weir deny 7 REASON\. Without/,
  );
});

test("what people and models wrote ends no code block, mentions nobody, hides nothing, and tells no secret", () => {
  const evil = {
    ...APPROVAL,
    arguments: `{"text":"\`\`\`\u001b[2J\u202e hunter22 ${"x".repeat(5000)}"}`,
    askedBy: ["@everyone```"],
  };
  const words = questionText(evil, STYLE);
  assert.equal(words.match(/```/g)?.length, 2);
  assert.ok(!words.includes("\u001b") && !words.includes("\u202e") && !words.includes("hunter22"));
  assert.match(words, /… and 3,8\d\d characters more: \/weir approvals 7\n```/);
  assert.ok(words.length < 2000);
  assert.ok(questionText(evil, { ...STYLE, maxLength: 900 }).length <= 900);
  const decided = questionText({ ...evil, state: "denied", decidedName: "<@123> *@here*" }, STYLE);
  assert.match(decided, /^#7: Denied by 123 here\.\n```/);
});

test("on each platform the arguments stand there as they were written down", () => {
  const json = JSON.stringify({
    text: `p\u0430y\u202e <!channel> <https://a.example|b> ||c|| @everyone && ${"<&>".repeat(300)}`,
  });
  const style = { ...STYLE, hasButtons: true, maxLength: 1900 };
  const words = questionText({ ...APPROVAL, arguments: json }, style);
  assert.match(
    words,
    /p\\u\{430\}y\\u\{202E\} <!channel> <https:\/\/a\.example\|b> \|\|c\|\| @everyone && <&>/,
  );
  assert.match(
    words,
    /\nNot all of it is shown here: \/weir approvals 7 shows the rest\. Approvers press a button/,
  );
  assert.deepEqual(toDiscord(words), { content: words, users: [] });
  const slack = fitMrkdwn(words, new Map(), MAX_SECTION);
  assert.ok(slack.length <= MAX_SECTION);
  assert.equal(unescapeText(slack), words);
  assert.doesNotMatch(slack, /<[!@h]/);
});

test("nobody allows unawares what is not shown", () => {
  const long = { ...APPROVAL, arguments: JSON.stringify({ text: "x".repeat(2000) }) };
  assert.equal(isShownWhole(APPROVAL, STYLE), true);
  assert.equal(isShownWhole(long, STYLE), false);
  assert.deepEqual(
    questionActions(long, false).map(({ label, command, argument }) => `${label}: ${command} ${argument}`),
    [
      "Show all: approvals 7",
      "Allow once (not all is shown): approve 7",
      "Allow from now on (not all is shown): approve 7 always",
      "Deny: deny 7",
      "Deny with a reason …: deny 7",
    ],
  );
});

test("names carry no tricks", () => {
  const words = questionText({ ...APPROVAL, tool: "n\u043ete\u202e```", askedBy: ["\u0410nn\u2066"] }, STYLE);
  assert.match(
    words,
    /\ntool: n\\u\{43E\}te\\u\{202E\}\\u\{60\}\\u\{60\}\\u\{60\}\nasked by: \\u\{410\}nn\n/,
  );
  assert.doesNotMatch(words, /[\u202e\u2066\u043e\u0410]/);
});

test("an outcome has no buttons, and what was taken back is shown no more", () => {
  assert.equal(
    questionText({ ...APPROVAL, state: "void", arguments: "" }, STYLE),
    `#7: ${outcomeOf({ state: "void", decidedName: "" })}`,
  );
  assert.equal(outcomeOf({ state: "running", decidedName: "Ben" }), "Allowed by Ben.");
  assert.equal(outcomeOf({ state: "done", decidedName: "" }), "Allowed.");
  assert.deepEqual(questionActions({ id: 7, state: "expired" }), []);
  assert.deepEqual(
    questionActions(APPROVAL).map(({ command, argument }) => `${command} ${argument}`),
    ["approve 7", "approve 7 always", "deny 7", "deny 7"],
  );
});
