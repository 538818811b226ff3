import { z } from "zod";
import type { Entry } from "../core/entry.ts";
import { MEMORY_TYPES, type MemoryDraft, type MemoryRejection } from "../core/memory.ts";
import { containsQuote, normalWords } from "../text/normal-text.ts";
import { isExact, tellingTerms } from "../text/terms.ts";
import { storableText } from "../text/text.ts";
import { checkMemories } from "./gates.ts";

/** The JSON-lines format of exported memories, and the checks before a line becomes a memory here. Pure. */

const time = z.iso.datetime({ offset: true });
const id = z.string().min(1).max(1000);

const Line = z.object({
  agent: id,
  /** `platform:name` */
  channel: z.string().regex(/^[^:]+:./, "a channel, as platform:name"),
  scope: z.enum(["dm", "channel", "workspace"]),
  type: z.enum(MEMORY_TYPES),
  subject: z.string(),
  statement: z.string(),
  /** The name of who said it first. */
  assertedBy: z.string(),
  /** The tool whose results prove it. */
  tool: id.optional(),
  importance: z.number().min(0).max(1),
  /** When it was said, and until when it held. */
  at: time,
  until: time.optional(),
  /** It came from a file itself. */
  imported: z.literal(true).optional(),
  sources: z
    .array(
      z.object({
        /** The platform's ids of the message (null: it has no id) and of its author (null: the agent itself, or a tool). */
        message: id.nullable(),
        author: id.nullable(),
        name: z.string(),
        at: time,
        quote: z.string(),
      }),
    )
    .min(1)
    .max(1000),
  exportedAt: time,
});

export type MemoryLine = z.infer<typeof Line>;

/** Longest line that is parsed, in UTF-16 units: an export's are far shorter, and a made-up one of megabytes takes many seconds. */
const LONGEST_LINE = 2_000_000;

/** @returns what is wrong, in words, if it is no memory */
export function parseMemoryLine(text: string): MemoryLine | string {
  if (text.length > LONGEST_LINE) return "this line is too long for a memory";
  let value: unknown;
  try {
    value = JSON.parse(text, (_, one: unknown) => (typeof one === "string" ? storableText(one) : one));
  } catch {
    return "this is no JSON";
  }
  const parsed = Line.safeParse(value);
  return parsed.success ? parsed.data : problemsOf(parsed.error);
}

/** Most problems of one line that are reported. */
const TOLD = 3;

/** `scope: Invalid option: …; and 2 more` */
function problemsOf({ issues }: z.ZodError): string {
  const told = issues
    .slice(0, TOLD)
    .map(({ path, message }) => `${path.join(".") || "the line"}: ${message}`);
  return [...told, ...(issues.length > TOLD ? [`and ${issues.length - TOLD} more`] : [])].join("; ");
}

/** Why a memory of a file is not imported. */
export type ImportRefusal =
  | "no such channel"
  | "another agent answers there"
  | "it was told in private, and this channel is none"
  | "a message that proves it is not in the log, or was taken back"
  | "its words do not stand in a message that proves it"
  | "texts that it may tell of were edited or taken back since it was exported"
  | `it does not pass the checks (${MemoryRejection})`;

/** The terms that remain in a channel, to compare a memory with. */
export interface LeftThere {
  /** The terms of all that people still say there, as of `asOf`. */
  readonly terms: ReadonlySet<string>;
  readonly asOf: Date;
}

/**
 * The memory that a line may become, by the same gates as a model's: every message that proves it is in the log, has the same
 * author, and contains its quote. If texts of the channel were edited or deleted since the export, all terms of the memory must
 * remain there.
 * @param messages by the line's sources; undefined: it is not in the log
 * @param calls entries with the calls of messages that are a tool's results. Default: none; then they prove nothing
 * @param left null: not known
 */
export function checkMemoryLine(
  line: MemoryLine,
  messages: readonly (Entry | undefined)[],
  parts: {
    readonly agentName: string;
    readonly erasedAt: Date | null;
    readonly left: LeftThere | null;
    readonly now: Date;
    readonly calls?: readonly Entry[];
  },
): MemoryDraft | { readonly refused: ImportRefusal } {
  const { agentName, erasedAt, left, now, calls = [] } = parts;
  const sources = line.sources.flatMap(({ quote }, index) => {
    const entry = messages[index];
    return entry === undefined || entry.kind === "tool_call" || entry.kind === "notice"
      ? []
      : [{ entry, quote }];
  });
  if (sources.length < line.sources.length)
    return { refused: "a message that proves it is not in the log, or was taken back" };
  if (!sources.every(({ entry, quote }) => containsQuote(normalWords(entry.text), normalWords(quote))))
    return { refused: "its words do not stand in a message that proves it" };
  // The asserter's own messages come first: the first source determines the name that it is ascribed to.
  const isAsserters = ({ entry }: (typeof sources)[number]): boolean =>
    entry.kind === "user" && entry.author.name === line.assertedBy;
  const ordered = [...sources.filter(isAsserters), ...sources.filter((one) => !isAsserters(one))];
  const drafts = ordered.map(({ quote }, index) => {
    const { type, subject, statement, importance } = line;
    return checkMemories(
      { memories: [{ type, subject, statement, quote, importance, sources: [index + 1] }] },
      {
        sources: new Map(ordered.map(({ entry }, place) => [place + 1, entry])),
        promptText: "",
        lines: "proofs",
        calls,
        agentName,
        dayOf: (at) => at.toISOString().slice(0, 10),
      },
    );
  });
  const [dropped] = drafts.flatMap((one) => one.dropped);
  const [draft] = drafts.flatMap((one) => one.kept);
  if (draft === undefined || dropped !== undefined)
    return { refused: `it does not pass the checks (${dropped?.reason ?? "malformed"})` };
  const proofs = new Map(ordered.map(({ entry, quote }) => [entry.seq, { seq: entry.seq, quote }]));
  const at = new Date(Math.max(...ordered.map(({ entry }) => entry.at.getTime()))).toISOString();
  const memory = { ...draft, at, sources: [...proofs.values()] };
  const exportedAt = new Date(line.exportedAt);
  // An export date in the future proves nothing: the file may be older than any deletion.
  if (erasedAt === null || (erasedAt < exportedAt && exportedAt <= now)) return memory;
  return tellsOnly(memory, sources, left !== null && left.asOf > erasedAt ? left.terms : new Set())
    ? memory
    : { refused: "texts that it may tell of were edited or taken back since it was exported" };
}

/** As for a deletion: a number must remain in a message that proves it, a word in any message of people there. */
function tellsOnly(
  { subject, statement }: MemoryDraft,
  sources: readonly { readonly entry: Extract<Entry, { kind: "user" | "assistant" | "tool_result" }> }[],
  left: ReadonlySet<string>,
): boolean {
  const proved = new Set(
    sources.flatMap(({ entry }) => [
      ...tellingTerms(entry.kind === "user" ? `${entry.author.name}\n${entry.text}` : entry.text),
    ]),
  );
  return [...tellingTerms(`${subject} ${statement}`)].every(
    (term) => proved.has(term) || (!isExact(term) && left.has(term)),
  );
}
