import type { FeatureKey } from "../../core/feature-key.ts";
import type { WishStore } from "./wish-store.ts";

export const WISHES: FeatureKey<WishStore> = { name: "wishes" };
