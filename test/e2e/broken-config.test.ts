// proves: src/cli/readable-config.ts, src/cli/talk/chat.ts
// A daemon goes on by the configuration that it has read, and whoever looks at it can do so while the file is broken.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
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
    ["backup kept.backup", /written to kept\.backup/],
  ];
  for (const [args, shown] of looks) {
    const { code, out, stderr } = await home.run(...args.split(" "));
    assert.deepEqual([args, code], [args, 0], stderr);
    assert.match(out.join("\n"), shown);
    assert.match(stderr, note);
  }
  const json = await home.run("status", "--json");
  assert.equal(typeof JSON.parse(json.out.join("\n")), "object");

  // Of several problems the first is told.
  await save('[log]\nlevle = "debug"\n[daemon]\ndrain = 7\n');
  assert.match(
    (await home.run("channels")).stderr,
    /^The configuration has 2 problems, .*: config\.toml:2:1 {2}log\.levle: unknown key; weir config check shows them all$/,
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
