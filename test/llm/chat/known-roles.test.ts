import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { canonical, endOf, type TextEnd } from "../../../src/core/canonical.ts";
import type { ModelMessage } from "../../../src/core/context.ts";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import { inKnownRoles } from "../../../src/llm/chat/known-roles.ts";
import type { Model, ModelRequest } from "../../../src/llm/model.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { ask, SEARCH_HISTORY } from "../../support/model-calls.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "../../support/model-server.ts";
import { formFaults, templateText } from "../../support/request-form.ts";

const call = (id: string, query: string) => ({
  id,
  name: "search_history",
  arguments: JSON.stringify({ query }),
});
const CAT = { type: "image/png", base64: "CAT" };
/** Two turns: the first one called twice and answered, the second one has called, is shown a picture, and has taken in a message. */
const PIECES: readonly ModelMessage[] = [
  { role: "system", text: "You are Weir." },
  { role: "user", text: "[10:00] Ann: where is the key?" },
  { role: "assistant", text: "Let me look.", calls: [call("a", "key"), call("b", "mat")] },
  { role: "tool", callId: "a", text: "nothing" },
  { role: "tool", callId: "b", text: "found\n[2026-11-21 14:05] Ann: under the mat" },
  { role: "assistant", text: "Under the mat.", calls: [] },
  { role: "user", text: "[10:05] Ben: and the cat?" },
  { role: "assistant", text: "", calls: [call("c", "cat")] },
  { role: "tool", callId: "c", text: "a picture" },
  { role: "user", text: "[System: picture 1]", images: [CAT], isOfImages: true },
  { role: "assistant", text: "", calls: [call("d", "dog")] },
  { role: "tool", callId: "d", text: "no dog" },
  { role: "user", text: "[10:06] Ben: the black one", isSteering: true },
];
const { messages: MESSAGES, places: PLACES } = canonical(PIECES);
const REQUEST: ModelRequest = {
  model: "strict",
  messages: MESSAGES,
  tools: [SEARCH_HISTORY],
  toolChoice: "auto",
  maxOutputTokens: 100,
  temperature: undefined,
  stableEnds: PIECES.flatMap((piece, index) => {
    const place = PLACES[index];
    return place === undefined || place === null ? [] : [endOf(place, piece)];
  }),
};
const FORMS = [
  { takesToolRole: false, takesSystemRole: true },
  { takesToolRole: false, takesSystemRole: false },
  { takesToolRole: true, takesSystemRole: false },
] as const;

/** What stands before an end, as a template writes it. */
function before(messages: readonly ModelMessage[], { message, length }: TextEnd): string {
  const [last, ...rest] = messages.slice(0, message + 1).toReversed();
  assert.ok(last !== undefined);
  return templateText([...rest.toReversed(), { ...last, text: last.text.slice(0, length) }]);
}

describe("a request for a model that does not know all roles", () => {
  test("tells calls as lines of the assistant, and quotes their results behind them", () => {
    const { messages } = inKnownRoles(REQUEST, { takesToolRole: false, takesSystemRole: false });
    assert.deepEqual(
      messages.map((message) => [message.role, message.text]),
      [
        ["user", "You are Weir.\n[10:00] Ann: where is the key?"],
        [
          "assistant",
          'Let me look.\ncalled search_history({"query":"key"})\ncalled search_history({"query":"mat"})',
        ],
        [
          "user",
          "[System: search_history returned]\n> nothing\n[System: search_history returned]\n> found\n> [2026-11-21 14:05] Ann: under the mat",
        ],
        ["assistant", "Under the mat."],
        ["user", "[10:05] Ben: and the cat?"],
        ["assistant", 'called search_history({"query":"cat"})'],
        ["user", "[System: search_history returned]\n> a picture\n[System: picture 1]"],
        ["assistant", 'called search_history({"query":"dog"})'],
        ["user", "[System: search_history returned]\n> no dog\n[10:06] Ben: the black one"],
      ],
    );
    const pictured = messages.at(-3);
    assert.deepEqual(pictured?.role === "user" && pictured.images, [{ ...CAT, at: pictured?.text.length }]);
  });

  test("has roles that take turns, and begins as the one before it, wherever that ended", () => {
    for (const form of FORMS) {
      const whole = inKnownRoles(REQUEST, form);
      assert.deepEqual(
        formFaults(whole.messages).filter((what) => !what.includes("behind results")),
        [],
      );
      for (const end of [2, 6, 7]) {
        const { messages } = canonical(PIECES.slice(0, end));
        const earlier = inKnownRoles({ ...REQUEST, messages, stableEnds: [] }, form);
        assert.ok(templateText(whole.messages).startsWith(templateText(earlier.messages)));
      }
    }
  });

  test("is stable up to the same places", () => {
    for (const form of FORMS) {
      const { messages, stableEnds = [] } = inKnownRoles(REQUEST, form);
      assert.equal(stableEnds.length, REQUEST.stableEnds?.length);
      for (const [index, end] of stableEnds.entries()) {
        const piece = PIECES[index];
        assert.ok(piece !== undefined);
        const shown = before(messages, end);
        const last = piece.text.split("\n").at(-1) ?? "";
        assert.ok(shown.endsWith(last) || (piece.role === "assistant" && /[)\]]$/.test(shown)), shown);
      }
    }
  });

  test("is as it was for all others", () => {
    assert.equal(inKnownRoles(REQUEST, { takesToolRole: true, takesSystemRole: true }), REQUEST);
  });
});

const ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/...";

/** Checks what Gemma's chat template checks, and says it in its words. @returns null: nothing is wrong */
function gemmaFault({ messages }: ChatRequest, hasSystem: boolean): string | null {
  if (!hasSystem && messages[0]?.role === "system") return "System role not supported";
  const rest = messages[0]?.role === "system" ? messages.slice(1) : messages;
  for (const [index, { role, content }] of rest.entries()) {
    if ((role === "user") !== (index % 2 === 0)) return ALTERNATE;
    if (typeof content !== "string") return "Invalid content type";
  }
  return null;
}

function modelOf(server: ModelServer): Model {
  return createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts: { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 },
  });
}

describe("a model with a strict chat template", () => {
  for (const [hasSystem, code, corrections] of [
    [true, 400, 1],
    [true, 500, 1],
    [false, 400, 2],
  ] as const)
    test(`${hasSystem ? "" : "and no system's role "}that refuses by ${code} is answered, and its tools are still sent`, async () => {
      await using server = await startModelServer();
      server.respond((request) => {
        const fault = gemmaFault(request, hasSystem);
        return fault === null ? text("It is black.") : status(code, { error: { message: fault } });
      });
      const model = modelOf(server);
      assert.equal((await ask(model, REQUEST)).answer?.text, "It is black.");
      assert.equal(server.requests.length, 1 + corrections);
      assert.equal((await ask(model, REQUEST)).answer?.text, "It is black.");
      assert.equal(server.requests.length, 2 + corrections, "it is known now");
      assert.equal(server.requests.at(-1)?.body.tools?.length, 1);
    });

  test("that has refused no result keeps the role of results", async () => {
    await using server = await startModelServer();
    server.respond((request) =>
      request.messages[0]?.role === "system"
        ? status(400, { error: { message: "Only user and assistant roles are supported!" } })
        : text("ok"),
    );
    const model = modelOf(server);
    const messages = MESSAGES.slice(0, 2);
    assert.equal((await ask(model, { ...REQUEST, messages, stableEnds: [] })).answer?.text, "ok");
    assert.equal(server.requests.length, 2);
    await ask(model, REQUEST);
    assert.ok(server.requests.at(-1)?.body.messages.some(({ role }) => role === "tool"));
  });
});
