import { z } from "zod";
import type { MemoryDraft, MemoryRejection } from "../core/memory.ts";
import type { WishDraft } from "../core/wish.ts";
import { parametersOf } from "../llm/tool-parameters.ts";
import { normalWords } from "../text/normal-text.ts";
import { checkMemories, type MemoryGateContext, memoryListSchema, mergeMemories } from "./gates.ts";
import { checkWishes, wishListSchema } from "./wish-gates.ts";

/** JSON Schema of the arguments of `memory_save`: what is to be remembered, and how people want to be answered. */
export const memorySaveParameters = parametersOf(
  z.object({ memories: memoryListSchema, wishes: wishListSchema }),
);

export interface SavedDrafts {
  readonly memories: readonly MemoryDraft[];
  readonly wishes: readonly WishDraft[];
}

export const NOTHING_SAVED: SavedDrafts = { memories: [], wishes: [] };

/** The drafts of two calls together. Pure. */
export function joinSaved(before: SavedDrafts, { memories, wishes }: SavedDrafts): SavedDrafts {
  return {
    memories: mergeMemories([...before.memories, ...memories]),
    wishes: [...before.wishes, ...wishes],
  };
}

/** A checked call of `memory_save`. */
export interface CheckedSave extends SavedDrafts {
  readonly dropped: readonly {
    /** `memories[0]` */
    readonly place: string;
    readonly reason: MemoryRejection;
    /** A model can act on it. */
    readonly why: string;
  }[];
}

const Call = z.looseObject({ memories: z.unknown().optional(), wishes: z.unknown().optional() });

/** Checks the arguments of `memory_save`, item by item. Pure. @param input parsed from JSON, but not checked */
export function checkSave(input: unknown, context: MemoryGateContext): CheckedSave {
  const { memories, wishes } = Call.safeParse(input).data ?? {};
  const hasWishesAlone = memories === undefined && wishes !== undefined;
  const remembered = hasWishesAlone ? { kept: [], dropped: [] } : checkMemories(input, context);
  const wished = checkWishes(wishes, { ...context, prompt: normalWords(context.promptText) });
  return {
    memories: remembered.kept,
    wishes: wished.kept,
    dropped: [
      ...remembered.dropped.map(({ index, ...fault }) => ({ place: `memories[${index}]`, ...fault })),
      ...wished.dropped.map(({ index, ...fault }) => ({ place: `wishes[${index}]`, ...fault })),
    ],
  };
}
