import type { Client } from "pg";
import { createTestDatabase, type TestDatabase, withClient } from "../../support/database.ts";

/**
 * What time it is in a database whose search path comes to `public` first: the microsecond that the sequence `sim_us` has come to, which needs
 * no transaction to be seen. The simulation sets it on, and each look of who may write does, by one: so of two looks the later is never told
 * an earlier time, however many there are in a millisecond. `now` is the start of the transaction.
 */
const CLOCK = `
create sequence sim_us minvalue 0;
create sequence sim_uuid;
create function clock_timestamp() returns timestamptz language sql volatile as $$
  select timestamptz 'epoch' + interval '1 microsecond'
       * case when pg_catalog.current_setting('transaction_read_only') = 'on' then (select last_value from public.sim_us)
              else pg_catalog.nextval('public.sim_us') end $$;
create function now() returns timestamptz language plpgsql volatile as $$
declare began text := nullif(pg_catalog.current_setting('sim.began', true), '');
begin
  if began is null then
    began := pg_catalog.set_config('sim.began', public.clock_timestamp()::text, true);
  end if;
  return began::timestamptz;
end $$;
create function gen_random_uuid() returns uuid language sql volatile as $$
  select pg_catalog.lpad(pg_catalog.nextval('public.sim_uuid')::text, 32, '0')::uuid $$;
do $$
declare one record;
begin
  for one in
    select c.oid::regclass::text as place, a.attname as name, pg_catalog.pg_get_expr(d.adbin, d.adrelid) as made
      from pg_attrdef d join pg_class c on c.oid = d.adrelid join pg_attribute a on a.attrelid = c.oid and a.attnum = d.adnum
     where pg_catalog.pg_get_expr(d.adbin, d.adrelid) ~ '(now|clock_timestamp|gen_random_uuid)\\(\\)'
  loop
    execute pg_catalog.format('alter table %s alter column %I set default %s', one.place, one.name,
      pg_catalog.regexp_replace(one.made, '(pg_catalog\\.)?\\m(now|clock_timestamp|gen_random_uuid)\\(\\)', 'public.\\2()', 'g'));
  end loop;
end $$`;

/** Sets such a clock on to a millisecond, where looks have not brought it further by then. */
export const SET_TIME = "select setval('sim_us', greatest(last_value, $1::bigint * 1000)) from sim_us";

/**
 * Places inside functions at which a statement can be stopped: between two of their statements each session takes a lock that no other one
 * wants but the simulation's own, and gives it back: kept until the commit, it would keep the simulation waiting for the next call of the
 * function in this transaction. `sim_stops` tells which numbers a function has.
 */
const STOPS = `
create table sim_stops (name text primary key, first_stop int not null, stops int not null);
create function sim_stop(stop int) returns boolean language sql volatile as $$
  select pg_catalog.pg_advisory_lock_shared(stop, pg_catalog.pg_backend_pid()) is null
      or not pg_catalog.pg_advisory_unlock_shared(stop, pg_catalog.pg_backend_pid()) $$`;
const BODIES = `
select p.proname as name, pg_get_functiondef(p.oid) as text
  from pg_proc p join pg_language l on l.oid = p.prolang
 where l.lanname = 'plpgsql' and p.pronamespace = 'public'::regnamespace and p.proname <> 'now'
 order by p.oid`;
/** The end of a statement that stands at the end of a line, but for the function's own. An `if` leaves FOUND and ROW_COUNT as they are. */
const END_OF_STATEMENT = /;[ \t]*(?=\n)(?!\s*end\s*;?\s*\$\w*\$)/gi;

/** Rewrites all functions of a database so that they can be stopped. */
async function addStops(client: Client): Promise<void> {
  await client.query(STOPS);
  const { rows } = await client.query<{ name: string; text: string }>(BODIES);
  let last = 0;
  for (const { name, text } of rows) {
    const first = last + 1;
    const from = text.search(/\bbegin\b/i);
    const body = text.slice(from).replace(END_OF_STATEMENT, () => `; if sim_stop(${++last}) then end if;`);
    await client.query(text.slice(0, from) + body);
    if (last < first) continue;
    await client.query(
      "insert into sim_stops values ($1, $2, $3) on conflict (name) do update set first_stop = excluded.first_stop, stops = excluded.stops",
      [name, first, last + 1 - first],
    );
  }
}

/** By whether their functions can be stopped. */
const TEMPLATES = new Map<boolean, Promise<TestDatabase>>();

/**
 * A migrated database of its own, whose time is a simulation's.
 * @param hasStops its functions can be stopped inside
 */
export async function createSimDatabase(hasStops: boolean): Promise<TestDatabase> {
  const template = TEMPLATES.get(hasStops) ?? createTemplate(hasStops);
  TEMPLATES.set(hasStops, template);
  const database = await createTestDatabase(await template);
  await set(database);
  return database;
}

async function createTemplate(hasStops: boolean): Promise<TestDatabase> {
  const template = await createTestDatabase();
  await withClient(template.connection, async (client) => {
    await client.query(CLOCK);
    if (hasStops) await addStops(client);
  });
  return template;
}

async function set(database: TestDatabase): Promise<void> {
  await withClient(database.connection, async (client) =>
    client.query(`alter database ${database.name} set search_path = public, pg_catalog;
                  alter database ${database.name} set deadlock_timeout = '1ms'`),
  );
}
