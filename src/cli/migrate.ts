import { migrateDatabase } from "../store/database/open.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { openLog, readConfig } from "./shared/open.ts";

type MigrateOptions = CommonOptions & { readonly force?: boolean };

/** `weir migrate`: brings the database up to this version. */
export async function migrate(io: Io, { force = false, ...options }: MigrateOptions): Promise<void> {
  const config = readConfig(io, options);
  const where = await migrateDatabase(config.database, openLog(io, config, "warn"), force);
  say(io, `${where} is up to date.`);
}
