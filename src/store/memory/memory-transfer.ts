import type { Entry } from "../../core/entry.ts";
import type { ChannelAddress, ChannelId, MemoryId, Seq } from "../../core/ids.ts";
import type { Memory, MemoryDraft, MemoryScope } from "../../core/memory.ts";
import { ADDRESS_OF_C, type ChannelRow } from "../channels/channels.ts";
import { containsQuote, normalWords } from "../../text/normal-text.ts";
import { Rows } from "../database/rows.ts";
import type { Queryable } from "../database/queryable.ts";
import { readCurrentEntries } from "../log/entry-rows.ts";
import { MEMORY_COLUMNS, type RawMemory, memoryOf } from "./memory-rows.ts";

/** A memory with what another log needs to find its proofs. */
export interface PortableMemory extends Memory {
  readonly agent: string;
  readonly channel: ChannelAddress;
  /** It came from a file itself. */
  readonly isImported: boolean;
  readonly sources: readonly PortableSource[];
}

export interface PortableSource {
  /** The platform's id of the message; null: it has none, or is a tool's result. */
  readonly message: string | null;
  /** The platform's id of the person; null: the agent itself, or a tool. */
  readonly author: string | null;
  readonly name: string;
  readonly at: Date;
  readonly quote: string;
}

/** `tool`: it is a result of this tool. */
export type WantedMessage = Pick<PortableSource, "message" | "author"> &
  ({ readonly tool?: undefined } | ({ readonly tool: string } & Pick<PortableSource, "at" | "quote">));

/** What became of a memory from a file: its number; null: it is known; or why it is refused. */
export type Imported<Refusal> = { readonly id: MemoryId | null } | { readonly refused: Refusal };

interface RawPortable extends RawMemory, Pick<PortableMemory, "agent" | "channel" | "isImported"> {
  sources: (Omit<PortableSource, "at"> & { at: string })[];
}

/** Memories on their way into a file, and out of one. */
export class MemoryTransferStore extends Rows {
  /** The memories behind an id, of all channels or of one; by id, `limit` at most. */
  async page(behind: number, limit: number, channel?: ChannelId): Promise<PortableMemory[]> {
    const rows = await this.db.query<RawPortable>(
      "memories_page",
      `select ${MEMORY_COLUMNS}, m.agent, ${ADDRESS_OF_C} as channel, m.imported_at is not null as is_imported,
              (select jsonb_agg(jsonb_build_object('message', source_message_id(e), 'author', e.author_id,
                                  'name', coalesce(e.author_name, m.tool, m.agent), 'at', e.at, 'quote', s.quote) order by s.seq)
                 from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
                where s.memory_id = m.id) as sources
         from memories m join channels c on c.id = m.channel_id
        where m.id > $1 and ($3::bigint is null or m.channel_id = $3) order by m.id limit $2`,
      [behind, limit, channel ?? null],
    );
    return rows.map((row) => ({
      ...memoryOf(row),
      agent: row.agent,
      channel: row.channel,
      isImported: row.isImported,
      sources: row.sources.map((source) => ({ ...source, at: new Date(source.at) })),
    }));
  }

  /** When a text of the channel was last edited or taken back; null: never. */
  async erasedAt(channel: ChannelId): Promise<Date | null> {
    return readErasedAt(this.db, channel);
  }

  /**
   * Adds a memory from a file, in one transaction with the look at what proves it.
   * @param wanted its proofs
   * @param check is given the messages in that order, undefined for one that is not there or was taken back,
   *   when a text of the channel was last edited or taken back, and the entries with the calls of results among the messages
   */
  async take<Refusal>(
    channel: Pick<ChannelRow, "id">,
    wanted: readonly WantedMessage[],
    limits: { readonly scope: MemoryScope; readonly until: Date | null },
    check: (
      messages: readonly (Entry | undefined)[],
      erasedAt: Date | null,
      calls: readonly Entry[],
    ) => MemoryDraft | { readonly refused: Refusal },
  ): Promise<Imported<Refusal>> {
    return this.db.transaction(async (client) => {
      await client.query("channel_lock", "select from channels where id = $1 for no key update", [
        channel.id,
      ]);
      const messages: (Entry | undefined)[] = [];
      for (const one of wanted) messages.push(await findMessage(client, channel.id, one));
      const calls = await readCalls(client, channel.id, messages);
      const draft = check(messages, await readErasedAt(client, channel.id), calls);
      if ("refused" in draft) return draft;
      const [row] = await client.query<{ id: MemoryId | null }>(
        "memory_import",
        "select import_memory($1, $2, $3, $4) as id",
        [channel.id, JSON.stringify(draft), limits.scope, limits.until],
      );
      return { id: row?.id ?? null };
    });
  }
}

async function findMessage(
  client: Queryable,
  channel: ChannelId,
  wanted: WantedMessage,
): Promise<Entry | undefined> {
  if (wanted.tool !== undefined) return findResult(client, channel, wanted);
  const { message, author } = wanted;
  if (message === null) return undefined;
  const own =
    "select entry_seq as seq from deliveries where channel_id = $1 and message_id = $2 and entry_seq is not null";
  const said =
    "select seq from entries where channel_id = $1 and message_id = $2 and author_id = $3 and deleted_at is null";
  const [found] = await (author === null
    ? client.query<{ seq: Seq }>("own_message_find", own, [channel, message])
    : client.query<{ seq: Seq }>("message_find", said, [channel, message, author]));
  if (found === undefined) return undefined;
  const [entry] = await readCurrentEntries(client, channel, found.seq, found.seq);
  return entry?.deleted === true ? undefined : entry;
}

/** Several calls of one answer have the same time: the quote tells them apart. What a tool returned for a deleted message is not found. */
async function findResult(
  client: Queryable,
  channel: ChannelId,
  { tool, at, quote }: Extract<WantedMessage, { readonly tool: string }>,
): Promise<Entry | undefined> {
  const found = await client.query<{ seq: Seq; text: string }>(
    "result_find",
    `select seq, text from entries where channel_id = $1 and kind = 'tool_result' and text <> ''
        and data->>'tool' = $2 and date_trunc('milliseconds', at) = $3
        and not is_for_deleted($1, seq) order by seq`,
    [channel, tool, at],
  );
  const words = normalWords(quote);
  const seq = found.find(({ text }) => containsQuote(normalWords(text), words))?.seq;
  return seq === undefined ? undefined : (await readCurrentEntries(client, channel, seq, seq))[0];
}

/** The entries right before results, which have their calls. */
async function readCalls(
  client: Queryable,
  channel: ChannelId,
  messages: readonly (Entry | undefined)[],
): Promise<Entry[]> {
  const results = messages.flatMap((one) => (one?.kind === "tool_result" ? [one.seq] : []));
  if (results.length === 0) return [];
  const found = await client.query<{ seq: Seq }>(
    "calls_of_results",
    `select distinct (select max(c.seq) from entries c
                       where c.channel_id = $1 and c.kind = 'tool_call' and c.seq < result) as seq
       from unnest($2::bigint[]) result`,
    [channel, results],
  );
  const calls: Entry[] = [];
  for (const { seq } of found) calls.push(...(await readCurrentEntries(client, channel, seq, seq)));
  return calls;
}

async function readErasedAt(client: Queryable, channel: ChannelId): Promise<Date | null> {
  const [row] = await client.query<{ at: Date | null }>(
    "channel_erased_at",
    "select erased_at as at from search_progress where channel_id = $1",
    [channel],
  );
  return row?.at ?? null;
}
