import { describePlatform } from "../admin/chat-facts.ts";
import type { Vitals } from "../admin/daemon-status.ts";
import { chatPlatform } from "../platforms/platforms.ts";

const LOOK_MS = 1000;

/** Tells how the connections to the chat platforms stand, a line each, whenever one of them changes. */
export class ConnectionWatch implements Disposable {
  readonly #look: () => Vitals["platforms"];
  readonly #tell: (line: string) => void;
  /** What was told last of each. */
  readonly #told = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(look: () => Vitals["platforms"], tell: (line: string) => void) {
    this.#look = look;
    this.#tell = tell;
  }

  /** @param isKnown how they stand now is shown elsewhere: only changes are told */
  start(isKnown: boolean): void {
    this.#compare(isKnown);
    this.#timer = setInterval(() => this.#compare(false), LOOK_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #compare(isKnown: boolean): void {
    for (const { name, connection } of this.#look()) {
      if (connection === null || chatPlatform(name) === undefined) continue;
      // In how many servers it is may change at any time.
      const state = `${connection.kind} ${connection.why ?? ""}`;
      if (this.#told.get(name) === state) continue;
      this.#told.set(name, state);
      if (!isKnown) this.#tell(describePlatform(name, connection));
    }
  }
}
