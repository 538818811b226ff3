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
      "Which Postgres to use. Without the variable Weir runs its own under data_dir.",
    ),
    data_dir: startOption(
      z.string().min(1).max(4096).describe("the path of a folder, in quotes"),
      "./data",
      "The folder of Weir's own Postgres, its log and keys. Weir closes it to other accounts: let it hold " +
        "nothing else.",
    ),
  }),
  llm: table("llm", {
    base_url: startOption(
      httpUrl,
      "env:OPENAI_BASE_URL",
      "The model server: OpenAI, Ollama, vLLM, llama.cpp, OpenRouter, ... With neither server nor key: an " +
        "Ollama on this machine, else a built-in stand-in, which is no language model.",
    ),
    api_key: startOption(secret, "env:OPENAI_API_KEY", "The key for that server."),
    api: apiOption,
    first_token_timeout_ms: startOption(
      whole(1, HOUR_MS, "milliseconds"),
      60_000,
      "How long the first word of an answer, and a silence within it, may take until the call is tried " +
        "again.",
    ),
    idle_timeout_ms: startOption(whole(1, HOUR_MS, "milliseconds"), 30_000),
    max_retries: option(
      whole(0, 20, "retries"),
      3,
      "How often a failed call is tried again before the fallbacks are asked.",
    ),
    embeddings: table(
      "llm.embeddings",
      {
        model: switchOption(
          text('the name of an embedding model, or "" for none', 200),
          "",
          'The embedding model, such as "text-embedding-3-small". "": none. Another name makes all vectors ' +
            "again.",
        ),
        base_url: startOption(
          httpUrl,
          "env:EMBEDDINGS_BASE_URL",
          "Its server, which speaks OpenAI's Embeddings. Without one: the model's own, else [llm], with " +
            "its key.",
        ),
        api_key: startOption(secret, "env:EMBEDDINGS_API_KEY", "The key for that server."),
        dimensions: startOption(
          whole(0, 8192, "numbers"),
          0,
          "How many numbers a vector has, if the model can shorten it. 0: as the model has it.",
        ),
      },
      "Recall by meaning as well as by words. This server gets everything said in the channels, direct " +
        "messages included.",
    ),
    transcription: table(
      "llm.transcription",
      {
        model: switchOption(
          text('the name of a model that transcribes, or "" for none', 200),
          "",
          'The model that transcribes sounds, such as "gpt-4o-mini-transcribe". "": none; sounds are ' +
            "named, with their length.",
        ),
        base_url: startOption(
          httpUrl,
          "env:TRANSCRIPTION_BASE_URL",
          "Its server, which speaks OpenAI's Audio Transcriptions. Without one: the model's own, else " +
            "[llm], with its key.",
        ),
        api_key: startOption(secret, "env:TRANSCRIPTION_API_KEY", "The key for that server."),
        within_ms: startOption(
          whole(1000, 120_000, "milliseconds"),
          20_000,
          "How long a transcript may take; later messages of that channel wait. A sound that takes longer " +
            "is only named.",
        ),
      },
      "Read what people say aloud. This server gets the sounds of messages, up to 25 MB each; the " +
        "transcript is the message's text.",
    ),
    servers: serversSchema,
  }),
  log: table("log", {
    level: option(oneOf(LOG_LEVELS), "info", "How much to log."),
    format: startOption(
      oneOf(LOG_FORMATS),
      "auto",
      'The form of stderr: "text", "json", or "auto": text on a terminal, else JSON. The file weir.log ' +
        "always has JSON lines.",
    ),
    file_max_bytes: startOption(
      whole(10_000, 1_000_000_000, "bytes"),
      10_000_000,
      "At this size a new weir.log begins, and the old one becomes weir.log.1.",
    ),
    files: startOption(whole(1, 20, "files"), 5, "How many such files are kept, weir.log included."),
  }),
  telemetry: table(
    "telemetry",
    {
      endpoint: switchOption(
        collectorUrl,
        "env:OTEL_EXPORTER_OTLP_ENDPOINT",
        "The collector, for OTLP over HTTP; Weir adds /v1/traces. Without the variable nothing is sent. " +
          "What to install: docs/watch.md.",
      ),
      headers: startOption(
        secret,
        "env:OTEL_EXPORTER_OTLP_HEADERS",
        "Headers for it: NAME=VALUE, separated by commas.",
      ),
      service_name: startOption(text("a name", 100), "weir", "The service.name of spans and metrics."),
    },
    "OpenTelemetry: spans of turns, model calls and tools, and metrics. They hold no text of people.",
  ),
  retention: table(
    "retention",
    {
      text_days: option(
        whole(0, 36_500, "days"),
        0,
        "Days after which a text is removed, once it is answered and a summary covers it. Summaries and " +
          "memories stay. 0: never.",
      ),
      image_days: option(whole(0, 36_500, "days"), 0, "The same for a picture. Its message's text stays."),
    },
    "How long texts and pictures are kept: docs/privacy-and-security.md.",
  ),
  terminal: table("terminal", {
    history: startOption(
      flag,
      true,
      "Keep the newest 500 inputs of the terminal, without secrets, in the file history of data_dir.",
    ),
  }),
  daemon: table("daemon", {
    drain_deadline_ms: startOption(
      whole(0, MAX_DRAIN_MS, "milliseconds"),
      20_000,
      "How long a shutdown waits for running answers and commands: less than a process manager waits " +
        "before it kills.",
    ),
    max_loaded_channels: startOption(
      whole(1, 1_000_000, "channels"),
      1000,
      "How many channels are in memory.",
    ),
    idle_evict_ms: startOption(
      whole(1, WEEK_MS, "milliseconds"),
      600_000,
      "How long without a message a channel stays in memory (10 minutes).",
    ),
    mailbox_size: startOption(
      whole(1, 100_000, "wake-ups"),
      100,
      "How many wake-ups of one channel may wait. No message depends on it.",
    ),
    max_compactions: startOption(
      whole(1, 1000, "compactions"),
      4,
      "How many compactions run at a time, over all channels, the most urgent first.",
    ),
  }),
  http: table(
    "http",
    {
      listen: switchOption(
        z
          .enum(["auto", ""])
          .or(listenAddress("127.0.0.1:8420"))
          .describe('"auto", an address to listen on, such as "127.0.0.1:8420", or "" to switch it off'),
        "auto",
        'Where `weir start` listens. "auto": this machine alone, at port 8420 or the next free one. An address: ' +
          'there and nowhere else; not encrypted, so for other machines put a TLS proxy in front. "": nowhere.',
      ),
      token: startOption(
        secret,
        "env:WEIR_HTTP_TOKEN",
        "What clients send as `Authorization: Bearer ...`, at least 16 characters. Without it Weir makes " +
          "one and keeps it in http.token of the data folder.",
      ),
      hosts: startOption(
        names("names by which clients call this machine"),
        [],
        "Names by which clients may call it, beside 127.0.0.1, localhost and the host of `listen`: " +
          '"weir.internal", with the port if it is another.',
      ),
    },
    "Health, metrics, channels and a page for browsers over HTTP: docs/watch.md.",
  ),
  cluster: table(
    "cluster",
    {
      url: switchOption(
        secretOrNone,
        "",
        'RabbitMQ: "env:AMQP_URL", with AMQP_URL=amqp://user:password@host:5672/vhost. All daemons must ' +
          'share one Postgres (database.url). "": this daemon is alone.',
      ),
      name: startOption(
        z
          .string()
          .regex(/^[\w.:@-]{0,100}$/)
          .describe('at most 100 letters, digits, ".", ":", "@", "_" and "-", or "" for one that is made'),
        "",
        "This daemon's name in the cluster. \"\": the machine's name and the process's number.",
      ),
      prefix: startOption(
        z
          .string()
          .regex(/^[\w.-]{1,100}$/)
          .describe('1 to 100 letters, digits, ".", "_" and "-"'),
        "weir",
        "The beginning of its queues' names: the same for all daemons of a database, another for each " +
          "cluster on one RabbitMQ.",
      ),
    },
    "Several daemons on one database; RabbitMQ assigns them the channels: docs/scale.md.",
  ),
  prompts: table("prompts", {
    language: option(
      z
        .string()
        .regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/)
        .describe('the name of a language folder, such as "en"'),
      "en",
      "The language in which Weir itself speaks to models and people: a folder under prompts/.",
    ),
    dir: option(
      text('the path of a folder of templates, or "" for those that come with Weir', 4096),
      "",
      'Your own folder of templates; Weir\'s replace those that it lacks. "": none.',
    ),
  }),
  platforms: table("platforms", {
    loopback: table("platforms.loopback", {
      url: switchOption(
        loopbackUrl,
        "",
        'A chat platform for tests and scripts: the address of its local HTTP server. "": off.',
      ),
      max_text_length: startOption(
        whole(100, MAX_LOOPBACK_TEXT, "characters"),
        MAX_LOOPBACK_TEXT,
        "Most characters of one message; longer answers are sent in parts. Do not change it while one is " +
          "being sent.",
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
        "Who answers where. The first [[bindings]] that matches a channel holds; if none matches, nobody " +
        "answers. Without any, the first agent answers direct messages and mentions everywhere, and reads " +
        "nothing else: those below.",
      samples: PLATFORM_ROWS.map(({ key, title }, index) => ({
        about: index === 0 ? "" : `The same for ${title}.`,
        values: { agent: "main", platform: key, listen: false },
      })),
    }),
  defaults: z.strictObject(agentOptions).describe("a table, [defaults]").optional().register(optionTexts, {
    about: "What holds for every agent that does not say otherwise in [[agents]].",
  }),
  agents: z
    .array(agentSchema)
    .min(1)
    .max(1000)
    .describe("one or more [[agents]]")
    .optional()
    .register(optionTexts, {
      about:
        'The agents. Without any, there is one called "main". Each may have any option of [defaults], and ' +
        "after it tables such as [agents.compaction].",
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
        'What is true of a model, by its server\'s name for it: [models."llama3.1:8b"]. Owners may choose ' +
        "it with /model, also if the table is empty.",
    }),
});

/** The checked file as it is written, without defaults. */
export type FileConfig = z.input<typeof fileSchema>;
/** The file with the default of each option that it leaves out. */
export type CompleteFile = z.output<typeof fileSchema>;
