import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { readKnownVersion } from "../../src/store/database/migrate.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");

const ADDITIVE = `
alter table channels add column newer text;
alter table entries add column newer text;
alter table memories add column newer text;
do $$
declare v_name text; v_made text; v_changed text;
begin
  foreach v_name in array array['append_message', 'revise_message'] loop
    v_made := pg_get_functiondef(v_name::regproc);
    v_changed := regexp_replace(v_made, '\\)(\\s+RETURNS record)', ', OUT newer integer)\\1');
    if v_changed = v_made then raise exception '% does not return a row any more: change this test', v_name; end if;
    execute 'drop function ' || v_name;
    execute v_changed;
  end loop;
end $$;`;

export interface NextVersion extends AsyncDisposable {
  /** Its `src/main.ts`. */
  readonly main: string;
}

/**
 * A copy of this checkout with one more migration, which changes the results of statements that this version prepares
 * on its connections.
 */
export async function makeNextVersion(): Promise<NextVersion> {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-next-"));
  for (const part of ["src", "prompts", "migrations", "package.json"])
    await cp(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
  const number = String((await readKnownVersion()) + 1).padStart(4, "0");
  await writeFile(path.join(folder, "migrations", `${number}_next.sql`), ADDITIVE);
  return {
    main: path.join(folder, "src", "main.ts"),
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true, force: true }),
  };
}
