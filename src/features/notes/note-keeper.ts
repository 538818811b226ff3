import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { BoundedMap } from "../../async/bounded-map.ts";
import { KeyedQueue } from "../../async/keyed-queue.ts";
import type { OwnFolder } from "../../agent-files/agent-folder.ts";
import { readTextFile } from "../../config/text-file.ts";
import type { AgentFile } from "../../context/sections/section.ts";
import { isMissingFile } from "../../core/errors.ts";
import { storableText } from "../../text/text.ts";
import type { Agent } from "../../turn/agent.ts";
import { changeFile, removeDrafts } from "./change-file.ts";
import { type OwnLine, ownLines, withLine, withoutLines, withoutMarks } from "./note-lines.ts";

/** `memory`: the lasting notes; `note`: those of a day. */
export type NoteKind = "memory" | "note";

interface Known {
  readonly mtimeMs: number;
  /** Also of a file that was made readable, or was given its old date. */
  readonly ctimeMs: number;
  readonly size: number;
  readonly removed: string;
  readonly file: AgentFile | null;
}

/** Files whose text is kept. */
const KEPT = 1000;
/** The longest name of a folder: file systems take 255 bytes. */
const LONGEST_NAME = 200;

/** Always the same for a folder, since it puts the changes of one file in order. */
const KEEPERS = new WeakMap<OwnFolder, NoteKeeper>();

/** @returns null: the agent has no folder */
export function keeperOf({ folder: { own } }: Pick<Agent, "folder">): NoteKeeper | null {
  if (own === null) return null;
  const keeper = KEEPERS.get(own) ?? new NoteKeeper(own);
  KEEPERS.set(own, keeper);
  return keeper;
}

/**
 * The files of an agent's notes, of each channel apart: `channels/discord-1234/MEMORY.md` and
 * `channels/discord-1234/memory/2026-11-24.md`. Notes of a channel are shown in that channel, and its threads, alone.
 */
export class NoteKeeper {
  readonly #parts: OwnFolder;
  readonly #known = new BoundedMap<Known>(KEPT);
  /** Our own changes of one file follow one another. */
  readonly #changes = new KeyedQueue();

  constructor(parts: OwnFolder) {
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
   * The notes of a channel, as they are now. A file that cannot be read is reported to the operator.
   * @param removed lines that must be deleted from their files: they are not shown
   */
  async read(channels: readonly string[], removed: ReadonlySet<number>): Promise<AgentFile[]> {
    const kinds = ["memory", "note"] as const;
    const wanted = channels.flatMap((channel) => kinds.map((kind) => ({ channel, kind })));
    const files = await Promise.all(wanted.map(async (one) => this.#readOne(one.channel, one.kind, removed)));
    return files.flatMap((file) => file ?? []);
  }

  async #readOne(channel: string, kind: NoteKind, removed: ReadonlySet<number>): Promise<AgentFile | null> {
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
    const key = [...removed].join(" ");
    const before = this.#known.get(path);
    const isSame = before?.mtimeMs === mark.mtimeMs && before.ctimeMs === mark.ctimeMs;
    if (isSame && before.size === mark.size && before.removed === key) return before.file;
    const outcome = readTextFile(absolute, shown);
    if (outcome !== null && "problem" in outcome)
      this.#parts.onProblem(`${shown}: ${outcome.problem.message}`);
    const whole = outcome !== null && "value" in outcome ? outcome.value : "";
    const text = withoutMarks(withoutLines(whole, removed)).trim();
    const plain = { name: channel, description: "", channels: null, paths: null };
    const file: AgentFile | null = text === "" ? null : { kind, path: shown, text, channel, ...plain };
    this.#known.set(path, { ...mark, removed: key, file });
    return file;
  }

  /** The length of a file in UTF-16 units, and the agent's own lines. @throws an Error if it cannot be read */
  async look(path: string): Promise<{ readonly length: number; readonly lines: readonly OwnLine[] }> {
    const absolute = join(this.#parts.root, path);
    // Reading a pipe would never end.
    const isThere = await stat(absolute).catch(() => null);
    if (isThere !== null && !isThere.isFile()) throw new Error("it is no file");
    const outcome = readTextFile(absolute, posix.join(this.#parts.shownAs, path));
    if (outcome !== null && "problem" in outcome) throw new Error(outcome.problem.message);
    const text = outcome?.value ?? "";
    return { length: text.length, lines: ownLines(text) };
  }

  /** Writes a line, after all others or in place of one of the agent's own. @throws errors of the file system */
  async write(path: string, line: OwnLine, instead: number | null): Promise<void> {
    await this.#change(path, (text) => withLine(text, line, instead));
  }

  /** Deletes lines from a file. @returns those that were there @throws errors of the file system */
  async remove(path: string, ids: ReadonlySet<number>): Promise<number[]> {
    const found = new Set<number>();
    await this.#change(path, (text) => {
      for (const { id } of ownLines(text)) if (ids.has(id)) found.add(id);
      return withoutLines(text, ids);
    });
    return [...found];
  }

  /** Deletes what a daemon that was killed has left beside the files. @throws errors of the file system */
  async removeDrafts(before: Date): Promise<void> {
    await removeDrafts(join(this.#parts.root, "channels"), before);
  }

  async #change(path: string, change: (text: string) => string): Promise<void> {
    await this.#changes.add(path, async () => changeFile(join(this.#parts.root, path), change));
    this.#known.delete(path);
  }
}

/** A platform's name of a channel may contain anything: characters with a meaning in paths are encoded. */
function folderName(channel: string): string {
  const name = encodeURIComponent(storableText(channel)).replace(/^\./, "%2E");
  if (name.length <= LONGEST_NAME) return name;
  return `${name.slice(0, LONGEST_NAME / 2)}-${createHash("sha256").update(channel).digest("hex").slice(0, 32)}`;
}
