import assert from "node:assert/strict";
import type { Owner, Seq } from "../../src/core/ids.ts";
import type { Store } from "../../src/store/store.ts";
import type { RunningTurn } from "../../src/store/turns/turn-rows.ts";
import type { Settlement } from "../../src/store/turns/turns.ts";

/** Begins a turn in a channel without a running one. */
export async function beginTurn(store: Store, owner: Owner, fromSeq: Seq, toSeq: Seq): Promise<RunningTurn> {
  const turn = await store.turns.begin(owner, fromSeq, toSeq);
  assert.ok(turn !== null, "another turn runs");
  return turn;
}

/** Ends a turn with this answer, in one part. */
export function answered(idempotencyKey: string): Settlement {
  const entry = { kind: "assistant", text: "hello", stopped: false } as const;
  return { state: "answered", reason: null, modelMs: 1, entry, idempotencyKeys: [idempotencyKey] };
}
