import type { Logger } from "pino";
import type { NoteKeeper } from "../agent-files/note-keeper.ts";
import { BoundedMap } from "../async/bounded-map.ts";
import { PollLoop } from "../async/poll-loop.ts";
import { errorMessage } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { GoneNote, NoteStore } from "../store/memory/notes.ts";

/** Interval between polls for lines to delete, ms. */
const EVERY_MS = 1000;
/** Delay before a file that could not be written is tried again, ms. */
const AGAIN_MS = 30_000;
/** Delay before a deleted or absent line is searched again, ms. */
const ABSENT_MS = 60_000;
/** Most lines whose delay is remembered. */
const MOST_RESTING = 10_000;

/**
 * Deletes lines from agents' notes whose source was deleted. Turns omit them from the commit on; this updates the files. The lines
 * follow from the rows, so a crash loses nothing.
 * @param keepers by agent that keeps notes
 */
export function startGoneNotes(
  notes: NoteStore,
  keepers: ReadonlyMap<AgentId, NoteKeeper>,
  log: Logger,
): GoneNotesSweeper {
  const gone = new GoneNotes(notes, log);
  gone.configure(keepers);
  return gone;
}

/** Deletes lines from agents' notes until it is disposed of. */
export interface GoneNotesSweeper extends AsyncDisposable {
  /** Resolves once all currently listed lines are deleted from the writable files. Does not throw. */
  sweep(): Promise<void>;
  /** Sets the agents that keep notes. Does not poll while there are none. */
  configure(keepers: ReadonlyMap<AgentId, NoteKeeper>): void;
}

class GoneNotes implements GoneNotesSweeper {
  readonly #notes: NoteStore;
  #keepers: ReadonlyMap<AgentId, NoteKeeper> = new Map();
  readonly #log: Logger;
  readonly #closing = new AbortController();
  /** When a line is searched again: it was deleted, is in another daemon's file, or its file could not be written. */
  readonly #restsUntil = new BoundedMap<number>(MOST_RESTING);
  readonly #looks = new PollLoop(async () => this.#look());

  constructor(notes: NoteStore, log: Logger) {
    this.#notes = notes;
    this.#log = log;
  }

  configure(keepers: ReadonlyMap<AgentId, NoteKeeper>): void {
    this.#keepers = keepers;
    this.#looks.now();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#looks[Symbol.asyncDispose]();
  }

  async sweep(): Promise<void> {
    await this.#looks.once();
  }

  async #look(): Promise<number | null> {
    await this.#sweepAll();
    return this.#keepers.size > 0 ? EVERY_MS : null;
  }

  /** Must not throw. */
  async #sweepAll(): Promise<void> {
    for (const [agent, keeper] of this.#keepers) {
      try {
        await this.#sweep(agent, keeper);
      } catch (error) {
        this.#log.error({ agent, why: errorMessage(error) }, "notes_not_looked_through");
      }
    }
  }

  async #sweep(agent: AgentId, keeper: NoteKeeper): Promise<void> {
    for (let behind: number | undefined = 0; behind !== undefined && !this.#closing.signal.aborted;) {
      const gone: readonly GoneNote[] = await this.#notes.gone(agent, behind);
      const now = performance.now();
      const wanted = gone.filter(({ id }) => (this.#restsUntil.get(String(id)) ?? 0) <= now);
      for (const [file, lines] of Map.groupBy(wanted, (one) => one.file)) {
        const rest = (await this.#takeOut(agent, keeper, file, lines)) ? ABSENT_MS : AGAIN_MS;
        for (const { id } of lines) this.#restsUntil.set(String(id), now + rest);
      }
      behind = gone.at(-1)?.id;
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
    lines: readonly GoneNote[],
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
