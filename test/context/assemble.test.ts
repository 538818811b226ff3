import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { assemble } from "../../src/context/assemble.ts";
import { estimateMessage } from "../../src/context/render.ts";
import { usageOf } from "../../src/context/usage.ts";
import { type Context, contextMessages } from "../../src/core/context.ts";
import { omit } from "../../src/core/history.ts";
import { assertPaired, budgetOf, defaultAgent, sourcesOf } from "./agent.ts";
import { anySteps, Conversation, type Seen } from "./conversation.ts";

const steps = anySteps({ maxLength: 60, longest: 300 });

/** The bytes of the stable parts: what a provider can have cached. */
function stableBytes({ tools, segments }: Context): string {
  const stable = segments.filter(({ key }) => key === "system" || key === "summaries" || key === "history");
  const messages = stable.flatMap((segment) => segment.messages);
  return [JSON.stringify(tools), ...messages.map((message) => JSON.stringify(message))].join("\n");
}

function lastOf(talk: Conversation): Seen {
  const seen = talk.seen.at(-1);
  assert.ok(seen !== undefined);
  return seen;
}

/** A conversation of turns that each called a tool with a long result. */
function longResults(turns: number): Conversation {
  const talk = new Conversation();
  for (let turn = 0; turn < turns; turn++) {
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
  return contextMessages(context).filter(({ text }) => text.includes("characters in all]")).length;
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
    const messages = contextMessages(context);
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["system", "user", "user", "user", "assistant", "tool"],
    );
    assert.equal(messages[1]?.text, "[2026-11-21 14:06] Ben: hello there");
    assert.match(
      messages[3]?.text ?? "",
      /^\[System: .*\nTime: Saturday 2026-11-21 20:00 UTC\n.*\n> Place: "?general"? on/s,
    );
    assert.equal(messages[2]?.text, "[14:07] Ann: @bot what did Ben say?");
    assert.equal(messages[5]?.text, "hello there\n[2026-11-21 14:05] Ann: hello there");
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
    const bytes = stableBytes(assemble(sourcesOf({ history: { ...history, summaries }, turn })));
    assert.match(
      bytes,
      /\[Compaction Summary\]: \(2026-11-19 10:00 – 11-21 18:20, 1,200 messages\) Ann likes tea\./,
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

describe("a context of any conversation", () => {
  test("counts what it sends, segment by segment", () => {
    fc.assert(
      fc.property(steps, (all) => {
        for (const seen of new Conversation().run(all).seen) {
          const { segments, tokens } = assemble(sourcesOf(seen));
          assert.equal(
            tokens,
            segments.reduce((sum, segment) => sum + segment.tokens, 0),
          );
          for (const { key, messages, tokens: counted, count } of segments) {
            if (key === "tools") continue;
            assert.equal(count, messages.length);
            assert.equal(
              counted,
              messages.reduce((sum, message) => sum + estimateMessage(message), 0),
            );
          }
        }
      }),
    );
  });

  test("pairs every call with its results", () => {
    fc.assert(
      fc.property(steps, (all) => {
        for (const seen of new Conversation().run(all).seen) {
          assertPaired(contextMessages(assemble(sourcesOf(seen))));
        }
      }),
    );
  });

  test("keeps its stable part from one call to the next, byte for byte, and only adds to it", () => {
    fc.assert(
      fc.property(steps, (all) => {
        let before: string | null = null;
        for (const seen of new Conversation().run(all).seen) {
          const bytes = stableBytes(assemble(sourcesOf(seen)));
          assert.ok(before === null || bytes === before || bytes.startsWith(`${before}\n`));
          before = bytes;
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
      contextMessages(context)
        .map(({ text }) => text)
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
