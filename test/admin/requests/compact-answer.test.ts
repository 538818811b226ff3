import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  type CompactAnswer,
  describeAnswer,
  forceCompaction,
  compactAnswer,
  quoteSummary,
  storableAnswer,
} from "../../../src/admin/requests/compact-answer.ts";
import type { Job } from "../../../src/core/compaction.ts";
import { channelId, jobId } from "../../../src/core/ids.ts";
import type { CompactionRecord } from "../../../src/store/compaction/compactions.ts";

const DONE: CompactAnswer = {
  kind: "committed",
  job: 7,
  messages: 120,
  fromSeq: 1,
  toSeq: 130,
  tokensBefore: 8200,
  tokensAfter: 310,
  memories: 0,
  ms: 3210,
  model: "small",
  text: "They met.\n\nAnn rows.",
};

const JOB: Job = {
  id: jobId(7),
  channel: channelId(1),
  kind: "leaf",
  tier: "forced",
  fromSeq: 1,
  toSeq: 1,
  level: 1,
  sourceTokens: 1,
  attempt: 1,
  state: "staged",
  result: { parts: [], memories: [], summary: null },
};

const read = (value: unknown): unknown => compactAnswer.safeParse(value).data;

describe("the answer to whoever asked for a compaction", () => {
  test("is one line with its numbers", () => {
    assert.equal(
      describeAnswer(DONE),
      "Summarised 120 messages (entries 1–130): about 8,200 tokens became 310, in 3.2 s.",
    );
    assert.equal(
      describeAnswer({ ...DONE, messages: 1, model: null, memories: 2 }),
      "Summarised 1 message (entries 1–130): about 8,200 tokens became 310, in 3.2 s, by an extract without a model. 2 memories kept.",
    );
  });

  test("says in plain words that there was nothing to do, or that it failed", () => {
    assert.equal(
      describeAnswer({ kind: "nothing", reason: "all of it is recent" }),
      "Nothing was summarised: all of it is recent.",
    );
    assert.match(describeAnswer({ kind: "failed" }), /^This could not be summarised now\. Nothing is lost/);
  });

  test("quotes the summary, where there is one", () => {
    assert.equal(quoteSummary(DONE), "  They met.\n\n  Ann rows.");
    assert.equal(quoteSummary({ kind: "failed" }), "");
  });

  test("holds what the log knows of the job: notices in its range are no messages", async () => {
    const { text, model, tokensAfter: tokens } = DONE;
    const job = { ...JOB, fromSeq: DONE.fromSeq, toSeq: DONE.toSeq, sourceTokens: 8199.6 };
    const summary = { kind: "model", text, model, tokens } as const;
    const outcome = { kind: "committed", job, summary, ms: DONE.ms } as const;
    const record: CompactionRecord = {
      ...job,
      state: "committed",
      messages: 120,
      memories: 3,
      summary: { kind: "digest", model: null, tokens: 9, live: true, needsRedo: true, text: "They met." },
      createdAt: new Date(),
      endedAt: new Date(),
      ms: 9999,
      reason: null,
    };
    const answer = await forceCompaction(
      { force: async () => outcome },
      { find: async (id) => (id === JOB.id ? record : undefined) },
    );
    // A deletion that came behind the commit has left that of its text.
    assert.deepEqual(answer, { ...DONE, memories: 3, text: "They met." });
    const failed = await forceCompaction(
      { force: async () => ({ kind: "failed", reason: "a provider's words" }) },
      { find: async () => undefined },
    );
    assert.deepEqual(failed, { kind: "failed" });
  });

  test("lies in a row without the summary's text", () => {
    const { text: _, ...rest } = DONE;
    assert.deepEqual(storableAnswer(DONE), rest);
    assert.deepEqual(storableAnswer({ kind: "failed" }), { kind: "failed" });
  });

  test("survives the way through JSON, and what is none is refused", () => {
    for (const answer of [DONE, { kind: "nothing", reason: "x" }, { kind: "failed" }]) {
      assert.deepEqual(read(JSON.parse(JSON.stringify(answer))), answer);
    }
    assert.deepEqual(read({ kind: "failed", reason: "a provider's words" }), { kind: "failed" });
    for (const wrong of [null, undefined, {}, { ...DONE, tokensAfter: "310" }, { kind: "later" }]) {
      assert.equal(read(wrong), undefined);
    }
  });
});
