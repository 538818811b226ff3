import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { assemble, type Pruning, stubbedTo } from "../../src/context/assemble.ts";
import { estimateMessage } from "../../src/context/render.ts";
import { formFaults, templateText } from "../support/request-form.ts";
import { usageOf } from "../../src/context/usage.ts";
import type { Context } from "../../src/core/context.ts";
import { contextRequest } from "../../src/core/context-request.ts";
import { omit } from "../../src/core/history.ts";
import { assertPaired, budgetOf, defaultAgent, sourcesOf } from "./agent.ts";
import { anySteps, Conversation, type Seen } from "./conversation.ts";
import { fitContext } from "../../src/context/emergency.ts";

const steps = anySteps({ maxLength: 60, longest: 300 });

const cutting = anySteps({ maxLength: 60, longest: 300, isCut: true });

/** What the next request begins with, as a template would write it. */
function stableText(context: Context): string {
  const { messages, stableEnds } = contextRequest(context);
  const end = stableEnds.at(-1);
  assert.ok(end !== undefined);
  const last = messages[end.message];
  assert.ok(last !== undefined);
  const cut = { ...last, text: last.text.slice(0, end.length) };
  return JSON.stringify(context.tools) + templateText([...messages.slice(0, end.message), cut]);
}

function wholeText(context: Context): string {
  return JSON.stringify(context.tools) + templateText(contextRequest(context).messages);
}

function lastOf(talk: Conversation): Seen {
  const seen = talk.seen.at(-1);
  assert.ok(seen !== undefined);
  return seen;
}

/** A conversation of turns that each called a tool with a long result. */
function longResults(count: number): Conversation {
  const talk = new Conversation();
  for (let turn = 0; turn < count; turn++) {
    talk.say(`question ${turn}`, { addressed: true });
    talk.begin();
    talk.call(["{}"], `${turn} found `.repeat(80));
    talk.settle("answer", `answer ${turn}`);
  }
  talk.say("the last question", { addressed: true });
  talk.begin();
  return talk;
}

function stubs(context: Context): number {
  return contextRequest(context).messages.filter(({ text }) => text.includes("characters in all]")).length;
}

describe("a context", () => {
  test("goes from the most to the least stable part, and ends with what the turn has done", () => {
    const talk = new Conversation();
    talk.say("hello there", { author: 1 });
    talk.say("@bot what did Ben say?", { addressed: true });
    talk.begin();
    talk.call(['{"query":"Ben"}'], "hello there");
    const context = assemble(sourcesOf(lastOf(talk)));
    assert.deepEqual(
      context.segments.map(({ key, count }) => [key, count]),
      [
        ["tools", defaultAgent().tools.length],
        ["system", 1],
        ["summaries", 0],
        ["history", 1],
        ["due", 1],
        ["dynamic", 1],
        ["turn", 2],
      ],
    );
    const messages = contextRequest(context).messages;
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["system", "user", "assistant", "tool"],
    );
    assert.match(
      messages[1]?.text ?? "",
      /^\[2026-11-21 14:06\] Ben: hello there\n\[14:07\] Ann: @bot what did Ben say\?\n\[System: .*\nTime: Saturday 2026-11-21 20:00 UTC\n.*\n> Place: "?general"? on/s,
    );
    assert.equal(messages[3]?.text, "hello there\n1. [2026-11-21 14:05] Ann: hello there");
  });

  test("has no clock in its stable part, and shows summaries, but not a reset, as summaries", () => {
    const talk = new Conversation();
    talk.say("now", { addressed: true });
    talk.begin();
    const { history, turn } = lastOf(talk);
    const span = {
      messages: 1200,
      firstAt: new Date("2026-11-19T10:00:00Z"),
      lastAt: new Date("2026-11-21T18:20:00Z"),
    };
    const base = { span, level: 0, tokens: 9, fromSeq: 1, toSeq: 1, needsRedo: false };
    const summaries = [
      { ...base, kind: "reset" as const, text: "" },
      { ...base, kind: "model" as const, text: "Ann likes tea." },
    ];
    const bytes = stableText(assemble(sourcesOf({ history: { ...history, summaries }, turn })));
    assert.match(
      bytes,
      /\[Compaction Summary\]: \(2026-11-19 10:00 – 11-21 18:20, 1,200 messages from #1\) Ann likes tea\./,
    );
    const [explained, shown, ...more] = bytes.split("[Compaction Summary]: (");
    assert.match(explained ?? "", /`\[Compaction Summary\]:` comes from Weir, too\..*`search_history`/);
    assert.ok(shown !== undefined && more.length === 0, "a reset is not shown");
    assert.doesNotMatch(bytes, /20:00/);
  });
});

describe("pictures", () => {
  test("are shown with their own messages, also behind a note that shows nothing since its message was deleted", () => {
    const talk = new Conversation();
    talk.say("the plan");
    talk.say("@bot what is this?", { addressed: true });
    talk.run([{ do: "edit", text: "" }]);
    talk.say("@bot mine [image cat.png]", { addressed: true, author: 1 });
    talk.say("@bot and whose is that?", { addressed: true });
    talk.say("@bot mine, too [image dog.png]", { addressed: true, author: 1 });
    talk.begin();
    const [cat, dog] = ["CAT", "DOG"].map((base64) => [{ type: "image/png", base64 }]);
    const images = [
      { messageId: "m4", images: cat ?? [] },
      { messageId: "m6", images: dog ?? [] },
    ];
    const context = assemble({ ...sourcesOf(lastOf(talk)), images });
    const due = context.segments.find(({ key }) => key === "due");
    assert.deepEqual(
      due?.messages.map((message) => [
        /image \w+/.exec(message.text)?.[0],
        message.role === "user" ? message.images : null,
      ]),
      [
        [undefined, undefined],
        ["image cat", cat],
        [undefined, undefined],
        ["image dog", dog],
      ],
    );
  });
});

describe("what stands between roles that would not take turns", () => {
  const textsOf = (talk: Conversation): string[] =>
    contextRequest(assemble(sourcesOf(lastOf(talk))))
      .messages.slice(1)
      .map(({ role, text }) => `${role}: ${text.split("\n[System: what is true")[0]}`);

  test("is the program's line before an answer that nothing stands before", () => {
    const talk = new Conversation();
    talk.say("hello", { addressed: true });
    talk.begin();
    talk.settle("answer", "Good morning.");
    talk.cut(1);
    talk.say("what now?", { addressed: true });
    talk.begin();
    assert.deepEqual(textsOf(talk), [
      "user: [System: what you see of this chat begins here]",
      "assistant: Good morning.",
      "user: [2026-11-21 14:08] Ann: what now?",
    ]);
  });

  test("is a line of the assistant behind the calls of a turn that it did not answer", () => {
    const talk = new Conversation();
    talk.say("look", { addressed: true });
    talk.begin();
    talk.call(["{}"], "nothing");
    talk.settle("fail", "");
    talk.say("well?", { addressed: true });
    talk.begin();
    assert.deepEqual(
      textsOf(talk).map((text) => text.split("\n")[0]),
      [
        "user: [2026-11-21 14:06] Ann: look",
        "assistant: ",
        "tool: nothing",
        "assistant: (no answer)",
        "user: [14:10] Ann: well?",
      ],
    );
  });
});

describe("a context of any conversation", () => {
  test("has the form that strict templates take, whatever was said, called, cut and left unanswered", () => {
    fc.assert(
      fc.property(cutting, (all) => {
        for (const seen of new Conversation().run(all).seen) {
          const messages = contextRequest(assemble(sourcesOf(seen))).messages;
          assert.deepEqual(formFaults(messages), []);
          assertPaired(messages);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("counts what it sends, segment by segment, and never too little", () => {
    fc.assert(
      fc.property(cutting, (all) => {
        for (const seen of new Conversation().run(all).seen) {
          const context = assemble(sourcesOf(seen));
          const { segments, tokens } = context;
          assert.equal(
            tokens,
            segments.reduce((sum, segment) => sum + segment.tokens, 0),
          );
          const spoken = segments.filter(({ key }) => key !== "tools");
          for (const { messages, count } of spoken) assert.equal(count, messages.length);
          const counted = spoken.reduce((sum, segment) => sum + segment.tokens, 0);
          const sent = contextRequest(context).messages.reduce(
            (sum, message) => sum + estimateMessage(message),
            0,
          );
          const pieces = spoken.reduce((sum, { count }) => sum + count, 0);
          // Each piece is rounded up.
          assert.ok(counted >= sent && counted <= sent + pieces * 2, `${counted} for ${sent}`);
        }
      }),
    );
  });

  test("keeps its stable part from one call to the next, and only adds to it", () => {
    fc.assert(
      fc.property(steps, (all) => {
        let before: { readonly text: string; readonly whole: string; readonly turn: number } | null = null;
        for (const seen of new Conversation().run(all).seen) {
          const context = assemble(sourcesOf(seen));
          const whole = wholeText(context);
          assert.ok(before === null || whole.startsWith(before.text));
          // Between the calls of a turn all of it stays.
          assert.ok(before === null || before.turn !== seen.turn.id || whole.startsWith(before.whole));
          before = { text: stableText(context), whole, turn: seen.turn.id };
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("usage", () => {
  test("is counted for usage as if nothing were omitted", () => {
    const talk = longResults(3);
    const seen = lastOf(talk);
    const left = { ...seen, history: omit(seen.history, 8) };
    const budget = budgetOf(10_000, 2000);
    const context = assemble(sourcesOf(left));
    assert.ok(left.history.omission !== null);
    assert.equal(
      usageOf(context, left.history, budget),
      (context.tokens + left.history.omission.tokens) / 8000,
    );
    assert.match(
      contextRequest(context)
        .messages.map(({ text }) => text)
        .join("\n"),
      /\[System: 8 older messages were truncated/,
    );
  });
});

describe("old tool results", () => {
  test("become stubs from the next turn on, and stay whole in the running one", () => {
    const talk = longResults(2);
    talk.call(["{}"], "this turn found ".repeat(80));
    const seen = lastOf(talk);
    assert.equal(stubs(assemble(sourcesOf(seen))), 2);
  });
});

const RESULT = "a long result, which nobody needs to read for ever. ".repeat(30);

/** Turns that each call so many tools. */
function turns(calls: readonly number[]): readonly Seen[] {
  const talk = new Conversation();
  for (const [number, count] of calls.entries()) {
    talk.say(`question ${number}`, { addressed: true });
    talk.begin();
    if (count > 0)
      talk.call(
        Array.from({ length: count }, () => "{}"),
        RESULT,
      );
    talk.settle("answer", `answer ${number}`);
  }
  return talk.seen;
}

function stable(context: Context): string[] {
  return context.segments
    .filter(({ key }) => key === "system" || key === "history")
    .flatMap(({ messages }) => messages.map((message) => JSON.stringify(message)));
}

function shortIn(context: Context): number {
  return contextRequest(context).messages.filter(({ text }) => text.endsWith("characters in all]")).length;
}

const anyPruning = fc.record({
  wholeTurns: fc.integer({ min: 1, max: 6 }),
  stepTurns: fc.integer({ min: 1, max: 5 }),
  fromTokens: fc.constant(0),
});

test("the prefix changes once in so many turns, and the results of the newest turns stay whole, of those alone", () => {
  fc.assert(
    fc.property(
      anyPruning,
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 5, maxLength: 30 }),
      (pruning, calls) => {
        let before: string[] = [];
        let changes = 0;
        for (const seen of turns(calls)) {
          const now = stable(assemble({ ...sourcesOf(seen), pruning }));
          if (before.some((message, index) => message !== now[index])) changes++;
          before = now;
          const entries = seen.history.entries.filter(
            (entry) => !("turnId" in entry) || entry.turnId !== seen.turn.id,
          );
          const earlier = entries.filter((entry) => entry.kind === "tool_result");
          const ended = [
            ...new Set(entries.flatMap((entry) => (entry.kind === "assistant" ? [entry.turnId] : []))),
          ];
          const newest = new Set(ended.slice(-pruning.wholeTurns));
          const mayBeWhole = new Set(ended.slice(1 - pruning.wholeTurns - pruning.stepTurns));
          const to = stubbedTo(entries, pruning);
          for (const { seq, turnId } of earlier) {
            if (newest.has(turnId)) assert.ok(seq > to, "whole");
            if (!mayBeWhole.has(turnId)) assert.ok(seq <= to, "short");
          }
        }
        assert.ok(changes <= Math.floor(calls.length / pruning.stepTurns), `${changes} changes`);
      },
    ),
    { numRuns: 60 },
  );
});

test("turns that called no tools count, too, and those that failed", () => {
  const talk = new Conversation();
  for (const way of ["answer", "answer", "fail"] as const) {
    talk.say("a question", { addressed: true });
    talk.begin();
    if (talk.seen.length === 1) talk.call(["{}"], RESULT);
    talk.settle(way, "so");
  }
  talk.say("a question", { addressed: true });
  talk.begin();
  const last = talk.seen.at(-1);
  assert.ok(last !== undefined);
  const shorten = (wholeTurns: number): number =>
    shortIn(assemble({ ...sourcesOf(last), pruning: { wholeTurns, stepTurns: 1, fromTokens: 0 } }));
  assert.deepEqual([1, 2, 3].map(shorten), [1, 1, 0]);
});

test("by default a result is short from the next turn on, and the prefix never changes", () => {
  let before: string[] = [];
  for (const seen of turns([1, 1, 0, 2, 1])) {
    const now = stable(assemble(sourcesOf(seen)));
    assert.deepEqual(now.slice(0, before.length), before);
    before = now;
  }
});

test("below the threshold all results are whole, and from there on as the agent is to keep them", () => {
  const last = turns([1, 1, 1, 1, 1, 1]).at(-1);
  assert.ok(last !== undefined);
  const of = (pruning: Pruning): Context => assemble({ ...sourcesOf(last), pruning });
  const whole = of({ wholeTurns: 0, stepTurns: 1, fromTokens: 1_000_000 });
  assert.equal(shortIn(whole), 0);
  const short = of({ wholeTurns: 0, stepTurns: 1, fromTokens: whole.tokens });
  assert.equal(shortIn(short), 5);
  assert.equal(shortIn(of({ wholeTurns: 2, stepTurns: 1, fromTokens: whole.tokens })), 3);
  assert.equal(shortIn(of({ wholeTurns: 2, stepTurns: 2, fromTokens: 0 })), 2);
});

test("what does not fit is made short before any message is left out", () => {
  const last = turns(Array.from({ length: 12 }, () => 1)).at(-1);
  assert.ok(last !== undefined);
  const pruning = { wholeTurns: 50, stepTurns: 1, fromTokens: 0 };
  const sources = { ...sourcesOf(last), pruning };
  const whole = assemble(sources).tokens;
  const fit = fitContext(sources, budgetOf(Math.floor(whole * 0.9), 0));
  assert.equal(fit.omitTo, null);
  assert.equal(shortIn(fit.context), 11);
});
