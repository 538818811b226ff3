import { z } from "zod";
import {
  flag,
  headers,
  namedServerUrl,
  oneOf,
  option,
  optionTexts,
  secretOrNone,
  startOption,
  whole,
  windowSize,
} from "./values.ts";

const MOST_DOLLARS = 1_000_000;
const dollars = z.number().min(0).max(MOST_DOLLARS);
const price = z
  .union([dollars, z.literal("unknown")])
  .describe(`dollars for a million tokens, 0 to ${MOST_DOLLARS}, or "unknown"`);

const priceOrInput = z
  .union([dollars, z.literal("price_in")])
  .describe(`dollars for a million tokens, 0 to ${MOST_DOLLARS}, or "price_in"`);

/** One of `[models."NAME"]`. */
export const modelSchema = z
  .strictObject({
    context_window: option(
      windowSize,
      0,
      "The model's window in tokens, over an agent's context_window. 0: as the server lists it, or the " +
        "table of known models.",
    ),
    max_output_tokens: option(
      whole(0, 1_000_000, "tokens"),
      0,
      "The model's longest answer, if it is less than an agent's max_output_tokens. 0: it is not.",
    ),
    price_in: option(
      price,
      "unknown",
      'Dollars for a million tokens of a request: 0.25. Set it with price_out. "unknown": as the server ' +
        "lists it, or the table of known models.",
    ),
    price_out: option(price, "unknown", "The same of its answers."),
    price_cached: option(priceOrInput, "price_in", "The same of what the provider had in its cache."),
    write_price: option(priceOrInput, "price_in", "The same of what the provider writes to its cache."),
    sees_images: option(
      flag,
      true,
      "false: the model gets no pictures, also as a fallback of an agent with sees_images = true.",
    ),
    cache_markers: startOption(
      z.union([flag, z.enum(["breakpoints", "auto"])]).describe('true, false, "breakpoints" or "auto"'),
      "auto",
      "true: requests carry cache marks, also behind a gateway: cache_control for Anthropic's models, " +
        'breakpoints from gpt-5.6 on. "breakpoints": these, whatever the name. "auto": where the server is ' +
        "known to want them.",
    ),
  })
  .describe('a table, [models."NAME"]');

export const API_CHOICES = ["auto", "chat", "responses", "messages"] as const;

const api = oneOf(API_CHOICES);
const API_ABOUT =
  'Its API: "chat" is OpenAI\'s Chat Completions, which nearly every server speaks, "responses" OpenAI\'s ' +
  'Responses, "messages" Anthropic\'s. "auto" knows their servers, and learns from refusals.';

export const apiOption = startOption(api, "auto", API_ABOUT);

/** The name of one of `[llm.servers]`. */
const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** One of `[llm.servers.NAME]`. */
const serverSchema = z
  .strictObject({
    base_url: namedServerUrl.register(optionTexts, {
      about: "Its address, or the variable that holds it: required.",
      shown: "https://openrouter.ai/api/v1",
    }),
    api_key: option(secretOrNone, "", 'The variable with its key: "env:OPENROUTER_API_KEY". "": none.'),
    api: option(api, "auto", "As in [llm]."),
    headers: option(headers, {}, "Headers of each request, beside those of the API."),
  })
  .describe("a table, [llm.servers.NAME]");

export const serversSchema = z
  .record(
    z.string().regex(SERVER_NAME).describe("a name of 1 to 40 letters, digits, `-` and `_`"),
    serverSchema,
  )
  .describe("tables, [llm.servers.NAME]")
  .optional()
  .register(optionTexts, {
    about:
      "More model servers: [llm.servers.NAME] for each. NAME/model is a model of one. If [llm] names no " +
      "server, the first answers names without a server. Examples: docs/models.md.",
  });
