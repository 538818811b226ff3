// proves: src/cli/backup.ts, src/store/database/open.ts, src/store/database/signing-key.ts
// A backup of one's own Postgres becomes an embedded one, and the other way round.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import { BackupSums, END_OF_ROWS, headLine } from "../../src/store/backup/backup-file.ts";
import { openHome } from "../support/e2e.ts";
import { openHomeWithStore } from "../support/home-with-store.ts";

const from = await openHomeWithStore();
const embedded = await openHome({
  modelUrl: "http://127.0.0.1:9/v1",
  config: '[[agents]]\nid = "main"\ntime_zone = "UTC"\n',
});
after(async () => embedded[Symbol.asyncDispose]());
const KEY = "ab".repeat(32);

test("a backup goes from one's own Postgres into an embedded one and back, each beside what goes on", async () => {
  const { home, open } = from;
  const { id } = await open.channel("mill");
  for (const text of ["the river is high", "\\.", "the boat is in"]) await open.say(id, text);
  await mkdir(home.dataDir, { recursive: true });
  await writeFile(path.join(home.dataDir, "signing.key"), `${KEY}\n`, { mode: 0o600 });
  const file = path.join(home.folder, "weir.backup");

  const made = await home.run("backup", "weir.backup", "--verify");
  assert.equal(made.code, 0, made.stderr);
  assert.match(
    made.out.join("\n"),
    /^1 channel, 3 entries, .* written to weir\.backup, and read again to its end\./,
  );
  assert.match(made.out.join("\n"), /Not in it: config\.toml, \.env and the agents' folders/);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal(existsSync(`${file}.unfinished`), false);
  const named = await home.run("backup", "weir.backup");
  assert.deepEqual(
    [named.code, named.stderr.trim()],
    [1, "weir.backup is there already: name another file."],
  );
  const whole = await home.run("restore", "weir.backup", "--verify");
  assert.match(
    whole.out.join("\n"),
    /^weir\.backup is whole: 1 channel, 3 entries, .* schema version \d+\.$/,
  );

  const restored = await embedded.run("restore", file);
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(
    restored.out.join("\n"),
    /3 entries, .* restored into the embedded Postgres in .*data\. Start Weir/,
  );
  const log = await embedded.log("test:mill");
  assert.deepEqual(
    log.map(({ text }) => text),
    ["the river is high", "\\.", "the boat is in"],
  );
  assert.equal((await readFile(path.join(embedded.dataDir, "signing.key"), "utf8")).trim(), KEY);

  const again = await embedded.run("restore", file);
  assert.deepEqual([again.code, again.stderr], [0, ""]);
  assert.match(again.out.join("\n"), /3 entries, .* restored before, by an earlier run, into the embedded/);
  const back = await embedded.run("backup", "back.backup");
  assert.equal(back.code, 0, back.stderr);
  const to = await openHomeWithStore();
  const returned = await to.home.run("restore", path.join(embedded.folder, "back.backup"));
  assert.equal(returned.code, 0, returned.stderr);
  assert.equal((await to.open.store.channels.find({ platform: "test", name: "mill" }))?.id, id);
});

test("what is no backup, or damaged, or of a newer Weir, is refused in words, and leaves nothing", async () => {
  const { home } = from;
  const to = await openHomeWithStore();
  const refused = async (file: string, words: RegExp): Promise<void> => {
    for (const options of [[], ["--verify"]]) {
      const { code, stderr } = await to.home.run("restore", path.join(to.home.folder, file), ...options);
      assert.equal(code, 1, file);
      assert.match(stderr, words);
      assert.doesNotMatch(stderr, /^ +at /m);
    }
    assert.deepEqual(await to.open.sql("select from channels"), []);
  };
  await refused("nowhere", /^There is no file .*nowhere\.$/m);
  await writeFile(path.join(to.home.folder, "text"), "hello");
  await refused("text", /text is no backup: it does not begin as what gzip writes\./);
  await home.run("backup", path.join(to.home.folder, "cut"));
  await truncate(path.join(to.home.folder, "cut"), 900);
  await refused("cut", /cut is damaged in [\w, ]+: it ends there\./);
  const sums = new BackupSums();
  const tables = [{ name: "channels", columns: ["id"], numbered: {} }];
  const head = headLine({ schema: 9999, at: new Date().toISOString(), signingKey: null, tables });
  const body = sums.add(`${head}${END_OF_ROWS}`);
  sums.count("channels", 0);
  const newest = gzipSync(`${body}${JSON.stringify(sums.foot())}\n`);
  await writeFile(path.join(to.home.folder, "newer"), newest);
  const newer = await to.home.run("restore", path.join(to.home.folder, "newer"));
  assert.match(
    newer.stderr,
    /The backup has schema version 9999, this Weir knows \d+: restore it with the version that wrote it/,
  );
});

test("a backup opens no file that is there, follows no link, and waits for no pipe", async () => {
  const { home } = from;
  const at = (name: string): string => path.join(home.folder, name);
  const asked = async (...args: string[]): Promise<readonly [number | null, string]> => {
    const { code, stderr } = await home.run(...args);
    return [code, stderr.trim()];
  };
  await writeFile(at("victim"), "of somebody else");
  await symlink("victim", at("planted"));
  await symlink("nowhere", at("link"));
  for (const name of ["victim", "planted", "link"])
    assert.deepEqual(await asked("backup", name), [1, `${name} is there already: name another file.`]);
  assert.equal(await readFile(at("victim"), "utf8"), "of somebody else");
  assert.ok(!existsSync(at("nowhere")));
  assert.deepEqual(await asked("backup", "kept"), [0, ""]);
  assert.equal((await stat(at("kept"))).mode & 0o777, 0o600);
  assert.deepEqual(
    (await readdir(home.folder)).filter((name) => name.includes("unfinished")),
    [],
  );
  execFileSync("mkfifo", [at("pipe")]);
  assert.deepEqual(await asked("restore", "pipe", "--verify"), [1, "pipe is a pipe, not a file."]);
  assert.deepEqual(await asked("memories", "import", "pipe"), [1, "pipe is a pipe, not a file."]);
});
