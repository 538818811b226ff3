/** Run by a test: uses and listens to the database at the given address, reports that, and closes it once its input ends. */
import { once } from "node:events";
import { pino } from "pino";
import { Database } from "../../src/store/database/database.ts";

const [host = "", port = "", user = "", database = ""] = process.argv.slice(2);
const db = new Database({ host, port: Number(port), user, database }, pino({ level: "silent" }));
const listening = await db.listen(
  "topic",
  () => undefined,
  () => undefined,
);
await db.query("", "select 1");
console.log("open");
process.stdin.resume();
await once(process.stdin, "end");
await listening[Symbol.asyncDispose]();
await db[Symbol.asyncDispose]();
console.log("closed");
