import type { Context } from "../core/context.ts";

/** What a channel's last model request was like, for an estimate of the next one between turns. */
export class LastRequest {
  /** The server's name of the agent's model, as far as it is known. */
  model: string;
  /** Tokens of its dynamic part: what will be recalled is not known between turns. */
  dynamicTokens = 0;

  /** @param model as it is configured */
  constructor(model: string) {
    this.model = model;
  }

  note(model: string, context: Context): void {
    this.model = model;
    this.dynamicTokens = context.segments.find(({ key }) => key === "dynamic")?.tokens ?? 0;
  }
}
