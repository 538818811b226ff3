import { createHash } from "node:crypto";
import { z } from "zod";

/**
 * How providers bill cached tokens: models of them, as data, for test servers and for `bench -- cost`. A token is four
 * bytes. Sources, read in November 2026: OpenAI's guide to prompt caching and the types of its client 7.55; Anthropic's
 * guide to prompt caching; DeepSeek's and vLLM's.
 */
export interface CacheSpecies {
  /**
   * `prefix`: any common beginning is found, in steps. `breakpoints`: only an entry that ends at a mark, at a mark of
   * this request. `blocks`: the same, also some blocks before each mark.
   */
  readonly kind: "prefix" | "breakpoints" | "blocks";
  /** Fewest cached tokens. */
  readonly least: number;
  /** For `prefix`: found tokens are a multiple of this. */
  readonly step?: number;
  /** Marks that a request may write: with more, `breakpoints` writes the latest, and `blocks` refuses the request. */
  readonly most?: number;
  /**
   * For `breakpoints`: the number of latest marks of a request that are searched; for `blocks`: the blocks that are
   * searched before each mark.
   */
  readonly lookedAt?: number;
  /** By the mark's value; "": none. */
  readonly lives: Readonly<Record<string, CacheTerms>>;
}

export interface CacheTerms {
  /** ms since an entry's last use. */
  readonly ms: number;
  /** Cost relative to an uncached token. */
  readonly write: number;
}

const MINUTE_MS = 60_000;

export const PREFIX_CACHE: CacheSpecies = {
  kind: "prefix",
  least: 1024,
  step: 128,
  lives: { "": { ms: 24 * 60 * MINUTE_MS, write: 1 } },
};
export const BREAKPOINT_CACHE: CacheSpecies = {
  kind: "breakpoints",
  least: 1024,
  most: 4,
  lookedAt: 80,
  lives: { "": { ms: 30 * MINUTE_MS, write: 1.25 }, "30m": { ms: 30 * MINUTE_MS, write: 1.25 } },
};
export const BLOCK_CACHE: CacheSpecies = {
  kind: "blocks",
  least: 1024,
  most: 4,
  lookedAt: 20,
  lives: {
    "": { ms: 5 * MINUTE_MS, write: 1.25 },
    "5m": { ms: 5 * MINUTE_MS, write: 1.25 },
    "1h": { ms: 60 * MINUTE_MS, write: 2 },
  },
};

/** Cost of a token read from a cache. */
export const READ_PRICE = 0.1;

/** One part of a prompt, in a template's order. */
export interface PromptPart {
  /** `tools`, or the message's role. */
  readonly role: string;
  readonly text: string;
  /** The mark's value (""; a `ttl`); null: no mark. */
  readonly mark: string | null;
}

/** A request's billing, in tokens. Their sum is the whole prompt. */
export interface CacheUse {
  readonly read: number;
  readonly written: number;
  readonly plain: number;
  /** Cost of a written token. */
  readonly write: number;
}

/** Tokens at full price. */
export function fullPrice({ read, written, plain, write }: CacheUse): number {
  return plain + write * written + READ_PRICE * read;
}

/** A request that a provider refuses. */
export class RefusedMarks extends Error {}

interface Entry {
  expiresAt: number;
  readonly ms: number;
}

/** The cache of one provider. */
export class ProviderCache {
  readonly #species: CacheSpecies;
  /** By the hash of their content. */
  readonly #entries = new Map<string, Entry>();
  /** For `prefix`: sent prompts, and when they expire. */
  #prompts: { readonly text: Buffer; expiresAt: number }[] = [];

  constructor(species: CacheSpecies) {
    this.#species = species;
  }

  /**
   * @param now ms
   * @throws RefusedMarks with the provider's message
   */
  use(parts: readonly PromptPart[], now: number): CacheUse {
    return this.#species.kind === "prefix" ? this.#usePrefix(parts, now) : this.#useMarks(parts, now);
  }

  #usePrefix(parts: readonly PromptPart[], now: number): CacheUse {
    const { least, step = 1, lives } = this.#species;
    const terms = lives[""] ?? { ms: 0, write: 1 };
    const text = Buffer.from(parts.map((part, index) => rendered(parts, index) + part.text).join(""));
    this.#prompts = this.#prompts.filter(({ expiresAt }) => expiresAt >= now).slice(-KEPT_PROMPTS);
    const shared = Math.max(0, ...this.#prompts.map((one) => sharedBytes(text, one.text)));
    const found = Math.floor(tokens(shared) / step) * step;
    const read = found < least ? 0 : found;
    this.#prompts.push({ text, expiresAt: now + terms.ms });
    return { read, written: 0, plain: tokens(text.length) - read, write: terms.write };
  }

  #useMarks(parts: readonly PromptPart[], now: number): CacheUse {
    const { kind, least, most = 4, lookedAt = 80, lives } = this.#species;
    const ends = endsOf(parts);
    const total = ends.at(-1)?.tokens ?? 0;
    const marked = ends.filter(({ mark }) => mark !== null);
    if (kind === "blocks" && marked.length > most)
      throw new RefusedMarks(
        `A maximum of ${most} blocks with cache_control may be provided. Found ${marked.length}.`,
      );
    if (kind === "breakpoints" && marked.some(({ role }) => role === "assistant"))
      throw new RefusedMarks("prompt_cache_breakpoint is not supported on assistant content.");
    const looked =
      kind === "breakpoints"
        ? marked.slice(-lookedAt)
        : marked.flatMap(({ index }) => ends.slice(Math.max(0, index - lookedAt), index + 1));
    const live = (hash: string): Entry | undefined => {
      const entry = this.#entries.get(hash);
      return entry !== undefined && entry.expiresAt >= now ? entry : undefined;
    };
    const hits = looked.filter(({ hash }) => live(hash) !== undefined);
    const read = Math.max(0, ...hits.map((end) => end.tokens));
    // A read prolongs an entry's life.
    for (const { hash } of hits) {
      const entry = live(hash);
      if (entry !== undefined) entry.expiresAt = now + entry.ms;
    }
    const writes = marked.slice(-most).filter((end) => end.tokens >= least);
    for (const { hash, mark } of writes) {
      const terms = lives[mark ?? ""];
      if (terms === undefined) throw new RefusedMarks(`ttl: "${mark}" is not supported.`);
      const ms = Math.max(terms.ms, live(hash)?.ms ?? 0);
      this.#entries.set(hash, { ms, expiresAt: now + ms });
    }
    const last = writes.at(-1);
    const written = Math.max(0, (last?.tokens ?? 0) - read);
    return { read, written, plain: total - read - written, write: lives[last?.mark ?? ""]?.write ?? 1 };
  }
}

/** Prompts of other conversations, and old ones, share no beginning with the next. */
const KEPT_PROMPTS = 6;

function tokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** The head of a message, before its first part. */
function rendered(parts: readonly PromptPart[], index: number): string {
  const part = parts[index];
  return part === undefined || (index > 0 && parts[index - 1]?.role === part.role)
    ? ""
    : `\n<${part.role}>\n`;
}

function endsOf(parts: readonly PromptPart[]) {
  const hash = createHash("sha256");
  let bytes = 0;
  return parts.map(({ role, text, mark }, index) => {
    const whole = rendered(parts, index) + text;
    hash.update(whole);
    bytes += Buffer.byteLength(whole);
    return { index, role, mark, tokens: tokens(bytes), hash: hash.copy().digest("base64") };
  });
}

function sharedBytes(text: Buffer, before: Buffer): number {
  const most = Math.min(text.length, before.length);
  if (text.subarray(0, most).equals(before.subarray(0, most))) return most;
  let [same, end] = [0, most];
  while (end - same > 1) {
    const middle = (same + end) >> 1;
    if (text.subarray(same, middle).equals(before.subarray(same, middle))) same = middle;
    else end = middle;
  }
  return same;
}

/** As a provider marks a request by itself: only its latest message. */
export function implicitlyMarked(parts: readonly PromptPart[]): PromptPart[] {
  const last = parts.findLastIndex(({ role }) => role !== "assistant");
  return parts.map((part, index) => ({ ...part, mark: index === last ? "" : null }));
}

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  cache_control: z.looseObject({ ttl: z.string().optional() }).optional(),
  prompt_cache_breakpoint: z.looseObject({ ttl: z.string().optional() }).optional(),
});
const bodySchema = z.looseObject({
  tools: z.array(z.unknown()).optional(),
  messages: z.array(
    z.looseObject({
      role: z.string(),
      content: z.union([z.string(), z.array(partSchema)]).nullish(),
      tool_calls: z.array(z.unknown()).optional(),
    }),
  ),
});

/** The parts of a Chat Completions request's prompt, tools first. */
export function chatPrompt(body: unknown): PromptPart[] {
  const { tools = [], messages } = bodySchema.parse(body);
  const ofTools = tools.length === 0 ? [] : [{ role: "tools", text: JSON.stringify(tools), mark: null }];
  return [
    ...ofTools,
    ...messages.flatMap(({ role, content, tool_calls: calls = [] }) => {
      const parts = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
      return [
        ...parts.map((part) => ({ role, text: part.text ?? JSON.stringify(part), mark: markOf(part) })),
        ...calls.map((call) => ({ role, text: JSON.stringify(call), mark: null })),
      ];
    }),
  ];
}

function markOf(part: z.output<typeof partSchema>): string | null {
  const mark = part.cache_control ?? part.prompt_cache_breakpoint;
  return mark === undefined ? null : (mark.ttl ?? "");
}
