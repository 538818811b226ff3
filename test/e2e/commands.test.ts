// proves: src/cli/program.ts, src/cli/commands.ts, src/cli/context.ts, src/cli/log.ts, src/cli/compactions.ts, src/cli/memories.ts
import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openHome } from "../support/e2e.ts";
import { startLoopbackServer } from "../../src/platforms/local/loopback/server.ts";

// None of these commands opens the database; nothing listens there, and none of them asks.
const modelUrl = "http://127.0.0.1:9/v1";
const home = await openHome({ modelUrl });
after(async () => home[Symbol.asyncDispose]());

/** A stack trace, or a key of the environment, is for nobody. */
function assertForPeople(text: string): void {
  assert.doesNotMatch(text, /^\s+at .*:\d+:\d+\)?$/m);
  assert.doesNotMatch(text, /sk-e2e-secret/);
}

test("config check names every error with file, line and what was expected, and ends with 78", async () => {
  const broken = [
    "[defaults]",
    "contxt_window = 8000",
    'model = "some-model"',
    "",
    "[[agents]]",
    'id = "first"',
    'context_window = "large"',
    "[[agents]]",
    'id = "first"',
    "",
    "[llm]",
    'api_key = "sk-e2e-secret"',
  ];
  await writeFile(path.join(home.folder, "broken.toml"), `${broken.join("\n")}\n`);
  const { code, out, stderr } = await home.runAlone("config", "check", "--config", "broken.toml");
  assert.equal(code, 78);
  assert.deepEqual(out, []);
  const places = [...stderr.matchAll(/broken\.toml:(\d+)/g)].map(([, line]) => Number(line));
  assert.deepEqual([...new Set(places)], [2, 7, 9, 12]);
  assert.match(stderr, /contxt_window.*context_window/s);
  assertForPeople(stderr);
});

test("config check shows a right configuration without its secrets, starts nothing, and ends with 0", async () => {
  const { code, out, stderr } = await home.run("config", "check");
  assert.equal(code, 0, stderr);
  assert.match(out.join("\n"), /main/);
  assert.equal(stderr, "");
  assertForPeople(out.join("\n"));
  const second = await home.runAlone("config", "check");
  assert.deepEqual(second.out, out);
});

test("a daemon waits for its database, says so once, and ends when it is told to", async () => {
  await writeFile(path.join(home.folder, "away.toml"), '[database]\nurl = "env:AWAY"\n');
  await writeFile(path.join(home.folder, ".env"), "AWAY=postgres://weir@127.0.0.1:9/weir\n");
  const daemon = home.start("start", "--config", "away.toml");
  assert.match(await daemon.errorLine("database_waited_for"), /ECONNREFUSED/);
  await delay(1200);
  assert.equal(daemon.isOver, false);
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 1, signal: null });
  assert.equal(daemon.err.filter((line) => line.includes("database_waited_for")).length, 1);
  assert.match(daemon.stderr, /Check database\.url/);
});

test("a configuration that is not there, a database that refuses and an agent nobody knows are told plainly", async () => {
  const refusing = "postgres://weir:sk-e2e-secret@127.0.0.1:9/weir";
  await writeFile(path.join(home.folder, "refusing.toml"), '[database]\nurl = "env:REFUSING"\n');
  await writeFile(path.join(home.folder, ".env"), `REFUSING=${refusing}\n`);
  const unreachable = '[platforms.discord]\ntoken = "env:REFUSING"\napi_url = "http://127.0.0.1:9"\n';
  await writeFile(path.join(home.folder, "unreachable.toml"), unreachable);
  const cases: readonly [readonly string[], RegExp][] = [
    [["invite", "discord", "--config", "unreachable.toml"], /ECONNREFUSED|reach/],
    [["start", "--config", "nowhere.toml"], /nowhere\.toml\s+there is no such file/],
    [["chat", "--agent", "nobody"], /There is no agent "nobody"\. The configuration has: main\./],
    [["chat", "--config", "refusing.toml"], /127\.0\.0\.1.*refused|ECONNREFUSED/],
    [["log", "main", "--config", "refusing.toml"], /127\.0\.0\.1.*refused|ECONNREFUSED/],
    [["replay", "nowhere.jsonl"], /nowhere\.jsonl/],
  ];
  for (const [args, expected] of cases) {
    const { code, out, stderr } = await home.run(...args);
    assert.equal(code, args.includes("nowhere.toml") ? 78 : 1, args.join(" "));
    assert.deepEqual(out, [], args.join(" "));
    assert.match(stderr, expected);
    assertForPeople(stderr);
  }
});

test("an unknown command or option is refused with a hint, and help is no error", async () => {
  for (const [args, help] of [
    [["strat"], "npm run -s weir -- --help lists the commands"],
    [["start", "--porcelain"], "npm run -s weir -- start --help shows what it takes"],
    [["log"], "npm run -s weir -- log --help shows"],
    [["log", "main", "--from", "x"], "npm run -s weir -- log --help shows"],
    [["config", "chek"], "npm run -s weir -- config --help lists the commands"],
    [["cluster", "drain"], "npm run -s weir -- cluster drain --help shows"],
  ] as const) {
    const { code, out, stderr } = await home.run(...args);
    assert.equal(code, 1, args.join(" "));
    assert.deepEqual(out, []);
    assert.match(stderr, /^error: /);
    assert.ok(stderr.includes(`(${help}`), stderr);
    assertForPeople(stderr);
  }
  const commands = ["start", "chat", "replay", "context", "log", "migrate", "backup", "config", "loopback"];
  const { code, out, stderr } = await home.run("--help");
  assert.equal(code, 0);
  assert.equal(stderr, "");
  for (const command of commands) {
    assert.ok(
      out.some((line) => line.trimStart().startsWith(`${command} `)),
      `the help names ${command}`,
    );
  }
  assert.ok(out.includes("Look at a channel:") && out.includes("Examples:"));
  const version = await home.runAlone("--version");
  assert.deepEqual([version.code, version.stderr], [0, ""]);
  assert.match(version.out.join(), /^\d+\.\d+\.\d+$/);
  assert.deepEqual((await home.run("-v")).out, version.out);
  assert.match(
    (await home.run("completion", "bash")).out.join("\n"),
    /'channels --sort'\).*complete -F _weir weir/s,
  );
  const help = await home.run("replay", "--help");
  assert.equal(help.code, 0);
  assert.match(help.out[0] ?? "", /^Usage: weir replay \[options\] <file>$/);
});

test("a loopback platform whose port is taken says so, and one that runs ends with 0", async () => {
  await using taken = await startLoopbackServer();
  const { port } = new URL(taken.url);
  const refused = await home.run("loopback", "--port", port);
  assert.equal(refused.code, 1);
  assert.equal((await home.run("loopback", "--port", "65536")).code, 1);
  assert.match(refused.stderr, new RegExp(`can't listen on 127\\.0\\.0\\.1:${port}`));
  assertForPeople(refused.stderr);
  const loopback = home.start("loopback", "--port", "0");
  await loopback.line("listens on http://127.0.0.1:");
  loopback.signal("SIGTERM");
  assert.deepEqual(await loopback.ended, { code: 0, signal: null });
});

test("what only looks makes nothing where there is no database, and says what to do", async () => {
  await using bare = await openHome({ modelUrl });
  const none = `There is no database in ${bare.dataDir} yet: the first \`npm start\` makes it.`;
  for (const command of ["context", "log", "compactions", "compact", "tune"]) {
    const { code, out, stderr } = await bare.run(command, "main");
    assert.deepEqual([code, out, stderr.trim()], [1, [], none], command);
  }
  const { code, stderr } = await bare.run("memories");
  assert.deepEqual([code, stderr.trim()], [1, none]);
  const doctor = await bare.run("doctor");
  assert.ok(doctor.out.includes(`? database: ${none}`), doctor.out.join("\n"));
  assert.deepEqual(await readdir(bare.folder), ["config.toml"]);
});
