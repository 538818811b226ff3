/** What Postgres itself sees of who takes and writes what: triggers of the test's, which no daemon knows of. */
import pg from "pg";
import { NUMBERS } from "../sql.ts";

/** Each daemon comes as a user of its own, by which these know it. */
const AUDIT = `
create schema chaos;
create table chaos.partition_takes (
  n bigint generated always as identity, id integer, old bigint, epoch bigint, owner text, daemon text,
  at timestamptz default clock_timestamp());
create table chaos.channel_takes (
  n bigint generated always as identity, channel bigint, epoch bigint, owner text, daemon text,
  at timestamptz default clock_timestamp());
create table chaos.old_writes (
  place text, channel bigint, epoch bigint, newest bigint, daemon text, at timestamptz default clock_timestamp());

create function chaos.note_partition() returns trigger language plpgsql as $$
begin
  insert into chaos.partition_takes (id, old, epoch, owner, daemon) values (new.id, old.epoch, new.epoch, new.owner, session_user);
  return null;
end $$;
create trigger z_chaos after update on partitions for each row execute function chaos.note_partition();

create function chaos.note_channel() returns trigger language plpgsql as $$
begin
  insert into chaos.channel_takes (channel, epoch, owner, daemon)
  values (new.id, new.epoch, (select owner from partitions where id = new.partition), session_user);
  return null;
end $$;
create trigger z_chaos after update on channels for each row when (new.epoch is distinct from old.epoch)
  execute function chaos.note_channel();

create function chaos.note_write() returns trigger language plpgsql as $$
declare v_newest bigint;
begin
  select epoch into v_newest from channels where id = new.channel_id;
  if new.epoch < v_newest then
    insert into chaos.old_writes (place, channel, epoch, newest, daemon)
    values (tg_table_name, new.channel_id, new.epoch, v_newest, session_user);
  end if;
  return null;
end $$;
create trigger z_chaos after insert or update on turns for each row execute function chaos.note_write();
create trigger z_chaos after insert or update on deliveries for each row execute function chaos.note_write();
create trigger z_chaos after insert on entries for each row when (new.epoch is not null) execute function chaos.note_write();
`;

/** The test's own way to the database of a cluster. */
export class Audit implements AsyncDisposable {
  readonly #pool: pg.Pool;
  readonly #roles: string[] = [];

  constructor(connection: pg.PoolConfig) {
    this.#pool = new pg.Pool({ ...connection, application_name: "chaos", max: 3, types: NUMBERS });
    this.#pool.on("error", () => undefined);
  }

  async install(): Promise<void> {
    await this.#pool.query(AUDIT);
  }

  /** Makes a user for a daemon. */
  async addRole(name: string): Promise<void> {
    await this.#pool.query(`create role ${name} superuser login`);
    this.#roles.push(name);
  }

  async rows<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, [...values])).rows;
  }

  /** Call it once no daemon is connected any more: its users go. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const role of this.#roles) await this.#pool.query(`drop role ${role}`).catch(() => undefined);
    await this.#pool.end();
  }
}
