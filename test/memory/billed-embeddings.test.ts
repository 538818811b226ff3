import assert from "node:assert/strict";
import { test } from "node:test";
import { channelId } from "../../src/core/ids.ts";
import { createEmbeddings } from "../../src/llm/embeddings.ts";
import { BilledEmbeddings } from "../../src/memory/billed-embeddings.ts";
import type { ModelCallRow } from "../../src/store/turns/model-calls.ts";
import { estimateTokens } from "../../src/text/tokens.ts";
import { SILENT } from "../store/open-store.ts";
import { type EmbeddingAnswer, startModelServer } from "../support/model-server.ts";

const TEXTS = ["the mill stands by the weir", "the boats were counted"];
const ESTIMATED = TEXTS.reduce((sum, one) => sum + estimateTokens(one), 0);

/** The row of one request. */
async function billOf(
  embed: () => EmbeddingAnswer | Promise<EmbeddingAnswer>,
  tokensOfText: unknown,
  signal = new AbortController().signal,
): Promise<ModelCallRow | undefined> {
  await using server = await startModelServer();
  server.embed = embed;
  server.tokensOfText = tokensOfText;
  const rows: ModelCallRow[] = [];
  {
    await using billed = new BilledEmbeddings({
      embeddings: createEmbeddings({
        model: "vectors",
        sentAs: "vectors",
        serverHeaders: {},
        baseUrl: server.url,
        apiKey: null,
        dimensions: 2,
      }),
      calls: { add: async (added) => void rows.push(...added) },
      log: SILENT,
    });
    await billed.embed(channelId(1), TEXTS, signal).catch(() => undefined);
  }
  return rows[0];
}

test("texts that were sent are paid for, reported or estimated, also where nothing came of it", async () => {
  const vectors = [
    [1, 0],
    [0, 1],
  ];
  const reported = await billOf(() => vectors, 7);
  assert.partialDeepStrictEqual(reported, { promptTokens: 14, assumedPromptTokens: 0 });
  const unreported = await billOf(() => vectors, undefined);
  assert.partialDeepStrictEqual(unreported, { promptTokens: null, assumedPromptTokens: ESTIMATED });
  const ofNoUse = await billOf(() => [[1], [0]], 7);
  assert.partialDeepStrictEqual(ofNoUse, { outcome: "rejected", promptTokens: 14, assumedPromptTokens: 0 });
  const ending = new AbortController();
  const ended = await billOf(
    async () => {
      ending.abort();
      return vectors;
    },
    7,
    ending.signal,
  );
  assert.partialDeepStrictEqual(ended, { outcome: "aborted", assumedPromptTokens: ESTIMATED });
});

test("a request for vectors that is refused costs nothing", async () => {
  for (const status of [400, 429, 503]) {
    const refused = await billOf(() => ({ status, message: "no" }), 7);
    assert.partialDeepStrictEqual(refused, { promptTokens: null, assumedPromptTokens: 0 });
  }
});
