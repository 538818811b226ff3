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
      "Tokens over all channels, read and written: answers, summaries and subagents. 0: no budget.",
    ),
    dollars: option(dollars, 0, "The same in dollars, by the models' prices. 0: no budget."),
    channel_tokens: option(tokensADay, 0, "The same for each channel."),
    channel_dollars: option(dollars, 0),
    person_tokens: option(tokensADay, 0, "The same for each person who asks."),
    person_dollars: option(dollars, 0),
    warn_at: option(
      z.number().gt(0).lte(1).describe("a share of a budget: a number above 0, 1 at most"),
      0.8,
      "From this share of a budget on, the log and the channel are informed, once a day.",
    ),
  },
  "What may be spent in a day, from midnight in the agent's time_zone. Over it, questions are refused: " +
    "docs/costs.md.",
);

const COMPACTION_NOTIFY = ["off", "channel"] as const;
const COMPACTION_PRESETS = ["default", "plain"] as const;

/** Values of options that a preset sets where the file does not, by the file's names. A target follows in `resolve.ts`. */
export const PRESET_OPTIONS: Readonly<
  Record<(typeof COMPACTION_PRESETS)[number], Readonly<Record<string, unknown>>>
> = {
  default: {},
  plain: {
    background_threshold: 0.8,
    aggressive_threshold: 0.85,
    emergency_threshold: 0.95,
    write_ahead: false,
    max_raw_tokens: 100_000_000,
  },
};

const compaction = table(
  "….compaction",
  {
    enabled: option(flag, true, "false: no summaries. What no longer fits leaves the model's view for good."),
    preset: option(
      oneOf(COMPACTION_PRESETS),
      "default",
      '"plain": at 80, 85 and 95 % 30, 50 and 50 % of the messages leave the view; nothing is written ' +
        "ahead, max_raw_tokens has no limit. Options beside it win.",
    ),
    notify: option(
      oneOf(COMPACTION_NOTIFY),
      "off",
      '"channel": a message tells people when older messages were summarised. "off": only the log.',
    ),
    background_threshold: option(
      share(),
      0.8,
      "From here on the oldest messages, at least 30 %, are summarised while replies go on.",
    ),
    aggressive_threshold: option(
      share(),
      0.85,
      "From here on at least half of them; an extract stands in while no model can write the summary.",
    ),
    emergency_threshold: option(
      share(),
      0.95,
      "From here on the oldest messages leave the view at once, without a model, until a summary covers them.",
    ),
    target: share().optional().register(optionTexts, {
      about: "How full the window is afterwards. Default: background_threshold - 0.20.",
      shown: 0.6,
    }),
    keep_messages: option(
      whole(1, 10_000, "messages"),
      20,
      "How many of the newest messages are not summarised, up to a tenth of the window.",
    ),
    write_ahead: option(
      flag,
      true,
      "true: summaries are written before they are needed, and put in place together, which keeps the " +
        "prompt cached.",
    ),
    max_raw_messages: option(
      whole(10, 1_000_000, "messages"),
      300,
      "From so many messages on the oldest are summarised.",
    ),
    max_raw_tokens: option(
      whole(1000, 100_000_000, "tokens"),
      16_000,
      "From so many tokens of messages on the oldest are summarised, however large the window.",
    ),
    deadline_ms: option(
      whole(1000, HOUR_MS, "milliseconds"),
      180_000,
      "How long one attempt at a summary may take (3 minutes).",
    ),
  },
  "How full the context may get. The shares are of the usable window, and must rise: target, background, " +
    "aggressive, emergency. The log keeps everything.",
);

const pruning = table(
  "….pruning",
  {
    whole_turns: option(
      whole(0, 1000, "turns"),
      0,
      "In how many turns before the running one results of tools stay whole.",
    ),
    step_turns: option(
      whole(1, 1000, "turns"),
      4,
      "Where some stay whole, the results of how many turns become short at once, which costs the prompt's " +
        "cache.",
    ),
    stub_over: option(
      whole(0, 1_000_000, "characters"),
      400,
      "Results of up to so many characters stay whole.",
    ),
    stub_length: option(whole(0, 1_000_000, "characters"), 200, "What is left of longer ones."),
    threshold: option(
      z.number().min(0).lt(1).describe("a share of the usable window: a number from 0 up to, and without, 1"),
      0,
      "Nothing becomes short while the request takes less than this share of the usable window.",
    ),
  },
  "How old results of tools look in a request. The log keeps them whole.",
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
      '"workspace": memories of public channels are recalled in all channels of the server (team). ' +
        '"channel": only there and in its threads.',
    ),
    recall: option(
      oneOf(RECALLS),
      "all",
      'What is looked up: "all", only earlier "messages" out of view, only "memories", or "off". Memories ' +
        "are kept in any case.",
    ),
  },
  "Memories and earlier messages.",
);

/** The options of `[defaults]` and of each of `[[agents]]`. */
export const agentOptions = {
  instructions: option(
    text("text, at most 100000 characters", 100_000),
    "",
    'What the agent is to know and do, in plain words. Several lines: between """ and """.',
  ),
  prompt: option(
    text('the path of a template file, or "" for the one that comes with Weir', 4096),
    "",
    'Your own template of the system prompt. "": prompts/en/system.md.j2.',
  ),
  compactor_prompt: option(
    text('the path of a template file, or "" for the one that comes with Weir', 4096),
    "",
    'Your own template of the summariser\'s instructions. "": prompts/en/compactor.md.j2.',
  ),
  model: option(modelName, "auto", 'The model. "auto": the first that the server lists.'),
  compactor_model: option(
    text('the name of a model, or "" for the same as `model`', 200),
    "",
    'The model that writes summaries, mostly a cheaper one. "": the same as model.',
  ),
  fallbacks: option(
    z.array(modelName).max(10).describe('a list of at most 10 names of models, such as ["a", "b"]'),
    [],
    'Models to ask in this order if the first does not answer: ["other-model", "third-model"].',
  ),
  sees_images: option(
    flag,
    false,
    "true: the models, fallbacks included, see pictures, which are kept with the log. false: they read " +
      "name, type and size.",
  ),
  temperature: option(
    z
      .union([z.number().min(0).max(2), z.literal("default")])
      .describe('a number from 0 to 2, or "default" for the server\'s own'),
    "default",
    'How freely the model chooses its words, from 0 to 2. "default": as the server has it.',
  ),
  context_window: option(
    windowSize,
    0,
    "The window of the agent's model in tokens, if [models] does not say it. 0: by the table of known " +
      "models.",
  ),
  max_output_tokens: option(
    whole(1, 1_000_000, "tokens"),
    2048,
    "The longest answer, in tokens; at most a quarter of the window, whatever is set.",
  ),
  generation_reserve: option(
    whole(0, 1_000_000, "tokens"),
    4096,
    "Tokens that stay free beside the answer, for errors of estimates; with the answer at most a quarter " +
      "of the window, whatever is set.",
  ),
  max_tool_iterations: option(
    whole(1, 100, "iterations"),
    8,
    "How often the model may use tools in one answer.",
  ),
  steer: option(
    flag,
    true,
    "true: while the agent works with tools, the model sees the asker's new messages, and others' with its " +
      "name, before its next step. false: they wait.",
  ),
  long_answers: option(
    oneOf(["messages", "file"]),
    "messages",
    'An answer of more than three messages: "messages": all of them; "file": its first paragraphs, and the ' +
      "whole in a file answer.md, where files can be sent.",
  ),
  max_calls_per_turn: option(
    whole(1, 1000, "calls"),
    64,
    "How many model calls one message may cause: answer, subagents, hand-overs, retries. Then the answer " +
      "ends and says so.",
  ),
  tool_timeout_ms: option(whole(1, HOUR_MS, "milliseconds"), 20_000, "How long one use of a tool may take."),
  notes: option(
    flag,
    true,
    "true: an agent with a folder of its own (agents/ID) may keep notes there, for each channel.",
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

/** Slack shows four. */
const MOST_PROMPTS = 4;

/** One of `[[agents.suggested_prompts]]`. */
const suggestedPrompt = z.strictObject({
  title: z
    .string()
    .trim()
    .min(1)
    .max(100)
    .describe("a title of at most 100 characters, in quotes")
    .register(optionTexts, { about: "What people see." }),
  message: z
    .string()
    .trim()
    .min(1)
    .max(2000)
    .describe("a message of at most 2000 characters, in quotes")
    .register(optionTexts, { about: "The message that a choice sends." }),
});

const suggestedPrompts = z
  .array(suggestedPrompt)
  .max(MOST_PROMPTS)
  .describe(`at most ${MOST_PROMPTS} [[agents.suggested_prompts]]`)
  .default([])
  .register(optionTexts, {
    about:
      "What Slack suggests to people who open the agent's direct messages, if its app is an agent: four at " +
      "most, after its [[agents]].",
    samples: [{ about: "", values: { title: "What is new?", message: "What is new since yesterday?" } }],
  });

export const agentSchema = z.strictObject({
  id: z
    .custom<AgentId>(isAgentId)
    .describe(
      "an id of 1 to 63 small letters, digits, `-` and `_`, that begins with a letter or a digit, in quotes",
    )
    .register(optionTexts, {
      about:
        "The agent's name in commands and in the database: small letters, digits, - and _. Its messages " +
        "and memories are kept under it: do not change it.",
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
    'Other names by which people mention it: ["res"] is @res.',
  ),
  mention_roles: option(
    names("ids or names of roles"),
    [],
    "Discord: a mention of one of these roles means this agent.",
  ),
  shared_memory: option(
    names("ids of agents"),
    [],
    "Agents whose memories of the same channel, or shared with the workspace, this one also sees.",
  ),
  ...agentOptions,
  ...OWN_FEATURE_OPTIONS,
  suggested_prompts: suggestedPrompts,
  mcp,
});
