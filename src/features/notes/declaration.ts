import type { Declaration } from "../declaration.ts";

export const notes = { tools: ["memory_write", "note"] } as const satisfies Declaration;
