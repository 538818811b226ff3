import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { z } from "zod";
import { environment, openHome } from "../support/e2e.ts";
import { text } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import { TestProcess } from "../support/process.ts";
import { skipUnlessSetUp } from "../support/set-up.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const PARTS = ["package.json", "package-lock.json", "scripts", "src", "migrations", "prompts"];
const outputLine = z.object({ type: z.string() });
const run = promisify(execFile);

test(
  "npm start and npm run work from a folder with a space in its name, with a clean output",
  { skip: skipUnlessSetUp },
  async () => {
    await using model = await startModelServer();
    await using home = await openHome({ modelUrl: model.url });
    const copy = path.join(home.folder, "a copy of weir");
    await mkdir(copy);
    for (const part of PARTS) await cp(path.join(ROOT, part), path.join(copy, part), { recursive: true });
    await symlink(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
    // The home's data folder: it is looked after until the end.
    await writeFile(
      path.join(copy, "config.toml"),
      `[database]\ndata_dir = ${JSON.stringify(home.dataDir)}\n`,
    );
    const options = {
      cwd: copy,
      env: environment({ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "sk-none" }),
    };

    await using daemon = new TestProcess("npm", ["start"], options);
    await daemon.line("ready");
    const log = await run("npm", ["run", "-s", "weir", "--", "migrate"], options);
    assert.match(log.stdout, /is up to date\.\n$/);
    // npm passes the signal on to the shell's successor, the daemon.
    daemon.signal("SIGTERM");
    await daemon.ended;
    assert.match(daemon.stderr, /"database_stopped"/);

    model.reply(text("Good morning."));
    await using chat = new TestProcess("npm", ["run", "-s", "weir", "--", "chat", "--jsonl"], options);
    chat.write(`${JSON.stringify({ author: "Ann", text: "good morning", id: "m1", channel: "room" })}\n`);
    assert.deepEqual(await chat.finish(), { code: 0, signal: null });
    assert.deepEqual(
      chat.out.map((line) => outputLine.parse(JSON.parse(line)).type),
      ["accepted", "reply"],
    );
  },
);
