import type { AgentId, ChannelId, Owner, TurnId } from "../../core/ids.ts";
import type { Database } from "../database/database.ts";

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
  /** Since over a month. */
  readonly isOld: boolean;
}

/** Lines that are read at once. */
const PAGE = 1000;

/** What was taken back in a channel, as far as its notes are concerned. */
export interface NotesLook {
  /** Counts the edits and deletions of the channel, and of the channel that a thread belongs to. */
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
        text: `select notes_taken_back($1) as taken_back,
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

  /** A line that may have come to stand in its file, or not: it is to leave it, and tells nothing any more. */
  async take(id: number): Promise<void> {
    await this.#db.query(
      {
        name: "note_take",
        text: "update notes set text = '', gone_at = clock_timestamp() where id = $1 and gone_at is null",
      },
      [id],
    );
  }

  /**
   * Lines of an agent's files that tell of something that was taken back, and may still stand there: the first of those behind an
   * id, by id.
   */
  async gone(agent: AgentId, behind = 0): Promise<GoneNote[]> {
    const rows = await this.#db.query<{ id: number; file: string; is_old: boolean }>(
      {
        name: "notes_gone",
        text: `select id, file, gone_at < clock_timestamp() - interval '30 days' as is_old from notes
                where agent = $1 and gone_at is not null and id > $2 order by id limit $3`,
      },
      [agent, behind, PAGE],
    );
    return rows.map(({ id, file, is_old: isOld }) => ({ id, file, isOld }));
  }
}
