import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Material } from "../../../src/compactor/summary/summary-attempt.ts";
import type { Entry } from "../../../src/core/entry.ts";
import { legalCuts, type Summary, viewOrder } from "../../../src/core/history.ts";
import { turnId } from "../../../src/core/ids.ts";
import type { RetryOptions } from "../../../src/llm/retrying-model.ts";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { status, text, toolCalls } from "../../support/model-behaviours.ts";
import {
  type Behaviour,
  type ChatRequest,
  type ModelServer,
  startModelServer,
} from "../../support/model-server.ts";
import {
  attempt,
  conversation,
  GOOD,
  leaf,
  LONG,
  MAX_CALLS,
  messagesOf,
  NOTHING,
  summary,
  textOf,
  transcriptOf,
} from "./attempt-harness.ts";

const entries = conversation(200);
const small = { windowTokens: 4500, capTokens: 120 };
const partOf = (request: ChatRequest): string =>
  `Part: ${/topic-\d+/.exec(transcriptOf(request))?.[0]} and more.`;
const isMerge = (request: ChatRequest): boolean => transcriptOf(request) === "";

function respond(server: ModelServer, failAt = Number.POSITIVE_INFINITY): void {
  server.respond((request, index) => {
    if (index === failAt) return status(401);
    return text(isMerge(request) ? GOOD : `${partOf(request)} ${"It went on for long. ".repeat(8)}`);
  });
}

const long = conversation(1000);
const sourceTokens = (toSeq: number): number =>
  long.slice(0, toSeq).reduce((sum, { tokens }) => sum + tokens, 0);
/** Saves a memory of each part first, where it may; and says at length what was asked for shortly. */
const wordy = (request: ChatRequest): Behaviour => {
  const isTold = request.messages.some(({ role }) => role === "tool");
  if (request.tool_choice === "none" || request.tools === undefined || isTold)
    return text(isMerge(request) ? GOOD : `${partOf(request)} ${"It went on for long. ".repeat(8)}`);
  return toolCalls([{ name: "memory_save", arguments: { memories: [] } }]);
};

/** As in a busy channel: in the view, calls and answers stand before the messages that arrived during their turn. */
function withTurns(lines: readonly Entry[]): Entry[] {
  return lines.map((entry): Entry => {
    const { seq } = entry;
    const turn = { ...entry, turnId: turnId(Math.ceil(seq / 7)), after: seq - (seq % 7) + 2 };
    if (seq % 7 === 4)
      return {
        ...turn,
        kind: "tool_call",
        text: "",
        calls: [{ id: `c${seq}`, name: "look", arguments: "{}" }],
      };
    if (seq % 7 === 5)
      return {
        ...turn,
        kind: "tool_result",
        callId: `c${seq - 1}`,
        tool: "look",
        text: `line ${seq}`,
        references: [],
        memories: [],
      };
    return seq % 7 === 6 ? { ...turn, kind: "assistant", text: `line ${seq}`, stopped: false } : entry;
  });
}

suite("a transcript larger than the window", () => {
  test("is summarised in parts that hold every line, which are then put together", async () => {
    await using server = await startModelServer();
    respond(server);
    const tried = await attempt(server, leaf(entries), small);
    assert.equal(textOf(tried), GOOD);
    const parts = server.requests.map(({ body }) => transcriptOf(body)).filter((part) => part !== "");
    assert.ok(parts.length >= 3);
    const whole = parts.join("\n").split("\n");
    assert.equal(whole.length, 200);
    whole.forEach((line, index) => assert.ok(line.startsWith(`${index + 1}. [`), line));
    const limit = small.windowTokens - small.capTokens - 100;
    for (const { body } of server.requests) {
      const tokens = messagesOf(body).reduce((sum, message) => sum + estimateTokens(message.text) + 4, 0);
      assert.ok(tokens <= limit, `${tokens} > ${limit}`);
    }
    assert.deepEqual(
      tried.saved.map((result) => result.parts.length),
      parts.map((_, index) => index + 1),
    );
    const merge = messagesOf(server.requests.at(-1)?.body);
    assert.match(merge.at(-1)?.text ?? "", new RegExp(`The ${parts.length} texts above`));
    assert.match(merge[1]?.text ?? "", /^\[Compaction Summary\]:\nPart: topic-0 and more\./);
  });
});

suite("a transcript of more parts than an attempt has calls for", () => {
  for (const memory of [false, true])
    test(`ends early, at most ten calls in all${memory ? ", rounds of memories among them" : ""}`, async () => {
      await using server = await startModelServer();
      server.respond(wordy);
      const tried = await attempt(server, leaf(long), {
        ...small,
        windowTokens: 5500,
        memory,
        mayEndFrom: 0,
      });
      assert.ok(tried.outcome.kind === "finished" && tried.outcome.range !== null, tried.outcome.kind);
      const { toSeq } = tried.outcome.range;
      assert.equal(textOf(tried), GOOD);
      assert.ok(server.requests.length > (memory ? 5 : 3) && server.requests.length <= MAX_CALLS);
      const read = server.requests.flatMap(({ body }) => transcriptOf(body).match(/^\d+(?=\. \[)/gm) ?? []);
      assert.equal(Math.max(...read.map(Number)), toSeq, "what was paid for is in it, and nothing else");
      assert.equal(tried.outcome.range.sourceTokens, sourceTokens(toSeq));
    });

  test("goes on in the next attempt where it must not end early: nothing is asked for twice", async () => {
    await using server = await startModelServer();
    server.respond(wordy);
    let done = NOTHING;
    const read: string[] = [];
    for (let attempts = 1; ; attempts++) {
      const before = server.requests.length;
      const tried = await attempt(server, leaf(long), { ...small, done });
      const asked = server.requests.slice(before);
      assert.ok(asked.length <= MAX_CALLS, `${asked.length} calls`);
      read.push(...asked.flatMap(({ body }) => transcriptOf(body).match(/^\d+(?=\. \[)/gm) ?? []));
      done = tried.saved.at(-1) ?? done;
      if (tried.outcome.kind === "unfinished") continue;
      assert.equal(textOf(tried), GOOD);
      assert.ok(attempts > 1);
      break;
    }
    assert.deepEqual(
      read.map(Number),
      long.map(({ seq }) => seq),
    );
  });

  test("ends behind what is omitted, or not at all", async () => {
    await using server = await startModelServer();
    server.respond(wordy);
    const early = await attempt(server, leaf(long), { ...small, mayEndFrom: 0 });
    assert.ok(early.outcome.kind === "finished" && early.outcome.range !== null);
    const omittedTo = early.outcome.range.toSeq + 1;
    const later = await attempt(server, leaf(long), { ...small, mayEndFrom: omittedTo });
    assert.equal(later.outcome.kind, "unfinished");
    const again = await attempt(server, leaf(long), {
      ...small,
      mayEndFrom: omittedTo,
      done: later.saved.at(-1) ?? NOTHING,
    });
    assert.ok(again.outcome.kind === "finished" && again.outcome.range !== null);
    assert.ok(again.outcome.range.toSeq >= omittedTo);
  });
});

test("very many parts are put together over several attempts, too", async () => {
  await using server = await startModelServer();
  server.respond(wordy);
  let done = NOTHING;
  for (let kept = 0; ; kept++) {
    const before = server.requests.length;
    const tried = await attempt(server, leaf(conversation(3000)), {
      windowTokens: 3500,
      capTokens: 300,
      done,
    });
    assert.ok(server.requests.length - before <= MAX_CALLS);
    if (tried.outcome.kind === "unfinished") {
      assert.ok(tried.saved.length > 0 && kept < 100, "each attempt gets on");
      done = tried.saved.at(-1) ?? done;
      continue;
    }
    assert.equal(textOf(tried), GOOD, JSON.stringify(tried.outcome));
    break;
  }
});

suite("an attempt whose model fails", () => {
  /** Answers for every model but the first one. */
  function failFirstModel(server: ModelServer): void {
    server.respond((request) => (request.model === "test-model" ? status(503) : wordy(request)));
  }
  const retrying = (
    retries: number,
    fallbacks: readonly string[],
  ): { readonly retries: Partial<RetryOptions> } => ({
    retries: { maxAttempts: retries + 1, firstDelayMs: 1, fallbacks },
  });

  test("counts the failed requests, too, and stays with the fallback that has answered", async () => {
    await using server = await startModelServer();
    failFirstModel(server);
    const tried = await attempt(server, leaf(entries), { ...small, ...retrying(2, ["fallback"]) });
    assert.equal(textOf(tried), GOOD);
    assert.deepEqual(
      server.requests.slice(0, 4).map(({ body }) => body.model),
      ["test-model", "test-model", "test-model", "fallback"],
    );
    assert.ok(server.requests.slice(4).every(({ body }) => body.model === "fallback"));
    assert.ok(server.requests.length <= MAX_CALLS, `${server.requests.length} calls`);
  });

  test("makes at most ten requests, whatever the retries and fallbacks", async () => {
    await using server = await startModelServer();
    server.respond(() => status(503));
    const tried = await attempt(server, leaf(), retrying(2, ["second", "third", "fourth", "fifth"]));
    assert.deepEqual(tried.outcome, { kind: "unavailable", why: "unavailable" });
    assert.equal(server.requests.length, MAX_CALLS);
    assert.equal(tried.calls.length, MAX_CALLS);
  });

  test("makes at most ten requests over all parts together, whatever each of them takes", async () => {
    const more = toolCalls([{ name: "memory_save", arguments: { memories: [] } }]);
    for (let seed = 0; seed < 12; seed++) {
      await using server = await startModelServer();
      // Rounds of memories, failures, texts that are too long, empty ones and good ones, in another order each time.
      const answers = [more, status(503), text(LONG), text(""), text(GOOD)];
      server.respond((_, index) => answers[(index * (seed + 1) + seed) % answers.length] ?? text(GOOD));
      const options = { ...small, memory: true, mayEndFrom: null, ...retrying(1, ["second"]) };
      const tried = await attempt(server, leaf(entries), options);
      assert.ok(
        server.requests.length <= MAX_CALLS,
        `${seed}: ${server.requests.length}, ${tried.outcome.kind}`,
      );
    }
  });

  test("keeps its finished parts where the failures use up its calls", async () => {
    await using server = await startModelServer();
    server.respond((request, index) => (index > 1 ? status(503) : wordy(request)));
    const fallbacks = ["second", "third", "fourth", "fifth"];
    const tried = await attempt(server, leaf(entries), { ...small, ...retrying(2, fallbacks) });
    assert.deepEqual(tried.outcome, { kind: "unfinished" });
    assert.equal(tried.saved.length, 2);
    assert.equal(server.requests.length, MAX_CALLS);
  });
});

suite("an attempt that ends early", () => {
  test("never ends between a call and its result, nor between an answer and what arrived during its turn", async () => {
    await using server = await startModelServer();
    server.respond(wordy);
    const busy = withTurns(long);
    for (const windowTokens of [4400, 4500, 4700]) {
      const tried = await attempt(server, leaf(busy), { ...small, windowTokens, mayEndFrom: 0 });
      assert.ok(tried.outcome.kind === "finished" && tried.outcome.range !== null, tried.outcome.kind);
      const { toSeq } = tried.outcome.range;
      const inside = viewOrder(busy).findLastIndex(({ seq }) => seq <= toSeq);
      assert.ok(
        viewOrder(busy)
          .slice(0, inside + 1)
          .every(({ seq }) => seq <= toSeq),
        `${toSeq} is in the midst of a turn`,
      );
      assert.ok(legalCuts(busy).has(toSeq));
    }
  });
});

suite("an interrupted transcript", () => {
  test("is gone on with where an earlier attempt ended: what is finished is not paid for again", async () => {
    await using whole = await startModelServer();
    respond(whole);
    await attempt(whole, leaf(entries), small);
    await using server = await startModelServer();
    respond(server, 2);
    const broken = await attempt(server, leaf(entries), small);
    assert.deepEqual(broken.outcome, { kind: "unavailable", why: "unauthorized" });
    const done = broken.saved.at(-1) ?? NOTHING;
    assert.equal(done.parts.length, 2);
    const again = await attempt(server, leaf(entries), { ...small, done });
    assert.equal(textOf(again), GOOD);
    // The one that failed is the only one that was asked for twice.
    assert.equal(server.requests.length, whole.requests.length + 1);
  });

  test("is gone on with by a model of another window, without a gap", async () => {
    await using server = await startModelServer();
    respond(server, 2);
    const broken = await attempt(server, leaf(entries), small);
    const done = broken.saved.at(-1) ?? NOTHING;
    const before = server.requests.length;
    await attempt(server, leaf(entries), { ...small, windowTokens: 4200, done });
    const rest = server.requests
      .slice(before)
      .map(({ body }) => transcriptOf(body))
      .filter((part) => part !== "");
    const firstLeft = /^(\d+)\./.exec(rest[0] ?? "")?.[1];
    assert.equal(Number(firstLeft), (done.parts.at(-1)?.toSeq ?? 0) + 1);
    assert.match(rest.at(-1) ?? "", /\n200\. .*$/);
  });

  test("begins anew where the finished parts are of another range", async () => {
    await using server = await startModelServer();
    respond(server);
    for (const [fromSeq, toSeq] of [
      [900, 950],
      [7, 50],
      [1, 950],
    ] as const) {
      const parts = [{ fromSeq, toSeq, piece: 0, text: "Of something else." }];
      const before = server.requests.length;
      assert.equal(
        textOf(await attempt(server, leaf(entries), { ...small, done: { ...NOTHING, parts } })),
        GOOD,
      );
      assert.match(transcriptOf(server.requests[before]?.body), /^1\. /);
    }
    assert.ok(server.requests.every(({ body }) => !JSON.stringify(body).includes("something else")));
  });
});

suite("the parts of a transcript", () => {
  test("needs no further call where its parts fit the cap together", async () => {
    await using server = await startModelServer();
    server.respond((request) => text(partOf(request)));
    const tried = await attempt(server, leaf(entries), small);
    assert.match(textOf(tried), /^Part: topic-0 and more\.\nPart: topic-\d+ and more\.\n/);
    assert.ok(server.requests.every(({ body }) => !isMerge(body)));
  });

  test("keeps the memories of each part, and no part may cite another one's lines", async () => {
    await using server = await startModelServer();
    const cites = (line: number, topic: number): object => ({
      type: "fact",
      subject: `topic-${topic}`,
      statement: `Topic-${topic} was talked about.`,
      quote: `topic-${topic} and`,
      sources: [line],
    });
    server.respond((request) => {
      if (isMerge(request)) return text(GOOD);
      if (request.messages.some(({ role }) => role === "tool")) return text(partOf(request));
      const line = Number(/^(\d+)\./.exec(transcriptOf(request))?.[1]);
      const memories = [cites(line, line - 1), cites(200, 199)];
      return toolCalls([{ name: "memory_save", arguments: { memories } }]);
    });
    const { outcome, saved } = await attempt(server, leaf(entries), {
      ...small,
      windowTokens: 7000,
      memory: true,
    });
    assert.ok(outcome.kind === "finished");
    assert.ok(saved.length > 1);
    // One from the first line of each part, and the last line's from the last part alone.
    assert.equal(outcome.result.memories.length, saved.length + 1);
    assert.equal(saved[0]?.memories.length, 1);
  });

  test("stops between parts when it is aborted, and lets a failure to save through", async () => {
    await using server = await startModelServer();
    respond(server);
    const controller = new AbortController();
    const onProgress = async (): Promise<void> => controller.abort();
    const tried = await attempt(server, leaf(entries), { ...small, signal: controller.signal, onProgress });
    assert.deepEqual(tried.outcome, { kind: "aborted" });
    assert.equal(server.requests.length, 1);
    const gone = async (): Promise<void> => {
      throw new Error("the database is away");
    };
    await assert.rejects(attempt(server, leaf(entries), { ...small, onProgress: gone }), /database is away/);
  });
});

suite("a merge", () => {
  const summaries = [1, 2, 3, 4].map((index) => summary(index, index, `${index}. ${GOOD} `.repeat(3)));
  const merge: Material = { kind: "merge", entries: null, summaries, neighbour: null };

  test("of summaries shows each, oldest first, and takes what later ones change from these", async () => {
    await using server = await startModelServer();
    server.reply(text(GOOD));
    assert.equal(textOf(await attempt(server, merge)), GOOD);
    const messages = messagesOf(server.requests[0]?.body);
    assert.equal(messages.length, 6);
    summaries.forEach((one, index) =>
      assert.equal(messages[index + 1]?.text, `[Compaction Summary]:\n${one.text}`),
    );
    assert.match(messages.at(-1)?.text ?? "", /^\[System: your task\]\nThe 4 texts above/);
  });

  test("says of each from when to when it is, and so does the one before the range", async () => {
    await using server = await startModelServer();
    server.respond(() => text(GOOD));
    const spanned = (number: number): Summary => {
      const [firstAt, lastAt] = [
        new Date(`2026-05-0${number}T10:00Z`),
        new Date(`2026-05-0${number}T12:30Z`),
      ];
      return { ...summary(number, number, GOOD), span: { messages: number * 10, firstAt, lastAt } };
    };
    await attempt(server, { ...merge, summaries: [spanned(1), spanned(2)] });
    await attempt(server, { ...leaf(), neighbour: spanned(3) });
    const [merged, covered] = server.requests.map(({ body }) => messagesOf(body));
    const span = (number: number): string => `(2026-05-0${number} 10:00 – 12:30, ${number}0 messages)`;
    assert.equal(merged?.[1]?.text, `[Compaction Summary]: ${span(1)}\n${GOOD}`);
    assert.equal(merged[2]?.text, `[Compaction Summary]: ${span(2)}\n${GOOD}`);
    assert.ok(covered?.[1]?.text.includes(`\n> ${span(3)}\n> ${GOOD}`), covered?.[1]?.text);
  });

  test("is written from the raw text where that fits, else from the summaries", async () => {
    await using server = await startModelServer();
    server.respond(() => text(GOOD));
    await attempt(server, { ...merge, entries: conversation(40) });
    assert.match(transcriptOf(server.requests[0]?.body), /^1\. /);
    await attempt(server, { ...merge, entries: conversation(400) }, { windowTokens: 8192 });
    assert.equal(transcriptOf(server.requests[1]?.body), "");
    assert.equal(server.requests.length, 2);
  });

  test("of summaries that do not fit one request is made in halves", async () => {
    await using server = await startModelServer();
    server.respond(() => text(GOOD));
    const large = [1, 2, 3, 4].map((index) => summary(index, index, `${index}. ${LONG}`.repeat(3)));
    const tried = await attempt(server, { ...merge, summaries: large }, { windowTokens: 5500 });
    assert.equal(textOf(tried), GOOD);
    assert.ok(server.requests.length > 1);
    const asked = server.requests.map(({ body }) => JSON.stringify(body)).join("\n");
    for (const one of large) assert.ok(asked.includes(one.text.slice(0, 20)));
  });

  test("with nothing in it asks nobody", async () => {
    await using server = await startModelServer();
    assert.equal((await attempt(server, { ...merge, summaries: [] })).outcome.kind, "refused");
    assert.equal(server.requests.length, 0);
  });
});

test("a redo is told that the earlier summary is no good, is not shown it, and may be longer than it", async () => {
  await using server = await startModelServer();
  server.reply(text(GOOD));
  const material: Material = { ...leaf(), kind: "redo", summaries: [summary(1, 40, "An extract.")] };
  assert.equal(textOf(await attempt(server, material, { sourceTokens: 4 })), GOOD);
  assert.match(messagesOf(server.requests[0]?.body).at(-1)?.text ?? "", /An earlier summary of these lines/);
  assert.doesNotMatch(JSON.stringify(server.requests[0]?.body), /An extract\./);
});
