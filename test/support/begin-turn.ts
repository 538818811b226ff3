import assert from "node:assert/strict";
import type { Owner } from "../../src/channel/owner.ts";
import type { Seq } from "../../src/core/ids.ts";
import type { Store } from "../../src/store/store.ts";
import type { RunningTurn } from "../../src/store/turn-rows.ts";

/** Begins a turn in a channel in which none runs. */
export async function beginTurn(store: Store, owner: Owner, fromSeq: Seq, toSeq: Seq): Promise<RunningTurn> {
  const turn = await store.turns.begin(owner, fromSeq, toSeq);
  assert.ok(turn !== null, "another turn runs");
  return turn;
}
