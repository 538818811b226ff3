/** Run by a test: starts the embedded server of the given data folder, reports that, and waits to be killed. */
import { once } from "node:events";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";

const [dataDir = ""] = process.argv.slice(2);
await startEmbeddedPostgres({ dataDir, log: pino({ level: "silent" }) });
console.log("started");
process.stdin.resume();
await once(process.stdin, "end");
