import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { rejectionOf, type SummaryLimits } from "../../../src/compactor/summary/summary-checks.ts";
import { estimateTokens } from "../../../src/text/tokens.ts";

const WIDE: SummaryLimits = { capTokens: 10_000, sourceTokens: 10_000 };

function kindOf(text: string, finish: "stop" | "length" | "tool_calls" | "filtered" = "stop"): string | null {
  return rejectionOf({ text, finish }, WIDE)?.kind ?? null;
}

const DECLINED: readonly string[] = [
  "I'm sorry, but I can't help with that.",
  "I’m sorry, but I can’t assist with this request.",
  "I am very sorry, this is not possible.",
  "Sorry, I cannot summarise this conversation.",
  "Unfortunately, I am unable to process the transcript.",
  "My apologies, but I won't write that.",
  "I cannot summarize this content because it contains personal data.",
  "I'm unable to provide a summary of this chat.",
  "I can't do that.",
  "**I'm sorry**, but I can't continue.",
  "Summary: I cannot comply with this request.",
  "[Compaction Summary]: I'm sorry, but no.",
  "As an AI, I do not take part in this.",
  "As an AI language model, I cannot read chats.",
  "As a large language model I have no access to the messages.",
  "Es tut mir leid, aber das kann ich nicht zusammenfassen.",
  "Tut mir wirklich leid, das geht nicht.",
  "Leider kann ich diese Unterhaltung nicht zusammenfassen.",
  "Ich kann dabei leider nicht helfen.",
  "Als KI kann ich das nicht tun.",
  "Als Sprachmodell habe ich keinen Zugriff, ich bitte um Verständnis.",
  "Je suis désolé, mais je ne peux pas vous aider.",
  "Désolée, c'est impossible.",
  "Malheureusement, je ne peux pas résumer cette conversation.",
  "En tant qu'IA, je ne peux pas le faire.",
  "Lo siento, pero no puedo ayudar con eso.",
  "¡Lo siento! No es posible.",
  "No puedo resumir esta conversación.",
  "Como modelo de lenguaje, no tengo acceso.",
  "申し訳ございませんが、この会話を要約することはできません。",
  "申し訳ありませんが、お手伝いできません。",
  "すみません、それはできません。",
  "AIアシスタントとして、その要求には応じられません。",
  "この要約は作成できません。",
  "抱歉,我无法总结这段对话。",
  "很抱歉，我不能提供帮助。",
  "对不起，我无法协助。",
  "我无法为您总结这些内容。",
  "作为一个人工智能语言模型，我不能这样做。",
];

const SAID: readonly string[] = [
  "Ann asked for the door code. The assistant said: I'm sorry, but I can't help with that.",
  'Ben wrote "I cannot summarise this" and Ann laughed.',
  "The bot refused to write the letter; Ann wrote it herself on 2026-11-20.",
  "As an AI lab, the team decided to buy two servers.",
  "Sorry state of the tests: 14 fail on main. Ann takes them on Monday.",
  "Unfortunately the release slipped to Friday, because the build was red.",
  "I can't-miss events: the meetup on 3 December, the release on Friday.",
  "Als Kind wohnte Ben in Bonn; er sucht alte Fotos.",
  "Ich-Form ist nicht erwünscht: der Text bleibt sachlich.",
  "No hay decisiones nuevas; Ana prepara la reunión del lunes.",
  "Como siempre, la reunión es el martes a las 10.",
  "En tant que cheffe, Zoë a choisi le bleu.",
  "水曜日に会議。千早が資料を作る。申し訳ないと言った。",
  "AI研究会は水曜日に決定。",
  "讨论了周三的会议。Ann 说抱歉,她来不了。",
  "无线网络的密码在周三更换。",
  "作为负责人，Ann 决定周五发布。",
];

describe("a summary is refused", () => {
  for (const text of DECLINED) test(`as a rejection: ${text}`, () => assert.equal(kindOf(text), "refusal"));
  for (const text of SAID) test(`not: ${text}`, () => assert.equal(kindOf(text), null));

  test("not as a refusal where it has more to say", () => {
    const rest = "Ann decided on Friday that the release waits for issue #4312. ".repeat(12);
    assert.equal(kindOf(`I'm sorry, but I can't quote the key. ${rest}`), null);
    assert.equal(
      kindOf("I'm sorry, but I can't quote the key. Ann decided that the release waits."),
      "refusal",
    );
  });

  test("where it says nothing", () => {
    for (const text of [
      "",
      "  \n",
      "…",
      "---\n***",
      "👍",
      "[]: ()",
      "# Summary of the talk",
      "## A\n\n### B\n",
    ])
      assert.equal(kindOf(text), "empty");
    assert.equal(kindOf("# Release\nIt waits for Ann."), null);
    assert.equal(kindOf("#4711 waits for Ann."), null);
    for (const text of ["7", "é", "好"]) assert.equal(kindOf(text), null);
  });

  test("where it was cut off", () => {
    assert.equal(kindOf("Ann decided", "length"), "cut_off");
    assert.equal(kindOf("Ann decided", "filtered"), "cut_off");
    assert.equal(kindOf("", "filtered"), "cut_off");
    assert.equal(kindOf("Ann decided", "tool_calls"), null);
  });

  test("over its cap, and over 0.7 of its source, or all of it where that is summaries", () => {
    const text = "Ann decided it. ".repeat(20);
    const tokens = estimateTokens(text);
    const kind = (values: Partial<SummaryLimits> = {}) =>
      rejectionOf({ text, finish: "stop" }, { capTokens: tokens, sourceTokens: 10 * tokens, ...values })
        ?.kind ?? null;
    assert.equal(kind(), null);
    assert.equal(kind({ capTokens: tokens - 1 }), "over_cap");
    assert.equal(kind({ sourceTokens: tokens / 0.69 }), null);
    assert.equal(kind({ sourceTokens: tokens / 0.71 }), "inflated");
    assert.equal(kind({ sourceTokens: tokens, isDense: true }), null);
    assert.equal(kind({ sourceTokens: tokens - 1, isDense: true }), "inflated");
    assert.equal(
      rejectionOf({ text: "one two three", finish: "stop" }, { capTokens: 2, sourceTokens: 99 })?.kind,
      "over_cap",
    );
  });

  test("and the reason tells nothing of the text", () => {
    const limits = { capTokens: 1, sourceTokens: 1 };
    for (const text of ["secret ".repeat(40), "I'm sorry, secret"]) {
      assert.doesNotMatch(rejectionOf({ text, finish: "stop" }, limits)?.why ?? "secret", /secret/);
    }
  });
});
