import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Suspicion } from "../../src/llm/catalog/window-evidence.ts";
import { ModelError } from "../../src/llm/model.ts";
import {
  type Known,
  lessonOf,
  nextStep,
  type Refused,
  standingFailure,
  wordsOf,
} from "../../src/llm/window-search.ts";

const NOTHING: Known = { factor: 1, answered: 0, suspicion: null };
const WORDS = "The sequence does not go into the cache.";

function failed(
  kind: "rejected" | "unavailable" | "empty" | "context_length" | "unauthorized",
  message = WORDS,
  details: ConstructorParameters<typeof ModelError>[3] = {},
): ModelError {
  const status = kind === "unavailable" ? 500 : kind === "empty" ? undefined : 400;
  return new ModelError(kind, "m", message, { status, ...details });
}

/** A request of so many estimated tokens, for a window of 100,000. */
function refused(failure: ModelError, estimated = 10_000, window = 100_000): Refused {
  return { failure, estimated, window, reserve: 5000 };
}

/** The windows of all requests that follow, where each is refused alike. @param first its failure */
function windowsAfter(first: ModelError, known = NOTHING, estimated = 10_000): (number | "unchanged")[] {
  const tried = [refused(first, estimated)];
  const found: (number | "unchanged")[] = [];
  for (let steps = 0; steps < 10; steps++) {
    const step = nextStep(tried, known);
    if (step.kind === "over") return found;
    found.push(step.kind === "unchanged" ? step.kind : step.window);
    const window = step.kind === "unchanged" ? 100_000 : step.window;
    tried.push(refused(first, step.kind === "unchanged" ? estimated : Math.floor(window * 0.75), window));
  }
  throw new Error("it never ends");
}

describe("after a refusal that nobody can explain", () => {
  test("three quarters are tried, then half", () => {
    assert.deepEqual(windowsAfter(failed("rejected")), [10_000, 6666]);
    assert.deepEqual(windowsAfter(failed("unavailable")), [10_000, 6666]);
  });

  test("the same is tried first where the cause may pass", () => {
    for (const failure of [
      failed("unavailable", ""),
      failed("unavailable", "500 Internal Server Error"),
      failed("empty"),
    ])
      assert.deepEqual(windowsAfter(failure), ["unchanged", 10_000, 6666]);
  });

  test("nothing is tried where the reason is known, the request is small, or one as large was answered", () => {
    assert.deepEqual(windowsAfter(failed("unauthorized")), []);
    assert.deepEqual(windowsAfter(failed("rejected", WORDS, { reason: "roles" })), []);
    assert.deepEqual(windowsAfter(failed("rejected", WORDS, { status: 404 })), []);
    assert.deepEqual(windowsAfter(failed("rejected"), NOTHING, 2000), []);
    assert.deepEqual(windowsAfter(failed("rejected"), { ...NOTHING, answered: 10_000 }), []);
    // The smaller one is not larger than what was answered.
    assert.deepEqual(windowsAfter(failed("rejected"), { ...NOTHING, answered: 9000 }), [10_000]);
  });

  test("numbers tell the window where one of them is the request's size", () => {
    const message = "The engine has 10,450 tokens to place, and 8,192 places.";
    assert.equal(windowsAfter(failed("rejected", message))[0], 8192);
    // Nobody sent so many.
    assert.equal(
      windowsAfter(failed("rejected", "It has 90450 tokens to place, and 8192 places."))[0],
      10_000,
    );
    assert.equal(
      windowsAfter(failed("rejected", "Request 10450 has failed at 8192 Main Street."))[0],
      10_000,
    );
  });

  test("what a model counts for an estimated token counts", () => {
    assert.deepEqual(windowsAfter(failed("rejected"), { ...NOTHING, factor: 2 }), [20_000, 13_333]);
  });
});

describe("after a refusal for the size", () => {
  const told = (window?: number): ModelError =>
    failed("context_length", "too long", { isSurelySize: true, reason: "window", window });

  test("the window that it tells is tried, then shares of the request", () => {
    assert.deepEqual(windowsAfter(told(8192)), [8192, 6666, 3333]);
    assert.deepEqual(windowsAfter(told()), [10_000, 6666, 3333]);
  });

  test("a number that cannot be the reason is none", () => {
    for (const window of [50, 500_000]) {
      assert.deepEqual(windowsAfter(told(window)), [10_000, 6666, 3333]);
      assert.deepEqual(windowsAfter(told(window), { ...NOTHING, answered: 20_000 }), []);
      assert.equal(standingFailure([refused(told(window))], NOTHING)?.kind, "rejected");
    }
    assert.equal(standingFailure([refused(told(8192))], NOTHING)?.kind, "context_length");
    const bare = failed("context_length", "Request Entity Too Large", { status: 413 });
    assert.equal(standingFailure([refused(bare)], NOTHING)?.kind, "context_length");
  });

  test("the answer to a smaller one teaches the window at once", () => {
    const answer = { estimated: 5000, window: 8192, isCounted: true };
    assert.deepEqual(lessonOf([refused(told(8192))], answer, NOTHING), {
      kind: "learn",
      tokens: 8192,
      source: "told",
    });
    const smaller = { ...answer, window: 6000 };
    assert.deepEqual(lessonOf([refused(told())], smaller, NOTHING), {
      kind: "learn",
      tokens: 6000,
      source: "guessed",
    });
    // Nobody counts: the window stands for an estimate that is too low.
    assert.deepEqual(lessonOf([refused(told(8192))], { ...smaller, isCounted: false }, NOTHING), {
      kind: "learn",
      tokens: 6000,
      source: "guessed",
    });
  });
});

describe("what is learned by rule", () => {
  const suspicion: Suspicion = {
    window: 10_000,
    answered: 7000,
    refused: 10_000,
    words: wordsOf({ message: WORDS }),
  };
  const answer = { estimated: 7000, window: 10_000, isCounted: true };

  test("is a suspicion, until the next one of its natural size is refused in the same words", () => {
    assert.deepEqual(lessonOf([refused(failed("rejected"))], answer, NOTHING), {
      kind: "suspect",
      suspicion,
    });
    const suspecting = { ...NOTHING, answered: 7000, suspicion };
    const again = refused(failed("rejected"), 10_300);
    assert.deepEqual(nextStep([again], suspecting), { kind: "smaller", window: 10_000 });
    assert.deepEqual(lessonOf([again], answer, suspecting), {
      kind: "learn",
      tokens: 10_000,
      source: "guessed",
    });
    const other = refused(failed("rejected", "Not today."), 10_300);
    assert.equal(lessonOf([other], answer, suspecting)?.kind, "suspect");
  });

  test("is nothing where the same request was answered the next time", () => {
    const same = { estimated: 10_000, window: 100_000, isCounted: true };
    assert.equal(lessonOf([refused(failed("empty"))], same, NOTHING), null);
    assert.deepEqual(lessonOf([], same, { ...NOTHING, suspicion }), { kind: "clear" });
    assert.equal(lessonOf([], { ...same, estimated: 8000 }, { ...NOTHING, suspicion }), null);
  });
});
