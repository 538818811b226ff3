import type { Ledger } from "../ledger.ts";
import type { State } from "../observe.ts";
import { MARKER } from "../texts.ts";
import { checkI1 } from "./i1-tiling.ts";
import { checkI2, checkI4 } from "./i2-i4-commits.ts";
import { checkI3 } from "./i3-watermarks.ts";
import { checkI8 } from "./i8-bounded.ts";
import { checkI9 } from "./i9-once.ts";
import { checkI10 } from "./i10-output.ts";
import { checkI11, keyOf } from "./i11-memories.ts";
import { checkI12Rows, checkShared } from "./i12-deleted.ts";
import { checkI16 } from "./i16-ahead.ts";
import { checkI17 } from "./i17-edited.ts";
import { checkI19 } from "./i19-one-agent.ts";
import { checkI20 } from "./i20-subagents.ts";
import { checkI21 } from "./i21-approvals.ts";
import { checkI22 } from "./i22-reminders.ts";
import type { RowCheck } from "./row-check.ts";

const CHECKS: readonly (readonly [string, RowCheck])[] = [
  ["I1", checkI1],
  ["I2", checkI2],
  ["I3", checkI3],
  ["I4", checkI4],
  ["I8", checkI8],
  ["I9", checkI9],
  ["I10", checkI10],
  ["I11", checkI11],
  ["I12", checkI12Rows],
  ["I12", checkShared],
  ["I16", checkI16],
  ["I17", checkI17],
  ["I19", checkI19],
  ["I20", checkI20],
  ["I21", checkI21],
  ["I22", checkI22],
];

/** Checks the rows after a step, and takes them into the ledger. */
export function checkRows(before: State | null, after: State, ledger: Ledger): void {
  for (const entry of after.entries) {
    const known = entry.message_id === null ? undefined : ledger.byMessageId.get(entry.message_id);
    if (known !== undefined && known.seq !== null && known.seq !== entry.seq)
      ledger.violate("I9", `message ${entry.message_id} is entry ${known.seq} and entry ${entry.seq}`);
    if (known !== undefined) known.seq = entry.seq;
    ledger.entries.set(entry.seq, entry);
    if (entry.answer !== null) ledger.answers.set(entry.answer, entry);
  }
  for (const turn of after.turns) {
    ledger.turns.set(turn.id, turn);
    ledger.lastTurn = turn.id;
  }
  for (const [invariant, check] of CHECKS) {
    for (const what of check(before, after, ledger)) ledger.violate(invariant, what);
  }
  for (const { id, state } of after.jobs) if (state === "staged" || state === "ahead") ledger.staged.add(id);
  for (const proof of after.proofs) {
    ledger.cited.add(proof.seq);
    ledger.proofs.add(keyOf(proof));
  }
  for (const { id, statement } of after.memories) {
    for (const marker of statement.match(MARKER) ?? []) {
      const own = ledger.byMarker.get(marker)?.seq;
      if (after.proofs.some(({ memory_id: memory, seq }) => memory === id && seq !== own))
        ledger.told.add(marker);
    }
  }
  ledger.snapshot = after.snapshot;
  ledger.lastSummary = Math.max(ledger.lastSummary, ...after.summaries.map(({ id }) => id));
  ledger.lastMemory = Math.max(ledger.lastMemory, ...after.memories.map(({ id }) => id));
}
