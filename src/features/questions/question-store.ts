import { type QuestionState, QUESTION_COLUMNS, type QuestionRow } from "./question.ts";
import type { AgentId, ChannelAddress, ChannelId, Owner, TurnId } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { ADDRESS_OF_C, OWN_IDS } from "../../store/channels/channels.ts";
import { Rows } from "../../store/database/rows.ts";
import type { Queryable } from "../../store/database/queryable.ts";

/** Allows calls of a tool with certain arguments from now on. */
export interface ApprovalRule {
  readonly id: number;
  readonly tool: string;
  readonly arguments: string;
  /** Name of the person who made it; "": deleted. */
  readonly by: string;
  /** Number of the approval with which it was made. */
  readonly approval: number;
}

/** A new question, to be stored with its call. */
export interface AskedQuestion extends Pick<QuestionRow, "id" | "kind" | "agent" | "tool" | "arguments"> {
  readonly callId: string;
  readonly fingerprint: string;
  readonly expireMs: number;
  /** Of a choice: also people may make it whose messages the turn does not answer. */
  readonly isForAnybody: boolean;
}

/** The changes of a turn, written in the transaction of its entries. */
export interface QuestionNews {
  /** Default: none. */
  readonly asked?: readonly AskedQuestion[];
  /** Approvals whose call has run. Default: none. */
  readonly done?: readonly number[];
}

/** A channel's questions that concern a set of calls. */
export interface QuestionLook {
  /** Number of questions that wait for a person. */
  readonly open: number;
  /** Numbers of the questions of calls that wait already, by fingerprint. */
  readonly waiting: ReadonlyMap<string, number>;
  /** Fingerprints of calls that a rule allows. */
  readonly allowed: ReadonlySet<string>;
  /** New numbers for all other calls, by fingerprint. */
  readonly free: ReadonlyMap<string, number>;
}

/** A call that a turn takes up. `was`: its state before. */
export interface TakenApproval extends Pick<QuestionRow, "id" | "agent" | "tool" | "arguments"> {
  readonly was: QuestionState;
  /** Of the call that people were shown. */
  readonly fingerprint: string;
  /** The platform's id of the newest message that asked for the call; null: no message of a person did. */
  readonly askedFor: string | null;
  readonly askedIn: TurnId;
}

/** A question whose message is missing or outdated. */
export interface QuestionToShow extends QuestionRow {
  readonly key: string;
  /** The platform's id of the message; null: no known message. */
  readonly messageId: string | null;
  /** An earlier attempt may have posted it. */
  readonly mayBeThere: boolean;
  /** Key of the text that the message must show, for {@link QuestionStore.noteShown}. */
  readonly toBeShown: string;
}

/** A decision or an answer that is not in its channel's log yet. */
export interface UnreportedDecision extends Omit<QuestionRow, "agent" | "expiresAt" | "askedBy" | "askedOf"> {
  readonly channel: ChannelId;
  readonly address: ChannelAddress;
  /** The agent that asked; null: the channel's own. */
  readonly agent: AgentId | null;
  readonly decidedBy: string | null;
  readonly reason: string;
}

export interface WaitingQuestion {
  readonly row: QuestionRow;
  readonly channel: ChannelId;
  readonly address: ChannelAddress;
  readonly since: Date;
}

/** Who has decided or chosen. @param id null: the operator, who is nobody of the channel */
export interface Decider {
  readonly id: string | null;
  readonly name: string;
}

export interface Decision {
  readonly state: "allowed" | "denied";
  readonly by: Decider;
  /** The canonical form of arguments that are allowed from now on; null: only this call is allowed. */
  readonly canonical: string | null;
  /** The person's words; may be empty. */
  readonly reason: string;
}

/** Somebody has made a choice. */
export interface Answer {
  readonly by: Decider;
  /** The words of the choice. */
  readonly text: string;
}

/** Most rows of one query. */
const MOST = 500;

/** Rows of `approvals` and `approval_rules`. */
export class QuestionStore extends Rows {
  async look(channel: ChannelId, agent: AgentId, fingerprints: readonly string[]): Promise<QuestionLook> {
    const [row] = await this.db.query<{
      open: number;
      waiting: { id: number; fingerprint: string }[];
      allowed: string[];
      free: { id: number; fingerprint: string }[];
    }>(
      "approvals_look",
      `with waiting as (
         select id, fingerprint from approvals
          where channel_id = $1 and agent = $2 and state in ('open', 'asked') and fingerprint = any($3) and expires_at > clock_timestamp()
       ), allowed as (
         select fingerprint from approval_rules where channel_id = $1 and agent = $2 and fingerprint = any($3)
       ), free as materialized (
         select nextval(pg_get_serial_sequence('approvals', 'id')) as id, f.fingerprint
           from (select distinct unnest($3::text[]) as fingerprint) f
          where f.fingerprint not in (select fingerprint from waiting union all select fingerprint from allowed)
       )
       select (select count(*) from approvals where channel_id = $1 and state in ('open', 'asked')) as open,
              (select coalesce(jsonb_agg(w), '[]') from waiting w) as waiting,
              array(select fingerprint from allowed) as allowed,
              (select coalesce(jsonb_agg(f), '[]') from free f) as free`,
      [channel, agent, fingerprints],
    );
    if (row === undefined) throw new Error("approvals_look returned no row");
    const byFingerprint = (rows: readonly { id: number; fingerprint: string }[]): Map<string, number> =>
      new Map(rows.map(({ id, fingerprint }) => [fingerprint, id]));
    const { open, waiting, allowed, free } = row;
    return { open, waiting: byFingerprint(waiting), allowed: new Set(allowed), free: byFingerprint(free) };
  }

  /**
   * Writes a turn's changes.
   * @param client in the transaction of the turn's entries
   * @throws StaleEpochError
   */
  async note(
    client: Queryable,
    { channel, epoch }: Owner,
    turn: TurnId,
    { asked = [], done = [] }: QuestionNews,
  ): Promise<void> {
    const rows = asked.map(({ callId, expireMs, isForAnybody, ...one }) => ({
      ...one,
      call_id: callId,
      expire_ms: expireMs,
      for_anybody: isForAnybody,
    }));
    await client.query("approvals_note", "select note_approvals($1, $2, $3, $4, $5)", [
      channel,
      epoch,
      turn,
      JSON.stringify(rows),
      done,
    ]);
  }

  /**
   * Takes up decided calls for the turn that answers their decisions: from now on they may have had their effect.
   * @throws StaleEpochError
   */
  async take({ channel, epoch }: Owner, ids: readonly number[]): Promise<TakenApproval[]> {
    return this.db.query<TakenApproval>(
      "approvals_take",
      `select taken.id, taken.state as was, taken.agent, taken.tool, taken.arguments,
         (select a.fingerprint from approvals a where a.id = taken.id) as fingerprint,
         (select a.turn_id from approvals a where a.id = taken.id) as asked_in, (
         select e.message_id from approvals a join turns t on t.id = a.turn_id
           join entries e on e.channel_id = t.channel_id and e.seq between t.from_seq and t.to_seq
          where a.id = taken.id and e.addressed and e.deleted_at is null and not (e.message_id like any ($4))
          order by e.seq desc limit 1) as asked_for
         from take_approvals($1, $2, $3) taken`,
      [channel, epoch, ids, OWN_IDS],
    );
  }

  /** Ends allowed calls that their turn has not run. */
  async endUntaken(channel: ChannelId, ids: readonly number[]): Promise<void> {
    await this.db.query(
      "approvals_end_untaken",
      `update approvals set state = case when state = 'running' then 'done' else 'void' end
        where channel_id = $1 and id = any($2) and state in ('allowed', 'running')`,
      [channel, ids],
    );
  }

  /** @returns null: the channel has none of this number */
  async find(channel: ChannelId, id: number): Promise<QuestionRow | null> {
    const [row] = await this.db.query<QuestionRow>(
      "approval_find",
      `select ${QUESTION_COLUMNS} from approvals a where a.channel_id = $1 and a.id = $2`,
      [channel, id],
    );
    return row ?? null;
  }

  /** Approvals that wait for a decision, the oldest first. */
  async open(channel: ChannelId): Promise<QuestionRow[]> {
    return this.db.query<QuestionRow>(
      "approvals_open",
      `select ${QUESTION_COLUMNS} from approvals a where a.channel_id = $1 and a.state = 'open' order by a.id`,
      [channel],
    );
  }

  /** Decides an open approval that has not expired. @returns false: there is no such approval */
  async decide(channel: ChannelId, id: number, { state, by, canonical, reason }: Decision): Promise<boolean> {
    return this.db.transaction(async (client) => {
      const decided = await client.query(
        "approval_decide",
        `update approvals set state = $3, decided_by = $4, decided_name = $5, reason = $6, decided_at = clock_timestamp()
          where channel_id = $1 and id = $2 and state = 'open' and expires_at > clock_timestamp() returning id`,
        [channel, id, state, storableId(by), storableText(by.name), storableText(reason)],
      );
      if (decided.length === 0) return false;
      if (canonical !== null)
        await client.query(
          "approval_rule",
          `insert into approval_rules (channel_id, agent, tool, arguments, fingerprint, approval_id)
           select channel_id, agent, tool, $2, fingerprint, id from approvals where id = $1
           on conflict do nothing`,
          [id, canonical],
        );
      return true;
    });
  }

  /** Makes a choice that has not expired. @returns false: there is none */
  async answer(channel: ChannelId, id: number, { by, text }: Answer): Promise<boolean> {
    const answered = await this.db.query(
      "question_answer",
      `update approvals set state = 'answered', answer = $3, decided_by = $4, decided_name = $5, decided_at = clock_timestamp()
        where channel_id = $1 and id = $2 and state = 'asked' and expires_at > clock_timestamp() returning id`,
      [channel, id, storableText(text), storableId(by), storableText(by.name)],
    );
    return answered.length > 0;
  }

  /** Choices of a channel that somebody may still make, the oldest first. */
  async choices(channel: ChannelId): Promise<QuestionRow[]> {
    return this.db.query<QuestionRow>(
      "questions_choices",
      `select ${QUESTION_COLUMNS} from approvals a
        where a.channel_id = $1 and a.state = 'asked' and a.expires_at > clock_timestamp() order by a.id`,
      [channel],
    );
  }

  async choicesAt({ platform, name }: ChannelAddress): Promise<QuestionRow[]> {
    return this.db.query<QuestionRow>(
      "questions_choices_at",
      `select ${QUESTION_COLUMNS} from approvals a join channels c on c.id = a.channel_id
        where c.platform = $1 and c.name = $2 and a.state = 'asked' and a.expires_at > clock_timestamp() order by a.id`,
      [platform, name],
    );
  }

  /** Waiting questions whose time is over, with their channels; the oldest first. */
  async overdue(): Promise<{ readonly id: number; readonly address: ChannelAddress }[]> {
    return this.db.query<{ id: number; address: ChannelAddress }>(
      "approvals_overdue",
      `select a.id, ${ADDRESS_OF_C} as address from approvals a join channels c on c.id = a.channel_id
        where a.state in ('open', 'asked') and a.expires_at <= clock_timestamp() order by a.expires_at`,
    );
  }

  /** Ends those of them that are still open. Safe to run in several daemons at once. */
  async expire(ids: readonly number[]): Promise<void> {
    await this.db.query(
      "approvals_expire",
      `update approvals set state = case state when 'open' then 'expired' else 'lapsed' end, decided_at = clock_timestamp()
        where id = any($1) and state in ('open', 'asked') and expires_at <= clock_timestamp()`,
      [ids],
    );
  }

  /** Time until the next waiting question expires, ms; null: none waits. */
  async nextExpiry(): Promise<number | null> {
    const [row] = await this.db.query<{ ms: number | null }>(
      "approvals_next_expiry",
      `select extract(epoch from min(expires_at) - clock_timestamp())::float8 * 1000 as ms
         from approvals where state in ('open', 'asked') and expires_at > clock_timestamp()`,
    );
    return row?.ms ?? null;
  }

  /** Decisions, answers and expiries that are not in their channels' logs yet. */
  async unreported(): Promise<UnreportedDecision[]> {
    return this.db.query<UnreportedDecision>(
      "approvals_untold",
      `select a.id, a.channel_id as channel, ${ADDRESS_OF_C} as address, nullif(a.agent, c.agent) as agent, a.kind, a.state, a.tool, a.arguments,
              a.answer, a.decided_by, a.decided_name, a.reason
         from approvals a join channels c on c.id = a.channel_id
        where a.told_at is null and a.state in ('allowed', 'denied', 'expired', 'answered', 'lapsed') order by a.id limit $1`,
      [MOST],
    );
  }

  /** Notes that its channel's log has the decision. */
  async noteReported(id: number): Promise<void> {
    await this.db.query(
      "approval_told",
      "update approvals set told_at = clock_timestamp(), reason = '' where id = $1 and told_at is null",
      [id],
    );
  }

  /** Number of questions that wait for a person, and the time of the oldest. */
  async countWaiting(): Promise<{ readonly count: number; readonly since: Date | null }> {
    const [row] = await this.db.query<{ count: number; since: Date | null }>(
      "approvals_count_waiting",
      "select count(*) as count, min(asked_at) as since from approvals where state in ('open', 'asked')",
    );
    return row ?? { count: 0, since: null };
  }

  /** Questions of all channels that wait for a person, the oldest first. */
  async waiting(limit: number): Promise<WaitingQuestion[]> {
    const rows = await this.db.query<QuestionRow & Omit<WaitingQuestion, "row">>(
      "approvals_waiting",
      `select ${QUESTION_COLUMNS}, a.channel_id as channel, a.asked_at as since, ${ADDRESS_OF_C} as address from approvals a join channels c on c.id = a.channel_id
        where a.state in ('open', 'asked') and a.expires_at > clock_timestamp() order by a.asked_at, a.id limit $1`,
      [limit],
    );
    return rows.map(({ channel, address, since, ...row }) => ({ row, channel, address, since }));
  }

  /** Numbers of a turn's calls that wait for a decision, and of its choices that nobody has made. */
  async waitingOf(turn: TurnId): Promise<{ readonly approvals: number; readonly choices: number }> {
    const [row] = await this.db.query<{ approvals: number; choices: number }>(
      "approvals_waiting_of",
      `select count(*) filter (where state = 'open') as approvals, count(*) filter (where state = 'asked') as choices from approvals
        where turn_id = $1 and state in ('open', 'asked') and expires_at > clock_timestamp()`,
      [turn],
    );
    return row ?? { approvals: 0, choices: 0 };
  }

  /** Whether any question still has its arguments. */
  async hasAny(): Promise<boolean> {
    const rows = await this.db.query("approvals_any", "select from approvals where arguments <> '' limit 1");
    return rows.length > 0;
  }

  async toShow(channel: ChannelId): Promise<QuestionToShow[]> {
    return this.db.query<QuestionToShow>(
      "approvals_to_show",
      `select ${QUESTION_COLUMNS}, a.key, a.message_id, a.shown is not null as may_be_there,
              question_shown(a.state, a.arguments, a.answer) as to_be_shown
         from approvals a where a.channel_id = $1
          and (a.shown is null and a.state in ('open', 'asked') or a.shown <> question_shown(a.state, a.arguments, a.answer)) order by a.id`,
      [channel],
    );
  }

  /** Channels with such questions. */
  async channelsToShow(): Promise<{ readonly channel: ChannelId; readonly address: ChannelAddress }[]> {
    return this.db.query<{ channel: ChannelId; address: ChannelAddress }>(
      "approvals_channels_to_show",
      `select c.id as channel, ${ADDRESS_OF_C} as address from channels c where c.id in (
         select a.channel_id from approvals a
          where a.shown is null and a.state in ('open', 'asked') or a.shown <> question_shown(a.state, a.arguments, a.answer)) order by c.id`,
    );
  }

  /**
   * @param shown what the message shows now; `posting`: it is about to be sent
   * @throws StaleEpochError
   */
  async noteShown(
    { channel, epoch }: Owner,
    id: number,
    shown: string,
    messageId: string | null,
  ): Promise<void> {
    await this.db.query("approval_note_shown", "select note_approval_shown($1, $2, $3, $4, $5)", [
      channel,
      epoch,
      id,
      shown,
      messageId,
    ]);
  }

  async rules(channel: ChannelId): Promise<ApprovalRule[]> {
    return this.db.query<ApprovalRule>(
      "approval_rules",
      `select r.id, r.tool, r.arguments, a.decided_name as by, r.approval_id as approval from approval_rules r join approvals a on a.id = r.approval_id
        where r.channel_id = $1 order by r.id limit $2`,
      [channel, MOST],
    );
  }

  /** @returns false: there is no such rule */
  async endRule(channel: ChannelId, id: number): Promise<boolean> {
    const ended = await this.db.query(
      "approval_rule_end",
      "delete from approval_rules where channel_id = $1 and id = $2 returning id",
      [channel, id],
    );
    return ended.length > 0;
  }
}

function storableId({ id }: Decider): string | null {
  return id === null ? null : storableText(id);
}
