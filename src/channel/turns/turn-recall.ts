import PQueue from "p-queue";
import type { EntryReference, FoundIds, RecallArms, RecalledIds } from "../../core/entry.ts";
import { afterReset, answeredMessages, type History, rawFrom, type TurnRange } from "../../core/history.ts";
import type { Memory } from "../../core/memory.ts";
import {
  type HistoryFound,
  type HistoryRequest,
  HistorySearch,
  type MessagesRead,
  type ReadRequest,
  type SearchedLog,
} from "../../memory/history-search.ts";
import { MAX_QUERY, type RecallQuery } from "../../memory/recall.ts";
import { worthShowing } from "../../memory/recall-worth.ts";
import type { MemoryRecallQuery } from "../../memory/recall-memories.ts";
import { newestWords } from "../../text/text.ts";
import { withDeadline } from "../../async/deadline.ts";
import { asksOfSelf } from "../../memory/own-words.ts";
import { askersOf, type FirstRecall, type Recallable, seesElsewhere } from "../../turn/first-recall.ts";
import type { ActorParts } from "../channel-context.ts";
import type { GuardedHistory } from "../guarded-history.ts";

/** Limit for a turn's look-ups before its first model call, ms. */
export const LOOKED_UP_WITHIN_MS = 400;
/** Searches of one turn at a time: a model may ask for many, and other channels search as well. */
const SEARCHES_AT_ONCE = 2;

/** Longest part of a replied-to message that is searched for, in UTF-16 units. */
const REPLIED_TO = 300;

/** Ends the searches of a turn. One for all: `abort` alone would take a stack trace for each turn. */
const TURN_OVER = new Error("The turn is over.");

/** The askers, and the messages to which they reply. */
interface Asking {
  readonly askers: FirstRecall["askers"];
  readonly repliesTo?: Promise<string>;
}

/** A search that began before its turn. */
interface Ahead<Found> {
  readonly text: string;
  readonly limit: number;
  readonly found: Promise<Found[]>;
}

export function recallableBy(
  parts: Pick<ActorParts, "agent" | "kind" | "workspace" | "isShared">,
): Recallable {
  const { config } = parts.agent;
  return {
    recall: config.memory.recall,
    seesElsewhere: seesElsewhere(parts, () => parts.isShared?.(config) ?? true),
  };
}

type TurnRecallParts = Pick<
  ActorParts,
  "agent" | "owner" | "workspace" | "kind" | "recall" | "memories" | "lookUpWithinMs" | "now"
> & { readonly store: Pick<ActorParts["store"], "attached" | "lines"> };

/** Searches a channel's log and memories for one turn. Disposing cancels the searches under way. */
export class TurnRecall implements Disposable {
  readonly #parts: TurnRecallParts;
  readonly #history: Pick<GuardedHistory, "current">;
  readonly #turn: Pick<TurnRange, "fromSeq" | "toSeq" | "agent">;
  readonly #searches = new PQueue({ concurrency: SEARCHES_AT_ONCE });
  readonly #all = new AbortController();
  /** Aborts the turn's automatic searches. */
  readonly #automatic = new AbortController();
  #entriesAhead: Ahead<EntryReference> | null = null;
  #memoriesAhead: Ahead<Memory> | null = null;
  #found: FoundIds = { entries: [], memories: [] };
  /** Automatic searches that have not ended, or were late. */
  #unanswered = 0;
  #arms: RecallArms | undefined;

  constructor(
    parts: TurnRecallParts,
    history: Pick<GuardedHistory, "current">,
    turn: Pick<TurnRange, "fromSeq" | "toSeq" | "agent">,
  ) {
    this.#parts = parts;
    this.#history = history;
    this.#turn = turn;
  }

  /** Whether the search is for this turn and these words. */
  isFor({ fromSeq, toSeq }: Pick<TurnRange, "fromSeq" | "toSeq">, { text }: FirstRecall): boolean {
    return this.#turn.fromSeq === fromSeq && this.#turn.toSeq === toSeq && this.#memoriesAhead?.text === text;
  }

  get isSearching(): boolean {
    return this.#searches.pending + this.#searches.size > 0;
  }

  /** Resolves once no search is running or queued. */
  async settled(): Promise<void> {
    await this.#searches.onIdle();
  }

  /** The results that arrived before the model call. */
  get found(): RecalledIds {
    const { entries, memories } = this.#found;
    if (this.#arms === undefined) return this.#found;
    return {
      entries,
      memories,
      arms: { words: among(this.#found, this.#arms.words), meaning: among(this.#found, this.#arms.meaning) },
    };
  }

  /** An automatic search came late or failed. */
  get hasMissed(): boolean {
    return this.#unanswered > 0;
  }

  /** Begins the turn's first search early: the log may lack its messages yet. */
  start({ text, entries, memories, askers, repliesTo }: FirstRecall): void {
    if (memories === 0) return;
    if (entries === 0) {
      const found = this.#search(this.#automatic.signal, async (signal) =>
        this.#parts.recall.findMemories(this.#parts.memories, {
          ...this.#memoriesQuery(text, memories, askers),
          signal,
        }),
      );
      this.#memoriesAhead = ahead(text, memories, found);
      return;
    }
    const asking = { askers, repliesTo: this.#said(repliesTo) };
    const both = this.#search(this.#automatic.signal, async (signal) =>
      this.#parts.recall.findWithMemories(
        { ...this.#entriesQuery(text, entries, asking), signal },
        this.#parts.memories,
        { ...this.#memoriesQuery(text, memories, askers), signal },
      ),
    );
    const said = both.then((one) => {
      this.#arms = one.arms;
      return one.entries;
    });
    const remembered = both.then((one) => one.memories);
    this.#entriesAhead = ahead(text, entries, said);
    this.#memoriesAhead = ahead(text, memories, remembered);
  }

  /** Entries outside the view, without late results. @returns the best first */
  async entries(text: string, limit: number): Promise<EntryReference[]> {
    const find = async (): Promise<EntryReference[]> =>
      this.#search(this.#automatic.signal, async (signal) =>
        this.#parts.recall.find(
          { ...this.#entriesQuery(text, limit), signal },
          { memories: this.#parts.memories, asked: { ...this.#memoriesQuery(text, limit), signal } },
        ),
      );
    const search = taken(this.#entriesAhead, text, limit) ?? find();
    // Asked once more, the view is another: entries have left it.
    this.#entriesAhead = null;
    const found = await this.#orNothingLate(search);
    this.#found = { ...this.#found, entries: found.map(({ seq }) => seq) };
    return found;
  }

  /**
   * Searches what the model is not shown, for a tool call: the model waits for it.
   * @param shown the history of the model's request
   * @param signal the call's
   */
  async searchHistory(request: HistoryRequest, shown: History, signal: AbortSignal): Promise<HistoryFound> {
    const { memories } = this.#parts;
    const asked = this.#memoriesQuery(request.query ?? "", request.limit);
    return this.#search(signal, async (until) =>
      this.#historySearch().search(request, this.#log(shown, until), {
        memories,
        asked: { ...asked, signal: until },
      }),
    );
  }

  /** Reads such messages. The parameters are those of {@link searchHistory}. */
  async readMessages(request: ReadRequest, shown: History, signal: AbortSignal): Promise<MessagesRead> {
    const { from } = request;
    const summary = shown.summaries.find(({ fromSeq, toSeq }) => fromSeq <= from && from <= toSeq);
    return this.#search(signal, async (until) =>
      this.#historySearch().read(request, this.#log(shown, until), summary?.toSeq ?? null),
    );
  }

  #historySearch(): HistorySearch {
    const { recall, store, now } = this.#parts;
    return new HistorySearch(recall, store.lines, now);
  }

  #log(shown: History, signal: AbortSignal): SearchedLog {
    const { owner, agent } = this.#parts;
    return {
      channel: owner.channel,
      from: afterReset(this.#history.current),
      to: Math.min(rawFrom(shown), this.#turn.fromSeq) - 1,
      timeZone: agent.config.timeZone,
      self: { names: [agent.config.name, "you"], agent: this.#turn.agent ?? null },
      askers: this.#askers().map(({ name }) => name),
      signal,
    };
  }

  /** @param purpose `turn`: no late results @param signal the tool call's */
  async memories(
    text: string,
    purpose: "turn" | "tool",
    limit: number,
    signal = this.#automatic.signal,
  ): Promise<Memory[]> {
    const find = async (): Promise<Memory[]> =>
      this.#search(signal, async (until) =>
        this.#parts.memories.find({ ...this.#memoriesQuery(text, limit), signal: until }, true, purpose),
      );
    if (purpose === "tool") return find();
    const found = await this.#orNothingLate(taken(this.#memoriesAhead, text, limit) ?? find());
    this.#found = { ...this.#found, memories: found.map(({ id }) => id) };
    return found;
  }

  [Symbol.dispose](): void {
    this.#all.abort(TURN_OVER);
  }

  /** Runs a search when a slot among the turn's searches is free, until either signal ends it. */
  async #search<Found>(signal: AbortSignal, find: (until: AbortSignal) => Promise<Found>): Promise<Found> {
    const until = AbortSignal.any([signal, this.#all.signal]);
    return this.#searches.add(async () => {
      until.throwIfAborted();
      return find(until);
    });
  }

  /** Drops a late result, and cancels its search. */
  async #orNothingLate<Found>(search: Promise<Found[]>): Promise<Found[]> {
    this.#unanswered++;
    try {
      const found = await withDeadline(search, this.#parts.lookUpWithinMs ?? LOOKED_UP_WITHIN_MS);
      if (found !== null) {
        this.#unanswered--;
        return found;
      }
    } catch (error) {
      if (!this.#automatic.signal.aborted && !this.#all.signal.aborted) throw error;
    }
    this.#automatic.abort();
    return [];
  }

  #entriesQuery(
    whole: string,
    limit: number,
    { askers, repliesTo }: Asking = { askers: this.#askers() },
  ): RecallQuery {
    const text = newestWords(whole, MAX_QUERY);
    const history = this.#history.current;
    const { channel } = this.#parts.owner;
    return {
      channel,
      text,
      from: afterReset(history),
      to: rawFrom(history) - 1,
      limit,
      askers: askers.map(({ name }) => name),
      ...worthShowing(text),
      ...(repliesTo !== undefined && { repliesTo }),
    };
  }

  #memoriesQuery(whole: string, limit: number, askers = this.#askers()): MemoryRecallQuery {
    const text = newestWords(whole, MAX_QUERY);
    const { agent, owner, workspace, kind } = this.#parts;
    const names = askers.map(({ name }) => name);
    return {
      agent: agent.config.id,
      channel: owner.channel,
      workspace,
      kind,
      text,
      askers: askers.map(({ id }) => id),
      names,
      self: asksOfSelf(text, names),
      limit,
    };
  }

  #askers(): FirstRecall["askers"] {
    return askersOf(answeredMessages(this.#history.current, this.#turn));
  }

  /** The texts of replied-to messages; a failure to read them does not fail the search. */
  async #said(messages: readonly string[]): Promise<string> {
    if (messages.length === 0) return "";
    const { store, owner } = this.#parts;
    try {
      const found = await store.attached.said(owner.channel, messages);
      // The placeholder of an expired text is nobody's words.
      const texts = [...found.values()].map(({ text, expired }) =>
        expired === true ? "" : (text ?? "").slice(0, REPLIED_TO),
      );
      return texts.join("\n").slice(0, REPLIED_TO);
    } catch {
      return "";
    }
  }
}

/** Those ids that are also among the finally found ones. */
function among(found: FoundIds, { entries, memories }: FoundIds): FoundIds {
  return {
    entries: entries.filter((seq) => found.entries.includes(seq)),
    memories: memories.filter((id) => found.memories.includes(id)),
  };
}

function ahead<Found>(text: string, limit: number, found: Promise<Found[]>): Ahead<Found> {
  // Avoids an unhandled rejection; awaiters still get the error.
  found.catch(() => undefined);
  return { text, limit, found };
}

function taken<Found>(from: Ahead<Found> | null, text: string, limit: number): Promise<Found[]> | null {
  return from !== null && from.text === text && from.limit === limit ? from.found : null;
}
