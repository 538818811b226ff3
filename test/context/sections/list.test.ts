// proves: src/core/context.ts, src/context/sections/section.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { fitContext } from "../../../src/context/emergency.ts";
import { contextSections } from "../../../src/context/sections/list.ts";
import type { AgentFile } from "../../../src/context/sections/section.ts";
import type { Context, FileKind } from "../../../src/core/context.ts";
import { contextRequest } from "../../../src/core/context-request.ts";
import { contextSources, NOTHING_LOOKED_UP } from "../../../src/turn/context-sources.ts";
import { NO_FOLDER } from "../../../src/turn/agent.ts";
import { budgetOf, defaultAgent } from "../agent.ts";
import { anySteps, Conversation } from "../conversation.ts";

function file(kind: FileKind, text: string, more: Partial<AgentFile> = {}): AgentFile {
  const name = kind;
  return {
    kind,
    path: `agents/main/${kind}.md`,
    name,
    text,
    description: "",
    channels: null,
    paths: null,
    channel: null,
    ...more,
  };
}

const fileText = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }),
  fc.constantFrom("日本語の説明。\n", "🎈 line\n", "word ").map((piece) => piece.repeat(700)),
);

/** A context with files of every kind, and what was found for the turn. */
const anyContext = fc
  .record({
    steps: anySteps({ maxLength: 40, longest: 300 }),
    texts: fc.tuple(fileText, fileText, fileText, fileText, fileText),
    said: fc.array(fc.string({ unit: "grapheme", maxLength: 80 }), { maxLength: 5 }),
    window: fc.constantFrom(4096, 8192, 32_768),
  })
  .map(({ steps, texts: [soul, workspace, memory, note, own], said, window }): Context | null => {
    const talk = new Conversation().run(steps);
    talk.say("`assemble` and src/context/render.ts: continue, please", { addressed: true });
    talk.begin();
    const seen = talk.seen.at(-1);
    if (seen === undefined) return null;
    const folder = {
      folder: "agents/main",
      files: [
        file("soul", soul.slice(0, 200)),
        file("workspace", workspace),
        file("memory", memory),
        file("note", note),
      ],
      problems: [],
    };
    const agent = {
      ...defaultAgent(),
      folder: { ...NO_FOLDER, current: folder, shownAs: "agents/main" },
    };
    const at = new Date("2026-11-21T10:00:00Z");
    const sources = contextSources(agent, {
      ...seen,
      ...NOTHING_LOOKED_UP,
      recalled: said.map((text, seq) => ({ seq, at, author: "Ann", text })),
      remembered: said.map((statement) => ({ type: "fact", assertedBy: "Ann", at, statement })),
      channelFiles: [
        file("memory", own, {
          channel: "terminal-general",
          path: "agents/main/channels/terminal-general/MEMORY.md",
        }),
      ],
      now: new Date("2026-11-21T20:00:00Z"),
      usable: window * 0.75,
      scene: {
        platform: "terminal",
        channel: "general",
        names: ["terminal:general"],
        fileNames: ["terminal-general"],
      },
    });
    return fitContext(sources, budgetOf(window, window / 4)).context;
  })
  .filter((context) => context !== null);

test("the sections are all that is sent: token by token, and each text where the list says", () => {
  fc.assert(
    fc.property(anyContext, (context) => {
      const sections = contextSections(context);
      const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
      assert.equal(sum(sections.map(({ tokens }) => tokens.after)), context.tokens);
      const messages = contextRequest(context).messages;
      const [system] = messages;
      const dynamic = context.segments.find(({ key }) => key === "dynamic")?.messages[0]?.text ?? "";
      let from = 0;
      for (const { place, text, kind } of sections) {
        if (text === "" || place === "messages") continue;
        const whole = place === "static" ? (system?.text ?? "") : dynamic;
        const shown = place === "static" || kind === "omitted" ? text : text.replaceAll("\n", "\n> ");
        assert.ok(whole.includes(shown), `${kind} is sent as it is listed`);
        if (place !== "dynamic") continue;
        assert.ok(dynamic.indexOf(shown, from) >= from, `${kind} stands in the order of the list`);
        from = dynamic.indexOf(shown, from) + shown.length;
      }
      assert.equal(new Set(sections.map(({ key }) => key)).size, sections.length, "each key once");
    }),
    { numRuns: 150 },
  );
});

test("what is never cut is whole, and what is left out has no text and says how large it was", () => {
  fc.assert(
    fc.property(anyContext, (context) => {
      for (const { isProtected, state, text, characters, tokens } of contextSections(context)) {
        if (isProtected) assert.equal(state, "whole");
        assert.equal(state === "left out", characters.after === 0);
        if (state === "left out") assert.deepEqual([text, tokens.after], ["", 0]);
        assert.ok(characters.after <= characters.before && characters.before > 0);
      }
    }),
    { numRuns: 100 },
  );
});
