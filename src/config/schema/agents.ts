import { z } from "zod";
import type { AgentId } from "../../core/ids.ts";
import { OWN_FEATURE_OPTIONS, SHARED_FEATURE_OPTIONS } from "../../features/declarations.ts";
import { mcp } from "./mcp.ts";
import {
  flag,
  HOUR_MS,
  modelName,
  names,
  oneOf,
  option,
  optionTexts,
  share,
  table,
  text,
  timeZone,
  whole,
  windowSize,
} from "./values.ts";

const dollars = z.number().min(0).max(1_000_000).describe("dollars, 0 to 1000000");
const tokensADay = whole(0, 1_000_000_000_000, "tokens");

const budget = table(
  "….budget",
  {
    tokens: option(
      tokensADay,
      0,
      "Tokens that this agent may use in a day, over all channels, read and written: answers, summaries and subagents. 0: no budget.",
    ),
    dollars: option(
      dollars,
      0,
      "The same in money, by the prices of the models (see [models]). 0: no budget.",
    ),
    channel_tokens: option(tokensADay, 0, "The same of each channel that it answers in."),
    channel_dollars: option(dollars, 0),
    person_tokens: option(tokensADay, 0, "The same of each person who asks it."),
    person_dollars: option(dollars, 0),
    warn_at: option(
      z.number().gt(0).lte(1).describe("a share of a budget: a number above 0, 1 at most"),
      0.8,
      "From this share of a budget on, the log and the channel are told, once a day.",
    ),
  },
  "What may be spent in a day, which begins at midnight in the agent's time_zone. Where nothing is left, an answer is refused in words; one that has begun is finished.",
);

const COMPACTION_NOTIFY = ["off", "channel"] as const;

const compaction = table(
  "….compaction",
  {
    enabled: option(
      flag,
      true,
      "false: no summaries are written. What no longer fits is then left out of what the model reads, and stays left out.",
    ),
    notify: option(
      oneOf(COMPACTION_NOTIFY),
      "off",
      '"channel": people in the channel are told, in a message of its own, when older messages were summarised. "off": only the log is.',
    ),
    background_threshold: option(
      share(),
      0.8,
      "From here on, the oldest messages (at least 30 % of them) are summarised in the background, while replies go on.",
    ),
    aggressive_threshold: option(
      share(),
      0.85,
      "From here on, at least half of them are; and if no model can write the summary, an extract takes its place until one can.",
    ),
    emergency_threshold: option(
      share(),
      0.95,
      "From here on, the oldest messages are left out at once, without a model, until their summary is there.",
    ),
    target: share().optional().register(optionTexts, {
      about: "How full the window is to be afterwards. If nobody sets it: background_threshold - 0.20.",
      shown: 0.6,
    }),
    keep_messages: option(
      whole(1, 10_000, "messages"),
      20,
      "The newest messages, which stay as they are, as far as a tenth of that room (1,000 to 3,000 tokens) holds them.",
    ),
    write_ahead: option(
      flag,
      true,
      "Summaries are written before they are needed, and put in place together: a prompt that changes rarely is cheap. " +
        "false: they are written when the window fills up.",
    ),
    max_raw_messages: option(
      whole(10, 1_000_000, "messages"),
      300,
      "So many messages are due for a summary in the background, however short they are.",
    ),
    max_raw_tokens: option(
      whole(1000, 100_000_000, "tokens"),
      16_000,
      "Messages of so many tokens are due, too, however large the window is: more costs more with each answer than it is worth.",
    ),
    deadline_ms: option(
      whole(1000, HOUR_MS, "milliseconds"),
      180_000,
      "How long one attempt at a summary may take (three minutes).",
    ),
  },
  "How full the context may get. The numbers are shares of the window that is left for the conversation: 0.80 is 80 %. " +
    "They must rise: target, background, aggressive, emergency. The log keeps everything, whatever is summarised.",
);

const pruning = table(
  "….pruning",
  {
    whole_turns: option(
      whole(0, 1000, "turns"),
      0,
      "In the newest so many turns before the running one, with or without calls, results of tools stay whole. Those of older turns are shown in a short form.",
    ),
    step_turns: option(
      whole(1, 1000, "turns"),
      4,
      "Results become short in so many turns at once, where some stay whole: each time the beginning of the prompt changes, and is paid for anew.",
    ),
    stub_over: option(
      whole(0, 1_000_000, "characters"),
      400,
      "Results that are no longer than so many characters stay as they are.",
    ),
    stub_length: option(
      whole(0, 1_000_000, "characters"),
      200,
      "So many characters are left of those that are longer.",
    ),
    threshold: option(
      z.number().min(0).lt(1).describe("a share of the usable window: a number from 0 up to, and without, 1"),
      0,
      "Nothing becomes short while the whole request takes less than this share of the usable window. 0: it always does.",
    ),
  },
  "What old results of tools look like in a request. The log keeps them whole, and nothing of this is a summary.",
);

const MEMORY_SHARES = ["channel", "workspace"] as const;
/** The content that an agent's recall searches. */
const RECALLS = ["all", "messages", "memories", "off"] as const;

const memory = table(
  "….memory",
  {
    share: option(
      oneOf(MEMORY_SHARES),
      "channel",
      '"workspace": what is remembered of a public channel is recalled in all channels of its server (team). "channel": in that ' +
        "channel and its threads. What was said while a channel was private, in threads and in direct messages is never shared.",
    ),
    recall: option(
      oneOf(RECALLS),
      "all",
      'What is looked up for an answer, and what the agent\'s tools may look up: "all", only earlier "messages" that are out of view, ' +
        'only "memories", or nothing ("off"). Memories are kept whatever stands here.',
    ),
  },
  "What is done with what is remembered, and with what was said before.",
);

/** The options of `[defaults]` and of each of `[[agents]]`. */
export const agentOptions = {
  instructions: option(
    text("text, at most 100000 characters", 100_000),
    "",
    'What the agent is to know and do, in plain words. Several lines: """ at the beginning and at the end.',
  ),
  prompt: option(
    text('the path of a template file, or "" for the one that comes with Weir', 4096),
    "",
    'A system prompt template of your own, as a path to a file. "" is prompts/en/system.md.j2.',
  ),
  compactor_prompt: option(
    text('the path of a template file, or "" for the one that comes with Weir', 4096),
    "",
    "A template of your own for the instructions of whoever writes the summaries, as a path to a file. " +
      '"" is prompts/en/compactor.md.j2.',
  ),
  model: option(modelName, "auto", 'The model, as its server calls it. "auto" takes what the server offers.'),
  compactor_model: option(
    text('the name of a model, or "" for the same as `model`', 200),
    "",
    'The model that writes summaries: a cheaper one, as a rule. "" is the same as model.',
  ),
  fallbacks: option(
    z.array(modelName).max(10).describe('a list of at most 10 names of models, such as ["a", "b"]'),
    [],
    'Models to ask, in this order, when the first does not answer: ["other-model", "third-model"].',
  ),
  sees_images: option(
    flag,
    false,
    "true: the models (fallbacks included) see pictures, but for those of which [models] says otherwise. What people attach is " +
      "then kept with the log, and shown with the message; what tools bring is shown in the same turn. false: the model is told " +
      "a picture's name, type and size.",
  ),
  temperature: option(
    z
      .union([z.number().min(0).max(2), z.literal("default")])
      .describe('a number from 0 to 2, or "default" for the server\'s own'),
    "default",
    'How freely the model chooses its words, from 0 to 2. "default" leaves it to the server.',
  ),
  context_window: option(
    windowSize,
    0,
    "How many tokens the model can read and write in one call, where [models] does not say it. 0 looks it up in the table of " +
      "known models.",
  ),
  max_output_tokens: option(whole(1, 1_000_000, "tokens"), 2048, "The longest answer, in tokens."),
  generation_reserve: option(
    whole(0, 1_000_000, "tokens"),
    4096,
    "Tokens of the window that stay free beside the answer, for what an estimate may get wrong. With the answer at most a quarter of the window.",
  ),
  max_tool_iterations: option(
    whole(1, 100, "iterations"),
    8,
    "How many times in one answer the model may use tools before it has to speak.",
  ),
  max_calls_per_turn: option(
    whole(1, 1000, "calls"),
    64,
    "How many times models may be called for one message in all: for its answer, its subagents, other agents that it is handed to, and " +
      "each attempt again. Then the answer ends with a sentence that says so.",
  ),
  tool_timeout_ms: option(
    whole(1, HOUR_MS, "milliseconds"),
    20_000,
    "How long one use of a tool may take (20 seconds).",
  ),
  notes: option(
    flag,
    true,
    "true: an agent that has a folder of its own (agents/ID) may keep notes there, of each channel apart. false: it writes none; what stands there is shown to it.",
  ),
  time_zone: option(
    timeZone,
    "UTC",
    'The time zone of the dates and times that the agent sees, such as "Europe/Berlin".',
  ),
  compaction,
  pruning,
  memory,
  ...SHARED_FEATURE_OPTIONS,
  budget,
};

export function isAgentId(value: unknown): value is AgentId {
  return typeof value === "string" && /^[a-z0-9][a-z0-9_-]{0,62}$/.test(value);
}

export const agentSchema = z.strictObject({
  id: z
    .custom<AgentId>(isAgentId)
    .describe(
      "an id of 1 to 63 small letters, digits, `-` and `_`, that begins with a letter or a digit, in quotes",
    )
    .register(optionTexts, {
      about:
        "The agent's name in commands and in the database: small letters, digits, - and _. Do not change it later: what the " +
        "agent has said and heard is kept under this name.",
    }),
  name: option(
    z
      .string()
      .max(80)
      .refine((value) => !/[\p{Cc}[\]]/u.test(value))
      .describe('a name on one line, at most 80 characters, without [ and ], or "" for the id'),
    "",
    'What people call the agent. "" is the id.',
  ),
  aliases: option(
    names("other names of the agent"),
    [],
    'Other names by which people mention it, beside its id and its name: ["res"] is @res.',
  ),
  mention_roles: option(
    names("ids or names of roles"),
    [],
    "Discord: whoever mentions one of these roles (its id or its name) means this agent.",
  ),
  shared_memory: option(
    names("ids of agents"),
    [],
    "Agents whose memories this one is told beside its own: what they remember of the same channel, and what is shared with the " +
      'workspace: ["other-agent"]. It does not hold the other way round.',
  ),
  ...agentOptions,
  ...OWN_FEATURE_OPTIONS,
  mcp,
});
