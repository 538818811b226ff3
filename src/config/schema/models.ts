import { z } from "zod";
import { option, whole, windowSize } from "./values.ts";

/** One of `[models."NAME"]`. */
export const modelSchema = z
  .strictObject({
    context_window: option(
      windowSize,
      0,
      "How many tokens this model can read and write in one call, for whoever uses it. It goes over context_window of an agent.",
    ),
    max_output_tokens: option(
      whole(0, 1_000_000, "tokens"),
      0,
      "The longest answer that this model gives, where that is less than an agent's max_output_tokens. 0: it is not.",
    ),
  })
  .describe('a table, [models."NAME"]');
