import { z } from "zod";
import { flag, option, startOption, whole, windowSize } from "./values.ts";

const MOST_DOLLARS = 1_000_000;
const dollars = z.number().min(0).max(MOST_DOLLARS);
const price = z
  .union([dollars, z.literal("unknown")])
  .describe(`dollars for a million tokens, 0 to ${MOST_DOLLARS}, or "unknown"`);

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
    price_in: option(
      price,
      "unknown",
      "What a million tokens of a request cost, in dollars: 0.25. Set with price_out; 0 is a model that costs nothing. " +
        '"unknown" leaves it to what the server lists and to the table of known models.',
    ),
    price_out: option(price, "unknown", "What a million tokens of its answers cost, in dollars."),
    price_cached: option(
      z
        .union([dollars, z.literal("price_in")])
        .describe(
          `dollars for a million tokens, 0 to ${MOST_DOLLARS}, or "price_in" for the same as price_in`,
        ),
      "price_in",
      "What a million tokens of a request cost that the provider had in its cache, in dollars.",
    ),
    write_price: option(
      z
        .union([dollars, z.literal("price_in")])
        .describe(
          `dollars for a million tokens, 0 to ${MOST_DOLLARS}, or "price_in" for the same as price_in`,
        ),
      "price_in",
      "What a million tokens of a request cost that the provider has written to its cache, in dollars.",
    ),
    sees_images: option(
      flag,
      true,
      "false: this model is sent no pictures, also as a fallback of an agent with sees_images = true.",
    ),
    cache_markers: startOption(
      z.union([flag, z.enum(["breakpoints", "auto"])]).describe('true, false, "breakpoints" or "auto"'),
      "auto",
      "true: requests say how far they may be cached, behind a gateway such as LiteLLM too: with cache_control, as Anthropic's models want it, " +
        'or with the breakpoints of gpt-5.6 and later, where the model has such a name. "breakpoints": with these, whatever its name. ' +
        '"auto": where the server is known to want it.',
    ),
  })
  .describe('a table, [models."NAME"]');
