import type { Database } from "../../../src/store/database/database.ts";
import { CARRIERS } from "../../store/carriers-with.ts";
import { DeletionEngine } from "../../../src/store/deletion/deletion-engine.ts";
import { TermKeys } from "../../../src/store/deletion/fingerprints.ts";
import type { Cause } from "../../../src/store/deletion/removal.ts";
import { LogStore } from "../../../src/store/log/log.ts";
import type { Store } from "../../../src/store/store.ts";
import { FUZZ_SIGNER } from "../fuzz-key.ts";

/**
 * A store whose deletions and edits leave the words of a carrier.
 * @param cause what leaves them; default: each
 */
export function withoutCarrier(name: string, cause?: Cause["kind"]): (store: Store, db: Database) => Store {
  const left = CARRIERS.find((one) => one.name === name);
  if (left === undefined) throw new Error(`there is no carrier "${name}"`);
  const take: typeof left.take = async (tx, removal) => {
    if (cause !== undefined && cause !== removal.cause.kind) await left.take?.(tx, removal);
  };
  const carriers = CARRIERS.map((one) => (one === left ? { ...left, take } : one));
  const engine = new DeletionEngine(carriers, new TermKeys(FUZZ_SIGNER));
  return (store, db) => ({ ...store, log: new LogStore(db, engine) });
}
