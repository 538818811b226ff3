// proves: src/cli/status.ts, src/cli/channels.ts, src/cli/usage.ts, src/admin/reports/daemon-status.ts, src/admin/reports/status-report.ts, src/admin/reports/channel-list.ts, src/store/channels/overview.ts, migrations/baseline/23_requests.sql
import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { z } from "zod";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { openHome, openSeed } from "../support/e2e.ts";
import { ask } from "../support/embedded-folder.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { findEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

const statusJson = z.object({
  daemon: z
    .object({
      pid: z.number(),
      platforms: z.array(
        z.object({
          name: z.string(),
          connection: z.object({ kind: z.string(), why: z.string().nullable() }).nullable(),
        }),
      ),
    })
    .nullable(),
  due: z.object({ messages: z.number(), channels: z.number(), since: z.string().nullable() }),
  channels: z.number(),
});

test("status tells of the daemon that runs, and after its death of what waits", async () => {
  await using model = await startModelServer();
  await using world = await openLoopbackWorld();
  await using home = await openHome({ modelUrl: model.url, config: world.config, seed });
  const daemon = home.start("start");
  await daemon.line("ready");
  model.respond(echo);
  await world.say("room", "first", "hello");
  await world.untilAnswered();
  const running = await home.run("status");
  assert.equal(running.code, 0, running.stderr);
  const shown = running.out.join("\n");
  assert.match(shown, new RegExp(`^daemon {7}Weir \\d+\\.\\d+\\.\\d+ runs: process ${daemon.pid} on `));
  assert.match(shown, /\nloopback {5}connected since .*; last heard \d{4}-/);
  assert.match(shown, /\nmodels {7}http:\/\/127\.0\.0\.1:\d+ \(with a key; /);
  assert.match(shown, /\n {13}\S+: answered \d+ s ago, circuit closed/);
  assert.match(shown, /\nmessages {5}none waits for an answer/);
  assert.match(shown, /\nfullest {8}\d+ % {2}loopback:room, at its last answer/);

  const gate = new Gate();
  model.reply(gate.between("This is", " never said."));
  await world.say("room", "second", "and now?");
  await world.untilCall(({ operation, final }) => operation === "send" && !final);
  const busy = statusJson.parse(JSON.parse((await home.run("status", "--json")).out.join("\n")));
  assert.equal(busy.daemon?.pid, daemon.pid);
  assert.deepEqual([busy.due.messages, busy.due.channels, busy.channels], [1, 1, 1]);
  const connection = await findEmbeddedPostgres(home.dataDir);
  assert.ok(connection !== null);
  assert.equal(await ask(connection, "select count(*)::integer as answer from requests"), 0);

  daemon.signal("SIGKILL");
  await daemon.ended;
  gate.open();
  let dead = await home.run("status");
  // The server learns of the end of a connection a moment later.
  await until("word of its end", async () => {
    dead = await home.run("status");
    return dead.out[0]?.includes("none runs") === true;
  });
  assert.equal(dead.code, 0, dead.stderr);
  assert.match(dead.out.join("\n"), /^daemon {7}none runs\nloopback {5}last heard \d{4}-/);
  assert.match(
    dead.out.join("\n"),
    /\nmessages {5}1 message in 1 channel waits for an answer, the oldest since /,
  );
  const { code, out, stderr } = await home.run("channels");
  assert.equal(code, 0, stderr);
  assert.match(out[0] ?? "", /^channel +agent +messages +level +last heard +due$/);
  assert.match(out[2] ?? "", /^loopback:room +main +2 +\d+ % +\d{4}-\S+ \S+ +1 since \d{4}-/);
  const usage = await home.run("usage", "--by", "person", "--since", "1h");
  assert.equal(usage.code, 0, usage.stderr);
  assert.match(usage.out[2] ?? "", /^loopback:Ann Ann +1 +\d+ +0 +\d+ +unknown$/);
  assert.match(usage.out.at(-1) ?? "", /^In all: cost unknown \(no price is known of /);
  assert.match((await home.run("usage", "--since", "soon")).stderr, /^--since takes a length of time/);
  const [json = ""] = (await home.run("channels", "--json", "--sort", "level", "--limit", "1")).out;
  assert.partialDeepStrictEqual(JSON.parse(json), { channel: "loopback:room", messages: 2, due: 1 });
});

test("a platform that cannot be reached is shown with the reason", async () => {
  await using model = await startModelServer();
  const world = await openLoopbackWorld();
  await using home = await openHome({ modelUrl: model.url, config: world.config, seed });
  await world[Symbol.asyncDispose]();
  const daemon = home.start("start");
  await daemon.line("ready");
  const { out, stderr } = await home.run("status", "--json");
  const { daemon: told } = statusJson.parse(JSON.parse(out.join("\n")));
  assert.partialDeepStrictEqual(
    told?.platforms,
    [{ name: "loopback", connection: { kind: "waiting" } }],
    stderr,
  );
  assert.match(told?.platforms[0]?.connection?.why ?? "", /ECONNREFUSED|reach/);
  assert.match(
    (await home.run("status")).out.join("\n"),
    /\nloopback {5}not connected since .*; last heard never/,
  );
});

test("in a folder where Weir has never run, status, channels and usage say so and make nothing", async () => {
  await using home = await openHome({ modelUrl: "http://127.0.0.1:9/v1" });
  for (const command of ["status", "channels", "usage"]) {
    const { code, out, stderr } = await home.run(command);
    assert.deepEqual([code, out], [1, []], command);
    assert.match(stderr, /^There is no database in .* yet/);
    assert.doesNotMatch(stderr, /right home/);
  }
  await rm(path.join(home.folder, "config.toml"));
  assert.match(
    (await home.run("status")).stderr,
    /Is \S.* the right home\? There is no config\.toml in it either\./,
  );
  assert.deepEqual(await readdir(home.folder), []);
});
