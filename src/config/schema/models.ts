import { z } from "zod";
import {
  flag,
  header,
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

export const API_CHOICES = ["auto", "chat", "responses", "messages"] as const;

const api = oneOf(API_CHOICES);
const API_ABOUT =
  'Which API it is spoken to by: "chat" is OpenAI\'s Chat Completions, which nearly every server speaks, "responses" is OpenAI\'s ' +
  'Responses, "messages" is Anthropic\'s Messages. "auto" knows OpenAI\'s and Anthropic\'s own servers, and learns from a refusal ' +
  "that names another API.";

export const apiOption = startOption(api, "auto", API_ABOUT);

/** The name of one of `[llm.servers]`. */
const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;

/** One of `[llm.servers.NAME]`. */
const serverSchema = z
  .strictObject({
    base_url: namedServerUrl.register(optionTexts, {
      about: "Its address, which has to be named here, or the variable that holds it.",
      shown: "https://openrouter.ai/api/v1",
    }),
    api_key: option(secretOrNone, "", 'The variable with its key: "env:OPENROUTER_API_KEY". "" is none.'),
    api: option(api, "auto", "As of [llm], for this server."),
    headers: option(
      z
        .record(
          z
            .string()
            .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/)
            .describe("the name of a header"),
          header,
        )
        .describe('a table of headers, such as { Authorization = "Bearer env:NAME" }'),
      {},
      "Headers of each request to it, beside those of the API.",
    ),
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
      "More model servers beside the one of [llm]: [llm.servers.NAME] for each. A model of one is NAME/model wherever a model is named: " +
      "an agent's, a fallback, for summaries, for subagents, for vectors, in [models]. Where [llm] names no server, the first of them " +
      "answers names without a server. docs/models.md has examples.",
  });
