import { z } from "zod";
import { MAX_DRAIN_MS } from "../../async/clock.ts";
import { agentOptions, agentSchema } from "./agents.ts";
import { apiOption, modelSchema, serversSchema } from "./models.ts";
import { PLATFORM_ROWS } from "../../platforms/platforms.ts";
import { bindingSchema, platformTables } from "./platforms.ts";
import {
  HOUR_MS,
  WEEK_MS,
  collectorUrl,
  flag,
  httpUrl,
  listenAddress,
  loopbackUrl,
  names,
  oneOf,
  option,
  optionTexts,
  secret,
  secretOrNone,
  startOption,
  switchOption,
  table,
  text,
  whole,
} from "./values.ts";

/**
 * The schema of config.toml: each option with its type, its built-in default and its description. The types of
 * `config.ts`, the file config.toml and the page docs/configuration.md derive from it: a new option is a line here, and
 * `npm run generate`. The description of a type completes "expected: …".
 */

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
const LOG_FORMATS = ["auto", "text", "json"] as const;

/** The service's limit for one message. */
const MAX_LOOPBACK_TEXT = 1_000_000;

export const fileSchema = z.strictObject({
  database: table("database", {
    url: startOption(
      secret,
      "env:DATABASE_URL",
      "Which Postgres to use. If the environment has no DATABASE_URL, Weir runs a Postgres of its own under data_dir.",
    ),
    data_dir: startOption(
      z.string().min(1).max(4096).describe("the path of a folder, in quotes"),
      "./data",
      "The folder of Weir's own Postgres, and of whatever else Weir keeps. Weir closes it to other accounts of this machine, " +
        "so let it hold nothing else.",
    ),
  }),
  llm: table("llm", {
    base_url: startOption(
      httpUrl,
      "env:OPENAI_BASE_URL",
      "The server that answers: any that speaks OpenAI's Chat Completions (OpenAI, Ollama, vLLM, llama.cpp, OpenRouter, ...), " +
        'as "http://127.0.0.1:11434/v1" or by name of a variable. With neither a server nor a key, Weir looks for an Ollama ' +
        "on this machine, and else answers with a built-in stand-in that is no language model.",
    ),
    api_key: startOption(secret, "env:OPENAI_API_KEY", "The key for that server."),
    api: apiOption,
    first_token_timeout_ms: startOption(
      whole(1, HOUR_MS, "milliseconds"),
      60_000,
      "How long the first word of an answer may take (one minute), and how long a silence in the middle of it may last (half " +
        "a minute), before the call is given up and tried again.",
    ),
    idle_timeout_ms: startOption(whole(1, HOUR_MS, "milliseconds"), 30_000),
    max_retries: option(
      whole(0, 20, "retries"),
      3,
      "How often a failed call is tried again, before the fallbacks are asked.",
    ),
    embeddings: table(
      "llm.embeddings",
      {
        model: switchOption(
          text('the name of an embedding model, or "" for none', 200),
          "",
          'The embedding model, as its server calls it: "text-embedding-3-small". "" is none, and nothing is sent. Another name makes all vectors anew.',
        ),
        base_url: startOption(
          httpUrl,
          "env:EMBEDDINGS_BASE_URL",
          "Its server, which speaks OpenAI's Embeddings. If nobody names one, it is that of the model's name, or else of [llm], with its key.",
        ),
        api_key: startOption(secret, "env:EMBEDDINGS_API_KEY", "The key for that server."),
        dimensions: startOption(
          whole(0, 8192, "numbers"),
          0,
          "How many numbers a vector has, where the model can make them shorter. 0 leaves it to the model.",
        ),
      },
      "Recall also by meaning, and not by words alone: all that is said in the channels, direct messages included, is sent to this server, " +
        "and a few bits of what it makes of each text are kept in the database.",
    ),
    servers: serversSchema,
  }),
  log: table("log", {
    level: option(
      oneOf(LOG_LEVELS),
      "info",
      'How much to log: "trace", "debug", "info", "warn", "error" or "silent".',
    ),
    format: startOption(
      oneOf(LOG_FORMATS),
      "auto",
      'What stderr shows: "text", a line an event for eyes; "json", for programs; "auto", text on a terminal and JSON elsewhere. The ' +
        "file weir.log in the data folder has JSON lines; `weir logs` draws them.",
    ),
    file_max_bytes: startOption(
      whole(10_000, 1_000_000_000, "bytes"),
      10_000_000,
      "When weir.log is as long as this, a new one begins, and the one before it is weir.log.1.",
    ),
    files: startOption(whole(1, 20, "files"), 5, "How many of these files are kept, weir.log included."),
  }),
  telemetry: table(
    "telemetry",
    {
      endpoint: switchOption(
        collectorUrl,
        "env:OTEL_EXPORTER_OTLP_ENDPOINT",
        "The collector that takes OTLP over HTTP; /v1/traces is put behind it. Without the variable nothing is measured, and nothing sent. " +
          "The packages that send are installed apart: docs/watch.md.",
      ),
      headers: startOption(
        secret,
        "env:OTEL_EXPORTER_OTLP_HEADERS",
        "What is sent with it, as OpenTelemetry has it: NAME=VALUE, with a comma before the next one.",
      ),
      service_name: startOption(text("a name", 100), "weir", "What the spans call this Weir: service.name."),
    },
    "OpenTelemetry: a span for each turn, with its model calls, tools and look-ups, and metrics. Nothing that people have said is in it.",
  ),
  retention: table(
    "retention",
    {
      text_days: option(
        whole(0, 36_500, "days"),
        0,
        "After how many days the text of what was said is no longer kept, once a summary covers it and it is answered. Summaries, and " +
          "memories with their quotes, stay. 0 keeps it for ever.",
      ),
      image_days: option(
        whole(0, 36_500, "days"),
        0,
        "After how many days the pictures of messages are no longer kept, once a summary covers the message and it is answered. Its text, " +
          "which names them, stays. 0 keeps them for ever.",
      ),
    },
    "How long is kept what people send: docs/privacy-and-security.md.",
  ),
  terminal: table("terminal", {
    history: startOption(
      flag,
      true,
      "Keep what is typed in the terminal for the next time, in the file history of data_dir, which only its owner may read: " +
        "the newest 500 texts, without those that look as if they held a secret.",
    ),
  }),
  daemon: table("daemon", {
    drain_deadline_ms: startOption(
      whole(0, MAX_DRAIN_MS, "milliseconds"),
      20_000,
      "How long a shutdown waits for the answers that are being written, and for commands under way (20 seconds). Keep it " +
        "below the time that a process manager waits before it kills.",
    ),
    max_loaded_channels: startOption(
      whole(1, 1_000_000, "channels"),
      1000,
      "How many channels are kept in memory at a time. The others are read from the database when they are needed.",
    ),
    idle_evict_ms: startOption(
      whole(1, WEEK_MS, "milliseconds"),
      600_000,
      "After how long without a message a channel leaves the memory (10 minutes).",
    ),
    mailbox_size: startOption(
      whole(1, 100_000, "wake-ups"),
      100,
      "How many wake-ups of one channel may wait. Messages above it are not lost: they wait in the database.",
    ),
    max_compactions: startOption(
      whole(1, 1000, "compactions"),
      4,
      "How many compactions may run at a time, over all channels. The others wait, the most urgent first.",
    ),
  }),
  http: table(
    "http",
    {
      listen: switchOption(
        z
          .literal("")
          .or(listenAddress("127.0.0.1:8420"))
          .describe('an address to listen on, such as "127.0.0.1:8420", or "" to switch it off'),
        "",
        'Where `weir start` listens: "127.0.0.1:8420" is this machine alone. "" switches it off. Nothing is encrypted: before an ' +
          "address that other machines reach belongs a proxy that is.",
      ),
      token: startOption(
        secret,
        "env:WEIR_HTTP_TOKEN",
        "What a client has to show: `Authorization: Bearer ...`, at least 16 characters. Without the variable Weir makes a token at " +
          "the first start, prints it once, and keeps it in the file http.token of the data folder.",
      ),
      hosts: startOption(
        names("names by which clients call this machine"),
        [],
        'By which names clients may call it beside its own (127.0.0.1, localhost, the host of `listen`): "weir.internal", or with a port, where ' +
          "that is another than the one of `listen`. Any other name is refused, for a web page can have its own point here.",
      ),
    },
    "Health, metrics and channels over HTTP, for monitoring and scripts: docs/watch.md.",
  ),
  cluster: table(
    "cluster",
    {
      url: switchOption(
        secretOrNone,
        "",
        'Where RabbitMQ is: "env:AMQP_URL", and AMQP_URL=amqp://user:password@host:5672/vhost in the environment or in .env. It needs a ' +
          'Postgres that all daemons share, [database] url. "" switches it off: this daemon is alone.',
      ),
      name: startOption(
        z
          .string()
          .regex(/^[\w.:@-]{0,100}$/)
          .describe('at most 100 letters, digits, ".", ":", "@", "_" and "-", or "" for one that is made'),
        "",
        'What this daemon is called in the cluster. "" is the name of the machine, and the number of the process.',
      ),
      prefix: startOption(
        z
          .string()
          .regex(/^[\w.-]{1,100}$/)
          .describe('1 to 100 letters, digits, ".", "_" and "-"'),
        "weir",
        "How the names of its queues begin. Where several clusters share a RabbitMQ, each needs one of its own; daemons of one database have the same.",
      ),
    },
    "Several daemons, one database: RabbitMQ says which of them serves which channels.",
  ),
  prompts: table("prompts", {
    language: option(
      z
        .string()
        .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/)
        .describe('the name of a language folder, such as "en"'),
      "en",
      "The language of what Weir itself says to models and people: a folder under prompts/.",
    ),
    dir: option(
      text('the path of a folder of templates, or "" for those that come with Weir', 4096),
      "",
      'A folder of your own with templates, instead of those that come with Weir, which stand in for what it lacks. "" is none.',
    ),
  }),
  platforms: table("platforms", {
    loopback: table("platforms.loopback", {
      url: switchOption(
        loopbackUrl,
        "",
        'A chat platform for tests and scripts: the address of its local HTTP server, such as "http://127.0.0.1:8787". ' +
          '"" switches it off.',
      ),
      max_text_length: startOption(
        whole(100, MAX_LOOPBACK_TEXT, "characters"),
        MAX_LOOPBACK_TEXT,
        "Longest text of one message there, 100 to 1000000 characters: a longer answer is sent in parts, as Discord and Slack " +
          "want it. It may not change while a part of an answer is still to be sent.",
      ),
    }),
    ...platformTables,
  }),
  bindings: z
    .array(bindingSchema)
    .max(1000)
    .describe("one or more [[bindings]]")
    .optional()
    .register(optionTexts, {
      about:
        "Who answers where. The first [[bindings]] that matches a channel holds; if none matches, nobody answers. Without " +
        "any, the first agent answers direct messages and mentions everywhere and reads nothing else: those below.",
      samples: PLATFORM_ROWS.map(({ key, title }, index) => ({
        about: index === 0 ? "" : `The same for ${title}.`,
        values: { agent: "main", platform: key, listen: false },
      })),
    }),
  defaults: z.strictObject(agentOptions).describe("a table, [defaults]").optional().register(optionTexts, {
    about:
      "What holds for every agent that does not say otherwise. Each of these options may also stand in [[agents]].",
  }),
  agents: z
    .array(agentSchema)
    .min(1)
    .max(1000)
    .describe("one or more [[agents]]")
    .optional()
    .register(optionTexts, {
      about:
        'The agents. Without any, there is one called "main". A second [[agents]] makes a second agent. Any option of ' +
        "[defaults] may stand in it, for this agent alone, and behind it [agents.compaction] with the thresholds, [agents.pruning], " +
        "[agents.memory] and [agents.subagents].",
      samples: [
        { about: "", values: { id: "main", name: "", aliases: [], mention_roles: [], shared_memory: [] } },
      ],
    }),
  models: z
    .record(z.string().min(1).max(200), modelSchema)
    .describe('tables, [models."NAME"]')
    .optional()
    .register(optionTexts, {
      about:
        "What is true of a model, whoever uses it: as an agent's model, as a fallback, or for summaries. NAME is what its server " +
        'calls it, in quotes: [models."llama3.1:8b"]. Owners may choose it for a channel with /model, also where the table is empty.',
    }),
});

/** The checked file as it is written, without defaults. */
export type FileConfig = z.input<typeof fileSchema>;
/** The file with the default of each option that it leaves out. */
export type CompleteFile = z.output<typeof fileSchema>;
