import type { Logger } from "pino";
import { errorMessage } from "../../core/errors.ts";
import { personKey } from "../../core/ids.ts";
import type { PairedPerson, PairingStore } from "./pairing-store.ts";

interface PairedPeopleParts {
  readonly store: Pick<PairingStore, "people" | "version">;
  readonly log: Logger;
  /** Called when the list has changed, also by another daemon or the command line. Must not throw. */
  readonly onChanged?: () => void;
  /** How often is looked, ms; default: a second. */
  readonly pollMs?: number;
}

const POLL_MS = 1000;

/**
 * The people who were let in by pairing, in memory, because admission checks each message without a wait. The rows are read
 * each second, so changes by any daemon or `weir pair` take effect soon. Independent of the configuration, and of its reload.
 */
export class PairedPeople implements AsyncDisposable {
  readonly #parts: PairedPeopleParts;
  #people: ReadonlyMap<string, PairedPerson> = new Map();
  #version: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  /** The last reported error. */
  #warned: string | null = null;
  #isOpen = false;

  constructor(parts: PairedPeopleParts) {
    this.#parts = parts;
  }

  /**
   * Reads the list now and repeatedly from now on, even if this first read fails. Idempotent. Before this call, the list is
   * empty.
   * @throws WeirError
   */
  async open(): Promise<void> {
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#arm();
    }
    await this.refresh();
  }

  get size(): number {
    return this.#people.size;
  }

  find(platform: string, person: string): PairedPerson | null {
    return this.#people.get(personKey(platform, person)) ?? null;
  }

  /** Reads the list now: it has just been changed. @throws WeirError if the database does not answer */
  async refresh(): Promise<void> {
    await this.#looking;
    await this.#read();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOpen = false;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #arm(): void {
    const { pollMs = POLL_MS } = this.#parts;
    if (!this.#isOpen) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().finally(() => {
        this.#looking = null;
        this.#arm();
      });
    }, pollMs).unref();
  }

  /** Must not throw. If the database does not answer, the last list stays valid. */
  async #look(): Promise<void> {
    try {
      await this.#read();
      this.#warned = null;
    } catch (error) {
      const why = errorMessage(error);
      if (why !== this.#warned) this.#parts.log.warn({ why }, "paired_people_not_read");
      this.#warned = why;
    }
  }

  async #read(): Promise<void> {
    const { store, onChanged } = this.#parts;
    // Before the rows, so that a change between the two is read again.
    const version = await store.version();
    if (version === this.#version) return;
    const people = await store.people();
    this.#people = new Map(people.map((one) => [personKey(one.platform, one.person), one]));
    this.#version = version;
    onChanged?.();
  }
}
