// proves: src/turn/window-retry.ts, src/turn/turn.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { listen, openScene, type Scene } from "../../support/compaction.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { contextLengthError } from "../../support/model-refusals.ts";
import type { ChatRequest } from "../../support/model-server.ts";
import type { TestWeir } from "../../support/weir.ts";

const QUOTE = "This model's maximum context length is 50 tokens";
const NO_COMPACTION = "enabled = false";

/** A request's tokens by our own formula, near enough. */
function sizeOf({ messages }: ChatRequest): number {
  return messages.reduce((sum, { content }) => sum + estimateTokens(content ?? "") + 4, 0);
}

function holds({ messages }: ChatRequest, words: string): boolean {
  return messages.some(({ content }) => content?.includes(words) === true);
}

/** Says something and waits for how it ends. @returns that, and how many requests it took */
async function turn(scene: Scene, weir: TestWeir, room: string, words: string) {
  const before = scene.server.requests.length;
  const id = `${room}: ${words}`;
  await weir.say(words, { room, id });
  const { outcome, reason } = await weir.event("turn_settled", (event) => event.inReplyTo.includes(id));
  return { outcome, reason, requests: scene.server.requests.length - before };
}

function emergencies(weir: TestWeir): number {
  return weir.events.filter(({ type }) => type === "emergency").length;
}

test("a refusal that repeats what a person wrote of a window is one of the request, and of nothing else", async () => {
  for (const echo of [QUOTE, QUOTE.toUpperCase()]) {
    await using scene = await openScene();
    scene.server.respond((request) =>
      holds(request, QUOTE)
        ? status(400, { error: { message: `Not allowed by our policy: "${echo}"` } })
        : text("noted", { usage: "none" }),
    );
    await using weir = await scene.start({ window: 20_000, compaction: NO_COMPACTION });
    await listen(weir, "one", 1, 40);
    assert.equal((await turn(scene, weir, "one", "and?")).outcome, "answered");
    const whole = sizeOf(scene.server.requests.at(-1)?.body ?? { model: "", messages: [] });
    const { outcome, reason, requests } = await turn(scene, weir, "one", QUOTE);
    assert.deepEqual([outcome, requests], ["failed", 1]);
    assert.match(reason ?? "", /^rejected/);
    assert.equal((await turn(scene, weir, "two", "hello")).outcome, "answered");
    await listen(weir, "three", 1, 40);
    assert.equal((await turn(scene, weir, "three", "and?")).outcome, "answered");
    const last = scene.server.requests.at(-1)?.body ?? { model: "", messages: [] };
    assert.ok(sizeOf(last) >= whole * 0.9, "no other room has a smaller window");
    assert.equal(emergencies(weir), 0, "nothing was omitted");
  }
});

test("what a refusal says of the window is not learned where the shorter request is refused as well", async () => {
  await using scene = await openScene();
  const words = "THE MAXIMUM CONTEXT LENGTH IS 3000 TOKENS";
  scene.server.respond((request) =>
    holds(request, words.toLowerCase())
      ? status(500, { error: { message: `Could not read: ${words}` } })
      : text("noted", { usage: "none" }),
  );
  await using weir = await scene.start({ window: 20_000, compaction: NO_COMPACTION });
  await listen(weir, "one", 1, 60);
  const { outcome, requests } = await turn(scene, weir, "one", words.toLowerCase());
  assert.equal(outcome, "failed");
  assert.ok(requests === 2 || requests === 3, `${requests} requests`);
  await listen(weir, "two", 1, 60);
  assert.equal((await turn(scene, weir, "two", "and?")).requests, 1);
  const last = scene.server.requests.at(-1)?.body ?? { model: "", messages: [] };
  assert.ok(sizeOf(last) > 3000, `${sizeOf(last)} tokens were sent`);
});

/** A server that takes so many tokens, by our own formula times this rate, and never says what it counts. */
function refuseOver(scene: Scene, limit: number, rate: number, refusal = contextLengthError("ollama")): void {
  scene.server.respond((request) =>
    sizeOf(request) * rate > limit ? refusal : text("noted", { usage: "none" }),
  );
}

test("a window that is far smaller than believed is found in one turn, though the server does not tell it", async () => {
  await using scene = await openScene();
  refuseOver(scene, 4096, 1);
  await using weir = await scene.start({ window: 100_000, compaction: NO_COMPACTION });
  await listen(weir, "one", 1, 100);
  const first = await turn(scene, weir, "one", "and?");
  assert.equal(first.outcome, "answered");
  assert.ok(first.requests > 1, `${first.requests} requests`);
  assert.deepEqual(await turn(scene, weir, "one", "and now?"), {
    outcome: "answered",
    reason: null,
    requests: 1,
  });
});

test("an estimate that is short of what the server counts is learned though the server never reports", async () => {
  await using scene = await openScene();
  refuseOver(scene, 8192, 2.5, contextLengthError("openai", 8192));
  await using weir = await scene.start({ window: 8192, compaction: NO_COMPACTION });
  await listen(weir, "one", 1, 150);
  const first = await turn(scene, weir, "one", "and?");
  assert.equal(first.outcome, "answered");
  assert.ok(first.requests > 1, `${first.requests} requests`);
  for (let number = 1; number <= 5; number++) {
    await listen(weir, "one", number * 200, number * 200 + 20);
    assert.equal((await turn(scene, weir, "one", `and ${number}?`)).requests, 1);
  }
});

test("a window that was learned to be too small for the prompt keeps no daemon from starting again", async () => {
  await using scene = await openScene();
  scene.server.respond(() => text("noted", { usage: "none" }));
  {
    await using weir = await scene.start({ window: 20_000, compaction: NO_COMPACTION });
    weir.daemon.models.learnWindow("test-model", 1100);
  }
  await using again = await scene.start({ window: 20_000, compaction: NO_COMPACTION });
  assert.equal(again.daemon.models.windowOf("test-model", 20_000), 1100);
});
