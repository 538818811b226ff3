/** `node --test --test-global-setup=…` calls these two, in the process that starts the test processes. */
import { readFile, statfs } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import {
  CODE_CACHE,
  CONNECTION_VARIABLE,
  SEED_VARIABLE,
  startTestServer,
  type TestServer,
  URL_VARIABLE,
} from "./test-server.ts";

/** Linux has a file system in memory there; elsewhere it is missing, and in many containers small. */
const MEMORY_FOLDER = "/dev/shm";
/** Several times the tests' peak use. */
const LEAST_FREE_BYTES = 2_000_000_000;

let server: TestServer | null = null;

/** Starts one server for the whole run; a test file gets its own database by `createTestDatabase`. */
export async function globalSetup(): Promise<void> {
  process.env["NODE_COMPILE_CACHE"] ??= CODE_CACHE;
  // A database is 350 files, and most are short-lived: on a disk, making and deleting them is most of the work.
  if (process.env["TMPDIR"] === undefined && (await hasMemoryFolder())) process.env["TMPDIR"] = MEMORY_FOLDER;
  const url = process.env[URL_VARIABLE];
  if (url === undefined) {
    server = await startTestServer();
    process.env[SEED_VARIABLE] = path.join(server.folder, "seed");
  }
  process.env[CONNECTION_VARIABLE] = JSON.stringify(server?.connection ?? { url });
}

export async function globalTeardown(): Promise<void> {
  await server?.[Symbol.asyncDispose]();
}

/** Whether it exists, has enough space, and allows programs to run. */
async function hasMemoryFolder(): Promise<boolean> {
  const mounts = await readFile("/proc/self/mounts", "utf8").catch(() => "");
  const options = mounts.split("\n").findLast((line) => line.split(" ")[1] === MEMORY_FOLDER);
  if (options === undefined || options.includes("noexec")) return false;
  const { bavail, bsize } = await statfs(MEMORY_FOLDER);
  return Math.min(bavail * bsize, process.availableMemory()) >= LEAST_FREE_BYTES;
}
