import { z } from "zod";
import { isTimeZone } from "../../text/when.ts";

/** Building blocks of options: type, default and description. */

export const HOUR_MS = 3_600_000;
export const WEEK_MS = 168 * HOUR_MS;

export interface OptionText {
  /** Sentences; "": the previous option's sentences cover this one, too. */
  readonly about: string;
  /** A change takes effect at the next start. Default: at once. */
  readonly isForStart?: true;
  /** It switches its table on; without it the table is off, and null in a configuration. Default: no. */
  readonly isSwitch?: true;
  /** The value in the shipped config.toml, instead of the default. */
  readonly shown?: unknown;
  /** Sample tables in the shipped config.toml, for a list of tables, which has no default. */
  readonly samples?: readonly {
    readonly about: string;
    readonly values: Readonly<Record<string, unknown>>;
  }[];
}

export const optionTexts = z.registry<OptionText>();

/** An option with a default. */
export function option<Type extends z.ZodType>(
  type: Type,
  fallback: z.core.util.NoUndefined<z.output<Type>>,
  about = "",
): z.ZodDefault<Type> {
  const made = type.default(fallback);
  optionTexts.add(made, { about });
  return made;
}

/** An option whose changes take effect at the next start. */
export function startOption<Type extends z.ZodType>(
  ...described: Parameters<typeof option<Type>>
): ReturnType<typeof option<Type>> {
  const made = option(...described);
  optionTexts.add(made, { about: "", ...optionTexts.get(made), isForStart: true });
  return made;
}

/** An option that switches its table on. */
export function asSwitch<Option extends z.core.$ZodType>(made: Option): Option {
  optionTexts.add(made, { about: "", ...optionTexts.get(made), isSwitch: true });
  return made;
}

/** The same, with changes that take effect at the next start. */
export function switchOption<Type extends z.ZodType>(
  ...described: Parameters<typeof option<Type>>
): ReturnType<typeof option<Type>> {
  return asSwitch(startOption(...described));
}

/** A table whose options all have defaults. */
export function table<Shape extends z.ZodRawShape>(
  name: string,
  shape: Shape,
  about = "",
): z.ZodPrefault<z.ZodObject<Shape, z.core.$strict>> {
  const tableOfShape: z.ZodObject<Shape, z.core.$strict> = z
    .strictObject(shape)
    .describe(`a table, [${name}]`);
  // Parsed, so that the options' own defaults fill in missing keys.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an empty table is legal: each option has a default
  return tableOfShape.prefault({} as never).register(optionTexts, { about });
}

export function whole(min: number, max: number, unit: string): z.ZodNumber {
  return z.number().int().min(min).max(max).describe(`a whole number of ${unit}, ${min} to ${max}`);
}

/** Most connections of one bot: Discord's largest have fewer. */
const MAX_SHARDS = 10_000;

export const shardCount = z
  .union([z.number().int().min(1).max(MAX_SHARDS), z.literal("auto")])
  .describe(`a whole number of connections, 1 to ${MAX_SHARDS}, or "auto"`);

export function share(): z.ZodNumber {
  return z.number().gt(0).lt(1).describe("a share of the usable window: a number between 0 and 1");
}

/** The smallest usable window of a model, in tokens. */
export const MIN_WINDOW = 1024;

export const windowSize = z
  .number()
  .int()
  .refine((value) => value === 0 || (value >= MIN_WINDOW && value <= 100_000_000))
  .describe(
    `a whole number of tokens, ${MIN_WINDOW} to 100000000, or 0 to look it up in the table of known models`,
  );

export const text = (what: string, max: number): z.ZodString => z.string().max(max).describe(what);

export const modelName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .describe('the name of a model, in quotes, or "auto" for the one that the server offers');

const VARIABLE = /^env:[A-Za-z_][A-Za-z0-9_]*$/;

/** A variable of the environment with the secret: secrets are never in the file. */
export const secret = z
  .string()
  .regex(VARIABLE)
  .describe(
    'the name of an environment variable that holds it, as "env:NAME": secrets never stand in this file',
  );

/** A variable with an address that has a password; "": none. */
export const secretOrNone = z
  .string()
  .regex(/^(?:|env:[A-Za-z_][A-Za-z0-9_]*)$/)
  .describe(
    'the name of an environment variable that holds it, as "env:NAME", or "" to switch it off: secrets never stand in this file',
  );

/** Completes "expected: …" for the address of the model server, in the file or in the environment. */
export const MODEL_SERVER_ADDRESS =
  'an address such as "http://127.0.0.1:11434/v1", without user, password and query: a key belongs in OPENAI_API_KEY';

export const httpUrl = addressOrVariable(MODEL_SERVER_ADDRESS);

/** The same for `[llm.servers]`. */
export const NAMED_SERVER_ADDRESS = MODEL_SERVER_ADDRESS.replace("OPENAI_API_KEY", "api_key");

export const namedServerUrl = addressOrVariable(NAMED_SERVER_ADDRESS);

export const COLLECTOR_ADDRESS =
  'an address such as "http://127.0.0.1:4318", without user, password and query: a key belongs in OTEL_EXPORTER_OTLP_HEADERS';

export const collectorUrl = addressOrVariable(COLLECTOR_ADDRESS);

function addressOrVariable(address: string): z.ZodString {
  return z
    .string()
    .refine((value) => isPlainHttpUrl(value) || VARIABLE.test(value))
    .describe(`${address}; or "env:NAME"`);
}

export const loopbackUrl = z
  .string()
  .refine((value) => value === "" || isPlainHttpUrl(value))
  .describe(
    'an address such as "http://127.0.0.1:8787", without user, password and query, or "" to switch it off',
  );

const MAX_PORT = 65_535;

/** A host and a port to listen on. @param sample the example in its description */
export const listenAddress = (sample: string): z.ZodString =>
  z
    .string()
    .regex(/^([\w.-]+|\[[\da-f:]+\]):\d{1,5}$/i)
    .refine((address) => Number(address.slice(address.lastIndexOf(":") + 1)) <= MAX_PORT)
    .describe(`an address to listen on, such as "${sample}", with a port up to ${MAX_PORT}`);

export const mcpUrl = z
  .string()
  .refine((value) => value === "" || isPlainHttpUrl(value) || VARIABLE.test(value))
  .describe(
    'an address such as "https://mcp.example/mcp", without user, password and query, or "env:NAME" for one that has them',
  );

/** Whether an address holds no secret in a place for one, and can be extended by a path. */
export function isPlainHttpUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return false;
  return [url.username, url.password, url.search, url.hash].every((part) => part === "");
}

export const timeZone = z
  .string()
  .refine((value) => isTimeZone(value))
  .describe('an IANA time zone such as "UTC" or "Europe/Berlin"');

/** Names or ids, as people write them: `#general`, `1234567890`. */
export const names = (what: string): z.ZodArray<z.ZodString> =>
  z
    .array(z.string().trim().min(1).max(200).describe('an id or a name, in quotes: "1234567890"'))
    .max(1000)
    .describe(`a list of ${what}, in quotes`);

export const flag = z.boolean().describe("true or false");

export function oneOf<const Values extends readonly string[]>(
  values: Values,
): z.ZodEnum<{ [Value in Values[number]]: Value }> {
  return z.enum(values).describe(`one of ${values.map((value) => `"${value}"`).join(", ")}`);
}

/** `env:NAME` at the end of a header's value: `Bearer env:NAME`. */
const header = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[\t -~]+$/)
  .describe('the value of a header, as "env:NAME" or "Bearer env:NAME" where it is a secret');

export const headers = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/)
      .describe("the name of a header"),
    header,
  )
  .describe('a table of headers, such as { Authorization = "Bearer env:NAME" }');

/** A variable for a program. */
export const passedVariable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*(?:=env:[A-Za-z_][A-Za-z0-9_]*)?$/)
  .describe('the name of a variable, as "NAME", or "NAME=env:OTHER" for what Weir knows as OTHER');

/** An argument of a program. Its value is hidden: it may be a secret, against all advice. */
export const argument = z.string().max(4096).describe("a text, in quotes");

/** Schemas whose values are never shown. */
export const HIDDEN: ReadonlySet<unknown> = new Set([
  secret,
  secretOrNone,
  httpUrl,
  namedServerUrl,
  collectorUrl,
  loopbackUrl,
  mcpUrl,
  header,
  passedVariable,
  argument,
]);
