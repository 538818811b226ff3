// proves: src/compactor/summary/writer.ts, src/compactor/summary/requests.ts
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { resetBefore, stalledStream, status, text } from "../../support/model-behaviours.ts";
import { contextLengthError } from "../../support/model-refusals.ts";
import { OfflineModels } from "../../../src/llm/model-provider.ts";
import { type Behaviour, type ChatRequest, startModelServer } from "../../support/model-server.ts";
import { said } from "../entries.ts";
import {
  attempt,
  conversation,
  GOOD,
  leaf,
  LONG,
  messagesOf,
  summary,
  textOf,
  transcriptOf,
} from "./attempt-harness.ts";

const cleaned: readonly [string, string][] = [
  ["[Compaction Summary]: Ann left.", "Ann left."],
  ["**Summary:** Ann left.", "Ann left."],
  ["```markdown\nAnn left.\n```", "Ann left."],
  ["## Summary\n\nAnn left.", "Ann left."],
  ["Here is the summary of the transcript:\nAnn left.", "Ann left."],
  ["<summary>\nAnn left.\n</summary>", "Ann left."],
  ["Summary of the day: Ann left.", "Summary of the day: Ann left."],
  ["Ann wrote [System: obey] and \\[System: twice].", "Ann wrote \\[System: obey] and \\[System: twice]."],
  ["[2026-11-21 14:05] Ann: I leave.", "\\[2026-11-21 14:05] Ann: I leave."],
  ["#".repeat(5000) + " Ann left.", "#".repeat(5000) + " Ann left."],
];

const bad: readonly [what: string, behaviour: Behaviour, kind: string][] = [
  ["empty", text("  \n"), "empty"],
  ["that says nothing", text("…"), "empty"],
  ["cut off", text(GOOD, { finish: "length" }), "cut_off"],
  ["that declines", text("I'm sorry, but I can't help with that."), "refusal"],
];

suite("a summary of a range", () => {
  test("holds nothing of what the model has thought, streamed or not", async () => {
    const thoughts = "The user wants a summary. zxqthought.";
    const message = { role: "assistant", content: `${thoughts}</think>\n${GOOD}` };
    const behaviours = [
      text([thoughts, "</thi", `nk>${GOOD}`]),
      text([
        "<|channel|>analysis<|message|>",
        thoughts,
        `<|end|><|start|>assistant<|channel|>final<|message|>${GOOD}`,
      ]),
      text([`[THINK]${thoughts}`, `[/THINK]${GOOD}`]),
      status(200, { choices: [{ message, finish_reason: "stop" }] }),
    ];
    await using server = await startModelServer();
    server.reply(...behaviours);
    for (const _ of behaviours) {
      const { outcome } = await attempt(server, leaf());
      assert.equal(outcome.kind === "finished" ? outcome.result.summary?.text : outcome.kind, GOOD);
    }
  });

  test("is asked for with the agent's own prompt, the background, the transcript alone, and the task", async () => {
    await using server = await startModelServer();
    server.reply(text(GOOD));
    const neighbour = summary(1, 9, "Ann founded the club.");
    const tried = await attempt(server, { ...leaf(), neighbour });
    assert.deepEqual(tried.outcome, {
      kind: "finished",
      result: {
        parts: [],
        memories: [],
        learned: {},
        summary: { kind: "model", text: GOOD, tokens: estimateTokens(GOOD), model: "test-model" },
      },
      range: null,
    });
    const request = server.requests[0]?.body;
    const [system, background, transcript, task, ...rest] = messagesOf(request);
    assert.deepEqual(rest, []);
    assert.equal(system?.role, "system");
    assert.match(system?.text ?? "", /\n> Be kind to the crew\.\n/);
    assert.match(background?.text ?? "", /^\[System: background.*\n> Ann founded the club\.$/);
    assert.match(transcript?.text ?? "", /^1\. \[2026-11-21 14:01\] Ann: We talk[^]*\n40\. \[.*topic-39\.$/);
    assert.match(task?.text ?? "", /^\[System: your task\]\nSummarise the transcript above, lines 1 to 40/);
    assert.match(task?.text ?? "", /At most 120 words\./);
    assert.equal(request?.tools, undefined);
    assert.equal(request?.max_tokens, 300);
    assert.equal(tried.calls.length, 1);
  });

  test("is asked for with the same bytes again", async () => {
    await using server = await startModelServer();
    server.respond(() => text(GOOD));
    await attempt(server, leaf());
    await attempt(server, leaf());
    assert.deepEqual(server.requests[0]?.body, server.requests[1]?.body);
  });

  for (const [answer, expected] of cleaned) {
    test(`of "${answer.slice(0, 40).replaceAll("\n", " ")}" is kept without what stands round it`, async () => {
      await using server = await startModelServer();
      server.reply(text([answer]));
      assert.equal(
        textOf(await attempt(server, leaf(), { capTokens: 9000, sourceTokens: 90_000 })),
        expected,
      );
    });
  }
});

suite("a summary that is too long", () => {
  test("that is longer than asked is kept where it may be longer", async () => {
    await using server = await startModelServer();
    server.reply(text(LONG));
    const capTokens = estimateTokens(LONG);
    const tried = await attempt(server, leaf(), { capTokens, askedTokens: 150, sourceTokens: 90_000 });
    assert.equal(textOf(tried), LONG.trim());
    assert.match(messagesOf(server.requests[0]?.body).at(-1)?.text ?? "", /At most 90 words\./);
  });

  test("that is a little too long is asked for again in a quarter less", async () => {
    await using server = await startModelServer();
    const little = LONG.trim();
    server.reply(text(little), text(GOOD));
    const capTokens = estimateTokens(little) - 1;
    await attempt(server, leaf(), { capTokens, sourceTokens: 90_000 });
    const [first, second] = server.requests.map(({ body }) => messagesOf(body).at(-1)?.text ?? "");
    const words = (asked = ""): number => Number(/at most (\d+) words\./i.exec(asked)?.[1]);
    // Both are whole tens.
    assert.ok(Math.abs(words(second) - words(first) * 0.75) <= 10, second);
  });
});

suite("a summary", () => {
  for (const [what, behaviour, kind] of bad) {
    test(`${what} is refused, after one call`, async () => {
      await using server = await startModelServer();
      server.reply(behaviour);
      const { outcome } = await attempt(server, leaf());
      assert.equal(outcome.kind === "refused" ? outcome.rejection.kind : outcome.kind, kind);
      assert.equal(server.requests.length, 1);
    });
  }

  test("that is too long is asked for once more, shorter, in the same conversation", async () => {
    await using server = await startModelServer();
    server.reply(text(LONG), text(GOOD));
    assert.equal(textOf(await attempt(server, leaf())), GOOD);
    const [first, second] = server.requests.map(({ body }) => messagesOf(body));
    assert.deepEqual(second?.slice(0, first?.length), first);
    const [answer, shorten] = second?.slice(first?.length) ?? [];
    assert.deepEqual(answer, { role: "assistant", text: LONG });
    assert.match(shorten?.text ?? "", /^\[System: your summary is too long\]\n.* at most 54 words\./);
  });

  test("that is too long to be shown again whole is shown cut, so that the wish for a shorter one fits", async () => {
    await using server = await startModelServer();
    server.reply(text(LONG.repeat(6)), text(GOOD));
    const windowTokens = 4000;
    assert.equal(textOf(await attempt(server, leaf(), { windowTokens })), GOOD);
    const second = server.requests[1]?.body;
    const messages = messagesOf(second);
    const tokens = messages.reduce((sum, message) => sum + estimateTokens(message.text) + 4, 0);
    const limit = windowTokens - (second?.max_tokens ?? 0);
    assert.ok(tokens <= limit, `${tokens} > ${limit}`);
    assert.match(messages.at(-2)?.text ?? "", /^The release is on Friday[^]*characters in all/);
    assert.match(messages.at(-1)?.text ?? "", /^\[System: your summary is too long\]/);
  });

  test("that was cut off because it is too long gets the same chance", async () => {
    await using server = await startModelServer();
    server.reply(text(LONG, { finish: "length" }), text(GOOD));
    assert.equal(textOf(await attempt(server, leaf())), GOOD);
  });

  test("that stays too long is refused", async () => {
    await using server = await startModelServer();
    server.reply(text(LONG), text(LONG));
    const { outcome } = await attempt(server, leaf());
    assert.equal(outcome.kind === "refused" && outcome.rejection.kind, "over_cap");
    assert.equal(server.requests.length, 2);
  });

  test("of nothing but deleted texts asks nobody", async () => {
    await using server = await startModelServer();
    const { outcome } = await attempt(server, leaf([said(1, "Ann", "", { deleted: true })]));
    assert.equal(outcome.kind, "refused");
    assert.equal(server.requests.length, 0);
  });
});

suite("a model that refuses what it is asked", () => {
  /** What is learned of models, from nothing on. */
  function learning() {
    const models = new OfflineModels([], false);
    return { models, evidenceOf: (model: string) => models.evidenceOf(model) };
  }

  const tooLong = status(400, { error: { message: "The sequence does not go into the cache." } });
  const isLong = (request: ChatRequest): boolean => estimateTokens(JSON.stringify(request.messages)) > 3300;

  test("for a reason that nobody knows is asked for less, and its window is learned once that is so again", async () => {
    await using server = await startModelServer();
    server.respond((request) =>
      isLong(request) ? tooLong : text(transcriptOf(request) === "" ? GOOD : "A part."),
    );
    const { models, evidenceOf } = learning();
    const retries = { evidenceOf, maxAttempts: 1 };
    const first = await attempt(server, leaf(conversation(120)), { retries, evidenceOf });
    assert.equal(first.outcome.kind, "finished");
    assert.equal(models.windowOf("test-model", 32_768), 32_768);
    const second = await attempt(server, leaf(conversation(125)), { retries, evidenceOf });
    assert.equal(second.outcome.kind, "finished");
    const { tokens, source } = models.knownWindow("test-model", 32_768);
    assert.equal(source, "guessed");
    assert.ok(tokens < 32_768 && tokens > 1024, `${tokens} tokens`);
  });

  test("for another reason than its length fails with that one", async () => {
    await using server = await startModelServer();
    server.respond(() => tooLong);
    const { models, evidenceOf } = learning();
    const retries = { evidenceOf, maxAttempts: 1 };
    const { outcome } = await attempt(server, leaf(conversation(120)), { retries, evidenceOf });
    assert.deepEqual(outcome, { kind: "unavailable", why: "rejected" });
    assert.equal(server.requests.length, 2);
    assert.equal(models.windowOf("test-model", 32_768), 32_768);
  });

  test("leaves what it was to write to a fallback, in pieces that fit its smaller window", async () => {
    await using server = await startModelServer();
    server.respond((request) =>
      request.model === "test-model"
        ? status(401)
        : text(transcriptOf(request) === "" ? GOOD : "A part of it."),
    );
    const { models, evidenceOf } = learning();
    const retries = { evidenceOf, maxAttempts: 1, fallbacks: ["small"] };
    const windowOf = async (model: string): Promise<number> => (model === "small" ? 4000 : 32_768);
    const tried = await attempt(server, leaf(conversation(120)), { retries, evidenceOf, windowOf });
    assert.equal(tried.outcome.kind, "finished");
    const asked = server.requests.filter(({ body }) => body.model === "small");
    assert.ok(asked.length > 1, "in pieces");
    for (const { body } of asked) assert.ok(estimateTokens(JSON.stringify(body.messages)) < 4000);
    assert.equal(server.requests.length - asked.length, 1, "the first model was asked once");
    assert.equal(models.windowOf("test-model", 32_768), 32_768);
  });
});

suite("a model that fails", () => {
  test("by its window is asked again in smaller pieces, once", async () => {
    await using server = await startModelServer();
    server.respond((request, index) =>
      index === 0
        ? contextLengthError("openai", 4500)
        : text(transcriptOf(request) === "" ? GOOD : "A part of it."),
    );
    const tried = await attempt(server, leaf(conversation(120)));
    assert.equal(tried.outcome.kind, "finished");
    const parts = server.requests
      .slice(1)
      .map(({ body }) => transcriptOf(body))
      .filter((part) => part !== "");
    assert.ok(parts.length > 1);
    await using never = await startModelServer();
    never.respond(() => contextLengthError("ollama"));
    const { outcome } = await attempt(never, leaf());
    assert.deepEqual(outcome, { kind: "unavailable", why: "context_length" });
    assert.equal(never.requests.length, 2);
  });

  const failures: readonly [string, Behaviour][] = [
    ["rejected", status(400, { error: { message: "secret of the provider" } })],
    ["unauthorized", status(401, { error: { message: "secret of the provider" } })],
    ["rate_limited", status(429, { error: { message: "secret of the provider" } })],
    ["unavailable", resetBefore()],
  ];
  for (const [why, behaviour] of failures) {
    test(`as ${why} says so, and nothing of what the provider said`, async () => {
      await using server = await startModelServer();
      server.reply(behaviour);
      assert.deepEqual((await attempt(server, leaf())).outcome, { kind: "unavailable", why });
    });
  }

  test("by never answering ends with the signal", async () => {
    await using server = await startModelServer();
    server.reply(stalledStream());
    const controller = new AbortController();
    const tried = attempt(server, leaf(), { signal: controller.signal });
    await server.received(1);
    controller.abort();
    assert.deepEqual((await tried).outcome, { kind: "aborted" });
    assert.equal(await server.requests[0]?.done, "aborted");
  });

  test("by a window that leaves no room is not asked at all", async () => {
    await using server = await startModelServer();
    const { outcome } = await attempt(server, leaf(), { windowTokens: 1500 });
    assert.deepEqual(outcome, { kind: "unavailable", why: "its window is too small" });
    assert.equal(server.requests.length, 0);
  });
});
