import type { EntryReference, RecalledIds } from "../core/entry.ts";
import { type History, rawFrom, type TurnRange } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import type { Memory } from "../core/memory.ts";
import type { RecallQuery } from "../memory/recall.ts";
import type { MemoryRecallQuery } from "../memory/recall-memories.ts";
import { inTime } from "../telemetry/in-time.ts";
import type { FirstRecall } from "../turn/first-recall.ts";
import type { ActorParts } from "./actor-parts.ts";
import type { GuardedHistory } from "./guarded-history.ts";

/** A recall that takes longer is dropped, not waited for, ms. */
const RECALL_WITHIN_MS = 400;

/** A search that was begun before it was asked for. */
interface Ahead<Found> {
  readonly text: string;
  readonly limit: number;
  readonly found: Promise<Found[]>;
}

/** What one turn finds in its channel's log and among its memories. */
export class TurnRecall {
  readonly #parts: ActorParts;
  readonly #history: GuardedHistory;
  readonly #turn: Pick<TurnRange, "fromSeq" | "toSeq">;
  #entriesAhead: Ahead<EntryReference> | null = null;
  #memoriesAhead: Ahead<Memory> | null = null;
  #found: RecalledIds = { entries: [], memories: [] };

  constructor(parts: ActorParts, history: GuardedHistory, turn: Pick<TurnRange, "fromSeq" | "toSeq">) {
    this.#parts = parts;
    this.#history = history;
    this.#turn = turn;
  }

  /** It was begun for this turn, and for these words. */
  isFor({ fromSeq, toSeq }: Pick<TurnRange, "fromSeq" | "toSeq">, { text }: FirstRecall): boolean {
    return this.#turn.fromSeq === fromSeq && this.#turn.toSeq === toSeq && this.#entriesAhead?.text === text;
  }

  /** What was found before the model was asked. */
  get found(): RecalledIds {
    return this.#found;
  }

  /** Looks already for what the turn will ask for first. */
  start({ text, entries, memories }: FirstRecall): void {
    if (entries === 0 || memories === 0) return;
    const both = this.#parts.recall.findWithMemories(
      this.#entriesQuery(text, "hidden", entries),
      this.#parts.memories,
      this.#memoriesQuery(text, memories),
    );
    const [said, remembered] = [both.then((one) => one.entries), both.then((one) => one.memories)];
    this.#entriesAhead = ahead(text, entries, said);
    this.#memoriesAhead = ahead(text, memories, remembered);
  }

  /** @param scope `hidden`: only what is not in the view, and nothing that comes late; `all`: for a tool */
  async entries(text: string, scope: "hidden" | "all", limit: number): Promise<EntryReference[]> {
    // A tool call is what the model waits for; the automatic recall only helps.
    if (scope === "all") return this.#findEntries(text, scope, limit);
    const search = taken(this.#entriesAhead, text, limit) ?? this.#findEntries(text, scope, limit);
    const found = await orNothingLate(search);
    this.#found = { ...this.#found, entries: found.map(({ seq }) => seq) };
    return found;
  }

  /** @param purpose `turn`: nothing that comes late */
  async memories(text: string, purpose: "turn" | "tool", limit: number): Promise<Memory[]> {
    if (purpose === "tool") return this.#findMemories(text, limit);
    const search = taken(this.#memoriesAhead, text, limit) ?? this.#findMemories(text, limit);
    const found = await orNothingLate(search);
    this.#found = { ...this.#found, memories: found.map(({ id }) => id) };
    return found;
  }

  async #findEntries(text: string, scope: "hidden" | "all", limit: number): Promise<EntryReference[]> {
    return this.#parts.recall.find(this.#entriesQuery(text, scope, limit));
  }

  #entriesQuery(text: string, scope: "hidden" | "all", limit: number): RecallQuery {
    const history = this.#history.current;
    const to = scope === "hidden" ? rawFrom(history) - 1 : Math.min(history.lastSeq, this.#turn.fromSeq - 1);
    const { channel } = this.#parts.owner;
    return { channel, text, from: afterReset(history), to, limit, neighbours: 2 };
  }

  async #findMemories(text: string, limit: number): Promise<Memory[]> {
    return this.#parts.memories.find(this.#memoriesQuery(text, limit));
  }

  #memoriesQuery(text: string, limit: number): MemoryRecallQuery {
    const { agent, owner, workspace, kind } = this.#parts;
    return { agent: agent.config.id, channel: owner.channel, workspace, kind, text, limit };
  }
}

function ahead<Found>(text: string, limit: number, found: Promise<Found[]>): Ahead<Found> {
  // Whoever asks for it is told what went wrong; nobody may.
  found.catch(() => undefined);
  return { text, limit, found };
}

function taken<Found>(from: Ahead<Found> | null, text: string, limit: number): Promise<Found[]> | null {
  return from !== null && from.text === text && from.limit === limit ? from.found : null;
}

async function orNothingLate<Found>(search: Promise<Found[]>): Promise<Found[]> {
  return (await inTime(search, RECALL_WITHIN_MS)) ?? [];
}

/** What was said before a `/reset` is not brought back: somebody asked for that. */
function afterReset({ summaries }: History): Seq {
  return (summaries.findLast(({ kind }) => kind === "reset")?.toSeq ?? 0) + 1;
}
