import { setImmediate } from "node:timers/promises";
import { type AgentId, type ChannelId, channelId, type Owner, type TurnId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Unsaid } from "./retold.ts";
import { readAsked, SaidTerms } from "./said.ts";
import type { Noted } from "./showings.ts";

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

/** Lines that are read at once, or looked through before something else has its turn. */
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
    const [row] = await this.#db.query<{ takenBack: number; gone: number[] }>(
      {
        name: "notes_look",
        text: `select notes_taken_back($1) as taken_back,
                      coalesce((select jsonb_agg(id) from notes
                                 where agent = $2 and gone_at is not null and file = any($3)), '[]') as gone`,
      },
      [channel, agent, files],
    );
    return { takenBack: row?.takenBack ?? 0, gone: new Set(row?.gone) };
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
    const rows = await this.#db.query<{ id: number; file: string; isOld: boolean }>(
      {
        name: "notes_gone",
        text: `select id, file, gone_at < clock_timestamp() - interval '30 days' as is_old from notes
                where agent = $1 and gone_at is not null and id > $2 order by id limit $3`,
      },
      [agent, behind, PAGE],
    );
    return rows.map(({ id, file, isOld }) => ({ id, file, isOld }));
  }
}

/**
 * Takes the lines that tell what is said no more, here and in the channel's threads, which are shown its notes: that share a term
 * with it which the messages that their turn answers do not have. Their texts go at once; the files follow.
 * @param client in a transaction that holds the channel's row lock and has changed the texts
 * @returns what the lines told that went
 */
export async function takeRetoldNotes(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms, keys }: Unsaid,
): Promise<Noted> {
  const noted = new Map<ChannelId, Set<string>>();
  if (terms.size === 0) return noted;
  const notes = await client.query<{ id: number; text: string; turn: number; channel: number }>(
    {
      name: "notes_behind",
      text: `select id, text, turn_id as turn, channel_id as channel from notes
              where channel_id = $1 and gone_at is null and read_to >= $2
             union all
             select n.id, n.text, n.turn_id, n.channel_id from thread_channels($1) t join notes n on n.channel_id = t
              where n.gone_at is null`,
    },
    [channel, seqs.reduce((least, seq) => Math.min(least, seq))],
  );
  const telling: (Omit<(typeof notes)[number], "text"> & { readonly told: ReadonlySet<string> })[] = [];
  for (const [index, { text, ...line }] of notes.entries()) {
    const told = tellingTerms(text).intersection(terms);
    if (told.size > 0) telling.push({ ...line, told });
    if (index % PAGE === PAGE - 1) await setImmediate();
  }
  const gone: number[] = [];
  for (const [turn, lines] of Map.groupBy(telling, (one) => one.turn)) {
    const asked = new SaidTerms(await readAsked(client, turn), keys);
    for (const { id, told, channel: of } of lines) {
      if ((await asked.without(told)).size === 0) continue;
      gone.push(id);
      noted.set(channelId(of), told.union(noted.get(channelId(of)) ?? new Set()));
    }
  }
  if (gone.length === 0) return noted;
  await client.query(
    {
      name: "notes_take",
      text: "update notes set text = '', gone_at = clock_timestamp() where id = any($1)",
    },
    [gone.toSorted((a, b) => a - b)],
  );
  return noted;
}
