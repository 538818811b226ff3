import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { BoundedMap } from "../async/bounded-map.ts";
import { KeyedQueue } from "../async/keyed-queue.ts";
import { readTextFile } from "../config/text-file.ts";
import type { AgentFile } from "../context/sections/section.ts";
import { isMissingFile } from "../core/errors.ts";
import { storableText } from "../text/text.ts";
import { changeFile } from "./change-file.ts";
import { type OwnLine, ownLines, withLine, withoutLines, withoutMarks } from "./note-lines.ts";

/** `memory`: what lasts; `note`: what was noted on a day. */
export type NoteKind = "memory" | "note";

export interface NoteKeeperParts {
  /** Absolute path of the agent's folder. */
  readonly root: string;
  /** Its name, as the operator knows it: `agents/main`. */
  readonly shownAs: string;
  /** YYYY-MM-DD in the agent's time zone. */
  readonly today: () => string;
  /** Told of a file that cannot be read. */
  readonly onProblem: (problem: string) => void;
}

interface Known {
  readonly mtimeMs: number;
  /** Also of a file that was made readable, or was given its old date. */
  readonly ctimeMs: number;
  readonly size: number;
  readonly gone: string;
  readonly file: AgentFile | null;
}

/** Files whose text is kept. */
const KEPT = 1000;
/** The longest name of a folder: file systems take 255 bytes. */
const LONGEST_NAME = 200;

/**
 * The notes that an agent keeps of channels, each channel's apart: `channels/discord-1234/MEMORY.md` and
 * `channels/discord-1234/memory/2026-11-24.md`. What was said in a channel is so read in that channel, and its threads, alone.
 */
export class NoteKeeper {
  readonly #parts: NoteKeeperParts;
  readonly #known = new BoundedMap<Known>(KEPT);
  /** Our own changes of one file follow one another. */
  readonly #changes = new KeyedQueue();

  constructor(parts: NoteKeeperParts) {
    this.#parts = parts;
  }

  /**
   * The file of a channel's notes, as a path in the agent's folder. No name leads out of it.
   * @param channel its name as a file: `discord-1234`
   */
  fileOf(channel: string, kind: NoteKind): string {
    const folder = posix.join("channels", folderName(channel));
    return kind === "memory"
      ? posix.join(folder, "MEMORY.md")
      : posix.join(folder, "memory", `${this.#parts.today()}.md`);
  }

  /** All files that are read for a channel. @param channels its own name, and of a thread that of its channel */
  filesOf(channels: readonly string[]): string[] {
    return channels.flatMap((channel) => [this.fileOf(channel, "memory"), this.fileOf(channel, "note")]);
  }

  /**
   * The notes of a channel, as they are now. What cannot be read is a problem that the operator is told.
   * @param gone lines that are to leave their files: they are not shown
   */
  async read(channels: readonly string[], gone: ReadonlySet<number>): Promise<AgentFile[]> {
    const kinds = ["memory", "note"] as const;
    const wanted = channels.flatMap((channel) => kinds.map((kind) => ({ channel, kind })));
    const files = await Promise.all(wanted.map(async (one) => this.#readOne(one.channel, one.kind, gone)));
    return files.flatMap((file) => file ?? []);
  }

  async #readOne(channel: string, kind: NoteKind, gone: ReadonlySet<number>): Promise<AgentFile | null> {
    const path = this.fileOf(channel, kind);
    const shown = posix.join(this.#parts.shownAs, path);
    const absolute = join(this.#parts.root, path);
    let mark: Pick<Known, "mtimeMs" | "ctimeMs" | "size">;
    try {
      const found = await stat(absolute);
      if (!found.isFile()) return null;
      mark = { mtimeMs: found.mtimeMs, ctimeMs: found.ctimeMs, size: found.size };
    } catch (error) {
      if (!isMissingFile(error)) this.#parts.onProblem(`${shown}: cannot be read`);
      return null;
    }
    const key = [...gone].join(" ");
    const before = this.#known.get(path);
    const isSame = before?.mtimeMs === mark.mtimeMs && before.ctimeMs === mark.ctimeMs;
    if (isSame && before.size === mark.size && before.gone === key) return before.file;
    const outcome = readTextFile(absolute, shown);
    if (outcome !== null && "problem" in outcome)
      this.#parts.onProblem(`${shown}: ${outcome.problem.message}`);
    const whole = outcome !== null && "value" in outcome ? outcome.value : "";
    const text = withoutMarks(withoutLines(whole, gone)).trim();
    const plain = { name: channel, description: "", channels: null, paths: null };
    const file: AgentFile | null = text === "" ? null : { kind, path: shown, text, channel, ...plain };
    this.#known.set(path, { ...mark, gone: key, file });
    return file;
  }

  /** What stands in a file: its length in UTF-16 units, and the lines of the agent's own. @throws an Error where it cannot be read */
  async look(path: string): Promise<{ readonly length: number; readonly lines: readonly OwnLine[] }> {
    const absolute = join(this.#parts.root, path);
    // Of a pipe there is no end to be read.
    const isThere = await stat(absolute).catch(() => null);
    if (isThere !== null && !isThere.isFile()) throw new Error("it is no file");
    const outcome = readTextFile(absolute, posix.join(this.#parts.shownAs, path));
    if (outcome !== null && "problem" in outcome) throw new Error(outcome.problem.message);
    const text = outcome?.value ?? "";
    return { length: text.length, lines: ownLines(text) };
  }

  /** Writes a line, behind all others or in the place of an own one. @throws what the file system does */
  async write(path: string, line: OwnLine, instead: number | null): Promise<void> {
    await this.#change(path, (text) => withLine(text, line, instead));
  }

  /** Takes lines out of a file. @returns those that stood there @throws what the file system does */
  async remove(path: string, ids: ReadonlySet<number>): Promise<number[]> {
    const found = new Set<number>();
    await this.#change(path, (text) => {
      for (const { id } of ownLines(text)) if (ids.has(id)) found.add(id);
      return withoutLines(text, ids);
    });
    return [...found];
  }

  async #change(path: string, change: (text: string) => string): Promise<void> {
    await this.#changes.add(path, async () => changeFile(join(this.#parts.root, path), change));
    this.#known.delete(path);
  }
}

/** A platform may name a channel as it likes: what a file system could read as a path is written otherwise. */
function folderName(channel: string): string {
  const name = encodeURIComponent(storableText(channel)).replace(/^\./, "%2E");
  if (name.length <= LONGEST_NAME) return name;
  return `${name.slice(0, LONGEST_NAME / 2)}-${createHash("sha256").update(channel).digest("hex").slice(0, 32)}`;
}
