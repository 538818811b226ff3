import type { DerivedKey } from "../../src/store/database/signing-key.ts";

/** All incarnations of a run have one key to the fingerprints of what is no longer kept. */
export const FUZZ_KEY: DerivedKey = { keyId: "fuzz", bytes: Buffer.alloc(32, "fuzz") };
