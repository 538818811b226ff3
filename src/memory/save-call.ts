import { z } from "zod";
import type { LearnedDrafts } from "../core/compaction.ts";
import type { MemoryDraft, MemoryRejection } from "../core/memory.ts";
import { parametersOf } from "../llm/tool-parameters.ts";
import {
  checkMemories,
  type Fault,
  type MemoryGateContext,
  memoryListSchema,
  mergeMemories,
} from "./gates.ts";

/** A list in the arguments of `memory_save` beside the memories. */
export interface SaveList {
  /** Also the key of its drafts in the stored result of a job. */
  readonly name: string;
  /** Optional: a call may have no such list. */
  readonly schema: z.ZodType;
  /** Checks its items, one by one. Pure. @param input parsed from JSON, but not checked; undefined: there is no list */
  check(input: unknown, context: MemoryGateContext): CheckedList;
}

export interface CheckedList {
  readonly kept: readonly object[];
  /** Rejected items, by their place in the call, each with a reason that a model can act on. */
  readonly dropped: readonly ({ readonly index: number } & Fault)[];
}

export interface SavedDrafts {
  readonly memories: readonly MemoryDraft[];
  readonly learned: LearnedDrafts;
}

export const NOTHING_SAVED: SavedDrafts = { memories: [], learned: {} };

/** The drafts of two calls together. Pure. */
export function joinSaved(before: SavedDrafts, { memories, learned }: SavedDrafts): SavedDrafts {
  const lists = Object.entries(learned).map(([name, drafts]) => [
    name,
    [...(before.learned[name] ?? []), ...drafts],
  ]);
  return {
    memories: mergeMemories([...before.memories, ...memories]),
    learned: { ...before.learned, ...Object.fromEntries(lists) },
  };
}

export function countSaved({ memories, learned }: SavedDrafts): number {
  return [memories, ...Object.values(learned)].reduce((sum, { length }) => sum + length, 0);
}

export interface CheckedSave extends SavedDrafts {
  readonly dropped: readonly {
    /** `memories[0]` */
    readonly place: string;
    readonly reason: MemoryRejection;
    /** A model can act on it. */
    readonly why: string;
  }[];
}

const Call = z.record(z.string(), z.unknown());

/** The arguments of `memory_save`: what is to be remembered, and further lists. */
export class MemorySave {
  /** As JSON Schema. */
  readonly parameters: ReturnType<typeof parametersOf>;
  readonly #lists: readonly SaveList[];

  constructor(lists: readonly SaveList[]) {
    this.#lists = lists;
    const others = Object.fromEntries(lists.map(({ name, schema }) => [name, schema]));
    this.parameters = parametersOf(z.object({ memories: memoryListSchema, ...others }));
  }

  /** Checks the arguments of a call, item by item. Pure. @param input parsed from JSON, but not checked */
  check(input: unknown, context: MemoryGateContext): CheckedSave {
    const call = Call.safeParse(input).data ?? {};
    const checked = this.#lists.map((list) => ({
      name: list.name,
      ...list.check(call[list.name], context),
    }));
    const hasOthersAlone =
      call["memories"] === undefined && this.#lists.some(({ name }) => call[name] !== undefined);
    const remembered = hasOthersAlone ? { kept: [], dropped: [] } : checkMemories(input, context);
    return {
      memories: remembered.kept,
      learned: Object.fromEntries(
        checked.flatMap(({ name, kept }) => (kept.length === 0 ? [] : [[name, kept]])),
      ),
      dropped: [{ name: "memories", ...remembered }, ...checked].flatMap(({ name, dropped }) =>
        dropped.map(({ index, ...fault }) => ({ place: `${name}[${index}]`, ...fault })),
      ),
    };
  }
}
