import type { Queryable } from "../../src/store/database/queryable.ts";

/**
 * Everything that a schema consists of, one definition a line, sorted. Left out are owners, rights and the object ids; function
 * bodies are compared without their comments and their white space.
 */
export async function describeSchema(database: Queryable): Promise<string[]> {
  const lines: string[] = [];
  for (const [kind, text] of Object.entries(CATALOGUE)) {
    const rows = await database.query<{ name: string; definition: string }>({ name: "", text });
    for (const { name, definition } of rows) lines.push(`${kind} ${name}: ${plain(definition)}`);
  }
  return lines.toSorted();
}

function plain(definition: string): string {
  return definition
    .replaceAll(/--[^\n]*/g, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

const OURS = "current_schema()::regnamespace";

/** Of each kind of object its name and its whole definition. */
const CATALOGUE = {
  extension: "select extname as name, extnamespace::regnamespace::text as definition from pg_extension",
  table: `
    select relname as name, concat_ws(' ', relkind, relpersistence, reloptions, relreplident, relrowsecurity) as definition
      from pg_class where relnamespace = ${OURS} and relkind <> 'i'`,
  // The place counts the columns that are there: one that was dropped leaves a gap in their numbers.
  column: `
    select c.relname || '.' || a.attname as name,
           concat_ws(' ', row_number() over (partition by c.oid order by a.attnum), format_type(a.atttypid, a.atttypmod),
             a.attnotnull, a.attidentity, a.attgenerated, a.attstorage, a.attcompression, 'statistics', a.attstattarget,
             a.attoptions, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid)) as definition
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where c.relnamespace = ${OURS} and c.relkind in ('r', 'i', 'v', 'm') and a.attnum > 0 and not a.attisdropped`,
  constraint: `
    select coalesce(conrelid::regclass::text, contypid::regtype::text) || '.' || conname as name,
           concat_ws(' ', contype, pg_get_constraintdef(oid), convalidated, condeferrable, condeferred) as definition
      from pg_constraint where connamespace = ${OURS}`,
  index: `
    select indexrelid::regclass::text as name,
           concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid, indisunique, indisprimary) as definition
      from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = ${OURS}`,
  trigger: `
    select t.tgrelid::regclass || '.' || t.tgname as name, concat_ws(' ', pg_get_triggerdef(t.oid), t.tgenabled) as definition
      from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = ${OURS} and not t.tgisinternal`,
  function: `
    select p.oid::regprocedure::text as name, concat_ws(' ', pg_get_functiondef(p.oid), p.procost, p.prorows) as definition
      from pg_proc p
     where p.pronamespace = ${OURS} and p.prokind <> 'a'
       and not exists (select from pg_depend d where d.objid = p.oid and d.classid = 'pg_proc'::regclass and d.deptype = 'e')`,
  sequence:
    "select sequencename as name, (to_jsonb(s) - 'sequenceowner' - 'last_value')::text as definition from pg_sequences s where schemaname = current_schema()",
  type: `
    select typname as name, typtype::text as definition from pg_type t
     where typnamespace = ${OURS} and typtype in ('d', 'e', 'r')
       and not exists (select from pg_depend d where d.objid = t.oid and d.classid = 'pg_type'::regclass and d.deptype = 'e')`,
  statistics: `select stxname as name, pg_get_statisticsobjdef(oid) as definition from pg_statistic_ext where stxnamespace = ${OURS}`,
  comment: `
    select pg_describe_object(classoid, objoid, objsubid) as name, description as definition
      from pg_description
     where classoid in ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_constraint'::regclass, 'pg_trigger'::regclass)
       and (classoid, objoid) in (
         select 'pg_class'::regclass::oid, oid from pg_class where relnamespace = ${OURS}
         union all select 'pg_proc'::regclass::oid, oid from pg_proc where pronamespace = ${OURS}
         union all select 'pg_constraint'::regclass::oid, oid from pg_constraint where connamespace = ${OURS}
         union all select 'pg_trigger'::regclass::oid, oid from pg_trigger)`,
} as const;
