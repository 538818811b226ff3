import type { Logger } from "pino";
import type { NoteKeeper } from "../agent-files/note-keeper.ts";
import { BoundedMap } from "../async/bounded-map.ts";
import { pause } from "../async/clock.ts";
import { errorMessage } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { NoteStore } from "../store/memory/notes.ts";

/** How often it is looked whether a line is to leave its file, whoever took back what it tells, ms. */
const EVERY_MS = 1000;
/** … after a file could not be written, ms. */
const AGAIN_MS = 30_000;
/** How long nobody looks for a line that was not in its file, ms. */
const ABSENT_MS = 60_000;
/** Lines that are known not to be there. */
const MOST_ABSENT = 10_000;

/**
 * Takes the lines out of agents' notes that tell of what was taken back. Turns leave them out from the commit on; this makes the
 * files follow. What is still to go follows from the rows, so a crash in the middle loses nothing.
 * @param keepers of the agents that keep notes
 */
export function startGoneNotes(
  notes: NoteStore,
  keepers: ReadonlyMap<AgentId, NoteKeeper>,
  log: Logger,
): AsyncDisposable {
  const gone = new GoneNotes(notes, keepers, log);
  if (keepers.size > 0) gone.start();
  return gone;
}

class GoneNotes implements AsyncDisposable {
  readonly #notes: NoteStore;
  readonly #keepers: ReadonlyMap<AgentId, NoteKeeper>;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  /** Lines that were not in their file, and until when nobody looks again: another daemon may have the folder with the line. */
  readonly #absentUntil = new BoundedMap<number>(MOST_ABSENT);
  #running: Promise<void> = Promise.resolve();

  constructor(notes: NoteStore, keepers: ReadonlyMap<AgentId, NoteKeeper>, log: Logger) {
    this.#notes = notes;
    this.#keepers = keepers;
    this.#log = log;
  }

  start(): void {
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /** Must not throw. */
  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      let isDone = true;
      for (const [agent, keeper] of this.#keepers) isDone = (await this.#sweep(agent, keeper)) && isDone;
      await pause(isDone ? EVERY_MS : AGAIN_MS, signal);
    }
  }

  /** @returns false: a file could not be written, or the log not be read */
  async #sweep(agent: AgentId, keeper: NoteKeeper): Promise<boolean> {
    try {
      const gone = await this.#notes.gone(agent);
      const now = performance.now();
      const wanted = gone.filter(({ id }) => (this.#absentUntil.get(String(id)) ?? 0) <= now);
      for (const [file, lines] of Map.groupBy(wanted, (one) => one.file)) {
        const ids = lines.map(({ id }) => id);
        const found = await keeper.remove(file, new Set(ids));
        await this.#notes.drop(found);
        for (const id of ids) this.#absentUntil.set(String(id), now + ABSENT_MS);
      }
      return true;
    } catch (error) {
      this.#log.error({ agent, why: errorMessage(error) }, "note_not_removed_yet");
      return false;
    }
  }
}
