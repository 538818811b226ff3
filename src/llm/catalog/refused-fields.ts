import type { Refused } from "../dialect.ts";

/** Where it is kept what models have refused, by server. */
export interface LearnedRefusals {
  load(server: string): Promise<readonly { readonly model: string; readonly refused: Refused }[]>;
  keep(server: string, model: string, refused: Refused): Promise<void>;
}

/** What the models of one server have refused, under the names that it has for them. */
export class RefusedFields {
  readonly #byModel = new Map<string, readonly Refused[]>();
  readonly #keep: (model: string, refused: Refused) => void;

  /** @param keep called for each that is new; default: nothing is kept for the next run */
  constructor(keep: (model: string, refused: Refused) => void = () => undefined) {
    this.#keep = keep;
  }

  of(model: string): readonly Refused[] {
    return this.#byModel.get(model) ?? [];
  }

  learn(model: string, refused: readonly Refused[]): void {
    for (const one of refused) if (this.#add(model, one)) this.#keep(model, one);
  }

  /** Takes over what an earlier run has learned. */
  recall(model: string, refused: Refused): void {
    this.#add(model, refused);
  }

  #add(model: string, refused: Refused): boolean {
    const before = this.of(model);
    if (before.some(({ field, value }) => field === refused.field && value === refused.value)) return false;
    this.#byModel.set(model, [...before, refused]);
    return true;
  }
}
