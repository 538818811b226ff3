/** Whether Weir can work with a server and a database, by one look at them. Pure. */

/** What comes with Postgres, and is used by statements and indexes. */
const EXTENSIONS = ["btree_gin", "btree_gist", "pg_trgm"] as const;
/** The oldest server with all that the statements say. */
const OLDEST = 14;

/** Our record of migrations, column by column. */
const RECORD = ["version integer", "name text", "applied_at timestamp with time zone"];

/** A row of {@link LOOK}. */
export interface DatabaseFacts {
  readonly database: string;
  readonly user: string;
  /** `UTF8`, `LATIN1`, … */
  readonly encoding: string;
  readonly isStandby: boolean;
  /** Transactions are read-only by a setting of the server, the database, the role or the address. */
  readonly isReadOnly: boolean;
  readonly searchPath: string;
  /** The first schema of the search path that exists, where tables are made; null: none does. */
  readonly schema: string | null;
  readonly mayCreate: boolean | null;
  /** Columns of the table `schema_migrations`; null: there is none. */
  readonly record: readonly string[] | null;
  readonly recordOwner: string | null;
  /** This user may do what the owner of the table may. */
  readonly ownsRecord: boolean | null;
  /** The tables, indexes and so on where ours would be made; null: some of ours are there already. */
  readonly relations: readonly string[] | null;
  readonly extensions: readonly ExtensionFacts[];
}

interface ExtensionFacts {
  readonly name: string;
  /** Null: it is not in this database. */
  readonly schema: string | null;
  readonly isInPath: boolean;
  /** The server has its files. */
  readonly isOffered: boolean;
  readonly mayCreate: boolean;
}

/** A table that never had a row holds no record of a migration: a start that failed has left it. */
export const LOOK = `
  with place as (
    select n.oid, n.nspname from pg_namespace n where n.nspname = current_schema()
  ), record as (
    select c.oid, c.relowner, pg_relation_size(c.oid) > 0 as is_filled
      from pg_class c where c.oid = to_regclass('schema_migrations')
  ), extensions as (
    select needed.name, n.nspname as schema,
           coalesce(n.nspname = any (current_schemas(true)), false) as "isInPath",
           case when e.oid is null
                then exists (select from pg_available_extensions a where a.name = needed.name) else true end as "isOffered",
           case when e.oid is null
                then current_setting('is_superuser') = 'on'
                  or has_database_privilege(current_database(), 'create') and exists (
                       select from pg_available_extension_versions v
                        where v.name = needed.name and (v.trusted or not v.superuser))
                else true end as "mayCreate"
      from unnest(array['${EXTENSIONS.join("', '")}']) as needed (name)
      left join pg_extension e on e.extname = needed.name
      left join pg_namespace n on n.oid = e.extnamespace
  )
  select pg_backend_pid() as pid, current_database()::text as database, current_user::text as "user",
         (select pg_encoding_to_char(d.encoding)::text from pg_database d where d.datname = current_database()) as encoding,
         pg_is_in_recovery() as is_standby,
         current_setting('default_transaction_read_only') = 'on' as is_read_only,
         current_setting('search_path') as search_path,
         (select nspname::text from place) as schema,
         (select has_schema_privilege(oid, 'create') from place) as may_create,
         (select json_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) order by a.attnum)
            from record join pg_attribute a on a.attrelid = record.oid
           where a.attnum > 0 and not a.attisdropped) as record,
         (select pg_get_userbyid(relowner)::text from record) as record_owner,
         (select pg_has_role(relowner, 'usage') from record) as owns_record,
         case when not coalesce((select is_filled from record), false)
              then (select coalesce(json_agg(c.relname), '[]') from place join pg_class c on c.relnamespace = place.oid)
              end as relations,
         (select json_agg(extensions order by name) from extensions) as extensions`;

/** @param reported by the server, such as `15.4 (Debian 15.4-1)` @returns why it cannot be used; null: it can */
export function whyTooOld(reported: string): string | null {
  const major = Number.parseInt(reported, 10);
  if (!(major < OLDEST)) return null;
  return `The database's server is Postgres ${reported}, and Weir needs ${OLDEST} or newer: upgrade it, or point database.url (DATABASE_URL) at another.`;
}

/** Its settings, prepared statements and locks would be those of whichever connection comes next. */
export const POOLED =
  "database.url (DATABASE_URL) leads to a pooler in transaction mode (PgBouncer, Supavisor, pgcat), which gives each transaction " +
  "another session, and Weir needs sessions of its own: take the direct address of Postgres (mostly its port 5432, and not 6543 or " +
  "6432), or set the pooler to session mode.";

/**
 * @param isWriter it is to be written, and migrated
 * @param ownNames of all that the migrations make
 * @returns why it cannot be used, and what to do; null: it can
 */
export function whyUnfit(
  facts: DatabaseFacts,
  isWriter: boolean,
  ownNames: ReadonlySet<string>,
): string | null {
  return (
    whyEncoding(facts) ??
    (isWriter ? whyReadOnly(facts) : null) ??
    whyForeign(facts, ownNames) ??
    (isWriter ? (whyNoPlace(facts) ?? whyNotOwner(facts)) : null) ??
    whyExtensions(facts, isWriter)
  );
}

function whyEncoding({ database, encoding, user }: DatabaseFacts): string | null {
  if (encoding === "UTF8") return null;
  return (
    `The database ${quoted(database)} has the encoding ${encoding}, which cannot be changed, and Weir needs UTF8: make another with ` +
    `\`create database NAME owner ${quoted(user)} template template0 encoding 'UTF8' lc_collate 'C.UTF-8' lc_ctype 'C.UTF-8'\`, and name it in ` +
    "database.url (DATABASE_URL)."
  );
}

function whyReadOnly({ isStandby, isReadOnly, database }: DatabaseFacts): string | null {
  if (isStandby)
    return "The database's server is a standby, which takes no writes: point database.url (DATABASE_URL) at its primary.";
  if (!isReadOnly) return null;
  return (
    `The database ${quoted(database)} takes no writes, since default_transaction_read_only is on: some hosts set it when the disk is full; ` +
    "else look for it in the address, and in ALTER ROLE, ALTER DATABASE and postgresql.conf."
  );
}

function whyForeign({ database, record, relations }: DatabaseFacts, own: ReadonlySet<string>): string | null {
  const elsewhere = "give Weir a database of its own, and name it in database.url (DATABASE_URL).";
  if (record !== null && record.join() !== RECORD.join())
    return `The table schema_migrations in the database ${quoted(database)} is of another program (its columns: ${record.join(", ")}): ${elsewhere}`;
  const taken = (relations ?? []).filter((name) => own.has(name));
  if (taken.length === 0) return null;
  const shown = taken.toSorted().slice(0, 3).join(", ");
  const more = taken.length > 3 ? ` and ${taken.length - 3} more` : "";
  return `The database ${quoted(database)} holds another program's tables with names that Weir needs (${shown}${more}): ${elsewhere}`;
}

function whyNoPlace({ schema, searchPath, mayCreate, relations, user }: DatabaseFacts): string | null {
  if (relations === null) return null;
  if (schema === null)
    return (
      `The user ${quoted(user)} can use no schema of its search_path (${searchPath}): as a superuser, make one of them ` +
      `(\`create schema NAME authorization ${quoted(user)}\`), or open one (\`grant usage, create on schema NAME to ${quoted(user)}\`).`
    );
  if (mayCreate === true) return null;
  return (
    `The user ${quoted(user)} may not make tables in the schema ${quoted(schema)}: as its owner, ` +
    `\`grant create on schema ${quoted(schema)} to ${quoted(user)}\`.`
  );
}

function whyNotOwner({ relations, recordOwner, ownsRecord, user, database }: DatabaseFacts): string | null {
  if (relations !== null || recordOwner === null || ownsRecord === true) return null;
  return (
    `The tables in the database ${quoted(database)} belong to ${quoted(recordOwner)}, and database.url (DATABASE_URL) connects as ` +
    `${quoted(user)}, who may not change them: connect as ${quoted(recordOwner)}, or as a superuser, ` +
    `\`reassign owned by ${quoted(recordOwner)} to ${quoted(user)}\` there.`
  );
}

function whyExtensions(facts: DatabaseFacts, isWriter: boolean): string | null {
  const { extensions, relations, searchPath, user, database } = facts;
  const isNew = relations !== null;
  const hidden = extensions.filter(({ schema, isInPath }) => schema !== null && !isInPath);
  const [first] = hidden;
  if (first !== undefined) {
    const schemas = [...new Set(hidden.map(({ schema }) => quoted(schema ?? "")))].join(", ");
    return (
      `${named(hidden)} in the schema ${schemas}, which is not in the search_path of the user ${quoted(user)} (${searchPath}), or closed to it: ` +
      `\`grant usage on schema ${schemas} to ${quoted(user)}; alter role ${quoted(user)} in database ${quoted(database)} set search_path = ${searchPath}, ${schemas}\`.`
    );
  }
  const missing = extensions.filter(({ schema }) => schema === null);
  const absent = missing.filter(({ isOffered }) => !isOffered);
  if (absent.length > 0)
    return `${named(absent)} not installed on the database's server: install what comes with Postgres (on Debian \`postgresql\`, elsewhere often \`postgresql-contrib\`).`;
  // The first migration makes what is missing.
  const closed = isNew ? missing.filter(({ mayCreate }) => !mayCreate && isWriter) : missing;
  if (closed.length === 0) return null;
  const make = closed.map(({ name }) => `create extension ${name}`).join("; ");
  const why = isNew
    ? `, and the user ${quoted(user)} may not make ${closed.length === 1 ? "it" : "them"}`
    : "";
  return `${named(closed)} not in the database ${quoted(database)}${why}: as a superuser there, \`${make}\`.`;
}

function named(extensions: readonly ExtensionFacts[]): string {
  const names = extensions.map(({ name }) => name).join(", ");
  return extensions.length === 1 ? `The extension ${names} is` : `The extensions ${names} are`;
}

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
