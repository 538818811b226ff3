import { type ChannelId, type Seq, channelId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import { splitPrints, type TermKeys } from "./fingerprints.ts";

/** The terms of what people have said and is not deleted: a text may have its terms from there. */

export interface RemainingText {
  readonly text: string;
  readonly author: string;
  /** Where its text has expired; null, undefined: it has not. */
  readonly prints?: RemainingPrints | null;
}

/** The fingerprints of an expired text. */
export interface RemainingPrints {
  readonly channel: number;
  /** The id of the key that made them. */
  readonly key: string;
  /** In hexadecimal. */
  readonly said: string;
}

/** SQL: the {@link RemainingPrints} of a row `e` of entries. Where texts do not expire, no row is looked up. */
export const REMAINING_PRINTS = `case when e.expired_at is not null then (
  select jsonb_build_object('channel', p.channel_id, 'key', p.key_id, 'said', encode(p.said, 'hex')) from entry_prints p
   where p.channel_id = e.channel_id and p.seq = e.seq) end`;

/** The terms of texts and of the names of their authors; of expired texts by their fingerprints. */
export class RemainingTerms {
  readonly #terms: ReadonlySet<string>;
  readonly #prints: readonly RemainingPrints[];
  readonly #keys: TermKeys;
  #byChannel: ReadonlyMap<ChannelId, ReadonlySet<string>> | null = null;

  constructor(texts: readonly RemainingText[], keys: TermKeys) {
    const terms = new Set<string>();
    for (const { text, author } of texts)
      for (const term of tellingTerms(`${author}\n${text}`)) terms.add(term);
    this.#terms = terms;
    this.#prints = texts.flatMap(({ prints }) => prints ?? []);
    this.#keys = keys;
  }

  /** Those of these terms that no text has. Fingerprints of another key count for nothing. */
  async without(terms: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const missing = terms.difference(this.#terms);
    if (missing.size === 0 || this.#prints.length === 0) return missing;
    const key = await this.#keys.find();
    if (key === null) return missing;
    this.#byChannel ??= new Map(
      Array.from(
        Map.groupBy(
          this.#prints.filter((one) => one.key === key.id),
          ({ channel }) => channelId(channel),
        ),
        ([channel, all]) => [channel, new Set(all.flatMap(({ said }) => splitPrints(said)))] as const,
      ),
    );
    const channels = [...this.#byChannel];
    return new Set(
      [...missing].filter(
        (term) => !channels.some(([channel, prints]) => prints.has(key.print(channel, term))),
      ),
    );
  }
}

/** The remaining messages of people in from..to, as they read now. */
export async function readRemaining(
  client: Queryable,
  channel: ChannelId,
  from: Seq,
  to: Seq,
): Promise<RemainingText[]> {
  return client.query<RemainingText>(
    "entries_left",
    `select entry_text(e.channel_id, e.seq, e.text) as text, e.author_name as author, ${REMAINING_PRINTS} as prints from entries e
      where e.channel_id = $1 and e.seq between $2 and $3 and e.kind = 'user' and not e.author_bot and e.deleted_at is null
      order by e.seq`,
    [channel, from, to],
  );
}

/** The remaining messages that a turn answers, as they read now. */
export async function readAsked(client: Queryable, turn: number): Promise<RemainingText[]> {
  return client.query<RemainingText>(
    "asked_of_turn",
    `select entry_text(e.channel_id, e.seq, e.text) as text, '' as author, ${REMAINING_PRINTS} as prints
       from turns t join entries e on e.channel_id = t.channel_id and e.seq between t.from_seq and t.to_seq
      where t.id = $1 and e.addressed and e.deleted_at is null`,
    [turn],
  );
}

/** Entries that are read at once. */
const PAGE = 500;
/** How many of the entries that a memory or a summary may have read are searched for a word, the newest. */
export const LOOKED_THROUGH = 1000;

/** Those of these terms that no person's message in from..to has; the newest are read first. */
export async function missingBetween(
  client: Queryable,
  channel: ChannelId,
  terms: ReadonlySet<string>,
  range: { readonly from: Seq; readonly to: Seq },
  keys: TermKeys,
): Promise<ReadonlySet<string>> {
  let missing = terms;
  for (let to = range.to; to >= range.from && missing.size > 0; to -= PAGE) {
    const texts = await readRemaining(client, channel, Math.max(range.from, to - PAGE + 1), to);
    missing = await new RemainingTerms(texts, keys).without(missing);
  }
  return missing;
}

/** The remaining terms of people in a channel, read page by page, each once. */
export class ChannelTerms {
  readonly #client: Queryable;
  readonly #channel: ChannelId;
  readonly #keys: TermKeys;
  readonly #pages = new Map<number, RemainingTerms>();

  constructor(client: Queryable, channel: ChannelId, keys: TermKeys) {
    this.#client = client;
    this.#channel = channel;
    this.#keys = keys;
  }

  /**
   * The terms that no person's message has in the pages that contain from..to (whole pages, so some neighbours count
   * too); the newest page is read first.
   */
  async without(terms: ReadonlySet<string>, from: Seq, to: Seq): Promise<ReadonlySet<string>> {
    let missing = terms;
    const first = Math.floor(from / PAGE);
    for (let page = Math.floor(to / PAGE); page >= first && missing.size > 0; page--)
      missing = await (await this.#page(page)).without(missing);
    return missing;
  }

  async #page(page: number): Promise<RemainingTerms> {
    const from = page * PAGE;
    const known =
      this.#pages.get(page) ??
      new RemainingTerms(await readRemaining(this.#client, this.#channel, from, from + PAGE - 1), this.#keys);
    this.#pages.set(page, known);
    return known;
  }
}
