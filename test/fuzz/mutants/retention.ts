import { CARRIERS } from "../../store/carriers-with.ts";
import { DeletionEngine } from "../../../src/store/deletion/deletion-engine.ts";
import { TermKeys } from "../../../src/store/deletion/fingerprints.ts";
import { LogStore } from "../../../src/store/log/log.ts";
import { FUZZ_KEY, FUZZ_SIGNER } from "../fuzz-key.ts";
import type { Mutant } from "./mutant.ts";

/** Under the name of the right key it makes the fingerprints of no term that was ever said. */
const WRONG_KEYS = new TermKeys({
  ...FUZZ_SIGNER,
  derive: async () => Promise.resolve({ ...FUZZ_KEY, bytes: Buffer.alloc(32, "wrong") }),
});

/** Texts that are no longer kept, and leave something behind that a deletion does not find. */
export const RETENTION_MUTANTS: readonly Mutant[] = [
  {
    name: "a deletion knows no fingerprints",
    breaks: ["I12"],
    store: (store, db) => ({ ...store, log: new LogStore(db, new DeletionEngine(CARRIERS, WRONG_KEYS)) }),
  },
];
