// proves: src/cli/logs.ts, src/cli/shared/open.ts, src/telemetry/log.ts
// The log of a daemon: for eyes, for programs, and without secrets and texts.
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { startDiscordServer } from "../support/discord/server.ts";
import { createTestDatabase } from "../support/database.ts";
import { openHome } from "../support/e2e.ts";
import { status, text, toolCalls } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import { connectionUrl } from "../support/weir.ts";
import { until } from "../support/patience.ts";

const KEY = "sk-e2e-secret";
const TOKEN = 'odd"token\\zxq1';
const SLACK = ["xoxb-zxqslack", "xapp-zxqslack"] as const;
const SAID = "zxqpine";

test("weir logs draws the file of a daemon, follows it, and has neither secrets nor texts", async () => {
  await using model = await startModelServer();
  await using discord = await startDiscordServer({ token: TOKEN });
  const config = [
    '[log]\nlevel = "trace"\nfile_max_bytes = 10000\nfiles = 20',
    `[platforms.discord]\ndm = "everyone"\napi_url = "${discord.api}"`,
    '[platforms.slack]\napi_url = "http://127.0.0.1:9"',
    '[[agents]]\nid = "main"\nmodel = "test-model"\n',
  ].join("\n");
  await using home = await openHome({ modelUrl: model.url, config });
  await writeFile(
    path.join(home.folder, ".env"),
    `DISCORD_TOKEN='${TOKEN}'\nSLACK_BOT_TOKEN=${SLACK[0]}\nSLACK_APP_TOKEN=${SLACK[1]}\n`,
  );
  assert.match((await home.run("logs")).stderr, /There is no log/);
  // A tool is called with what was said and a key, a turn is silent because of it, and the provider repeats secrets.
  let calls = 0;
  model.respond(() => {
    calls += 1;
    if (calls === 1) return toolCalls([{ name: "nonsense", arguments: { text: `${SAID} ${KEY}` } }]);
    if (calls === 2) return toolCalls([{ name: "skip", arguments: { reason: `because of ${SAID}` } }]);
    if (calls === 3) return status(401, { error: { message: `the key ${KEY} is wrong, and ${TOKEN}` } });
    return text(`an answer with ${SAID}`);
  });
  const sam = discord.world.addUser({ name: "sam" });
  const dm = discord.world.openDm(sam);
  const daemon = home.start("start");
  await daemon.line("Weir is ready");
  const following = home.start("logs", "-f", "--channel", `discord:${dm}`);
  const settled = async (count: number): Promise<void> =>
    until(`turn ${count}`, () => following.out.filter((line) => / turn {2}/.test(line)).length === count);
  for (const turn of [1, 2, 3]) {
    discord.world.say(sam, dm, `please keep ${SAID} to yourself`);
    await settled(turn);
  }
  await until("the answer", () => discord.answers(dm).some((shown) => shown.includes(SAID)));
  // A message, from its arrival to its delivery.
  await until("it is sent", () => following.out.some((line) => / sent .*messageIds=\["\d+"\]/.test(line)));
  const followed = following.out.join("\n");
  const [, message] = /message .*messageId=(\d+)/.exec(followed) ?? [];
  assert.match(followed, new RegExp(` turn .* skipped .*inReplyTo=\\["${message}"\\]`));
  following.signal("SIGTERM");
  await following.ended;
  daemon.signal("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
  const files = (await readdir(home.dataDir)).filter((name) => name.startsWith("weir.log"));
  const read = await Promise.all(files.map(async (name) => readFile(path.join(home.dataDir, name), "utf8")));
  const log = read.join("") + daemon.stderr + daemon.out.join("\n");
  for (const secret of [KEY, TOKEN, JSON.stringify(TOKEN).slice(1, -1), ...SLACK, SAID])
    assert.ok(
      !log.includes(secret),
      log.split("\n").find((line) => line.includes(secret)),
    );
  const shown = (await home.run("logs", "-n", "5000")).out.join("\n");
  assert.match(shown, /^\d\d:\d\d:\d\d warn platform_\w+ .*platform=slack/m);
  assert.match(shown, /^\d\d:\d\d:\d\d database_open/m);
  assert.match(shown, / turn .* answered \d+\.\d s/);
  const warnings = (await home.run("logs", "--level", "warn", "--json")).out;
  assert.ok(warnings.length > 0);
  for (const line of warnings) assert.match(line, /^\{"level":[45]0,/);
  // JSON where stderr is no terminal.
  assert.ok(daemon.stderr.split("\n").some((line) => line.startsWith('{"level"')));
});

test("where the data folder cannot be used, a daemon with a database of its own runs on, and says so on stderr", async () => {
  await using model = await startModelServer();
  await using database = await createTestDatabase();
  const config = '[database]\nurl = "env:OWN"\ndata_dir = "taken/data"\n';
  await using home = await openHome({ modelUrl: model.url, config });
  await writeFile(path.join(home.folder, "taken"), "a file");
  await writeFile(path.join(home.folder, ".env"), `OWN=${connectionUrl(database.connection)}\n`);
  const daemon = home.start("start");
  await daemon.line("Weir is ready");
  daemon.signal("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
  assert.match(daemon.stderr, /"msg":"log_file_not_written"/);
});
