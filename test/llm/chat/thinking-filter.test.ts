import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { ThinkingFilter } from "../../../src/llm/chat/thinking-filter.ts";

function filtered(pieces: readonly string[]): string {
  const filter = new ThinkingFilter();
  let shown = "";
  for (const piece of pieces) {
    const { text, voided } = filter.push(piece);
    shown = voided ? text : shown + text;
  }
  const end = filter.end();
  return end.voided ? end.text : shown + end.text;
}

const cases: readonly (readonly [text: string, visible: string])[] = [
  ["Hello", "Hello"],
  ["  indented", "  indented"],
  ["<think>a</think>b", "b"],
  ["\n<thinking>a\n</thinking>\n\n b", "b"],
  ["<think></think><think>two</think>c", "c"],
  ["<think>never closed", ""],
  ["<thi", "<thi"],
  ["<b>bold</b>", "<b>bold</b>"],
  ["The tag `</think>` closes it.", "The tag `</think>` closes it."],
  ["text <think>quoted</think> text", "text <think>quoted</think> text"],
  ["thought\n</think>\n\nsaid", "said"],
  ["ends with\n</thi", "ends with\n</thi"],
  // A closing mark alone (openclaw's issue 17455, SGLang's 26873).
  ["I should greet.</think>\n\nHello", "Hello"],
  ["I should greet.</think>Hello", "Hello"],
  ["I should greet. </think> Hello", "Hello"],
  ["</think>\n\nHello", "Hello"],
  ["One.\nTwo.</thinking>\nHello `x`", "Hello `x`"],
  ["hm</thought>Hello", "Hello"],
  ["hm</reasoning>\nHello", "Hello"],
  ["hm</seed:think>Hello", "Hello"],
  ["hm◁/think▷Hello", "Hello"],
  ["hm[/THINK]Hello", "Hello"],
  ["hm</think>draft, no.</think>\nHello", "Hello"],
  ['He says "hi".</think>"Hi," I say', '"Hi," I say'],
  ["They ask about `</think>` here.</think>\n\nHello", "Hello"],
  ["only thoughts</think>", ""],
  ["She says `hi' to us.</think>\n\nHello", "Hello"],
  ["One ` tick.</think>Hello", "Hello"],
  ["See `<think>` and ` so.</think>\nHello", "Hello"],
  // Elements that somebody asked for.
  ...[
    'Put this into the file:\n<config>\n  <reflection enabled="true"/>\n</config>\nThen restart.',
    'Add\n  <reasoning effort="low" />\nto the file, then restart the daemon.',
    "Fill in:\n<reflection>\nWhat went well?\n</reflection>\nThen send.",
    "[READ] Page 4.\n[THINK] What does the author mean?\n[WRITE] Two sentences.\n\nGood luck!",
    "Mistral writes [THINK] before its thoughts. The rest is as usual.",
  ].map((said): [string, string] => [said, said]),
  // All envelopes.
  ["<thought>a</thought>b", "b"],
  ["<thoughts>\na\n</thoughts>\nb", "b"],
  ["<reasoning>a</reasoning>\n\nb", "b"],
  ["<Thinking>a</Thinking>b", "b"],
  ["<think time='3'>a</think>b", "b"],
  ["<thinking>a</think>b", "b"],
  ["<thinking>a</thinking>b", "b"],
  ["<seed:think>a</seed:think>b", "b"],
  ["<|think|>a<|/think|>b", "b"],
  ["◁think▷a◁/think▷b", "b"],
  ["[THINK]a[/THINK]b", "b"],
  ["<|begin_of_thought|>a<|end_of_thought|><|begin_of_solution|>b<|end_of_solution|>", "b"],
  ["<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>", "b"],
  ["<|channel>thought\na<channel|>b", "b"],
  // gpt-oss through servers that do not read its channels (vLLM's issue 32587, imp's pull request 768, macprovider's issue 743).
  [
    "<|channel|>analysis<|message|>We say hi.<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
    "Hello",
  ],
  [
    "<|start|>assistant<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
    "b",
  ],
  ["We say hi.<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>", "Hello"],
  ["<|channel|>final<|message|>Hello", "Hello"],
  [
    "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
    "",
  ],
  ["<|channel|>final<|message|>Hello<|end|><|start|>assistant<|channel|>analysis<|message|>more", "Hello"],
  ['analysisWe need to answer "four".assistantfinalfour', "four"],
  // Between paragraphs, too.
  ["Sure.\n<think>\nHow?\n</think>\nSo.", "Sure.\n\nSo."],
  ["Sure. <think>I say it.</think>\n\nHello", "Sure. \n\nHello"],
  ["Sure.\n<think>\nnever closed", "Sure.\n"],
  ["<think>a <think>b</think> c</think>\nd", "d"],
  // What only mentions a mark stays.
  ["The tag </think> closes it.", "The tag </think> closes it."],
  ["It ends with </think>.", "It ends with </think>."],
  ["Write </think>, then answer", "Write </think>, then answer"],
  ['It says "</think>" there', 'It says "</think>" there'],
  ["(as in </think>)", "(as in </think>)"],
  ["Write “</think>” there", "Write “</think>” there"],
  ["use **</think>** here", "use **</think>** here"],
  ["Write `<think>x</think>`\nand go on", "Write `<think>x</think>`\nand go on"],
  ["Write ``a ` </think>`` so", "Write ``a ` </think>`` so"],
  ["```xml\n<think>\nx\n</think>\n```\nSo.", "```xml\n<think>\nx\n</think>\n```\nSo."],
  ["- list:\n  ~~~\n  </think>\n  ~~~\nSo.", "- list:\n  ~~~\n  </think>\n  ~~~\nSo."],
  ["> quoted </think>\n\nSo.", "> quoted </think>\n\nSo."],
  ["| mark | use |\n| </think> | ends |\n", "| mark | use |\n| </think> | ends |\n"],
  ['Say "<think>hm</think>" so.', 'Say "<think>hm</think>" so.'],
  ["The tag <think> opens it", "The tag <think> opens it"],
  ["`[THINK]` and `[/THINK]` are Mistral's", "`[THINK]` and `[/THINK]` are Mistral's"],
  ["`<|channel|>final<|message|>` is gpt-oss's", "`<|channel|>final<|message|>` is gpt-oss's"],
  // What only looks like one.
  ["a < b and c <d and [x] <| y", "a < b and c <d and [x] <| y"],
  ["analysis of it", "analysis of it"],
  ["analysisResult is a name", "analysisResult is a name"],
  ["analysis", "analysis"],
  ["<thinker>b</thinker>", "<thinker>b</thinker>"],
  ["x <|return|> y", "x <|return|> y"],
  ["<think>a</think>Use `<|return|>` there", "Use `<|return|>` there"],
  ["[Think] of it", "[Think] of it"],
];

describe("the thinking filter", () => {
  for (const [text, visible] of cases) {
    test(`shows ${JSON.stringify(visible)} of ${JSON.stringify(text)}`, () => {
      assert.equal(filtered([text]), visible);
    });
  }

  test("shows the same however the text is cut into pieces", () => {
    const text = fc.constantFrom(...cases.map(([whole]) => whole));
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 8 })), (whole, sizes) => {
        const pieces: string[] = [];
        let from = 0;
        for (const size of sizes) {
          pieces.push(whole.slice(from, from + size));
          from += size;
        }
        assert.equal(filtered([...pieces, whole.slice(from)]), filtered([whole]));
      }),
    );
  });
});

test("blanks without an end take no longer each, the more there are, and stay what they were", () => {
  const blanks = Array.from({ length: 120_000 }, () => "\n");
  const startedAt = process.cpuUsage();
  assert.equal(filtered([...blanks, "said"]), `${blanks.join("")}said`);
  assert.equal(filtered(blanks), blanks.join(""));
  assert.equal(filtered([" ", "<thi", "nk>a</think>", "\n", " b"]), "b");
  const ms = process.cpuUsage(startedAt).user / 1000;
  assert.ok(ms < 3000, `${ms} ms`);
});

test("marks without an end take no longer each, the more there are", () => {
  const startedAt = process.cpuUsage();
  for (const piece of [
    "`<think>` ",
    "<think> a </think> b ",
    "<think>",
    "<|channel|>analysis ",
    "< <[<",
    "</think> x",
  ]) {
    const pieces = Array.from({ length: 5000 }, () => piece);
    for (const head of ["", "so. "]) filtered([head, ...pieces]);
  }
  const ms = process.cpuUsage(startedAt).user / 1000;
  assert.ok(ms < 10_000, `${ms} ms`);
});
