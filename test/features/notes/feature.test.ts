import assert from "node:assert/strict";
import { test } from "node:test";
import type { NoteRequest } from "../../../src/features/notes/key.ts";
import { memoryWrite, note } from "../../../src/features/notes/feature.ts";
import { type ToolContext, ToolInputError } from "../../../src/tools/tool.ts";

test("notes are written with what is to be replaced, and nothing but text is taken", async () => {
  const requests: NoteRequest[] = [];
  const kit = {
    read: async () => [],
    write: async (request: NoteRequest) => {
      requests.push(request);
      return "Noted.";
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a tool of notes uses its kit alone
  const context = { kitOf: () => kit } as unknown as ToolContext;
  const [ofDay, lasting] = [note({ render: () => "" }), memoryWrite({ render: () => "" })];
  const outcome = await ofDay.run({ text: " the lift is broken " }, context);
  assert.deepEqual(outcome, { kind: "result", text: "Noted.", references: [] });
  await lasting.run({ text: "", replaces: "lift" }, context);
  assert.deepEqual(requests, [
    { kind: "note", text: "the lift is broken", replaces: null },
    { kind: "memory", text: "", replaces: "lift" },
  ]);
  for (const input of [{ text: "" }, { text: "x", path: "/etc/passwd" }, { replaces: "x" }])
    await assert.rejects(ofDay.run(input, context), ToolInputError);
  await assert.rejects(lasting.run({ text: "x", replaces: "" }, context), ToolInputError);
});
