import type { ChannelId, Seq } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import { OperatorError } from "../../core/errors.ts";
import { displayableLine } from "../../text/displayable.ts";
import { storableText } from "../../text/text.ts";
import { MemberStore } from "../channels/members.ts";
import type { Database } from "../database/database.ts";
import { type TermKey, type TermKeys, printsOf } from "./fingerprints.ts";

/** Texts that may expire: of one summary's range, all from before some time. */
export interface OldTexts {
  readonly summary: number;
  /** Where the summary's range begins. */
  readonly summaryFrom: Seq;
  readonly first: Seq;
  readonly last: Seq;
}

/** Which summaries are looked at: resets or all others, from a place on in their order. */
export interface LookedAt {
  readonly isReset: boolean;
  readonly from: Seq;
  readonly summary: number;
}

/** A picture by its place in the order in which pictures are looked through. */
export interface ImageKey {
  readonly platform: string;
  readonly messageId: string;
  readonly number: number;
}

export const BEFORE_ALL_IMAGES: ImageKey = { platform: "", messageId: "", number: 0 };

/** Removes texts and pictures that are old enough. Each step is a short transaction of its own. */
export class RetentionStore {
  readonly #db: Database;
  readonly #keys: TermKeys;

  constructor(db: Database, keys: TermKeys) {
    this.#db = db;
    this.#keys = keys;
  }

  /** Channels with a summary whose texts may all be from before that time. */
  async channels(before: Date): Promise<ChannelId[]> {
    const rows = await this.#db.query<{ id: ChannelId }>(
      "retention_channels",
      "select channel_id as id from channels_with_old_texts($1)",
      [before],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Makes sure that each running daemon can compare with the fingerprints of texts that expire now.
   * @throws OperatorError if not: their deletions would remove too much, or leave what repeats the text
   */
  async assertAllCompare(): Promise<void> {
    const { id } = await this.#keys.make();
    const strangers = await new MemberStore(this.#db).strangersTo(id);
    if (strangers.length === 0) return;
    const names = strangers.map(({ name, host }) => displayableLine(`${name} (on ${host})`)).join(", ");
    throw new OperatorError(
      "Texts are kept while daemons are there that have another signing.key than this one, or none: " +
        `${names}. Copy signing.key to them.`,
    );
  }

  /** @throws OperatorError if a channel has fingerprints of another key: they would be of two, of which nobody may have both */
  async assertOneKey(channel: ChannelId): Promise<void> {
    const { id } = await this.#keys.make();
    const others = await this.#db.query(
      "prints_of_other_keys",
      "select from entry_prints where channel_id = $1 and (key_id < $2 or key_id > $2) limit 1",
      [channel, id],
    );
    if (others.length === 0) return;
    throw new OperatorError(
      "Texts of this channel are kept, since it has fingerprints of another signing.key: bring that one back.",
    );
  }

  /** The next texts of a channel that are all from before that time, `limit` entries at most; undefined: none may expire. Takes no lock. */
  async nextTexts(
    channel: ChannelId,
    before: Date,
    limit: number,
    { isReset, from, summary }: LookedAt,
  ): Promise<OldTexts | undefined> {
    const values = [channel, before, limit, isReset, from, summary];
    return (await this.#db.query<OldTexts>("retention_next", NEXT_OLD_TEXTS, values))[0];
  }

  /**
   * Expires the texts that {@link nextTexts} has found, and keeps the fingerprints of those of messages.
   * @returns how many entries lost their text; null: something has changed since
   * @throws OperatorError if there is no key to fingerprints, and none can be made
   */
  async expireTexts(channel: ChannelId, { summary, first, last }: OldTexts): Promise<number | null> {
    const key = await this.#keys.make();
    const messages = await this.#db.query<RawMessage>(
      "retention_messages",
      `select e.seq, entry_text(e.channel_id, e.seq, e.text) as text,
              (select count(*) from revisions r where r.channel_id = e.channel_id and r.seq = e.seq) as revisions
         from entries e
        where e.channel_id = $1 and e.seq between $2 and $3 and e.kind = 'user'
          and e.deleted_at is null and e.expired_at is null`,
      [channel, first, last],
    );
    const prints = messages.map((message) => fingerprint(key, channel, message));
    const [row] = await this.#db.query<{ entries: number | null }>(
      "retention_texts",
      "select expire_texts($1, $2, $3, $4, $5, $6) as entries",
      [channel, summary, first, last, key.id, JSON.stringify(prints)],
    );
    return row?.entries ?? null;
  }

  /**
   * Messages whose fingerprints were not made with this installation's key, so that nobody can say what they are of.
   * @param of only those of this person, which are not deleted; default: all
   */
  async countStrange(of?: { readonly platform: string; readonly id: string }): Promise<number> {
    const key = await this.#keys.find();
    const [row] = await this.#db.query<{ count: number }>(
      "prints_of_others",
      `select count(*) as count from entry_prints p
        where p.key_id is distinct from $1 and ($2::text is null or exists (
          select from entries e join channels c on c.id = e.channel_id
           where e.channel_id = p.channel_id and e.seq = p.seq and e.author_id = $3 and c.platform = $2))`,
      [key?.id ?? null, of?.platform ?? null, of === undefined ? null : storableText(of.id)],
    );
    return row?.count ?? 0;
  }

  /**
   * Deletes the pictures of messages that are covered by a summary, answered, and from before that time.
   * @param limit pictures that are looked at
   * @param after they come after this one
   * @returns the last one that was looked at, and how many were deleted; undefined: there is none after it
   */
  async expireImages(
    before: Date,
    limit: number,
    after: ImageKey,
  ): Promise<{ readonly last: ImageKey; readonly expired: number } | undefined> {
    const [row] = await this.#db.query<ImageKey & { readonly expired: number }>(
      "retention_images",
      "select platform, message_id, number, expired from expire_images($1, $2, $3, $4, $5)",
      [before, limit, after.platform, after.messageId, after.number],
    );
    if (row === undefined) return undefined;
    const { expired, ...last } = row;
    return { last, expired };
  }
}

/**
 * The next texts of a channel that may expire: of one summary that is old as a whole, a limit of entries at most. Of resets or of all others,
 * from a place on in their order. It goes summary by summary, and each in turn looks into the index of its own entries: as a join of
 * summaries and entries, a plan that was made without statistics went over all entries for each entry and each summary (13 s for 578
 * entries and 30 summaries, without an end for a long log).
 */
const NEXT_OLD_TEXTS = `
  select (found.s).id as summary, found.from_seq as summary_from, found.first, found.last
    from (
      select s, s.from_seq, s.id, w.first, w.last, looked.last as looked_to
        from summaries s
       cross join lateral (
         select coalesce(s.texts_gone_to + 1, s.from_seq) as first,
                least(s.to_seq, coalesce(s.texts_gone_to, s.from_seq - 1) + $3::integer) as last
       ) w
       -- Texts of one summary are checked together, when the first of them expires.
       cross join lateral (select case when s.texts_gone_to is null and s.kind <> 'reset' then s.to_seq else w.last end as last) looked
       where s.channel_id = $1 and s.level = 1 and (s.kind = 'reset') = $4
         and coalesce(s.texts_gone_to, 0) < s.to_seq and (s.from_seq, s.id) >= ($5::bigint, $6::bigint)
       order by s.from_seq, s.id
      offset 0
    ) found
   where (select greatest(e.at, e.appended_at) from entries e where e.channel_id = $1 and e.seq = (found.s).to_seq) < $2
     and (select max(greatest(e.at, e.appended_at)) from entries e
           where e.channel_id = $1 and e.seq between found.first and found.looked_to) < $2
     and not texts_wait(found.s, found.first, found.looked_to)
   order by found.from_seq, found.id
   limit 1`;

interface RawMessage {
  readonly seq: Seq;
  readonly text: string;
  readonly revisions: number;
}

/** The fingerprint of a message, as `expire_texts` takes it. */
function fingerprint(key: TermKey, channel: ChannelId, { seq, text, revisions }: RawMessage): object {
  return { seq, revisions, said: printsOf(key, channel, tellingTerms(text)) };
}
