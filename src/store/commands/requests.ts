import type { ChannelAddress, ChannelId, JobId } from "../../core/ids.ts";
import { DAEMON_SESSIONS } from "../database/database.ts";
import { Rows } from "../database/rows.ts";
import { randomUUID } from "node:crypto";
import { storableText } from "../../text/text.ts";

/** What a command beside a running daemon asks it to do in a channel. */
export type RequestedWork =
  | {
      readonly kind: "compact";
      /** The focus of the summary, in a person's words; it is erased when the request is taken. Default: nothing in particular. */
      readonly focus?: string;
    }
  /** The summary of this compaction is to be written again. */
  | { readonly kind: "redo"; readonly job: JobId }
  /** Everything is to go that this person has said there, by the platform's id. */
  | { readonly kind: "forget"; readonly person: string }
  /** The answer that is being written is to end. */
  | { readonly kind: "stop" }
  /** Everything that was said is to be covered without a text. */
  | { readonly kind: "reset" };

/** Work that a channel is asked for, before anybody has taken it. */
export interface ChannelRequest {
  readonly id: number;
  readonly channel: ChannelId;
  readonly address: ChannelAddress;
  readonly ageMs: number;
  readonly work: RequestedWork;
}

/** `status`: what a daemon knows of itself. `reload`: it is to read its configuration anew, by force also half of a change. */
export type DaemonWork = "status" | "reload" | "forced reload";

/** Which daemon is asked: the one of a name in the cluster, or first the one of a machine. */
export interface AskedDaemon {
  /** Null: any. */
  readonly name: string | null;
  /** Null: any. */
  readonly host: string | null;
}

/** A request to a daemon as a whole and not about a channel; whichever matching daemon takes it does it. */
export interface DaemonRequest extends Pick<ChannelRequest, "id" | "ageMs"> {
  readonly work: { readonly kind: DaemonWork };
  readonly channel: null;
  readonly of: AskedDaemon;
}

export type WaitingRequest = ChannelRequest | DaemonRequest;

/** How a request stands, for whoever asked. */
export interface RequestState {
  readonly isTaken: boolean;
  /**
   * Undefined: there is none yet. It comes from another process, perhaps of another version: check it. If it names a
   * `job`, `text` is that of the job's summary, as deletions have left it.
   */
  readonly answer: unknown;
}

const TOPIC = "weir_requests";
/** Age after which an untaken request is void: its sender no longer waits. */
const FORGOTTEN_AFTER_S = 60;
/** How long a request stays after its end, for whoever looks at the database. */
const KEPT_FOR_S = 86_400;
type Kind = Exclude<WaitingRequest["work"]["kind"], "forced reload">;
/** In `focus` of a reload: it is forced. */
const FORCED = "forced";
/** Other kinds are left to daemons of a later version. */
const KNOWN_KINDS = [
  "compact",
  "redo",
  "forget",
  "status",
  "reload",
  "stop",
  "reset",
] as const satisfies readonly Kind[];

interface RawRequest extends ChannelAddress {
  readonly id: number;
  readonly channel: ChannelId | null;
  readonly ageMs: number;
  readonly kind: Kind;
  readonly job: JobId | null;
  readonly person: string | null;
  readonly focus: string | null;
  readonly forDaemon: string | null;
  readonly forHost: string | null;
}

/** Rows of `requests`: added → taken → answered; or withdrawn before it was taken. */
export class RequestStore extends Rows {
  /**
   * Adds a request and notifies the listening daemons.
   * @returns the request's id
   */
  async add(channel: ChannelId, work: RequestedWork): Promise<number> {
    return this.#add(channel, work);
  }

  /** Asks a daemon; whoever may takes it. @returns the request's id */
  async addForDaemon(kind: DaemonWork, of: AskedDaemon): Promise<number> {
    return this.#add(null, { kind }, of);
  }

  async #add(
    channel: ChannelId | null,
    work: WaitingRequest["work"],
    of: AskedDaemon = { name: null, host: null },
  ): Promise<number> {
    const [row] = await this.db.query<{ id: number }>(
      "request_add",
      "insert into requests (channel_id, kind, job_id, person, focus, for_daemon, for_host) values ($1, $2, $3, $4, $5, $6, $7) returning id",
      [
        channel,
        work.kind === "forced reload" ? "reload" : work.kind,
        work.kind === "redo" ? work.job : null,
        work.kind === "forget" ? storableText(work.person) : null,
        focusOf(work),
        of.name,
        of.host,
      ],
    );
    if (row === undefined) throw new Error("request_add returned no row");
    return row.id;
  }

  /** Takes a request back that nobody has taken. @returns false: somebody has */
  async withdraw(id: number): Promise<boolean> {
    const rows = await this.db.query(
      "request_withdraw",
      "delete from requests where id = $1 and taken_at is null returning id",
      [id],
    );
    return rows.length === 1;
  }

  /** Removes an answered request, so that a read-only command leaves no row. */
  async remove(id: number): Promise<void> {
    await this.db.query("request_remove", "delete from requests where id = $1 and ended_at is not null", [
      id,
    ]);
  }

  /** @throws Error if there is no such request any more */
  async state(id: number): Promise<RequestState> {
    const [row] = await this.db.query<{ taken: boolean; ended: boolean; answer: unknown }>(
      "request_state",
      `select r.taken_at is not null as taken, r.ended_at is not null as ended,
              case when s.text is null then r.answer else r.answer || jsonb_build_object('text', s.text) end as answer
         from requests r left join summaries s on s.job_id = (r.answer->>'job')::bigint where r.id = $1`,
      [id],
    );
    if (row === undefined) throw new Error(`request ${id} does not exist`);
    return { isTaken: row.taken, answer: row.ended ? row.answer : undefined };
  }

  async hasDaemon(): Promise<boolean> {
    const [row] = await this.db.query<{ there: boolean }>(
      "request_daemon",
      `select exists (select from ${DAEMON_SESSIONS} daemon) as there`,
    );
    return row?.there === true;
  }

  async waiting(): Promise<WaitingRequest[]> {
    const rows = await this.db.query<RawRequest>(
      "requests_waiting",
      `select r.id, r.channel_id as channel, c.platform, c.name, r.kind, r.job_id as job, r.person, r.focus, r.for_daemon, r.for_host,
            (extract(epoch from clock_timestamp() - r.created_at) * 1000)::float8 as age_ms
       from requests r left join channels c on c.id = r.channel_id
      where r.taken_at is null and r.kind = any($1)
        and r.created_at > now() - ${FORGOTTEN_AFTER_S} * interval '1 s' order by r.id`,
      [KNOWN_KINDS],
    );
    return rows.map(({ id, channel, platform, name, ageMs, forDaemon, forHost, ...row }) => {
      if (channel === null)
        return {
          id,
          channel,
          ageMs,
          of: { name: forDaemon, host: forHost },
          work: { kind: toDaemonWork(row) },
        };
      return { id, channel, address: { platform, name }, ageMs, work: toWork(row) };
    });
  }

  /** @returns false: another daemon has it, or it was withdrawn */
  async take(id: number): Promise<boolean> {
    const rows = await this.db.query(
      "request_take",
      `update requests set taken_at = clock_timestamp(), focus = null
        where id = $1 and taken_at is null and kind = any($2) returning id`,
      [id, KNOWN_KINDS],
    );
    return rows.length === 1;
  }

  /** @param answer holds nothing that was said: a deletion does not reach it */
  async answer(id: number, answer: object): Promise<void> {
    await this.db.query(
      "request_answer",
      "update requests set ended_at = clock_timestamp(), answer = $2 where id = $1 and ended_at is null",
      [id, JSON.stringify(answer)],
    );
  }

  /** Removes expired requests and old answers. */
  async clean(): Promise<void> {
    await this.db.query(
      "requests_clean",
      `delete from requests
        where (taken_at is null and created_at < now() - ${FORGOTTEN_AFTER_S} * interval '1 s')
           or created_at < now() - ${KEPT_FOR_S} * interval '1 s'`,
    );
  }

  /** Hears of new requests, on a connection of its own. `onEnd`: that connection is gone, listen again. */
  async listen(onRequest: () => void, onEnd: () => void): Promise<AsyncDisposable> {
    return this.db.listen(TOPIC, onRequest, onEnd);
  }
}

function focusOf(work: WaitingRequest["work"]): string | null {
  if (work.kind === "forced reload") return FORCED;
  return work.kind === "compact" && work.focus !== undefined ? storableText(work.focus) : null;
}

function toDaemonWork({ kind, focus }: Pick<RawRequest, "kind" | "focus">): DaemonWork {
  if (kind !== "reload") return "status";
  return focus === FORCED ? "forced reload" : "reload";
}

/** The constraints of the table say which kind has what. */
function toWork(row: Pick<RawRequest, "kind" | "job" | "person" | "focus">): RequestedWork {
  const { kind, job, person, focus } = row;
  if (kind === "redo" && job !== null) return { kind, job };
  if (kind === "forget" && person !== null) return { kind, person };
  if (kind === "stop" || kind === "reset") return { kind };
  return { kind: "compact", ...(focus !== null && { focus }) };
}

/** Days that a command is remembered: a message that was missed for more than a week is not looked at as one any more. */
const KEPT_DAYS = 8;

export class RunCommandStore extends Rows {
  newClaim(): string {
    return randomUUID();
  }

  /**
   * Notes that the command in a message is run. Once or twice with the same claim is the same.
   * @returns false: another process has run it
   */
  async claim(platform: string, messageId: string, claim: string): Promise<boolean> {
    const [row] = await this.db.query<{ claim: string }>(
      "command_claim",
      `with aged as (delete from run_commands where run_at < now() - make_interval(days => $4))
       insert into run_commands (platform, message_id, claim) values ($1, $2, $3)
       on conflict (platform, message_id) do update set claim = run_commands.claim returning claim`,
      [platform, storableText(messageId), claim, KEPT_DAYS],
    );
    return row?.claim === claim;
  }
}
