import type { Logger } from "pino";
import type { NoteKeeper } from "./note-keeper.ts";
import { BoundedMap } from "../../async/bounded-map.ts";
import { PollLoop } from "../../async/poll-loop.ts";
import { errorMessage } from "../../core/errors.ts";
import type { AgentId } from "../../core/ids.ts";
import type { FeatureWorker } from "../feature.ts";
import type { NoteStore, RemovedNote } from "./note-store.ts";

/** Interval between polls for lines to delete, ms. */
const EVERY_MS = 1000;
/** Delay before a file that could not be written is tried again, ms. */
const AGAIN_MS = 30_000;
/** Delay before a deleted or absent line is searched again, ms. */
const ABSENT_MS = 60_000;
/** Age of a draft that nobody finishes any more, ms. */
const DRAFT_MS = 60_000;
/** When drafts are searched for again after the first time, and after each later one, ms: of a kill just before the start, and of others. */
const DRAFTS_AGAIN_MS = { first: 2 * DRAFT_MS, later: 3_600_000 };
/** Most lines whose delay is remembered. */
const MOST_RESTING = 10_000;

/**
 * Deletes lines from agents' notes whose source was edited or deleted. Turns omit them from the commit on; this updates the files. The
 * lines follow from the rows, so a crash loses nothing.
 */
export class NoteSweeper implements FeatureWorker, AsyncDisposable {
  readonly #notes: NoteStore;
  readonly #keepers: () => ReadonlyMap<AgentId, NoteKeeper>;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  /** When a line is searched again: it was deleted, is in another daemon's file, or its file could not be written. */
  readonly #restsUntil = new BoundedMap<number>(MOST_RESTING);
  /** When drafts are searched for again, by agent. */
  readonly #draftsAt = new Map<AgentId, number>();
  readonly #polls = new PollLoop(async () => {
    await this.#sweepAll(this.#closing.signal);
    return this.#keepers().size > 0 ? EVERY_MS : null;
  });

  /** @param keepers of the agents that have a folder now. It does not poll while there are none. */
  constructor(notes: NoteStore, log: Logger, keepers: () => ReadonlyMap<AgentId, NoteKeeper>) {
    this.#notes = notes;
    this.#log = log;
    this.#keepers = keepers;
  }

  start(): void {
    this.#polls.now();
  }

  reconfigured(): void {
    this.#polls.now();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#polls[Symbol.asyncDispose]();
  }

  /**
   * Resolves once all currently listed lines are deleted from the writable files. Does not throw. Works also after disposal: a request
   * to forget a person may still be answered.
   */
  async sweep(): Promise<void> {
    this.#draftsAt.clear();
    await (this.#closing.signal.aborted ? this.#sweepAll() : this.#polls.once());
  }

  /** Must not throw. */
  async #sweepAll(signal?: AbortSignal): Promise<void> {
    for (const [agent, keeper] of this.#keepers()) {
      try {
        await this.#sweep(agent, keeper, signal);
        await this.#removeDrafts(agent, keeper);
      } catch (error) {
        this.#log.error({ agent, why: errorMessage(error) }, "notes_not_looked_through");
      }
    }
  }

  /** They have words of people, and no row leads to them. */
  async #removeDrafts(agent: AgentId, keeper: NoteKeeper): Promise<void> {
    const now = performance.now();
    const due = this.#draftsAt.get(agent);
    if (due !== undefined && now < due) return;
    this.#draftsAt.set(agent, now + (due === undefined ? DRAFTS_AGAIN_MS.first : DRAFTS_AGAIN_MS.later));
    await keeper.removeDrafts(new Date(Date.now() - DRAFT_MS));
  }

  async #sweep(agent: AgentId, keeper: NoteKeeper, signal?: AbortSignal): Promise<void> {
    for (let after: number | undefined = 0; after !== undefined;) {
      if (signal?.aborted === true) return;
      const removed: readonly RemovedNote[] = await this.#notes.removed(agent, after);
      const now = performance.now();
      const wanted = removed.filter(({ id }) => (this.#restsUntil.get(String(id)) ?? 0) <= now);
      for (const [file, lines] of Map.groupBy(wanted, (one) => one.file)) {
        const rest = (await this.#takeOut(agent, keeper, file, lines)) ? ABSENT_MS : AGAIN_MS;
        for (const { id } of lines) this.#restsUntil.set(String(id), now + rest);
      }
      after = removed.at(-1)?.id;
    }
  }

  /**
   * A deleted line stays listed for a month: an open editor may still contain it, and restore it.
   * @returns false: the file could not be written; others still can
   */
  async #takeOut(
    agent: AgentId,
    keeper: NoteKeeper,
    file: string,
    lines: readonly RemovedNote[],
  ): Promise<boolean> {
    let found: readonly number[];
    try {
      found = await keeper.remove(file, new Set(lines.map(({ id }) => id)));
    } catch (error) {
      this.#log.error({ agent, why: errorMessage(error) }, "note_not_removed_yet");
      return false;
    }
    const over = lines.filter(({ id, isOld }) => isOld && !found.includes(id));
    await this.#notes.drop(over.map(({ id }) => id));
    return true;
  }
}
