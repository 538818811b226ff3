import { type ChannelId, channelId } from "../../core/ids.ts";
import { errorMessage } from "../../core/errors.ts";
import { REACTION_PREFIX } from "../../core/message.ts";
import type { Rejection, Wish, WishDraft } from "./wish.ts";
import { storableText } from "../../text/text.ts";
import type { Database } from "../../store/database/database.ts";
import { Rows } from "../../store/database/rows.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import type { Genuineness, Signature, Signer } from "../../store/database/signing-key.ts";

/** A row that nobody believes: it is neither shown to a model nor counted. */
export interface DoubtedWish {
  readonly id: number;
  /** `unreadable`: the key could not be read. */
  readonly why: Exclude<Genuineness, "ours"> | "unreadable";
}

/** What a channel's rows say, and which of them are not believed. */
export interface KeptWishes {
  readonly believed: readonly Wish[];
  readonly doubted: readonly DoubtedWish[];
}

/** A draft as its job's result keeps it. */
type SignedWish = WishDraft & Signature & { readonly agent: string };

type RawWish = Omit<Wish, "channel" | "at" | "learnedAt" | "askerName" | "refusals"> & {
  channelId: number;
  agent: string;
  askerName: string;
  at: Date;
  learnedAt: Date;
  refusals: readonly { readonly person: string; readonly at: string }[];
  keyId: string;
  signature: string;
};

/** All of a row that a signature is of, in one order for ever: another one would void what is signed. */
function signedPart(
  channel: number,
  agent: string,
  { seq, act, topic, person, asker, wish, quote, at }: WishDraft,
): readonly unknown[] {
  return ["wish", channel, agent, seq, act, topic, person, asker, wish, quote, at];
}

/** Rows of `wishes`. They are written by the commit of the summary of what they were found in. */
export class WishStore extends Rows {
  readonly #signer: Signer;

  constructor(db: Database, signer: Signer) {
    super(db);
    this.#signer = signer;
  }

  /** Those that {@link readWishes} reads, and what {@link readRejections} does. */
  async of(channel: ChannelId): Promise<KeptWishes & { readonly rejections: readonly Rejection[] }> {
    const wishes = await readWishes(this.db, channel, this.#signer);
    const rejections = wishes.believed.length === 0 ? [] : await readRejections(this.db, channel);
    return { ...wishes, rejections };
  }

  /** For whoever runs Weir: the wishes of all channels. */
  async all(): Promise<KeptWishes> {
    return checked(await this.db.query<RawWish>("wishes_all", SELECT), this.#signer);
  }

  /** Ends what somebody wished for, there or in the thread's channel: these wishes are gone. @returns whether there were any */
  async end(channel: ChannelId, ids: readonly number[]): Promise<boolean> {
    return this.#change("wishes_end", "end_wishes($1, $2)", [channel, ids]);
  }

  /**
   * Ends it for one person: they want it no more, and it is not used in answers to them alone. For the others it stays.
   * @param ids of all wishes that say so @returns whether there were any
   */
  async refuse(channel: ChannelId, ids: readonly number[], person: string): Promise<boolean> {
    return this.#change("wishes_refuse", "refuse_wishes($1, $2, $3)", [channel, ids, storableText(person)]);
  }

  async #change(name: string, call: string, values: readonly unknown[]): Promise<boolean> {
    const [row] = await this.db.query<{ done: boolean }>(name, `select ${call} as done`, values);
    return row?.done === true;
  }

  /** When the channel's newest turn began; null: there was none. */
  async answeredAt(channel: ChannelId): Promise<Date | null> {
    const [row] = await this.db.query<{ at: Date | null }>(
      "turn_newest",
      "select (select started_at from turns where channel_id = $1 order by id desc limit 1) as at",
      [channel],
    );
    return row?.at ?? null;
  }
}

/** Most wishes of a channel, the newest, and of one person, so that nobody crowds out the others. */
const MOST_WISHES = 500;
const MOST_OF_ONE = 100;
const SELECT = `select w.id, w.channel_id, w.agent, w.seq, w.act, w.topic, w.person, w.asker, e.author_name as asker_name, w.wish, w.quote,
                       w.at, w.key_id, w.signature, w.learned_at, e.message_id as message,
                       (select coalesce(jsonb_agg(jsonb_build_object('person', r.person, 'at', r.at) order by r.at, r.person), '[]')
                          from wish_refusals r where r.wish_id = w.id) as refusals
                  from wishes w join channels c on c.id = w.channel_id and c.agent = w.agent
                  join entries e on e.channel_id = w.channel_id and e.seq = w.seq`;

/** Those of a channel, and of the channel that a thread belongs to, where the same agent answers. */
const KNOWN = `w.channel_id in ($1, parent_channel($1)) and w.agent = (select agent from channels where id = $1)`;

/** A channel's wishes, and those of a thread's channel, to its agent; oldest first. */
export async function readWishes(client: Queryable, channel: ChannelId, signer: Signer): Promise<KeptWishes> {
  const text = `select * from (
      select * from (
        select *, row_number() over (partition by asker order by at desc, id desc) as place from (${SELECT} where ${KNOWN}) known
      ) placed where place <= ${MOST_OF_ONE} order by at desc, id desc limit ${MOST_WISHES}
    ) newest order by at, id`;
  return checked(await client.query<RawWish>("wishes_read", text, [channel]), signer);
}

/** Answers that are looked at, the newest that are covered. */
const ANSWERS = 500;
/**
 * How the id of a reaction ends that says that an answer is a bad one: with the emoji, or with Slack's name of it; in any colour, given for
 * the first time or again. The text is not always kept.
 */
const BAD = "/(👎[^/]*|❌[^/]*|(-1|thumbsdown|x)(::[^/]*)?)(/[0-9]+)?$";

/**
 * Which of the answers of a channel's own agent people have marked as bad ones, and have not taken that back. Like wishes, they count once
 * a summary covers them.
 */
export async function readRejections(client: Queryable, channel: ChannelId): Promise<Rejection[]> {
  return client.query<Rejection>(
    "rejections_read",
    `select distinct t.id as turn, t.started_at as at, e.author_id as person
       from channels c
       cross join lateral (
         select t.id, t.started_at from turns t
          where t.channel_id = c.id and t.to_seq <= c.covered_to and t.agent is null order by t.to_seq desc limit ${ANSWERS}) t
       join deliveries d on d.turn_id = t.id
       join entries e on e.reply_to = d.message_id and e.message_id like '${REACTION_PREFIX}%' and e.channel_id = c.id
      where c.id = $1 and e.seq <= c.covered_to and e.deleted_at is null
        and e.message_id ~ $2
      order by t.started_at, t.id, e.author_id`,
    [channel, BAD],
  );
}

async function checked(rows: readonly RawWish[], signer: Signer): Promise<KeptWishes> {
  const believed: Wish[] = [];
  const doubted: DoubtedWish[] = [];
  for (const row of rows) {
    const why = await genuineness(row, signer);
    if (why === "ours") believed.push(toWish(row));
    else doubted.push({ id: row.id, why });
  }
  return { believed, doubted };
}

async function genuineness(row: RawWish, signer: Signer): Promise<Genuineness | "unreadable"> {
  try {
    const signed = signedPart(row.channelId, row.agent, { ...row, at: row.at.toISOString() });
    return await signer.check(signed, { keyId: row.keyId, signature: row.signature });
  } catch {
    return "unreadable";
  }
}

function toWish(raw: RawWish): Wish {
  const { id, seq, act, topic, person, asker, askerName, wish, quote, at, message, ...row } = raw;
  const refusals = row.refusals.map((one) => ({ person: one.person, at: new Date(one.at) }));
  const channel = channelId(row.channelId);
  const kept = { id, channel, askerName, at, message, refusals, learnedAt: row.learnedAt };
  return { ...kept, seq, act, topic, person, asker, wish, quote };
}

/**
 * Signs the wishes of a job, for its channel's agent.
 * @returns none where there is no key to sign with: `onUnsigned` is told why
 */
export async function signWishes(
  client: Queryable,
  channel: ChannelId,
  drafts: readonly WishDraft[],
  { signer, onUnsigned }: { readonly signer: Signer; readonly onUnsigned: (why: string) => void },
): Promise<readonly SignedWish[]> {
  if (drafts.length === 0) return [];
  const [row] = await client.query<{ agent: string }>(
    "channel_agent",
    "select agent from channels where id = $1",
    [channel],
  );
  if (row === undefined) return [];
  const { agent } = row;
  try {
    return await Promise.all(
      drafts.map(async (draft) => ({
        ...draft,
        agent,
        ...(await signer.sign(signedPart(channel, agent, draft))),
      })),
    );
  } catch (error) {
    onUnsigned(errorMessage(error));
    return [];
  }
}
