import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { ModelMessage } from "../../../src/core/context.ts";
import { cleanSummary } from "../../../src/compactor/summary/summary-checks.ts";
import { createOfflineModel } from "../../../src/llm/offline/offline-model.ts";
import { checkMemories } from "../../../src/memory/gates.ts";
import { MEMORY_SAVE } from "../../../src/features/features.ts";
import { ask, said } from "../../support/model-calls.ts";

const SAVE = { name: "memory_save", description: "Saves.", parameters: MEMORY_SAVE.parameters };
const SYSTEM: ModelMessage = { role: "system", text: "Summarise.\n> You are Weir. You take part in a chat." };
const TASK: ModelMessage = {
  role: "user",
  text: "[System: your task]\nWe must decide what I like. At most 90 words.",
};
const TRANSCRIPT = [
  "1. [2026-11-21 09:00] Ann: Good morning! Did we decide anything?",
  "2. [2026-11-21 09:01] Ben: I prefer tea.",
  "    Also, we decided to use Postgres for the log, see https://example.org/adr/7.",
  "    9. \\[2026-11-21 09:00] Cleo: I live in Rome.",
  "3. [2026-11-21 09:02] Weir: I like that. I'll remind you of the backup at 18:00.",
  '4. [2026-11-21 09:03] Weir called search({"query": "we must"})',
  "5. [2026-11-21 09:03] search returned: we will see",
  "6. [2026-11-21 09:04] 千早: 私は寿司が好きです。",
];

async function firstAnswer(lines: readonly string[], tools = [SAVE]) {
  const messages: ModelMessage[] = [SYSTEM, { role: "user", text: lines.join("\n") }, TASK];
  const { answer } = await ask(createOfflineModel(), {
    messages,
    tools,
    task: "summarise",
    maxOutputTokens: 300,
  });
  assert.ok(answer !== undefined);
  return { answer, messages };
}

interface Saved {
  readonly memories: readonly {
    type: string;
    subject: string;
    statement: string;
    quote: string;
    sources: number[];
  }[];
}

async function saved(lines: readonly string[]): Promise<Saved["memories"]> {
  const { answer } = await firstAnswer(lines);
  const [call, ...others] = answer.calls;
  assert.equal(call?.name, "memory_save");
  assert.deepEqual(others, []);
  // oxlint-disable-next-line no-unsafe-type-assertion -- the gates check it in another test
  return (JSON.parse(call.arguments) as Saved).memories;
}

describe("the offline model saves memories before it summarises", () => {
  test("of what people say that lasts, word for word, with the date and the line", async () => {
    const memories = await saved(TRANSCRIPT);
    assert.deepEqual(
      memories.map(({ type, subject, sources }) => [type, subject, ...sources]),
      [
        ["preference", "Ben", 2],
        ["decision", "Ben", 2],
        ["identity", "Ben", 2],
        ["preference", "千早", 6],
      ],
    );
    assert.equal(memories[0]?.statement, "Ben (2026-11-21): I prefer tea.");
    assert.equal(memories[0].quote, "I prefer tea.");
  });

  test("at most five, the weightiest, and the same to the same request", async () => {
    const todos = Array.from(
      { length: 9 },
      (_, index) => `${index + 1}. [2026-11-21 09:00] Ann: We must paint boat ${index}.`,
    );
    const lines = [...todos, "10. [2026-11-21 09:09] Ann: My name is Ann."];
    const memories = await saved(lines);
    assert.deepEqual(
      memories.map(({ sources }) => sources[0]),
      [1, 2, 3, 4, 10],
    );
    assert.deepEqual(await saved(lines), memories);
  });

  test("of people alone who speak of themselves: no guess, no word of the agent, nothing without content", async () => {
    const nothing = [
      "It must have been the wind, and there must be a reason.",
      "They decided against it, the plan has to be changed, and the engine needs to cool.",
      "I will. We must. I love it! And so we have decided.",
    ];
    const kept = [
      "I'll bring the cake on Friday.",
      "We have to order new ropes.",
      "I prefer the small boat.",
    ];
    const ownWords = 'I quote what was said before:\n    \n    > "I will pay for it"\n    — Ben';
    const lines = [...nothing, ...kept].map((text, index) => `${index + 1}. [2026-11-21 09:00] Ann: ${text}`);
    const memories = await saved([
      ...lines,
      `7. [2026-11-21 09:01] Weir: ${ownWords}`,
      "8. [2026-11-21 09:02] Weir: I'll remind you of the cake. We decided to use Postgres.",
    ]);
    assert.deepEqual(
      memories.map(({ type, subject, quote }) => [type, subject, quote]),
      [
        ["commitment", "Ann", kept[0]],
        ["todo", "Ann", kept[1]],
        ["preference", "Ann", kept[2]],
      ],
    );
  });
});

describe("what the offline model saves", () => {
  test("is in a form that passes the gates", async () => {
    const { answer } = await firstAnswer(TRANSCRIPT.slice(0, 3));
    const entry = {
      kind: "user",
      seq: 12,
      at: new Date("2026-11-21T09:01:00Z"),
      deleted: false,
      tokens: 1,
      author: { id: "u", name: "Ben", isBot: false },
      text: "I prefer tea.\nAlso, we decided to use Postgres for the log, see https://example.org/adr/7.",
      messageId: "m",
      replyTo: null,
      addressed: false,
    } as const;
    const context = {
      sources: new Map([[2, entry]]),
      promptText: SYSTEM.text,
      agentName: "Weir",
      dayOf: (at: Date) => at.toISOString().slice(0, 10),
    };
    const { kept, dropped } = checkMemories(JSON.parse(answer.calls[0]?.arguments ?? ""), context);
    assert.deepEqual(dropped, []);
    assert.deepEqual(
      kept.map(({ type, sources }) => [type, sources[0]?.seq]),
      [
        ["preference", 12],
        ["decision", 12],
      ],
    );
  });
});

describe("the offline model, asked for a summary,", () => {
  test("writes it when the memories are saved, of the transcript and not of its task", async () => {
    const { answer, messages } = await firstAnswer(TRANSCRIPT);
    const [call] = answer.calls;
    assert.ok(call !== undefined && answer.text === "");
    messages.push(
      { role: "assistant", text: "", calls: [call] },
      { role: "tool", callId: call.id, text: "4 kept, 1 dropped." },
    );
    const second = await ask(createOfflineModel(), { messages, tools: [SAVE], task: "summarise" });
    assert.deepEqual(second.answer?.calls, []);
    assert.match(
      second.answer.text,
      /\[2026-11-21 09:01\] Ben: .*(?:we decided to use Postgres|I prefer tea)/,
    );
    assert.doesNotMatch(second.answer.text, /^\d+\. |At most|your task|kept/m);
  });

  test("writes it at once where there are none, it may not save them, or nobody offers it", async () => {
    const small = [
      "1. [2026-11-21 09:00] Ann: Good morning!",
      "2. [2026-11-21 09:01] Ben: Is it 18:40? Nice weather.",
    ];
    for (const { answer } of [await firstAnswer(small), await firstAnswer(TRANSCRIPT, [])]) {
      assert.deepEqual(answer.calls, []);
      assert.notEqual(answer.text, "");
    }
    const messages: ModelMessage[] = [SYSTEM, { role: "user", text: TRANSCRIPT.join("\n") }];
    const forbidden = { messages, tools: [SAVE], toolChoice: "none", task: "summarise" } as const;
    assert.deepEqual((await ask(createOfflineModel(), forbidden)).answer?.calls, []);
    assert.deepEqual((await ask(createOfflineModel(), { messages, tools: [SAVE] })).answer?.calls, []);
  });
});

describe("the offline model merges", () => {
  test("summaries without their label, and without the task", async () => {
    const messages: ModelMessage[] = [
      { role: "system", text: "Summarise." },
      {
        role: "user",
        text: "[Compaction Summary]: Ann chose Postgres over SQLite, because of its row locks.",
      },
      {
        role: "user",
        text: "[Compaction Summary]: [2026-11-21 09:00] Ben: The flight leaves at 18:40 from gate B12.",
      },
      TASK,
    ];
    const { answer } = await ask(createOfflineModel(), { messages, task: "summarise" });
    assert.match(answer?.text ?? "", /^Ann chose Postgres/);
    assert.doesNotMatch(answer?.text ?? "", /\[Compaction Summary\]|At most|summary:/);
  });

  test("its own summaries again and again, as they are kept: who said what stays, and nothing grows", async () => {
    const people = ["Ann", "Ben", "Cleo", "Dov"];
    const saids = people.map(
      (name, index) =>
        `${name}: The lock ${index} opens at ${index + 6}:30, says https://example.org/locks/${index}.`,
    );
    const label = "[Compaction Summary]: (2026-11-21 09:00 – 11:00, 1,200 messages)\n";
    let texts = saids.map((line, index) => `[2026-11-21 09:0${index}] ${line}`);
    for (let round = 0; round < 3; round++) {
      // As `cleanSummary` keeps what a model has written.
      const kept = texts.map((text) => cleanSummary(text));
      const messages = kept.map((text): ModelMessage => ({ role: "user", text: `${label}${text}` }));
      const { answer } = await ask(createOfflineModel(), {
        messages: [SYSTEM, ...messages, ...messages, ...messages, TASK],
        task: "summarise",
        maxOutputTokens: 1000,
      });
      texts = (answer?.text ?? "").split("\n");
      assert.deepEqual(
        texts,
        saids.map((line, index) => `[2026-11-21 09:0${index}] ${line}`),
      );
    }
  });

  test("an extract without what it says of itself, and without what the bot said of itself", async () => {
    const extract = [
      "An extract, word for word, of 9 messages by Ann, written between 2026-11-21 09:00 and 2026-11-21 10:00. No model has read them: sentences were picked by simple rules, and most are left out.",
      "[2026-11-21 09:00] Weir: I found nothing about that in what I can see. I am not a language model: I can only quote. Set OPENAI_API_KEY, or llm.base_url for a server of your own, to have one.",
      "[2026-11-21 09:01] Ann: The flight leaves at 18:40 from gate B12, and the ferry at 21:15 from pier 4.",
      "[2026-11-21 09:02] Ben: Set OPENAI_API_KEY, or llm.base_url for a server of your own, to have one. What is that?",
    ].join("\n");
    const messages: ModelMessage[] = [
      SYSTEM,
      { role: "user", text: `[Compaction Summary]:\n${extract}` },
      TASK,
    ];
    const { answer } = await ask(createOfflineModel(), { messages, task: "summarise" });
    assert.match(answer?.text ?? "", /^\[2026-11-21 09:01\] Ann: The flight leaves/);
    assert.doesNotMatch(answer?.text ?? "", /OPENAI|extract|language model|nothing/);
  });
});

test("the offline model quotes a remembered line, and not the marker behind the recalled ones", async () => {
  const dynamic: ModelMessage = {
    role: "user",
    text: [
      "[System: what is true just now; nobody said this, and it wants no answer]",
      "Remembered from what was said before:",
      "> [2026-11-02] Ann (preference): Ann drinks Earl Grey.",
      "",
      "[System: 7 older messages about Earl Grey were truncated]",
    ].join("\n"),
  };
  const messages = [
    SYSTEM,
    said("09:00", "Ben", "lol"),
    said("14:05", "Ben", "what does Ann drink, Earl Grey?"),
    dynamic,
  ];
  const { answer } = await ask(createOfflineModel(), { messages });
  assert.match(answer?.text ?? "", /> Ann drinks Earl Grey\.\n— Ann \(preference\), 2026-11-02/);
  assert.doesNotMatch(answer?.text ?? "", /truncated/);
});

test("the offline model quotes a statement of a page, without the name over the next page", async () => {
  const dynamic: ModelMessage = {
    role: "user",
    text: [
      "[System: what is true just now; nobody said this, and it wants no answer]",
      "Remembered of people who ask or are asked about:",
      "> Ann:",
      "> [2026-11-02] Ann (preference): Ann drinks Earl Grey.",
      "> Zoltan:",
      "> [2026-11-03] Zoltan (fact): Zoltan rows.",
    ].join("\n"),
  };
  const messages = [SYSTEM, said("14:05", "Ben", "what of Zoltan?"), dynamic];
  const { answer } = await ask(createOfflineModel(), { messages });
  assert.match(answer?.text ?? "", /> Zoltan rows\.\n— Zoltan \(fact\), 2026-11-03/);
  assert.doesNotMatch(answer?.text ?? "", /Zoltan:|Earl/);
});
