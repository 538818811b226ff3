import type { AgentId, ChannelAddress, ChannelId, Seq } from "../../core/ids.ts";
import { COMMAND_PREFIX, OWN_AUTHOR, REACTION_PREFIX } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
import { Rows } from "../database/rows.ts";
import type { TurnState } from "./turns.ts";

export interface MessageFate {
  readonly seq: Seq;
  readonly messageId: string;
  readonly at: Date;
  readonly isAddressed: boolean;
  readonly isDeleted: boolean;
  readonly isEdited: boolean;
  /** The binding let its author ask for nothing. */
  readonly isUnheard: boolean;
  /** It was read later than it was said. */
  readonly isLate: boolean;
  /** It is settled, or never was due. */
  readonly isSettled: boolean;
  /** The turn that has settled it; null: none has. */
  readonly turn: SettlingTurn | null;
  readonly running: RunningNow | null;
}

export interface SettlingTurn {
  readonly id: number;
  readonly state: TurnState;
  readonly reason: string | null;
  readonly settledAt: Date;
  /** The message's author asked first: a budget of a person is theirs. */
  readonly isAskersOwn: boolean;
  /** One of its messages was edited or deleted. */
  readonly isChanged: boolean;
  /** The sentence with which it failed; null: none. */
  readonly notice: string | null;
  /** Of its answer; null: it has none. */
  readonly delivery: "pending" | "sent" | "failed" | null;
  /** What it handed over; null: nothing. The agent is null for the channel's own. */
  readonly handedOver: { readonly seq: Seq; readonly to: AgentId | null } | null;
}

export interface RunningNow {
  readonly startedAt: Date;
  readonly attempts: number;
  readonly isOfMessage: boolean;
}

/** A person's newest message in a channel, and what is known to be missing after it. */
export interface LastAsked {
  readonly message: MessageFate | null;
  /** The newest time of which the channel's messages were lost. */
  readonly lost: { readonly seq: Seq; readonly from: Date; readonly to: Date } | null;
}

/** The newest entries of a channel that are looked through: nobody has to wait for years of a log. */
const LOOKED_THROUGH = 5000;

type RawFate = Omit<MessageFate, "turn" | "running"> &
  Omit<SettlingTurn, "id"> &
  Omit<RunningNow, "startedAt"> & { readonly turnId: number | null; readonly startedAt: Date | null };

export class MessageFateStore extends Rows {
  /** A person's newest message: no reaction, and no command, whose message is kept for what it says. */
  async lastOf(channel: ChannelId, { platform }: ChannelAddress, person: string): Promise<LastAsked> {
    const [row] = await this.db.query<{
      seq: number | null;
      lostSeq: number | null;
      from: string | null;
      to: string | null;
    }>(
      "fate_last",
      `with newest as (select e.* from entries e join channels c on c.id = e.channel_id
                        where e.channel_id = $1 and e.seq > c.last_seq - $5)
       select (select max(n.seq) from newest n
                where n.kind = 'user' and n.author_id = $3 and not n.message_id like $4
                  and (n.addressed or not (n.message_id like $6
                       or exists (select from run_commands r where r.platform = $2 and r.message_id = n.message_id)))) as seq,
              l.seq as lost_seq, l.data->'absence'->>'from' as "from", l.data->'absence'->>'to' as "to"
         from (select 1) one
         left join lateral (select n.seq, n.data from newest n
                             where n.kind = 'notice' and n.data->'absence'->>'kind' = 'lost'
                             order by n.seq desc limit 1) l on true`,
      [channel, platform, storableText(person), `${REACTION_PREFIX}%`, LOOKED_THROUGH, `${COMMAND_PREFIX}%`],
    );
    const { seq = null, lostSeq = null, from, to } = row ?? {};
    return {
      message: seq === null ? null : await this.of(channel, seq),
      lost: lostSeq === null ? null : { seq: lostSeq, from: new Date(from ?? ""), to: new Date(to ?? "") },
    };
  }

  /** @returns null: the log has no message there */
  async of(channel: ChannelId, seq: Seq): Promise<MessageFate | null> {
    const [row] = await this.db.query<RawFate>(
      "fate_of",
      `select e.seq, e.message_id, e.at, e.addressed as is_addressed, e.deleted_at is not null as is_deleted,
              exists (select from revisions r where r.channel_id = e.channel_id and r.seq = e.seq) as is_edited,
              coalesce(e.data ? 'unheard', false) as is_unheard, coalesce(e.data ? 'late', false) as is_late,
              not e.addressed or e.seq <= c.settled_to as is_settled,
              t.id as turn_id, t.state, t.reason, t.settled_at,
              coalesce((select f.author_id from entries f
                where f.channel_id = e.channel_id and f.seq between t.from_seq and t.to_seq
                  and f.addressed and f.author_id <> $3 order by f.seq limit 1) = e.author_id, false) as is_askers_own,
              exists (select from entries f
                       where f.channel_id = e.channel_id and f.seq between t.from_seq and t.to_seq and f.addressed
                         and (f.deleted_at is not null
                              or exists (select from revisions r where r.channel_id = f.channel_id and r.seq = f.seq))) as is_changed,
              (select n.text from entries n
                where n.channel_id = e.channel_id and n.turn_id = t.id and n.kind = 'notice' order by n.seq desc limit 1) as notice,
              case when d.is_failed then 'failed' when d.is_pending then 'pending' when d.is_pending is not null then 'sent' end as delivery,
              case when h.seq is not null then json_build_object('seq', h.seq, 'to', h.data->>'agent') end as handed_over,
              r.started_at, r.attempts, coalesce(e.seq between r.from_seq and r.to_seq, false) as is_of_message
         from entries e
         join channels c on c.id = e.channel_id
         left join lateral (select * from turns t
                             where t.channel_id = e.channel_id and t.to_seq >= e.seq and t.from_seq <= e.seq and t.state <> 'running'
                             order by t.id desc limit 1) t on e.addressed and e.seq <= c.settled_to
         left join lateral (select bool_or(d.state = 'pending') as is_pending, bool_or(d.state = 'failed') as is_failed
                              from deliveries d where d.turn_id = t.id) d on true
         left join entries h on h.channel_id = e.channel_id and h.message_id = 'handoff/' || t.id || '/1'
         left join turns r on r.channel_id = e.channel_id and r.state = 'running'
        where e.channel_id = $1 and e.seq = $2 and e.kind = 'user'`,
      [channel, seq, OWN_AUTHOR],
    );
    return row === undefined ? null : toFate(row);
  }
}

function toFate(row: RawFate): MessageFate {
  const { turnId: id, state, reason, settledAt, isAskersOwn, isChanged, notice, ...rest } = row;
  const { delivery, handedOver, startedAt, attempts, isOfMessage, ...message } = rest;
  const turn = { state, reason, settledAt, isAskersOwn, isChanged, notice, delivery, handedOver };
  const running = startedAt === null ? null : { startedAt, attempts, isOfMessage };
  return { ...message, turn: id === null ? null : { id, ...turn }, running };
}
