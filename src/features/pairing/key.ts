import type { FeatureKey } from "../../core/feature-key.ts";
import type { PairingDesk } from "./pairing-desk.ts";

export const PAIRING: FeatureKey<PairingDesk> = { name: "pairing" };
