import { describePlatform } from "../../admin/reports/chat-facts.ts";
import type { Platform } from "../../platforms/platform.ts";

/** Shorter than a connection waits at the least before it is opened again: what is told of it is not missed. */
const LOOK_MS = 500;

/** Tells how the connections of platforms stand, a line each, whenever one of them changes. */
export class ConnectionWatch implements Disposable {
  readonly #platforms: readonly Pick<Platform, "name" | "connection">[];
  readonly #tell: (line: string) => void;
  /** What was told last of each. */
  readonly #told = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(platforms: readonly Pick<Platform, "name" | "connection">[], tell: (line: string) => void) {
    this.#platforms = platforms;
    this.#tell = tell;
  }

  /** @param isKnown how they stand now is shown elsewhere: only changes are told */
  start(isKnown: boolean): void {
    if (this.#platforms.length === 0) return;
    this.#compare(isKnown);
    this.#timer = setInterval(() => this.#compare(false), LOOK_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #compare(isKnown: boolean): void {
    for (const platform of this.#platforms) {
      const connection = platform.connection?.();
      if (connection === undefined) continue;
      // In how many servers it is may change at any time.
      const state = `${connection.kind} ${connection.why ?? ""}`;
      if (this.#told.get(platform.name) === state) continue;
      this.#told.set(platform.name, state);
      if (!isKnown) this.#tell(describePlatform(platform.name, connection));
    }
  }
}
