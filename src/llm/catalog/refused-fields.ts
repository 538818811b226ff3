import type { Refused } from "../dialect.ts";

/** Storage of models' refusals, by server. */
export interface LearnedRefusals {
  load(server: string): Promise<readonly { readonly model: string; readonly refused: Refused }[]>;
  keep(server: string, model: string, refused: Refused): Promise<void>;
}

/** The refusals of one server's models, under the server's names. */
export class RefusedFields {
  readonly #byModel = new Map<string, readonly Refused[]>();
  readonly #keep: (model: string, refused: Refused) => void;

  /** @param keep called for each new one; default: not stored for the next run */
  constructor(keep: (model: string, refused: Refused) => void = () => undefined) {
    this.#keep = keep;
  }

  of(model: string): readonly Refused[] {
    return this.#byModel.get(model) ?? [];
  }

  learn(model: string, refused: readonly Refused[]): void {
    for (const one of refused) if (this.recall(model, one)) this.#keep(model, one);
  }

  /** @returns whether it is new */
  recall(model: string, refused: Refused): boolean {
    const before = this.of(model);
    if (before.some(({ field, value }) => field === refused.field && value === refused.value)) return false;
    this.#byModel.set(model, [...before, refused]);
    return true;
  }
}
