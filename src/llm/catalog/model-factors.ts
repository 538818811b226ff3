import { type Anchor, nextFactor, UNCALIBRATED } from "../../core/calibration.ts";

/** Real tokens per estimated token, by model: what one channel teaches serves all. */
export class ModelFactors {
  readonly #factors = new Map<string, number>();

  of(model: string): number {
    return this.#factors.get(model) ?? UNCALIBRATED.factor;
  }

  learn(model: string, report: Anchor): void {
    this.#factors.set(model, nextFactor(this.of(model), report));
  }
}
