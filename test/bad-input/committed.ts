import assert from "node:assert/strict";
import { storableText } from "../../src/text/text.ts";
import { estimateTokens } from "../../src/text/tokens.ts";
import { checkFold } from "../support/compaction.ts";
import type { TestWeir } from "../support/weir.ts";

/** A third of the part that summaries of messages have in 35 % of the usable window. */
const SUMMARY_CAP = Math.floor((7168 * 0.35 * 0.35) / 3);

/** What is committed can be stored and is short; the fold holds. @returns the live summaries of a room */
export async function checkCommitted(
  weir: TestWeir,
  room: string,
): Promise<readonly { readonly kind: string; readonly text: string }[]> {
  await checkFold(weir, room);
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row !== undefined);
  const { summaries } = (await weir.daemon.store.load(row.id)).history;
  assert.ok(summaries.length > 0);
  for (const one of summaries) {
    assert.equal(one.text, storableText(one.text));
    const tokens = estimateTokens(one.text);
    assert.ok(tokens > 0 && tokens <= SUMMARY_CAP, `a summary has ${tokens} tokens`);
  }
  return summaries;
}
