import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "./sql.ts";

/** A place inside a statement of the daemon's: which rows' change stops there. */
export interface Gate {
  readonly name: string;
  readonly table: string;
  /** `commit`: behind all of it, in the commit itself. */
  readonly on: "insert" | "update" | "commit of insert" | "commit of update";
  /** A condition over `new` and `old`. */
  readonly when: string;
}

const RESULT =
  "new.result is distinct from old.result and new.state = 'running' and new.attempt = old.attempt";
const COVERED = "new.covered_to <> old.covered_to";
const FIRST_SHOWN = "new.message_id is not null and old.message_id is null and new.state = 'pending'";

export const GATES: readonly Gate[] = [
  { name: "append.insert", table: "entries", on: "insert", when: "new.kind = 'user'" },
  { name: "append.commit", table: "entries", on: "commit of insert", when: "new.kind = 'user'" },
  { name: "load.take", table: "channels", on: "update", when: "new.epoch <> old.epoch" },
  { name: "turn.begin", table: "turns", on: "insert", when: "new.state = 'running'" },
  { name: "turn.again", table: "turns", on: "update", when: "new.attempts <> old.attempts" },
  { name: "turn.tools", table: "entries", on: "insert", when: "new.kind = 'tool_result'" },
  { name: "turn.omit", table: "channels", on: "update", when: "new.omitted_to <> old.omitted_to" },
  { name: "turn.settle", table: "turns", on: "update", when: "new.state <> old.state" },
  { name: "turn.settle_commit", table: "turns", on: "commit of update", when: "new.state <> old.state" },
  { name: "send.open", table: "deliveries", on: "insert", when: "new.drafted" },
  { name: "send.shown", table: "deliveries", on: "update", when: FIRST_SHOWN },
  {
    name: "send.sent",
    table: "deliveries",
    on: "update",
    when: "new.state = 'sent' and old.state = 'pending'",
  },
  { name: "job.begin", table: "jobs", on: "insert", when: "new.kind = 'leaf'" },
  { name: "job.take", table: "jobs", on: "update", when: "new.attempt <> old.attempt" },
  { name: "job.save", table: "jobs", on: "update", when: RESULT },
  { name: "job.stage", table: "jobs", on: "update", when: "new.state = 'staged' and old.state = 'running'" },
  { name: "job.fail", table: "jobs", on: "update", when: "new.state = 'failed'" },
  { name: "commit.summary", table: "summaries", on: "insert", when: "new.level = 1" },
  { name: "commit.cover", table: "channels", on: "update", when: COVERED },
  { name: "commit.memory", table: "memories", on: "insert", when: "true" },
  { name: "commit.end", table: "jobs", on: "update", when: "new.state = 'committed'" },
  { name: "commit.commit", table: "summaries", on: "commit of insert", when: "new.level = 1" },
  { name: "merge.begin", table: "jobs", on: "insert", when: "new.kind = 'merge'" },
  { name: "merge.swap", table: "summaries", on: "update", when: "old.live and not new.live" },
  { name: "merge.insert", table: "summaries", on: "insert", when: "new.level > 1" },
  { name: "merge.commit", table: "summaries", on: "commit of insert", when: "new.level > 1" },
];

/** First half of the keys of the advisory locks that are the gates. */
const LOCK_CLASS = 7777;
const POLL_MS = 8;

function triggerOf(gate: Gate, index: number): string {
  const [timing, event] = gate.on.startsWith("commit of ")
    ? (["after", gate.on.slice(10)] as const)
    : (["before", gate.on] as const);
  const constraint = timing === "after" ? "constraint" : "";
  const deferred = timing === "after" ? "deferrable initially deferred" : "";
  return `create ${constraint} trigger chaos_${index} ${timing} ${event} on ${gate.table} ${deferred}
    for each row when (${gate.when}) execute function chaos.gate('${index}')`;
}

/** What a look behind the scenes needs: when a channel's view changed, and which results were stored and when. */
const AUDIT = `
create schema chaos;
create function chaos.gate() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(${LOCK_CLASS}, tg_argv[0]::integer);
  return new;
end $$;
create table chaos.views (channel_id bigint, covered_to bigint, omitted_to bigint, at timestamptz default clock_timestamp());
create function chaos.view_changed() returns trigger language plpgsql as $$
begin
  insert into chaos.views select c.id, c.covered_to, c.omitted_to from channels c
   where c.id = case when tg_table_name = 'channels' then (to_jsonb(new)->>'id')::bigint else (to_jsonb(new)->>'channel_id')::bigint end;
  return null;
end $$;
create trigger chaos_view after update on channels for each row
  when (old.covered_to <> new.covered_to or old.omitted_to <> new.omitted_to) execute function chaos.view_changed();
create trigger chaos_view after insert or update on summaries for each row execute function chaos.view_changed();
create trigger chaos_view after insert on revisions for each row execute function chaos.view_changed();
create trigger chaos_view after update on entries for each row execute function chaos.view_changed();
create table chaos.paid (job_id bigint, to_seq bigint, is_whole boolean, text text, at timestamptz default clock_timestamp());
create function chaos.result_stored() returns trigger language plpgsql as $$
begin
  insert into chaos.paid (job_id, to_seq, is_whole, text)
    select new.id, new.to_seq, true, new.result#>>'{summary,text}' where new.result#>>'{summary,text}' is not null;
  insert into chaos.paid (job_id, to_seq, is_whole, text)
    select new.id, new.to_seq, false, p->>'text' from jsonb_array_elements(coalesce(new.result->'parts', '[]')) p;
  return null;
end $$;
create trigger chaos_paid after update on jobs for each row
  when (new.result is not null and new.result is distinct from old.result) execute function chaos.result_stored();
create function chaos.disk_full() returns trigger language plpgsql as $$
begin
  raise exception 'could not extend file: No space left on device' using errcode = '53100';
end $$;
`;

/** The gates of a data folder's database. They stand in its statements by triggers of the test's own. */
export class Gates {
  readonly #sql: Sql;
  #shut: number | null = null;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Puts them there. Once a database. */
  async install(): Promise<void> {
    await this.#sql.rows(AUDIT + GATES.map((gate, index) => `${triggerOf(gate, index)};`).join("\n"));
  }

  /** Shuts one: whoever comes there waits. */
  async arm(name: string): Promise<void> {
    await this.open();
    const index = GATES.findIndex((gate) => gate.name === name);
    await this.#sql.rows("select pg_advisory_lock($1, $2)", [LOCK_CLASS, index]);
    this.#shut = index;
  }

  /** Resolves with true once a statement waits at the gate, with false if none has when the signal comes. */
  async reached(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const found = await this.#sql.rows(
        "select from pg_locks where locktype = 'advisory' and classid = $1 and objid = $2 and not granted",
        [LOCK_CLASS, this.#shut],
      );
      if (found.length > 0) return true;
      await delay(POLL_MS);
    }
    return false;
  }

  async open(): Promise<void> {
    this.#shut = null;
    await this.#sql.rows("select pg_advisory_unlock_all()");
  }

  /** Ends every connection that a dead daemon has left: what they were about to commit is rolled back. */
  async rollBack(): Promise<void> {
    await this.#sql.rows(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'weir'",
    );
    await this.untilAlone();
  }

  /** Resolves when no connection of a daemon is left. */
  async untilAlone(): Promise<void> {
    const deadline = performance.now() + 5000;
    while (performance.now() < deadline) {
      const left = await this.#sql.rows("select from pg_stat_activity where application_name = 'weir'");
      if (left.length === 0) return;
      await delay(POLL_MS);
    }
    throw new Error("connections of a dead daemon do not end");
  }
}
