import assert from "node:assert/strict";
import { test } from "node:test";
import { createChatModel } from "../../src/llm/chat/chat-model.ts";
import { openScene } from "../support/compaction.ts";
import { rawStream, text } from "../support/model-behaviours.ts";
import { ask } from "../support/model-calls.ts";
import { startModelServer } from "../support/model-server.ts";

const TIMEOUTS = { firstTokenMs: 10_000, idleMs: 10_000, totalMs: 20_000 };

test("a bill that is no bill does not cost the answer that it comes with", async () => {
  await using server = await startModelServer();
  const model = createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts: TIMEOUTS,
  });
  /** JSON as a server sends it, and the tokens in, cached, out and written that are believed of it. */
  const bills: readonly (readonly [json: string, tokens: readonly number[] | undefined])[] = [
    ['{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}', [12, 4, 3]],
    [
      '{"prompt_tokens":12,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":7}}',
      [12, 4, 0, 7],
    ],
    ['{"prompt_tokens":12,"prompt_tokens_details":{"cache_creation_tokens":7}}', [12, 0, 0, 7]],
    ['{"prompt_tokens":12,"cache_creation_input_tokens":7}', [12, 0, 0, 7]],
    ['{"prompt_tokens":12,"prompt_tokens_details":{"cache_write_tokens":"7"}}', [12, 0, 0]],
    ['"none"', undefined],
    ["[]", undefined],
    ["false", undefined],
    ['{"prompt_tokens":"12"}', undefined],
    ['{"prompt_tokens":1e400}', undefined],
    ['{"prompt_tokens":12,"completion_tokens":"3"}', [12, 0, 0]],
    ['{"prompt_tokens":12,"prompt_tokens_details":{"cached_tokens":false}}', [12, 0, 0]],
    ['{"prompt_tokens":12,"prompt_tokens_details":[],"prompt_cache_hit_tokens":5}', [12, 5, 0]],
    ['{"prompt_tokens":12.5,"completion_tokens":1e300}', [13, 0, 2_147_483_647]],
    ['{"prompt_tokens":3000000000,"prompt_tokens_details":{"cached_tokens":-1}}', [2_147_483_647, 0, 0]],
  ];
  for (const [json, tokens] of bills) {
    const odd = '"object":7,"message":{}';
    server.reply(
      rawStream(
        'data: {"choices":[{"delta":{"content":"the whole answer"}}]}\n\n',
        `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":${json},${odd}}\n\ndata: [DONE]\n\n`,
      ),
    );
    const { answer } = await ask(model);
    assert.equal(answer?.text, "the whole answer", json);
    const { usage } = answer;
    const { promptTokens, cachedTokens, completionTokens, writtenTokens } = usage ?? {};
    const [, , , written = 0] = tokens ?? [];
    assert.deepEqual(usage && [promptTokens, cachedTokens, completionTokens], tokens?.slice(0, 3), json);
    if (usage !== undefined) assert.equal(writtenTokens, written, json);
  }
});

test("an answer whose bill no column can hold is paid once and settled", async () => {
  await using scene = await openScene();
  await using weir = await scene.start();
  for (const [index, usage] of [
    { prompt: 12.5 },
    { prompt: 3e9, cached: 3e9 },
    { prompt: 100, completion: 1.5 },
    { prompt: 100, cached: -1 },
  ].entries()) {
    scene.server.reply(text("noted", { usage }));
    await weir.say("hello", { id: `m${index}` });
    const { outcome } = await weir.event("turn_settled", (event) => event.inReplyTo.includes(`m${index}`));
    assert.equal(outcome, "answered");
    assert.equal(scene.server.requests.length, index + 1);
  }
});
