import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after } from "node:test";
import type { DatabaseOptions } from "../../src/store/database/database.ts";
import { type OpenStore, openStore } from "../store/open-store.ts";
import { createTestDatabase } from "./database.ts";
import { type Home, openHome } from "./e2e.ts";
import { connectionUrl } from "./weir.ts";

/** A folder for the program, with the store of its database, until the file's tests end. It has no model server. */
export async function openHomeWithStore(
  options: DatabaseOptions = {},
): Promise<{ readonly open: OpenStore; readonly home: Home }> {
  const database = await createTestDatabase();
  const open = openStore(database.connection, options);
  const home = await openHome({
    modelUrl: "http://127.0.0.1:9/v1",
    config: '[database]\nurl = "env:MEMORIES_URL"\n[[agents]]\nid = "main"\ntime_zone = "UTC"\n',
  });
  await writeFile(path.join(home.folder, ".env"), `MEMORIES_URL=${connectionUrl(database.connection)}\n`);
  after(async () => {
    await home[Symbol.asyncDispose]();
    await open[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  return { open, home };
}
