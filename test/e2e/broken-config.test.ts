// proves: src/cli/shared/readable-config.ts, src/cli/shared/agents-to-look.ts, src/cli/chat.ts
// A daemon goes on by the configuration that it has read, and whoever looks at it can do so while the file is broken.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { createProgram } from "../../src/cli/program.ts";
import { openHome, openSeed } from "../support/e2e.ts";
import { echo } from "../support/e2e-model.ts";
import { startModelServer } from "../support/model-server.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

test("while config.toml is broken, what looks and the chat that attaches work, and what acts by it does not", async () => {
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url, seed });
  model.respond(echo);
  const daemon = home.start("start");
  await daemon.line("Weir is ready");
  const save = async (toml: string): Promise<void> => writeFile(path.join(home.folder, "config.toml"), toml);
  await save('[log]\nlevel = "loud\n');
  await daemon.errorLine('"configuration_refused');

  const note =
    /^The configuration has 1 problem, and what can be read of it is used here: config\.toml:2:14: is not valid TOML: the closing quote of a text is missing$/;
  const chat = home.start("chat");
  chat.write("are you there?\n");
  await chat.line("You said: ");
  assert.deepEqual(await chat.finish(), { code: 0, signal: null });
  assert.match(chat.stderr, note);
  const looks: readonly (readonly [args: string, shown: RegExp])[] = [
    ["status", /daemon +Weir .*\nconfig +refused since /],
    ["logs", /configuration_refused/],
    ["channels", /terminal:main/],
    ["log main", /are you there\?/],
    ["context main", /terminal:main/],
    ["usage", /main/],
    ["compactions main", /^/],
    ["memories", /^/],
    ["pair", /Nobody/],
    ["tools", /agent main: \d+ tools/],
    ["backup kept.backup", /written to kept\.backup/],
  ];
  for (const [args, shown] of looks) {
    const { code, out, stderr } = await home.run(...args.split(" "));
    assert.deepEqual([args, code], [args, 0], stderr);
    assert.match(out.join("\n"), shown);
    assert.match(stderr, note);
  }
  const looked = await home.run("doctor");
  assert.equal(looked.code, 1);
  assert.match(
    looked.out.join("\n"),
    /✗ configuration: 1 problem; first config\.toml:2:14: [^]*✓ database: /,
  );
  const json = await home.run("status", "--json");
  assert.equal(typeof JSON.parse(json.out.join("\n")), "object");

  // Of several problems the first is told.
  await save('[log]\nlevle = "debug"\n[daemon]\ndrain = 7\n');
  assert.match(
    (await home.run("channels")).stderr,
    /^The configuration has 2 problems, .*: config\.toml:2:1 {2}log\.levle: unknown key; `npm run -s weir -- config check` shows them all$/,
  );
  for (const args of [["start"], ["migrate"], ["tune", "main"], ["config", "check"], ["compact", "main"]]) {
    const { code, out, stderr } = await home.run(...args);
    assert.deepEqual([args, code, out], [args, 78, []]);
    assert.match(stderr, /^The configuration has 2 problems:\n/);
  }

  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  assert.equal((await home.run("status")).out[0], "daemon       none runs");
  // There is none to attach to, and one of its own would act by the file.
  const alone = await home.run("chat");
  assert.deepEqual([alone.code, alone.out], [78, []]);
  assert.match(alone.stderr, /^The configuration has 2 problems:\n/);
});

test("weir context looks also where templates or a window are what is wrong", async () => {
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url, seed });
  model.respond(echo);
  const chat = home.start("chat");
  chat.write("hello\n");
  assert.equal((await chat.finish()).code, 0);
  const save = async (toml: string): Promise<void> => writeFile(path.join(home.folder, "config.toml"), toml);
  await save('[prompts]\ndir = "nowhere"\n');
  const templates = await home.run("context", "main");
  assert.equal(templates.code, 0, templates.stderr);
  assert.match(templates.out.join("\n"), /terminal:main/);
  assert.match(templates.stderr, /no such folder of templates.* Weir's own templates are used here\.$/);
  await save('[[agents]]\nid = "main"\ncontext_window = 1200\n');
  const small = await home.run("context", "main");
  assert.equal(small.code, 0, small.stderr);
  assert.match(small.stderr, /leaves no room for a conversation[^]*This is passed over here\.$/);
});

/** Every command, by what it does while the configuration is broken. */
const COMMANDS = {
  looks:
    "status open cluster channels logs usage context log compactions memories pair backup tools doctor audit upgrade invite models",
  // Each acts by the configuration, or by what it is to become.
  acts: "init start chat replay reload compact tune forget-user migrate restore config",
  reads_none: "completion demo loopback",
};

test("each command is in the table of those that look and those that act", () => {
  const { stdout, stderr, stdin } = process;
  const idle = { onHangUp: () => undefined, onExit: () => undefined, tellReady: () => undefined };
  const io = { cwd: "/", stdout, stderr, stdin, shutdown: new AbortController().signal, ...idle };
  const names = createProgram(io).commands.map((command) => command.name());
  assert.deepEqual(names.toSorted(), Object.values(COMMANDS).join(" ").split(" ").toSorted());
});
