import { Looks } from "../../async/looks.ts";
import type { CatchUpLedger, Gap } from "../platform.ts";

export interface AbandonedGapsParts {
  readonly platform: string;
  readonly ledger: Pick<CatchUpLedger, "sharing">;
  /** Starts filling a gap, unless it is being filled here. */
  readonly open: (gap: Gap) => void;
  /** How often it looks, ms. Default: a minute. */
  readonly abandonedEveryMs?: number | undefined;
}

const EVERY_MS = 60_000;

/** Takes up recorded gaps that another daemon was reading when it died. Where this one is alone there are none: it reads its own at its start. */
export class AbandonedGaps {
  readonly #parts: AbandonedGapsParts;
  readonly #looks: Looks;

  constructor(parts: AbandonedGapsParts) {
    this.#parts = parts;
    this.#looks = new Looks(async () => this.#look());
  }

  /** May be called twice. */
  start(): void {
    if (this.#parts.ledger.sharing !== undefined) this.#looks.now();
  }

  stop(): void {
    void this.#looks[Symbol.asyncDispose]();
  }

  async #look(): Promise<number> {
    const { platform, ledger, open, abandonedEveryMs = EVERY_MS } = this.#parts;
    // A database that is away is asked again with the next look.
    const gaps = (await ledger.sharing?.abandoned(platform).catch(() => [])) ?? [];
    for (const gap of gaps) open(gap);
    return abandonedEveryMs;
  }
}
