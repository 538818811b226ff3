import {
  type Absence,
  type Entry,
  type EntryReference,
  type Meant,
  type MemoryReference,
  NOT_KEPT,
  type RememberedStatement,
  type ToolCall,
  type UnseenAnswer,
} from "../../core/entry.ts";
import { agentId, type ChannelId, memoryId, type Seq, type TurnId, turnId } from "../../core/ids.ts";
import { namingOnly } from "../../core/memory.ts";
import type { Author } from "../../core/message.ts";
import { sliceWhole } from "../../text/text.ts";
import { readStatements } from "../memory/memories.ts";
import type { Queryable } from "../database/queryable.ts";

interface RawEntry {
  seq: number;
  kind: Entry["kind"];
  at: Date;
  text: string;
  tokens: number;
  addressed: boolean;
  authorId: string | null;
  authorName: string | null;
  authorBot: boolean | null;
  messageId: string | null;
  replyTo: string | null;
  turnId: number | null;
  afterSeq: number | null;
  deleted: boolean;
  expired: boolean;
  data: {
    calls?: ToolCall[];
    call_id?: string;
    tool?: string;
    references?: Seq[];
    memories?: number[];
    images?: number;
    finding?: true;
    edits?: Seq;
    stopped?: boolean;
    standIn?: true;
    absence?: { kind: Absence["kind"]; from: string; to: string };
    undelivered?: Omit<UnseenAnswer, "askedAt"> & { askedAt: string };
    agent?: string;
    chain?: { id: number; hop: number };
    unheard?: true;
  } | null;
  revised: string | null;
  noteText: string | null;
  noteAuthor: string | null;
  notedAt: Date | null;
}

/**
 * `revised`: the last edit that came before any model had read the text. A later edit is shown by the notice that
 * it appended, whose text is that revision: one row holds it, so a deletion blanks one row.
 */
const READ = readWhere({ revision: "r.noted_seq is null", noteText: "note.text", isTelling: "false" });
const CURRENT = { revision: "true", noteText: "entry_text(note.channel_id, note.seq, note.text)" };
/**
 * Reads entries with their current texts, even if a model has read an earlier version. Notices of an edit show the
 * current text too.
 */
const READ_CURRENT = readWhere({ ...CURRENT, isTelling: "false" });
/** … and of calls and results that stand in the view and tell an earlier one, nothing: covered ones have lost it. */
const READ_WITHOUT_OUTDATED = readWhere({
  ...CURRENT,
  isTelling: `case when e.kind in ('tool_call', 'tool_result') and e.seq > (select covered_to from channels where id = e.channel_id)
                   then tells_outdated(e.channel_id, e.seq, e.after_seq) else false end`,
});

/** @param told.isTelling expression: an entry tells what was edited away */
function readWhere(told: {
  readonly revision: string;
  readonly noteText: string;
  readonly isTelling: string;
}): string {
  return `
  select e.seq, e.kind, e.at, case when is_telling then '' else e.text end as text, e.tokens, e.addressed, e.author_id, e.author_name,
         e.author_bot, e.message_id, e.reply_to, e.turn_id, e.after_seq,
         e.deleted_at is not null or (is_telling and e.kind = 'tool_result') as deleted, e.expired_at is not null as expired,
         case when is_telling and e.kind = 'tool_call' then without_arguments(e.data) else e.data end as data,
         (select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq and ${told.revision}
           order by r.revision desc limit 1) as revised,
         ${told.noteText} as note_text, noted.author_name as note_author, noted.at as noted_at
    from entries e
    cross join lateral (select ${told.isTelling} as is_telling) telling
    left join revisions note on e.kind = 'notice' and note.channel_id = e.channel_id
          and note.seq = (e.data->>'edits')::bigint and note.noted_seq = e.seq
    left join entries noted on noted.channel_id = note.channel_id and noted.seq = note.seq`;
}

/** Entries of a channel in from..to, by seq, with their references resolved. */
export async function readEntries(
  client: Queryable,
  channel: ChannelId,
  from: Seq,
  to: Seq,
): Promise<Entry[]> {
  return readResolved(client, "entries_read", `${READ} where ${IN_RANGE}`, [channel, from, to]);
}

/**
 * The same, with the texts that they have now, and nothing of calls that tell earlier ones: what a summary is made of. Notices of further
 * edits may come behind it.
 */
export async function readCurrentEntries(
  client: Queryable,
  channel: ChannelId,
  from: Seq,
  to: Seq,
): Promise<Entry[]> {
  const text = `${READ_WITHOUT_OUTDATED} where ${IN_RANGE}`;
  return readResolved(client, "entries_read_current", text, [channel, from, to]);
}

/** Calls and results of a turn, by seq, with the texts that they have now. */
export async function readCallEntries(client: Queryable, channel: ChannelId, turn: TurnId): Promise<Entry[]> {
  // Behind the first message that it answers, up to its answer, if it has one: no index leads from a turn to its entries.
  const text = `${READ_CURRENT} where e.channel_id = $1 and e.turn_id = $2 and e.kind in ('tool_call', 'tool_result')
    and e.seq > (select t.from_seq from turns t where t.id = $2)
    and e.seq < coalesce((select max(d.entry_seq) from deliveries d where d.turn_id = $2), 9223372036854775807) order by e.seq`;
  return readResolved(client, "entries_read_calls", text, [channel, turn]);
}

/** Entries at some seqs, by seq, with the texts that they have now; calls as the view shows them. */
export async function readEntriesAt(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<Entry[]> {
  const text = `${READ_CURRENT} where e.channel_id = $1 and e.seq = any($2) order by e.seq`;
  return readResolved(client, "entries_read_at", text, [channel, seqs]);
}

const IN_RANGE = "e.channel_id = $1 and e.seq between $2 and $3 order by e.seq";

async function readResolved(
  client: Queryable,
  name: string,
  text: string,
  values: readonly [channel: ChannelId, ...unknown[]],
): Promise<Entry[]> {
  const [channel] = values;
  const rows = await client.query<RawEntry>(name, text, values);
  const seqs = rows.flatMap((row) => row.data?.references ?? []);
  const references = await readReferences(client, channel, seqs);
  const statements = await readStatementsByAgent(client, channel, rows);
  const authors = new Map<string, Author>();
  return rows.map((row) =>
    toEntry(row, references, statements.get(row.data?.agent) ?? NO_STATEMENTS, authors),
  );
}

/** What people and agents said, as {@link said} reads it. */
export type RawSaid = Pick<
  RawEntry,
  "seq" | "kind" | "text" | "authorName" | "revised" | "expired" | "deleted"
> & {
  readonly at: Date | string;
  readonly agent: string | null;
  /** The built-in stand-in said it, which only quotes. */
  readonly standIn: boolean;
};

/**
 * What people and agents said at some seqs, as it reads now, in their order. Without the notes of edits: they are no one's words.
 * @param channel, seqs expressions, the second of an array of seqs
 * @param condition of an entry `e`
 */
function selectSaid(channel: string, seqs: string, condition: string): string {
  // One character more than is quoted tells that there is more; those of two units are enough all the more.
  // By an array and not by a join: that is planned once, for a table of whatever size, and must stay a look by the key.
  return `with found as materialized (select ${seqs} as seqs)
          select e.seq, e.kind, e.at, left(e.text, ${MAX_QUOTE + 1}) as text, e.author_name, e.data->>'agent' as agent,
                 e.data->'standIn' is not null as stand_in,
                 e.expired_at is not null as expired, e.deleted_at is not null as deleted,
                 (select left(r.text, ${MAX_QUOTE + 1}) from revisions r where r.channel_id = e.channel_id and r.seq = e.seq
                   order by r.revision desc limit 1) as revised
            from entries e
           where e.channel_id = ${channel} and e.seq = any(array(select unnest(f.seqs) from found f))
             and e.kind in ('user', 'assistant') and ${condition}
           order by array_position((select f.seqs from found f), e.seq)`;
}

/**
 * The same, asked for by itself.
 * @param parts its name, the expression of the seqs by $1 (the channel) and further values, its values, and whether deleted entries
 * are among the result; default: they are not
 */
export async function readSaid(
  client: Queryable,
  parts: {
    readonly name: string;
    readonly seqs: string;
    readonly values: readonly unknown[];
    readonly withDeleted?: boolean;
  },
): Promise<RawSaid[]> {
  const { name, seqs, values, withDeleted = false } = parts;
  const condition = withDeleted ? "true" : "e.deleted_at is null";
  return client.query<RawSaid>(name, selectSaid("$1", seqs, condition), values);
}

/** Characters that one look-up brings. */
const MAX_QUOTED = 16_000;

/** The first results that fit into one look-up, in their order: a long one that does not fit keeps out no shorter one. */
export function firstSaid(rows: readonly RawSaid[]): EntryReference[] {
  let left = MAX_QUOTED;
  return rows.map(said).filter(({ text }, index) => {
    const length = text?.length ?? 0;
    if (index > 0 && length > left) return false;
    left -= length;
    return true;
  });
}

export function said(row: RawSaid): EntryReference {
  const { agent, standIn: _, ...rest } = row;
  const data = agent === null ? null : { agent };
  return toReference({ ...rest, data, at: new Date(row.at) });
}

const EXPIRED = { expired: true } as const;
const NO_STATEMENTS: ReadonlyMap<number, RememberedStatement> = new Map();

/** The memories in results of tools, as far as each agent may see them. By agent; undefined: the channel's own. */
async function readStatementsByAgent(
  client: Queryable,
  channel: ChannelId,
  rows: readonly RawEntry[],
): Promise<ReadonlyMap<string | undefined, ReadonlyMap<number, RememberedStatement>>> {
  const found = new Map<string | undefined, ReadonlyMap<number, RememberedStatement>>();
  const told = rows.filter(({ data }) => data?.memories !== undefined && data.memories.length > 0);
  for (const [agent, ofAgent] of Map.groupBy(told, ({ data }) => data?.agent)) {
    const ids = ofAgent.flatMap(({ data }) => data?.memories ?? []);
    found.set(agent, await readStatements(client, channel, ids, agent));
  }
  return found;
}

/** One object for all that somebody said under one name. */
function authorOf(row: RawEntry, authors: Map<string, Author>): Author {
  const author = { id: row.authorId ?? "", name: row.authorName ?? "", isBot: row.authorBot ?? false };
  const key = `${author.isBot} ${author.id}\n${author.name}`;
  const known = authors.get(key);
  if (known !== undefined) return known;
  authors.set(key, author);
  return author;
}

/** What stored tool results quote, as it reads now. */
async function readReferences(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<ReadonlyMap<Seq, EntryReference>> {
  if (seqs.length === 0) return new Map();
  const rows = await client.query<RawEntry>(
    "references_read",
    `${READ_CURRENT} where e.channel_id = $1 and e.seq = any($2)`,
    [channel, [...new Set(seqs)]],
  );
  return new Map(rows.map((row) => [row.seq, toReference(row)]));
}

type RawSaidEntry = Omit<RawSaid, "at" | "agent" | "standIn"> & Pick<RawEntry, "at" | "data">;

/**
 * Characters that are quoted of an entry: as long as a message may be on most platforms. A model that makes sixteen searches
 * in a channel of pastes was sent eleven million.
 */
const MAX_QUOTE = 4000;

function toReference(row: RawSaidEntry): EntryReference {
  const agent = row.kind === "assistant" ? row.data?.agent : undefined;
  const author = row.kind === "assistant" ? (agent ?? "you") : (row.authorName ?? "");
  const text = row.expired ? NOT_KEPT : (row.revised ?? row.text);
  const quoted = text.length > MAX_QUOTE ? `${sliceWhole(text, 0, MAX_QUOTE)} […]` : text;
  const expired = row.expired && !row.deleted ? EXPIRED : {};
  const reference = { seq: row.seq, at: row.at, author, text: row.deleted ? null : quoted, ...expired };
  return agent === undefined ? reference : { ...reference, agent: agentId(agent) };
}

function toEntry(
  row: RawEntry,
  references: ReadonlyMap<Seq, EntryReference>,
  statements: ReadonlyMap<number, RememberedStatement>,
  authors: Map<string, Author>,
): Entry {
  const expired = row.expired && !row.deleted ? EXPIRED : {};
  const base = { seq: row.seq, at: row.at, deleted: row.deleted, tokens: row.tokens, ...expired };
  const text = row.deleted ? "" : row.expired ? NOT_KEPT : (row.revised ?? row.text);
  if (row.kind === "notice") {
    const edited = row.data?.edits;
    const edits =
      edited === undefined ? null : { seq: edited, author: row.noteAuthor ?? "", at: row.notedAt ?? row.at };
    const notice = {
      ...base,
      kind: "notice",
      text: row.expired && !row.deleted ? NOT_KEPT : (row.noteText ?? row.text),
      after: row.afterSeq,
    } as const;
    const unseen = row.data?.undelivered;
    if (unseen !== undefined)
      return { ...notice, edits, undelivered: { ...unseen, askedAt: new Date(unseen.askedAt) } };
    const away = row.data?.absence;
    if (away === undefined) return { ...notice, edits };
    const absence = { kind: away.kind, from: new Date(away.from), to: new Date(away.to) };
    return { ...notice, edits, absence };
  }
  if (row.kind === "user") {
    // Written out: what a spread begins, V8 goes on with beside the object, at twice the size.
    const message: Entry = {
      seq: row.seq,
      at: row.at,
      deleted: row.deleted,
      tokens: row.tokens,
      kind: "user",
      author: authorOf(row, authors),
      text,
      messageId: row.messageId ?? "",
      replyTo: row.replyTo,
      addressed: row.addressed,
    };
    const isPlain = row.data === null && !row.expired;
    return isPlain ? message : { ...message, ...meantBy(row.data ?? {}), ...expired };
  }
  const writer = row.data?.agent === undefined ? {} : { agent: agentId(row.data.agent) };
  const standIn = row.data?.standIn === undefined ? {} : ({ standIn: true } as const);
  const ofTurn = {
    ...base,
    turnId: turnId(row.turnId ?? 0),
    after: row.afterSeq ?? 0,
    ...writer,
    ...standIn,
  };
  if (row.kind === "assistant")
    return { ...ofTurn, kind: "assistant", text, stopped: row.data?.stopped ?? false };
  if (row.kind === "tool_call") return { ...ofTurn, kind: "tool_call", text, calls: row.data?.calls ?? [] };
  return {
    ...ofTurn,
    kind: "tool_result",
    callId: row.data?.call_id ?? "",
    tool: row.data?.tool ?? "",
    text,
    references: (row.data?.references ?? []).flatMap((seq) => references.get(seq) ?? []),
    memories: (row.data?.memories ?? []).map((id, _, ids) => toMemoryReference(id, ids, statements)),
    ...(row.data?.images !== undefined && { images: row.data.images }),
    ...(row.data?.finding === true && { isFinding: true as const }),
  };
}

function meantBy({ agent, chain, unheard }: NonNullable<RawEntry["data"]>): Meant {
  return {
    ...(agent !== undefined && { agent: agentId(agent) }),
    ...(chain !== undefined && { chain: { id: turnId(chain.id), hop: chain.hop } }),
    ...(unheard !== undefined && { unheard }),
  };
}

function toMemoryReference(
  id: number,
  ids: readonly number[],
  statements: ReadonlyMap<number, RememberedStatement>,
): MemoryReference {
  const memory = statements.get(id);
  return { id: memoryId(id), memory: memory === undefined ? null : namingOnly(memory, ids) };
}
