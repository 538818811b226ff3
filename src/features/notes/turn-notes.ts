import { type OwnLine, LONGEST_NOTE, noteText } from "./note-lines.ts";
import type { NoteKeeper } from "./note-keeper.ts";
import { withDeadline } from "../../async/deadline.ts";
import type { AgentFile } from "../../context/sections/section.ts";
import type { AgentId, ChannelId, TurnId } from "../../core/ids.ts";
import { ToolFailure } from "../../tools/tool.ts";
import { storableText } from "../../text/text.ts";
import type { ActorParts } from "../../channel/channel-context.ts";
import type { NoteKit, NoteRequest } from "./key.ts";
import type { NoteStore } from "./note-store.ts";

/** Longest wait for the files before the first model call, ms. */
const WITHIN_MS = 200;
/** A file of notes is not to outgrow what a section may have. */
const MOST_UNITS = 16_000;

const WHY_NOT = {
  unread:
    "You cannot write notes just now: they could not be read. Answer without, and say so if somebody asked for it.",
  changed:
    "Nothing was written: a message was edited or deleted meanwhile. Look at the conversation again first.",
  empty: "Nothing was written: the note has no text.",
  long: `Nothing was written: a note may have ${LONGEST_NOTE} characters. Say it shorter.`,
  full: "Nothing was written: the file is full. Make room with memory_write: replace or remove what no longer matters.",
  unknown: "No line of yours there has these words. Give words of a line as it stands in your notes.",
  several: "Several lines of yours have these words. Give more of the line.",
  edited: "Somebody has edited that line by hand: it is theirs now. Add a line of your own.",
  failed: "The note could not be written. The people who run you see why in the log.",
} as const;

function refused(why: keyof typeof WHY_NOT, cause?: unknown): ToolFailure {
  return new ToolFailure(WHY_NOT[why], cause === undefined ? undefined : { cause });
}

type NoteParts = Pick<ActorParts, "owner" | "lookUpWithinMs"> & {
  readonly agent: { readonly config: Pick<ActorParts["agent"]["config"], "id"> };
  readonly notes: NoteStore;
};

/** Reads the notes of a channel, without lines that must be deleted. @param where.fileNames see `TurnNotes` */
export async function readNotes(
  store: Pick<NoteStore, "look">,
  keeper: NoteKeeper,
  where: { readonly channel: ChannelId; readonly agent: AgentId; readonly fileNames: readonly string[] },
): Promise<readonly AgentFile[]> {
  const { channel, agent, fileNames } = where;
  const { removed } = await store.look(channel, agent, keeper.filesOf(fileNames));
  return keeper.read(fileNames, removed);
}

/** The kit of a turn whose agent has no folder. */
export const NO_NOTES: NoteKit = {
  read: async () => [],
  write: async () => {
    throw new ToolFailure("You keep no notes.");
  },
};

/** A turn's access to a channel's notes. Texts that are deleted meanwhile are neither shown nor written. */
export class TurnNotes implements NoteKit {
  readonly #parts: NoteParts;
  readonly #turn: TurnId;
  readonly #keeper: NoteKeeper;
  readonly #fileNames: readonly string[];
  /** Number of edits and deletions of the channel, and of a thread's channel, as of the turn's last read; null: not read yet. */
  #takenBack: number | null = null;

  /** @param fileNames the channel's name as a file; of a thread, then its channel's */
  constructor(parts: NoteParts, turn: TurnId, keeper: NoteKeeper, fileNames: readonly string[]) {
    this.#parts = parts;
    this.#turn = turn;
    this.#keeper = keeper;
    this.#fileNames = fileNames;
  }

  async read(): Promise<readonly AgentFile[]> {
    const { notes, owner, agent, lookUpWithinMs = WITHIN_MS } = this.#parts;
    const names = this.#fileNames;
    // Waited for as long as it takes, like the turn's other statements: without the number nothing could be written.
    const { takenBack, removed } = await notes.look(
      owner.channel,
      agent.config.id,
      this.#keeper.filesOf(names),
    );
    this.#takenBack = takenBack;
    return (await withDeadline(this.#keeper.read(names, removed), lookUpWithinMs)) ?? [];
  }

  async write({ kind, text, replaces }: NoteRequest): Promise<string> {
    const [channel] = this.#fileNames;
    if (this.#takenBack === null || channel === undefined) throw refused("unread");
    const said = noteText(storableText(text));
    if (said === "" && replaces === null) throw refused("empty");
    if (said.length > LONGEST_NOTE) throw refused("long");
    const file = this.#keeper.fileOf(channel, kind);
    const { lines, length } = await this.#keeper.look(file).catch((error: unknown) => {
      throw refused("failed", error);
    });
    const old = replaces === null ? null : await this.#ownLine(lines, noteText(storableText(replaces)));
    if (said === "" && old !== null) return this.#remove(file, old);
    if (lines.some((line) => line.text === said)) return "That stands there already.";
    if (length + said.length > MOST_UNITS) throw refused("full");
    await this.#put(file, said, old);
    return old === null ? "Noted, for this conversation alone." : "Replaced.";
  }

  async #put(file: string, text: string, old: OwnLine | null): Promise<void> {
    const { notes, owner, agent } = this.#parts;
    const note = { agent: agent.config.id, file, text };
    const id = await notes.add(owner, this.#turn, note, this.#takenBack ?? -1);
    if (id === null) throw refused("changed");
    try {
      await this.#keeper.write(file, { id, text }, old?.id ?? null);
    } catch (error) {
      // The line may be in the file nevertheless: it is deleted like one whose source was deleted.
      await notes.take(id);
      throw refused("failed", error);
    }
    if (old !== null) await notes.drop([old.id]);
  }

  async #remove(file: string, { id }: OwnLine): Promise<string> {
    try {
      await this.#keeper.remove(file, new Set([id]));
    } catch (error) {
      throw refused("failed", error);
    }
    await this.#parts.notes.drop([id]);
    return "Removed.";
  }

  /** The one line that the agent has written, and nobody has edited since, with these words. */
  async #ownLine(lines: readonly OwnLine[], words: string): Promise<OwnLine> {
    const found = words === "" ? [] : lines.filter(({ text }) => text.includes(words));
    const [line, ...more] = found;
    if (line === undefined) throw refused("unknown");
    if (more.length > 0) throw refused("several");
    const { notes, owner } = this.#parts;
    if ((await notes.textOf(owner.channel, line.id)) !== line.text) throw refused("edited");
    return line;
  }
}
