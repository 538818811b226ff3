import type { Figure } from "./support/figure.ts";
export const recallQuality: Figure = { name: "recall-quality", about: "", run: async () => [] };
