import type { AgentId, ChannelId, Owner, Seq, TurnId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Database, Queryable } from "../database/database.ts";
import { readAsked, termsOf, type Unsaid } from "./retold.ts";

/** A line in a file of an agent's folder, as it is about to be written. */
export interface NoteDraft {
  readonly agent: AgentId;
  /** In the agent's folder. */
  readonly file: string;
  readonly text: string;
}

/** A line that is to leave its file. */
export interface GoneNote {
  readonly id: number;
  readonly file: string;
}

/** What was taken back in a channel, as far as its notes are concerned. */
export interface NotesLook {
  /** Counts the edits and deletions of the channel. */
  readonly takenBack: number;
  /** Lines that are to leave their files. */
  readonly gone: ReadonlySet<number>;
}

/** Rows of `notes`: which lines of an agent's notes were written from what. */
export class NoteStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** What a turn has to know before it reads the notes of a channel, and may write there. */
  async look(channel: ChannelId, agent: AgentId, files: readonly string[]): Promise<NotesLook> {
    const [row] = await this.#db.query<{ taken_back: number; gone: number[] }>(
      {
        name: "notes_look",
        text: `select coalesce((select taken_back from search_progress where channel_id = $1), 0) as taken_back,
                      coalesce((select jsonb_agg(id) from notes
                                 where agent = $2 and gone_at is not null and file = any($3)), '[]') as gone`,
      },
      [channel, agent, files],
    );
    return { takenBack: row?.taken_back ?? 0, gone: new Set(row?.gone) };
  }

  /**
   * Notes a line before it is written.
   * @param takenBack as the turn has seen it before its model was asked
   * @returns null: a text of the channel was taken back meanwhile, and the line may tell of it
   */
  async add(
    { channel, epoch }: Owner,
    turn: TurnId,
    note: NoteDraft,
    takenBack: number,
  ): Promise<number | null> {
    const [row] = await this.#db.query<{ id: number | null }>(
      { name: "note_add", text: "select add_note($1, $2, $3, $4, $5, $6, $7) as id" },
      [channel, epoch, turn, note.agent, note.file, note.text, takenBack],
    );
    return row?.id ?? null;
  }

  /** What a line said when it was written; null: it is unknown, or was taken back. */
  async textOf(channel: ChannelId, id: number): Promise<string | null> {
    const [row] = await this.#db.query<{ text: string }>(
      {
        name: "note_text",
        text: "select text from notes where channel_id = $1 and id = $2 and gone_at is null",
      },
      [channel, id],
    );
    return row?.text ?? null;
  }

  /** Forgets lines that stand in no file any more. */
  async drop(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#db.query({ name: "notes_drop", text: "delete from notes where id = any($1)" }, [ids]);
  }

  /**
   * Lines of an agent's files that tell of something that was taken back, and may still stand there. What was in no file for a
   * month is forgotten.
   */
  async gone(agent: AgentId): Promise<GoneNote[]> {
    await this.#db.query(
      {
        name: "notes_gone_long",
        text: "delete from notes where agent = $1 and gone_at < clock_timestamp() - interval '30 days'",
      },
      [agent],
    );
    return this.#db.query<{ id: number; file: string }>(
      {
        name: "notes_gone",
        text: "select id, file from notes where agent = $1 and gone_at is not null order by id limit 1000",
      },
      [agent],
    );
  }
}

/**
 * Takes the lines that tell what is said no more: that share a term with it which the messages that their turn answers do not have.
 * Their texts go at once; the files follow.
 * @param client in a transaction that holds the channel's row lock and has changed the texts
 */
export async function takeRetoldNotes(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms }: Unsaid,
): Promise<void> {
  if (terms.size === 0) return;
  const notes = await client.query<{ id: number; text: string; turn: number; read_to: Seq }>(
    {
      name: "notes_behind",
      text: `select id, text, turn_id as turn, read_to from notes
              where channel_id = $1 and gone_at is null and read_to >= $2 order by id`,
    },
    [channel, Math.min(...seqs)],
  );
  const gone: number[] = [];
  for (const { id, text, turn } of notes) {
    const told = tellingTerms(text).intersection(terms);
    if (told.size === 0) continue;
    if (told.difference(termsOf(await readAsked(client, turn))).size > 0) gone.push(id);
  }
  if (gone.length === 0) return;
  await client.query(
    {
      name: "notes_take",
      text: "update notes set text = '', gone_at = clock_timestamp() where id = any($1)",
    },
    [gone],
  );
}
