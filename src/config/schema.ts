import { z } from "zod";
import type { AgentId } from "../core/ids.ts";
import { CHAT_PLATFORMS, COMPACTION_NOTIFY, DM_POLICIES, LOG_LEVELS, MIN_WINDOW } from "./config.ts";

/**
 * What may stand in config.toml. Every key is optional here; the built-in defaults are in defaults.ts. The
 * description of a key completes "expected: …".
 */

const HOUR_MS = 3_600_000;
/** Who waits for an end for longer kills: process managers do by then, and so does Weir itself. */
export const MAX_DRAIN_MS = 100_000;
const WEEK_MS = 168 * HOUR_MS;
const MAX_PORT = 65_535;
/** All that the service takes in one message. */
export const MAX_LOOPBACK_TEXT = 1_000_000;

function whole(min: number, max: number, unit: string): z.ZodNumber {
  return z.number().int().min(min).max(max).describe(`a whole number of ${unit}, ${min} to ${max}`);
}

function share(): z.ZodNumber {
  return z.number().gt(0).lt(1).describe("a share of the usable window: a number between 0 and 1");
}

const text = (what: string, max: number): z.ZodString => z.string().max(max).describe(what);

const modelName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .describe('the name of a model, in quotes, or "auto" for the one that the server offers');

/** A variable of the environment that holds the secret: secrets never stand in the file. */
const secret = z
  .string()
  .regex(/^env:[A-Za-z_][A-Za-z0-9_]*$/)
  .describe(
    'the name of an environment variable that holds it, as "env:NAME": secrets never stand in this file',
  );

/** Completes "expected: …" where the address of the model server stands, in the file or in the environment. */
export const MODEL_SERVER_ADDRESS =
  'an address such as "http://127.0.0.1:11434/v1", without user, password and query: a key belongs in OPENAI_API_KEY';

const httpUrl = z
  .string()
  .refine((value) => isPlainHttpUrl(value) || /^env:[A-Za-z_][A-Za-z0-9_]*$/.test(value))
  .describe(`${MODEL_SERVER_ADDRESS}; or "env:NAME"`);

const loopbackUrl = z
  .string()
  .refine((value) => value === "" || isPlainHttpUrl(value))
  .describe(
    'an address such as "http://127.0.0.1:8787", without user, password and query, or "" to switch it off',
  );

/** An address that holds no secret in a place for one, and that a path may be put behind. */
export function isPlainHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return false;
  return [url.username, url.password, url.search, url.hash].every((part) => part === "");
}

const timeZone = z.string().refine(isTimeZone).describe('an IANA time zone such as "UTC" or "Europe/Berlin"');

function isTimeZone(value: string): boolean {
  try {
    // Intl also takes "+02:00", which has no summer time and is no IANA name.
    return (
      /^[A-Za-z]/.test(value) && Intl.DateTimeFormat("en", { timeZone: value }).resolvedOptions() !== null
    );
  } catch {
    return false;
  }
}

const compaction = z.strictObject({
  enabled: z.boolean().describe("true or false").optional(),
  notify: z
    .enum(COMPACTION_NOTIFY)
    .describe(`one of ${quotedList(COMPACTION_NOTIFY)}`)
    .optional(),
  background_threshold: share().optional(),
  aggressive_threshold: share().optional(),
  emergency_threshold: share().optional(),
  target: share().optional(),
  keep_messages: whole(1, 10_000, "messages").optional(),
  max_raw_messages: whole(10, 1_000_000, "messages").optional(),
  deadline_ms: whole(1000, HOUR_MS, "milliseconds").optional(),
});

/** What `[defaults]` and each of `[[agents]]` may set. */
const agentOptions = {
  instructions: text("text, at most 100000 characters", 100_000).optional(),
  prompt: text('the path of a template file, or "" for the one that comes with Weir', 4096).optional(),
  compactor_prompt: text(
    'the path of a template file, or "" for the one that comes with Weir',
    4096,
  ).optional(),
  model: modelName.optional(),
  compactor_model: text('the name of a model, or "" for the same as `model`', 200).optional(),
  fallbacks: z
    .array(modelName)
    .max(10)
    .describe('a list of at most 10 names of models, such as ["a", "b"]')
    .optional(),
  sees_images: z.boolean().describe("true or false").optional(),
  temperature: z
    .union([z.number().min(0).max(2), z.literal("default")])
    .describe('a number from 0 to 2, or "default" for the server\'s own')
    .optional(),
  context_window: z
    .number()
    .int()
    .refine((value) => value === 0 || (value >= MIN_WINDOW && value <= 100_000_000))
    .describe(
      `a whole number of tokens, ${MIN_WINDOW} to 100000000, or 0 to look it up in the table of known models`,
    )
    .optional(),
  max_output_tokens: whole(1, 1_000_000, "tokens").optional(),
  generation_reserve: whole(0, 1_000_000, "tokens").optional(),
  max_tool_iterations: whole(1, 100, "iterations").optional(),
  tool_timeout_ms: whole(1, HOUR_MS, "milliseconds").optional(),
  time_zone: timeZone.optional(),
  compaction: compaction.describe("a table, [….compaction]").optional(),
};

export function isAgentId(value: unknown): value is AgentId {
  return typeof value === "string" && /^[a-z0-9][a-z0-9_-]{0,62}$/.test(value);
}

const agent = z.strictObject({
  id: z
    .custom<AgentId>(isAgentId)
    .describe(
      "an id of 1 to 63 small letters, digits, `-` and `_`, that begins with a letter or a digit, in quotes",
    ),
  name: z
    .string()
    .max(80)
    .refine((value) => !/[\p{Cc}[\]]/u.test(value))
    .describe('a name on one line, at most 80 characters, without [ and ], or "" for the id')
    .optional(),
  ...agentOptions,
});

/** Names or ids, as people write them: `#general`, `1234567890`. */
const names = (what: string): z.ZodArray<z.ZodString> =>
  z
    .array(z.string().trim().min(1).max(200).describe('an id or a name, in quotes: "1234567890"'))
    .max(1000)
    .describe(`a list of ${what}, in quotes`);

const flag = z.boolean().describe("true or false");

/** What each chat platform may set. */
const chatOptions = {
  api_url: loopbackUrl.optional(),
  dm: z
    .enum(DM_POLICIES)
    .describe(`one of ${quotedList(DM_POLICIES)}`)
    .optional(),
  allow: names("ids of people").optional(),
  owners: names("ids of people").optional(),
  owner_roles: names("ids or names of roles").optional(),
  catch_up_max_age_ms: whole(0, WEEK_MS, "milliseconds").optional(),
};

const binding = z.strictObject({
  agent: z.string().min(1).max(63).describe("the id of one of [[agents]], in quotes"),
  platform: z.enum(CHAT_PLATFORMS).describe(`one of ${quotedList(CHAT_PLATFORMS)}`),
  workspaces: names("ids or names of servers or teams").optional(),
  channels: names("ids or names of channels").optional(),
  threads: flag.optional(),
  dms: flag.optional(),
  mention_required: flag.optional(),
  listen: flag.optional(),
  allow_users: names("ids of people").optional(),
  allow_roles: names("ids or names of roles").optional(),
  allow_bots: flag.optional(),
  rate_limit: whole(0, 1000, "turns a minute, 0 for no limit").optional(),
  streaming: flag.optional(),
  acknowledge: text('an emoji, such as "👀", or "" for none', 64).optional(),
});

export const fileSchema = z.strictObject({
  database: z
    .strictObject({
      url: secret.optional(),
      data_dir: z.string().min(1).max(4096).describe("the path of a folder, in quotes").optional(),
    })
    .describe("a table, [database]")
    .optional(),
  llm: z
    .strictObject({
      base_url: httpUrl.optional(),
      api_key: secret.optional(),
      first_token_timeout_ms: whole(1, HOUR_MS, "milliseconds").optional(),
      idle_timeout_ms: whole(1, HOUR_MS, "milliseconds").optional(),
      max_retries: whole(0, 20, "retries").optional(),
    })
    .describe("a table, [llm]")
    .optional(),
  log: z
    .strictObject({
      level: z
        .enum(LOG_LEVELS)
        .describe(`one of ${quotedList(LOG_LEVELS)}`)
        .optional(),
    })
    .describe("a table, [log]")
    .optional(),
  daemon: z
    .strictObject({
      drain_deadline_ms: whole(0, MAX_DRAIN_MS, "milliseconds").optional(),
      max_loaded_channels: whole(1, 1_000_000, "channels").optional(),
      idle_evict_ms: whole(1, WEEK_MS, "milliseconds").optional(),
      mailbox_size: whole(1, 100_000, "wake-ups").optional(),
      max_compactions: whole(1, 1000, "compactions").optional(),
    })
    .describe("a table, [daemon]")
    .optional(),
  prompts: z
    .strictObject({
      language: z
        .string()
        .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/)
        .describe('the name of a language folder, such as "en"')
        .optional(),
      dir: text('the path of a folder of templates, or "" for those that come with Weir', 4096).optional(),
    })
    .describe("a table, [prompts]")
    .optional(),
  platforms: z
    .strictObject({
      loopback: z
        .strictObject({
          url: loopbackUrl.optional(),
          max_text_length: whole(100, MAX_LOOPBACK_TEXT, "characters").optional(),
        })
        .describe("a table, [platforms.loopback]")
        .optional(),
      discord: z
        .strictObject({ token: secret.optional(), ...chatOptions })
        .describe("a table, [platforms.discord]")
        .optional(),
      slack: z
        .strictObject({
          bot_token: secret.optional(),
          app_token: secret.optional(),
          mode: z.enum(["socket", "http"]).describe('one of "socket", "http"').optional(),
          signing_secret: secret.optional(),
          listen: z
            .string()
            .regex(/^([\w.-]+|\[[\da-f:]+\]):\d{1,5}$/i)
            .refine((address) => Number(address.slice(address.lastIndexOf(":") + 1)) <= MAX_PORT)
            .describe(`an address to listen on, such as "127.0.0.1:3000", with a port up to ${MAX_PORT}`)
            .optional(),
          ...chatOptions,
        })
        .describe("a table, [platforms.slack]")
        .optional(),
    })
    .describe("a table, [platforms]")
    .optional(),
  defaults: z.strictObject(agentOptions).describe("a table, [defaults]").optional(),
  agents: z.array(agent).min(1).max(1000).describe("one or more [[agents]]").optional(),
  bindings: z.array(binding).max(1000).describe("one or more [[bindings]]").optional(),
});

export type FileConfig = z.infer<typeof fileSchema>;
export type FileAgentOptions = NonNullable<FileConfig["defaults"]>;
export type FileAgent = NonNullable<FileConfig["agents"]>[number];

function quotedList(values: readonly string[]): string {
  return values.map((value) => `"${value}"`).join(", ");
}
