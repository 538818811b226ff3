import { type DerivedKey, NO_SIGNER, type Signer } from "../../src/store/database/signing-key.ts";

/** All incarnations of a run have one key to the fingerprints of expired texts. */
export const FUZZ_KEY: DerivedKey = { keyId: "fuzz", bytes: Buffer.alloc(32, "fuzz") };
export const FUZZ_SIGNER: Signer = { ...NO_SIGNER, derive: async () => Promise.resolve(FUZZ_KEY) };
