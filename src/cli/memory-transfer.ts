import { text as readText } from "node:stream/consumers";
import type { Config } from "../config/config.ts";
import { errorMessage, isMissingFile, OperatorError, WeirError } from "../core/errors.ts";
import { formatAddress, parseAddress } from "../core/ids.ts";
import {
  checkMemoryLine,
  type ImportRefusal,
  type LeftThere,
  type MemoryLine,
  parseMemoryLine,
} from "../memory/memory-file.ts";
import { LONG, readText as readFileText } from "../files/read-file.ts";
import { writeNewFile } from "../files/write-file.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { PortableMemory } from "../store/memory/memory-transfer.ts";
import type { Store } from "../store/store.ts";
import { displayableJson, displayableLine } from "../text/displayable.ts";
import { tellingTerms } from "../text/terms.ts";
import { counted } from "../text/text.ts";
import { aborted, type CommonOptions, type Io, say, writeOut } from "./shared/io.ts";
import { findChannel, readConfig, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";

/** Memories, or entries, that are read at once. */
const PAGE = 500;
/** Problems of one kind that are named by their lines. */
const SHOWN = 10;

type ExportOptions = CommonOptions & { readonly channel?: string };

/**
 * `weir memories export FILE|-`: every memory as a line of JSON, for `import`. A file is written completely or not at all.
 * @throws OperatorError if the file exists already or cannot be written, or the export was interrupted
 */
export async function exportMemories(io: Io, file: string, options: ExportOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  await withStore(io, config, async (store) => {
    const channel = options.channel === undefined ? undefined : await findChannel(store, options.channel);
    const writeAll = async (write: (text: string) => Promise<void>): Promise<number> =>
      writeMemories(io, store, channel, write);
    if (file === "-") {
      await writeAll(async (text) => writeOut(io, text));
      return;
    }
    const count = await writeNewFile(file, async (handle) =>
      writeAll(async (text) => handle.writeFile(text)),
    );
    say(io, `${counted(count, "memory", "memories")} written to ${file}. No deletion reaches this file.`);
  });
}

/** @returns how many */
async function writeMemories(
  io: Io,
  store: Store,
  channel: ChannelRow | undefined,
  write: (text: string) => Promise<void>,
): Promise<number> {
  let [count, last] = [0, 0];
  for (let isMore = true; isMore;) {
    const page = await store.transfer.page(last, PAGE, channel?.id);
    const lines = page.map((memory) => `${displayableJson(toLine(memory, new Date()))}\n`);
    if (lines.length > 0) await write(lines.join(""));
    if (io.shutdown.aborted) throw new OperatorError("Interrupted: the export is not complete.");
    count += page.length;
    last = page.at(-1)?.id ?? last;
    isMore = page.length === PAGE;
  }
  return count;
}

function toLine(memory: PortableMemory, exportedAt: Date): MemoryLine {
  const { agent, channel, scope, type, subject, statement, assertedBy, tool, importance, at, until } = memory;
  return {
    agent,
    channel: formatAddress(channel),
    scope,
    type,
    subject,
    statement,
    assertedBy,
    ...(tool !== undefined && { tool }),
    importance,
    at: at.toISOString(),
    ...(until !== undefined && { until: until.toISOString() }),
    ...(memory.isImported && { imported: true as const }),
    sources: memory.sources.map((source) => ({ ...source, at: source.at.toISOString() })),
    exportedAt: exportedAt.toISOString(),
  };
}

/**
 * `weir memories import FILE|-`: adds the memories of such a file whose proofs are in the log. Idempotent.
 * @throws OperatorError if a line is no memory: then nothing is added
 */
export async function importMemories(io: Io, file: string, options: CommonOptions): Promise<void> {
  const config = readConfig(io, options);
  const texts = await Promise.race([readLines(io, file), aborted(io.shutdown)]);
  if (texts === undefined) throw new OperatorError("Interrupted: nothing was added.");
  const lines = parseLines(texts, file);
  await withStore(
    io,
    config,
    async (store) => {
      const importer = new Importer(store, config);
      for (const { line, memory } of lines) await importer.take(line, memory, io.shutdown);
      say(io, importer.told());
    },
    "asker",
  );
}

async function readLines(io: Io, file: string): Promise<string[]> {
  if (file === "-") return (await readText(io.stdin)).split("\n");
  try {
    return readFileText(file, LONG).split("\n");
  } catch (error) {
    if (!isMissingFile(error)) throw error;
    throw new OperatorError(`${file} cannot be read: ${errorMessage(error)}.`, { cause: error });
  }
}

interface NumberedMemory {
  readonly line: number;
  readonly memory: MemoryLine;
}

function parseLines(texts: readonly string[], file: string): NumberedMemory[] {
  const parsed: NumberedMemory[] = [];
  const wrong: string[] = [];
  for (const [index, text] of texts.entries()) {
    if (text.trim() === "") continue;
    const memory = parseMemoryLine(text);
    if (typeof memory === "string") wrong.push(`${file}:${index + 1}: ${displayableLine(memory)}`);
    else parsed.push({ line: index + 1, memory });
  }
  if (wrong.length === 0) return parsed;
  const more = wrong.length > SHOWN ? [`and ${wrong.length - SHOWN} more`] : [];
  throw new OperatorError(
    `${counted(wrong.length, "line")} cannot be read as a memory, and nothing was added:\n${[...wrong.slice(0, SHOWN), ...more].join("\n")}`,
  );
}

/** Adds memories line by line, and counts the outcomes. */
class Importer {
  readonly #store: Store;
  readonly #config: Config;
  readonly #channels = new Map<string, ChannelRow | undefined>();
  /** By channel. */
  readonly #left = new Map<number, LeftThere>();
  readonly #refused = new Map<ImportRefusal, number[]>();
  #added = 0;
  #known = 0;

  constructor(store: Store, config: Config) {
    this.#store = store;
    this.#config = config;
  }

  /** @throws OperatorError if it cannot continue, with the line that it reached */
  async take(line: number, memory: MemoryLine, shutdown: AbortSignal): Promise<void> {
    if (shutdown.aborted) throw this.#halt(line, "Interrupted");
    const outcome = await this.#add(memory).catch((error: unknown) => {
      throw error instanceof WeirError ? this.#halt(line, errorMessage(error), error) : error;
    });
    if ("refused" in outcome)
      this.#refused.set(outcome.refused, [...(this.#refused.get(outcome.refused) ?? []), line]);
    else if (outcome.id === null) this.#known++;
    else this.#added++;
  }

  #halt(line: number, why: string, cause?: unknown): OperatorError {
    return new OperatorError(
      `${why.replace(/\.$/, "")}: the lines before ${line} are done, ${counted(this.#added, "memory", "memories")} added. ` +
        "Run this again: what is known is not added twice.",
      { cause },
    );
  }

  async #add(memory: MemoryLine): Promise<{ id: number | null } | { refused: ImportRefusal }> {
    const { transfer } = this.#store;
    const channel = await this.#channel(memory.channel);
    if (channel === undefined) return { refused: "no such channel" };
    // Otherwise it would be shown among another agent's memories.
    if (channel.agent !== memory.agent) return { refused: "another agent answers there" };
    if (memory.scope === "dm" && channel.kind !== "dm")
      return { refused: "it was told in private, and this channel is none" };
    const erasedAt = await transfer.erasedAt(channel.id);
    const now = new Date();
    const exportedAt = new Date(memory.exportedAt);
    if (erasedAt !== null && (erasedAt >= exportedAt || exportedAt > now))
      await this.#look(channel, erasedAt);
    const agentName = this.#config.agents.find(({ id }) => id === channel.agent)?.name ?? channel.agent;
    const limits = { scope: memory.scope, until: memory.until === undefined ? null : new Date(memory.until) };
    const { tool, sources } = memory;
    const wanted =
      tool === undefined ? sources : sources.map((source) => ({ ...source, tool, at: new Date(source.at) }));
    return transfer.take(channel, wanted, limits, (messages, erased, calls) =>
      checkMemoryLine(memory, messages, {
        agentName,
        erasedAt: erased,
        left: this.#left.get(channel.id) ?? null,
        now,
        calls,
      }),
    );
  }

  async #channel(name: string): Promise<ChannelRow | undefined> {
    if (!this.#channels.has(name))
      this.#channels.set(name, await this.#store.channels.find(parseAddress(name)));
    return this.#channels.get(name);
  }

  /** Reads all messages of people in a channel, unless they were read since the last change. */
  async #look(channel: ChannelRow, erasedAt: Date): Promise<void> {
    const known = this.#left.get(channel.id);
    if (known !== undefined && known.asOf > erasedAt) return;
    const asOf = new Date(erasedAt.getTime() + 1);
    const terms = new Set<string>();
    for (let from = 1; from <= channel.lastSeq; from += PAGE) {
      const to = Math.min(channel.lastSeq, from + PAGE - 1);
      for (const entry of await this.#store.log.readCurrent(channel.id, from, to)) {
        if (entry.kind !== "user" || entry.author.isBot || entry.deleted || entry.expired === true) continue;
        for (const term of tellingTerms(`${entry.author.name}\n${entry.text}`)) terms.add(term);
      }
    }
    this.#left.set(channel.id, { terms, asOf });
  }

  /** How it ended, for a person. */
  told(): string {
    const known = this.#known === 0 ? "" : ` ${this.#known} known already.`;
    const refused = [...this.#refused].map(([why, lines]) => {
      const named = lines.slice(0, SHOWN).join(", ") + (lines.length > SHOWN ? ", …" : "");
      return `${lines.length} refused: ${why} (${lines.length === 1 ? "line" : "lines"} ${named})`;
    });
    return [`${counted(this.#added, "memory", "memories")} added.${known}`, ...refused].join("\n");
  }
}
