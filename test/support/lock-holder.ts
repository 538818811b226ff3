/** Run by a test: takes the lock of the given data folder, reports that, and keeps it until its input ends. */
import { once } from "node:events";
import { errorMessage } from "../../src/core/errors.ts";
import { acquireDataLock } from "../../src/store/database/data-lock.ts";

const [dataDir = ""] = process.argv.slice(2);
try {
  await using _lock = await acquireDataLock(dataDir);
  console.log("locked");
  process.stdin.resume();
  await once(process.stdin, "end");
} catch (error) {
  console.log(errorMessage(error));
}
