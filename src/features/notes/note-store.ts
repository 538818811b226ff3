import type { AgentId, ChannelId, Owner, TurnId } from "../../core/ids.ts";
import { Rows } from "../../store/database/rows.ts";

/** A line that must be deleted from its file. */
export interface RemovedNote {
  readonly id: number;
  readonly file: string;
  /** Its text was deleted over a month ago. */
  readonly isOld: boolean;
}

/** Lines that are read at once. */
const PAGE = 1000;

/** Rows of `notes`: the lines that agents have written into files, each with its turn. */
export class NoteStore extends Rows {
  /**
   * The edits and deletions of a channel that concern its notes: their number, those of a thread's channel included, and the lines that must
   * be deleted from their files. Call it before a turn reads the notes of a channel, and writes there.
   */
  async look(
    channel: ChannelId,
    agent: AgentId,
    files: readonly string[],
  ): Promise<{ readonly takenBack: number; readonly removed: ReadonlySet<number> }> {
    const [row] = await this.db.query<{ takenBack: number; removed: number[] }>(
      "notes_look",
      `select notes_taken_back($1) as taken_back,
              coalesce((select jsonb_agg(id) from notes
                         where agent = $2 and gone_at is not null and file = any($3)), '[]') as removed`,
      [channel, agent, files],
    );
    return { takenBack: row?.takenBack ?? 0, removed: new Set(row?.removed) };
  }

  /**
   * Adds the row of a line, before the line is written.
   * @param note.file in the agent's folder
   * @param takenBack as of the turn's last read, before its model was asked
   * @returns null: a text of the channel was edited or deleted in the meantime, and the line may repeat it
   */
  async add(
    { channel, epoch }: Owner,
    turn: TurnId,
    note: { readonly agent: AgentId; readonly file: string; readonly text: string },
    takenBack: number,
  ): Promise<number | null> {
    const [row] = await this.db.query<{ id: number | null }>(
      "note_add",
      "select add_note($1, $2, $3, $4, $5, $6, $7) as id",
      [channel, epoch, turn, note.agent, note.file, note.text, takenBack],
    );
    return row?.id ?? null;
  }

  /** The text of a line when it was written; null: it is unknown, or was deleted. */
  async textOf(channel: ChannelId, id: number): Promise<string | null> {
    const [row] = await this.db.query<{ text: string }>(
      "note_text",
      "select text from notes where channel_id = $1 and id = $2 and gone_at is null",
      [channel, id],
    );
    return row?.text ?? null;
  }

  /** Deletes the rows of lines that are in no file any more. */
  async drop(ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    await this.db.query("notes_drop", "delete from notes where id = any($1)", [ids]);
  }

  /** Deletes the text of a line that may be in its file; the file follows. */
  async take(id: number): Promise<void> {
    await this.db.query(
      "note_take",
      "update notes set text = '', gone_at = clock_timestamp() where id = $1 and gone_at is null",
      [id],
    );
  }

  /** The next lines of an agent after an id whose text was deleted, and that may still be in their files; by id. */
  async removed(agent: AgentId, after = 0): Promise<RemovedNote[]> {
    return this.db.query<RemovedNote>(
      "notes_gone",
      `select id, file, gone_at < clock_timestamp() - interval '30 days' as is_old from notes
        where agent = $1 and gone_at is not null and id > $2 order by id limit $3`,
      [agent, after, PAGE],
    );
  }
}
