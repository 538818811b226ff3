// proves: src/llm/window-search.ts, src/llm/http/window-refusal.ts, src/llm/retrying-model.ts, src/turn/turn.ts, src/turn/turn-contexts.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { listen, openScene, type Scene } from "../../support/compaction.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { contextLengthError } from "../../support/model-refusals.ts";
import type { Behaviour, ChatRequest } from "../../support/model-server.ts";
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
    assert.deepEqual([outcome, requests], ["failed", 2], "the smaller one is refused in the same words");
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

/** Refuses what is over so many tokens, by our own formula, in these words. */
function refuseWith(scene: Scene, limit: number, refusal: Behaviour): void {
  scene.server.respond((request) =>
    sizeOf(request) > limit ? refusal : text("noted", { usage: { prompt: sizeOf(request) } }),
  );
}

/** Turns whose refusal nobody knows: one is answered with less, the next one proves it, and from then on there is none. */
async function provesInTwoTurns(scene: Scene, weir: TestWeir, refusedFirst: number): Promise<void> {
  await listen(weir, "one", 1, 100);
  const first = await turn(scene, weir, "one", "and?");
  assert.deepEqual([first.outcome, first.requests], ["answered", refusedFirst + 1]);
  assert.equal(weir.daemon.models.windowOf("test-model", 100_000), 100_000, "it may have been anything");
  assert.equal(emergencies(weir), 0, "nothing has left the view");
  const second = await turn(scene, weir, "one", "and now?");
  assert.equal(second.outcome, "answered");
  const { tokens, source, until } = weir.daemon.models.knownWindow("test-model", 100_000);
  assert.equal(source, "guessed");
  assert.ok(tokens < 8000, `${tokens} tokens`);
  const hours = ((until?.getTime() ?? 0) - Date.now()) / 3_600_000;
  assert.ok(hours > 23 && hours <= 24, `${hours} h`);
  assert.equal((await turn(scene, weir, "one", "and then?")).requests, 1);
  await listen(weir, "two", 1, 100);
  assert.equal((await turn(scene, weir, "two", "and here?")).requests, 1, "all rooms know it");
}

test("a refusal in words that nobody knows is tried with less, and is proved by the next turn", async () => {
  for (const code of [400, 413, 422, 500]) {
    await using scene = await openScene();
    refuseWith(scene, 6000, status(code, { error: { message: "The sequence does not go into the cache." } }));
    await using weir = await scene.start({ window: 100_000, compaction: NO_COMPACTION });
    await provesInTwoTurns(scene, weir, 1);
  }
});

test("a 500 without words is first sent once more as it is", async () => {
  await using scene = await openScene();
  refuseWith(scene, 6000, status(500, ""));
  await using weir = await scene.start({ window: 100_000, compaction: NO_COMPACTION });
  await provesInTwoTurns(scene, weir, 2);
});

test("a refusal for a cause that has passed leaves the window as it was", async () => {
  await using scene = await openScene();
  const refusal = status(400, { error: { message: "The sequence does not go into the cache." } });
  refuseWith(scene, 6000, refusal);
  await using weir = await scene.start({ window: 100_000, compaction: NO_COMPACTION });
  await listen(weir, "one", 1, 100);
  assert.equal((await turn(scene, weir, "one", "and?")).outcome, "answered");
  refuseWith(scene, 100_000, refusal);
  const next = await turn(scene, weir, "one", "and now?");
  assert.deepEqual([next.outcome, next.requests], ["answered", 1]);
  assert.ok(sizeOf(scene.server.requests.at(-1)?.body ?? { model: "", messages: [] }) > 6000);
  // What was suspected is forgotten: another refusal is the first one again.
  refuseWith(scene, 6000, refusal);
  await listen(weir, "one", 101, 105);
  assert.equal((await turn(scene, weir, "one", "and then?")).outcome, "answered");
  assert.equal(weir.daemon.models.windowOf("test-model", 100_000), 100_000);
  assert.equal(emergencies(weir), 0);
});

test("a smaller window that makes the request no smaller is passed over: the same is not refused twice", async () => {
  await using scene = await openScene();
  scene.server.respond(() => status(400, { error: { message: "The sequence does not go into the cache." } }));
  await using weir = await scene.start({ window: 100_000, compaction: NO_COMPACTION });
  // Whatever is left out of this, it goes first, and the rest fits three quarters as well as half.
  await weir.say("the river stood above the old mark by the mill. ".repeat(700), {
    room: "one",
    addressed: false,
  });
  await listen(weir, "one", 1, 6);
  assert.equal((await turn(scene, weir, "one", "and?")).outcome, "failed");
  const sizes = scene.server.requests.map(({ body }) => sizeOf(body));
  assert.equal(sizes.length, 2, `requests of ${sizes.join(", ")} tokens`);
  assert.ok((sizes[1] ?? 0) < (sizes[0] ?? 0) / 2);
});

test("what the model has answered before is not too large: such a refusal is not tried with less", async () => {
  await using scene = await openScene();
  scene.server.respond(() => text("noted", { usage: "none" }));
  await using weir = await scene.start({ window: 100_000, compaction: NO_COMPACTION });
  await listen(weir, "one", 1, 100);
  await listen(weir, "two", 1, 60);
  assert.equal((await turn(scene, weir, "one", "and?")).requests, 1);
  scene.server.respond(() => status(400, { error: { message: "No." } }));
  const refused = await turn(scene, weir, "two", "and?");
  assert.deepEqual([refused.outcome, refused.requests], ["failed", 1]);
});

/** Words as servers say them, of a request of so many tokens, with a window of 5,000. */
const WORDINGS: readonly ((asked: number) => readonly [status: number, message: string])[] = [
  (asked) => [
    400,
    `You passed ${asked} input tokens and requested 512 output tokens. However, the model's context length is only 5000 tokens, resulting in a maximum input length of 4488 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=${asked})`,
  ],
  () => [500, "Context size has been exceeded."],
  () => [400, "Context size has been exceeded."],
  (asked) => [400, `prompt too long; exceeded max context length by ${asked - 5000} tokens`],
  (asked) => [400, `prompt token count of ${asked} exceeds the limit of 5000`],
  (asked) => [400, `The engine has ${asked} tokens to place, and 5000 places.`],
];

test("a refusal by size in the words of servers is answered with less, also where somebody has quoted it before", async () => {
  for (const wording of WORDINGS)
    for (const quoted of [false, true]) {
      await using scene = await openScene();
      scene.server.respond((request) => {
        const [code, message] = wording(sizeOf(request));
        return sizeOf(request) > 5000
          ? status(code, { error: { message } })
          : text("noted", { usage: "none" });
      });
      await using weir = await scene.start({ window: 100_000, compaction: NO_COMPACTION });
      if (quoted) await weir.say(wording(9001)[1], { room: "one", addressed: false, id: "quote" });
      await listen(weir, "one", 1, 100);
      for (const words of ["and?", "and now?"]) {
        const { outcome, requests } = await turn(scene, weir, "one", words);
        assert.equal(outcome, "answered", wording(9001)[1]);
        assert.ok(requests <= 4, `${requests} requests`);
      }
      const last = await turn(scene, weir, "one", "and then?");
      assert.deepEqual([last.outcome, last.requests], ["answered", 1], wording(9001)[1]);
    }
});

test("an empty answer of a window that is full is a refusal for the size, and tells the window", async () => {
  await using scene = await openScene();
  scene.server.respond((request) =>
    sizeOf(request) > 5000
      ? text("", { finish: "length", usage: { prompt: 4999, completion: 1 } })
      : text("noted", { usage: { prompt: sizeOf(request) } }),
  );
  await using weir = await scene.start({ window: 100_000, compaction: NO_COMPACTION });
  await listen(weir, "one", 1, 100);
  const first = await turn(scene, weir, "one", "and?");
  assert.deepEqual([first.outcome, first.requests], ["answered", 2]);
  const known = weir.daemon.models.knownWindow("test-model", 100_000);
  assert.deepEqual([known.tokens, known.source], [5000, "measured"]);
});

test("a server that cuts requests without a word is noticed by its counts", async () => {
  await using scene = await openScene();
  scene.server.respond((request) => text("noted", { usage: { prompt: Math.min(4096, sizeOf(request)) } }));
  await using weir = await scene.start({ window: 131_072, compaction: NO_COMPACTION });
  await listen(weir, "one", 1, 100);
  for (const words of ["and?", "and now?", "and then?"]) await turn(scene, weir, "one", words);
  const known = weir.daemon.models.knownWindow("test-model", 131_072);
  assert.deepEqual([known.tokens, known.source], [4096, "measured"]);
  assert.ok(Math.abs(weir.daemon.models.factorOf("test-model") - 1) < 0.1, "the cut has taught no factor");
  await turn(scene, weir, "one", "and at last?");
  const last = sizeOf(scene.server.requests.at(-1)?.body ?? { model: "", messages: [] });
  assert.ok(last < 4096 && last > 1000, `${last} tokens`);
});

test("counts that leave out what was cached are no cut", async () => {
  await using scene = await openScene();
  let before = 0;
  scene.server.respond((request) => {
    const size = sizeOf(request);
    const fresh = Math.max(1500, size - before);
    before = size;
    return text("noted", { usage: { prompt: fresh } });
  });
  await using weir = await scene.start({ window: 131_072, compaction: NO_COMPACTION });
  await listen(weir, "one", 1, 100);
  for (let number = 1; number <= 6; number++) await turn(scene, weir, "one", `and ${number}?`);
  assert.equal(weir.daemon.models.windowOf("test-model", 131_072), 131_072);
});

test("a fallback is sent what fits its own window, and teaches nothing of the agent's model", async () => {
  for (const known of [true, false]) {
    await using scene = await openScene();
    let isAway = true;
    scene.server.respond((request) => {
      if (request.model === "test-model")
        return isAway ? status(503) : text("noted", { usage: { prompt: sizeOf(request) } });
      return sizeOf(request) > 4096
        ? contextLengthError("openai", 4096)
        : text("small", { usage: { prompt: sizeOf(request) } });
    });
    await using weir = await scene.start({
      top: known ? '[models."small"]\ncontext_window = 4096' : "",
      agent: 'fallbacks = ["small"]',
      window: 100_000,
      compaction: NO_COMPACTION,
    });
    await listen(weir, "one", 1, 150);
    const first = await turn(scene, weir, "one", "and?");
    assert.deepEqual([first.outcome, first.requests], ["answered", known ? 2 : 3]);
    const second = await turn(scene, weir, "one", "and now?");
    assert.deepEqual([second.outcome, second.requests], ["answered", 2]);
    assert.equal(weir.daemon.models.windowOf("small", 0), 4096);
    assert.equal(weir.daemon.models.windowOf("test-model", 100_000), 100_000);
    assert.equal(emergencies(weir), 0);
    isAway = false;
    await turn(scene, weir, "one", "and then?");
    const last = scene.server.requests.at(-1)?.body ?? { model: "", messages: [] };
    assert.equal(last.model, "test-model");
    for (const number of [1, 75, 150])
      assert.ok(holds(last, `gauge-${number}:`), `gauge-${number} is in view`);
  }
});
