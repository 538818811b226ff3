import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pino } from "pino";
import { isLiveProcess } from "../../src/store/database/live-process.ts";
import { Database } from "../../src/store/database/database.ts";
import { startChildScript } from "./child-script.ts";
import { endGuardian, startGuardian, startTestServer } from "./test-server.ts";

async function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "weir guarded "));
}

describe("the guardian of a data folder", () => {
  it("ends the daemon that has the folder, and removes it", async () => {
    const folder = await makeFolder();
    const guardian = startGuardian(folder);
    await using holder = await startChildScript("lock-holder.ts", folder);
    assert.equal(holder.firstLine, "locked");
    const ended = once(holder.child, "exit");
    await endGuardian(guardian);
    assert.deepEqual(await ended, [null, "SIGKILL"]);
    await assert.rejects(access(folder));
  });

  it("ends the server that runs on it", async () => {
    const server = await startTestServer();
    await using database = new Database(server.connection, pino({ level: "silent" }), { maxConnections: 1 });
    const rows = await database.query<{ folder: string; pid: string }>(
      "",
      `select current_setting('data_directory') as folder,
              split_part(pg_read_file('postmaster.pid'), E'\\n', 1) as pid`,
    );
    const { folder = "", pid = "" } = rows[0] ?? {};
    const program = (): string => spawnSync("ps", ["-ww", "-o", "args=", "-p", pid]).stdout.toString();
    assert.ok(program().includes(folder));
    await server[Symbol.asyncDispose]();
    assert.equal(program().includes(folder), false);
    await assert.rejects(access(folder));
  });

  it("leaves alone whoever else has a number that was left over, also another folder's daemon", async () => {
    const [folder, other] = await Promise.all([makeFolder(), makeFolder()]);
    const guardian = startGuardian(folder);
    const guardianOfOther = startGuardian(other);
    await using holder = await startChildScript("lock-holder.ts", other);
    const { pid = 0 } = holder.child;
    await mkdir(join(folder, "postgres"));
    await writeFile(join(folder, "daemon.pid"), `${pid}\n`);
    await writeFile(join(folder, "postgres", "postmaster.pid"), `${pid}\n`);
    await endGuardian(guardian);
    assert.ok(isLiveProcess(pid));
    await assert.rejects(access(folder));
    await holder[Symbol.asyncDispose]();
    await endGuardian(guardianOfOther);
  });
});
