import pg from "pg";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";

/**
 * What time it is in a database whose search path comes to `public` first: the millisecond that the sequence `sim_ms` was set to, which needs
 * no transaction to be seen, and a microsecond more at each look of who may write. `now` is the start of the transaction.
 */
const CLOCK = `
create sequence sim_ms minvalue 0 maxvalue 9223372036854775807;
create sequence sim_tick minvalue 0 maxvalue 999 cycle;
create sequence sim_uuid;
create function clock_timestamp() returns timestamptz language sql volatile as $$
  select pg_catalog.to_timestamp((select last_value from public.sim_ms)::float8 / 1000)
       + case when pg_catalog.current_setting('transaction_read_only') = 'on' then interval '0'
              else pg_catalog.nextval('public.sim_tick') * interval '1 microsecond' end $$;
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

const TEMPLATES = new Map<string, Promise<TestDatabase>>();

/** A migrated database of its own, whose time is a simulation's. */
export async function createSimDatabase(): Promise<TestDatabase> {
  const server = process.env["WEIR_TEST_CONNECTION"] ?? "";
  const template = TEMPLATES.get(server) ?? createTemplate();
  TEMPLATES.set(server, template);
  const database = await createTestDatabase(await template);
  await set(database);
  return database;
}

async function createTemplate(): Promise<TestDatabase> {
  const template = await createTestDatabase();
  await withClient(template, async (client) => client.query(CLOCK));
  return template;
}

async function set(database: TestDatabase): Promise<void> {
  await withClient(database, async (client) =>
    client.query(`alter database ${database.name} set search_path = public, pg_catalog;
                  alter database ${database.name} set deadlock_timeout = '1ms'`),
  );
}

async function withClient(
  { connection }: TestDatabase,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client("url" in connection ? { connectionString: connection.url } : connection);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
