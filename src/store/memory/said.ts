import { type ChannelId, type Seq, channelId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import { splitPrints, type TermKeys } from "../log/fingerprints.ts";

/** What people have said and nobody has taken back: its terms tell that a text may have them from there. */

export interface Said {
  readonly text: string;
  readonly author: string;
  /** Where its text is no longer kept; null, undefined: it is. */
  readonly prints?: SaidPrints | null;
}

/** What is left of a text. */
export interface SaidPrints {
  readonly channel: number;
  /** Of the key that they were made with. */
  readonly key: string;
  /** In hexadecimal. */
  readonly said: string;
}

/** Expression: the {@link SaidPrints} of a row `e` of entries. Where texts are kept nothing is looked for. */
export const SAID_PRINTS = `case when e.expired_at is not null then (
  select jsonb_build_object('channel', p.channel_id, 'key', p.key_id, 'said', encode(p.said, 'hex')) from entry_prints p
   where p.channel_id = e.channel_id and p.seq = e.seq) end`;

/** The terms of texts, and of whoever said them; of texts that are no longer kept by their fingerprints. */
export class SaidTerms {
  readonly #terms: ReadonlySet<string>;
  readonly #prints: readonly SaidPrints[];
  readonly #keys: TermKeys;
  #byChannel: ReadonlyMap<ChannelId, ReadonlySet<string>> | null = null;

  constructor(said: readonly Said[], keys: TermKeys) {
    const terms = new Set<string>();
    for (const { text, author } of said)
      for (const term of tellingTerms(`${author}\n${text}`)) terms.add(term);
    this.#terms = terms;
    this.#prints = said.flatMap(({ prints }) => prints ?? []);
    this.#keys = keys;
  }

  /** Those of these terms that are not said. Fingerprints of another key, or without a key, say nothing. */
  async without(terms: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const unsaid = terms.difference(this.#terms);
    if (unsaid.size === 0 || this.#prints.length === 0) return unsaid;
    const key = await this.#keys.find();
    if (key === null) return unsaid;
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
      [...unsaid].filter(
        (term) => !channels.some(([channel, prints]) => prints.has(key.print(channel, term))),
      ),
    );
  }
}

/** What people have said in from..to, and nobody has taken back, as it reads now. */
export async function readLeft(client: Queryable, channel: ChannelId, from: Seq, to: Seq): Promise<Said[]> {
  return client.query<Said>(
    {
      name: "entries_left",
      text: `select entry_text(e.channel_id, e.seq, e.text) as text, e.author_name as author, ${SAID_PRINTS} as prints from entries e
              where e.channel_id = $1 and e.seq between $2 and $3 and e.kind = 'user' and not e.author_bot and e.deleted_at is null
              order by e.seq`,
    },
    [channel, from, to],
  );
}

/** What a turn answers, as it reads now. */
export async function readAsked(client: Queryable, turn: number): Promise<Said[]> {
  return client.query<Said>(
    {
      name: "asked_of_turn",
      text: `select entry_text(e.channel_id, e.seq, e.text) as text, '' as author, ${SAID_PRINTS} as prints
               from turns t join entries e on e.channel_id = t.channel_id and e.seq between t.from_seq and t.to_seq
              where t.id = $1 and e.addressed and e.deleted_at is null`,
    },
    [turn],
  );
}

/** Entries that are read at once. */
const PAGE = 500;
/** Of all that a memory or a summary may have read, so many entries are looked through for a word, the newest. */
export const LOOKED_THROUGH = 1000;

/** Those of these terms that nobody says in from..to; the newest are looked at first. */
export async function unsaidBetween(
  client: Queryable,
  channel: ChannelId,
  terms: ReadonlySet<string>,
  range: { readonly from: Seq; readonly to: Seq },
  keys: TermKeys,
): Promise<ReadonlySet<string>> {
  let missing = terms;
  for (let to = range.to; to >= range.from && missing.size > 0; to -= PAGE) {
    const said = await readLeft(client, channel, Math.max(range.from, to - PAGE + 1), to);
    missing = await new SaidTerms(said, keys).without(missing);
  }
  return missing;
}

/** The terms that people have said in a channel and nobody has taken back, read page by page, each once. */
export class LeftTerms {
  readonly #client: Queryable;
  readonly #channel: ChannelId;
  readonly #keys: TermKeys;
  readonly #pages = new Map<number, SaidTerms>();

  constructor(client: Queryable, channel: ChannelId, keys: TermKeys) {
    this.#client = client;
    this.#channel = channel;
    this.#keys = keys;
  }

  /** Those of these terms that nobody says in from..to, or near by: it is read by whole pages, the newest first. */
  async without(terms: ReadonlySet<string>, from: Seq, to: Seq): Promise<ReadonlySet<string>> {
    let missing = terms;
    const first = Math.floor(from / PAGE);
    for (let page = Math.floor(to / PAGE); page >= first && missing.size > 0; page--)
      missing = await (await this.#page(page)).without(missing);
    return missing;
  }

  async #page(page: number): Promise<SaidTerms> {
    const from = page * PAGE;
    const known =
      this.#pages.get(page) ??
      new SaidTerms(await readLeft(this.#client, this.#channel, from, from + PAGE - 1), this.#keys);
    this.#pages.set(page, known);
    return known;
  }
}
