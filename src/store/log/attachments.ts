import type { ResultPicture } from "../../core/attached-file.ts";
import type { EntryReference } from "../../core/entry.ts";
import type { ChannelId, Seq, TurnId } from "../../core/ids.ts";
import type { InboundImage } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
import { readSaid, said } from "./entry-rows.ts";
import { Rows } from "../database/rows.ts";

/** Turns of a channel among whose answers a reply is looked for. */
const RECENT_TURNS = 200;

export interface KeptImage {
  readonly messageId: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A picture of a message, without its bytes. */
export interface ListedImage {
  readonly messageId: string;
  /** Among those of the message, from 0. */
  readonly number: number;
  readonly name: string;
  /** MIME type. */
  readonly type: string;
  /** Bytes. */
  readonly size: number;
}

/** A picture that a tool has brought. */
interface KeptResultImage extends ResultPicture {
  /** Among those of the turn. */
  readonly number: number;
}

/** What belongs to messages beside their text: pictures, and what they reply to. */
export class AttachmentStore extends Rows {
  /** Keeps a message's pictures, once. Those that are there already may have been about to go for their age: they are as new. */
  async keep(platform: string, messageId: string, images: readonly InboundImage[]): Promise<void> {
    for (const [number, { name, type, bytes }] of images.entries()) {
      await this.db.query(
        "image_keep",
        `insert into images (platform, message_id, number, name, type, bytes) values ($1, $2, $3, $4, $5, $6)
         on conflict (platform, message_id, number) do update set kept_at = now()`,
        [platform, storableText(messageId), number, storableText(name), type, Buffer.from(bytes)],
      );
    }
  }

  /** Drops the pictures that a message's text no longer names; of several pictures with one name, all if the text names fewer. */
  async dropUnnamed(platform: string, messageId: string, text: string): Promise<void> {
    await this.db.query(
      "images_drop_unnamed",
      `delete from images i using (
         select name, count(*) as kept, '[image ' || name || ',' as label from images
          where platform = $1 and message_id = $2 group by name) named
        where i.platform = $1 and i.message_id = $2 and i.name = named.name
          and length($3::text) - length(replace($3, named.label, '')) < named.kept * length(named.label)`,
      [platform, storableText(messageId), storableText(text)],
    );
  }

  /** The pictures of messages, the newest messages first, at most `limit`. */
  async imagesOf(platform: string, messageIds: readonly string[], limit: number): Promise<KeptImage[]> {
    return this.db.query<KeptImage>(
      "images_of",
      `select i.message_id, i.type, i.bytes from unnest($2::text[]) with ordinality m (id, place)
         join images i on i.platform = $1 and i.message_id = m.id
        order by m.place desc, i.number limit $3`,
      [platform, messageIds, limit],
    );
  }

  /** Which pictures of messages are kept, those of a message in its order. */
  async list(platform: string, messageIds: readonly string[]): Promise<ListedImage[]> {
    return this.db.query<ListedImage>(
      "images_list",
      `select message_id, number, name, type, octet_length(bytes) as size from images
        where platform = $1 and message_id = any($2) order by message_id, number`,
      [platform, messageIds],
    );
  }

  /** The bytes of one picture; undefined: it is not kept (any more). */
  async bytesOf(
    platform: string,
    { messageId, number }: Pick<ListedImage, "messageId" | "number">,
  ): Promise<Uint8Array | undefined> {
    const [row] = await this.db.query<{ bytes: Buffer }>(
      "image_bytes",
      "select bytes from images where platform = $1 and message_id = $2 and number = $3",
      [platform, messageId, number],
    );
    return row?.bytes;
  }

  /** The pictures that the tools of a running turn have brought, in order; `bytes`: null for those that are `known` by number. */
  async ofResults(turn: TurnId, known: readonly number[]): Promise<KeptResultImage[]> {
    return this.db.query<KeptResultImage>(
      "images_of_results",
      `select i.name::bigint as seq, i.number, i.type, case when i.number <> all ($2::integer[]) then i.bytes end as bytes
         from images i where i.platform = 'weir' and i.message_id = $1::bigint::text order by i.number`,
      [turn, known],
    );
  }

  /** The kept pictures of a channel's results, those of a result in its order. */
  async picturesOf(channel: ChannelId, seqs: readonly Seq[]): Promise<ResultPicture[]> {
    return this.db.query<ResultPicture>(
      "images_of_entries",
      `select e.seq, i.type, i.bytes
         from entries e join images i on i.platform = 'weir' and i.message_id = e.turn_id::text and i.name = e.seq::text
        where e.channel_id = $1 and e.seq = any($2) and e.deleted_at is null order by e.seq, i.number`,
      [channel, seqs],
    );
  }

  /** What a channel's log has under these ids of the platform: messages of people, and answers. By id. */
  async said(channel: ChannelId, messageIds: readonly string[]): Promise<Map<string, EntryReference>> {
    const rows = await this.db.query<{ messageId: string; seq: Seq }>(
      "entries_of_messages",
      `select d.message_id, d.entry_seq as seq
         from (select t.id from turns t where t.channel_id = $1 order by t.to_seq desc limit $3) recent
         join deliveries d on d.turn_id = recent.id
        where d.message_id = any($2) and d.entry_seq is not null
       union all
       select e.message_id, e.seq from entries e where e.message_id = any($2) and e.channel_id = $1`,
      [channel, messageIds, RECENT_TURNS],
    );
    const found = await readSaid(this.db, {
      name: "entries_replied_to",
      seqs: "$2::bigint[]",
      values: [channel, rows.map(({ seq }) => seq)],
    });
    const bySeq = new Map(found.map((one) => [one.seq, said(one)]));
    return new Map(
      rows.flatMap(({ messageId: id, seq }) => {
        const one = bySeq.get(seq);
        return one === undefined ? [] : [[id, one] as const];
      }),
    );
  }
}
