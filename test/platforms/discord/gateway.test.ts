// proves: src/platforms/discord/gateway/session.ts, src/platforms/discord/gateway/shard.ts
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { suite, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { GatewayOpcodes } from "discord.js";
import { startListening } from "../../support/listening.ts";
import { until } from "../../support/patience.ts";
import { ROUTE_MESSAGES } from "../../support/discord/server.ts";
import { type DiscordScene, gapAfter, openDiscordScene } from "./discord-harness.ts";

const SESSION = { session_id: "s", resume_gateway_url: "ws://127.0.0.1:9/resume" };
const NOBODYS_READY = JSON.stringify({ op: 0, t: "READY", s: 1, d: SESSION });

/** They mostly wait: for a deadline, or before another attempt. */
const SIDE_BY_SIDE = { concurrency: true };

/** What was logged under this event, so far. */
function logged({ lines }: DiscordScene, event: string): string[] {
  return lines.filter((line) => line.includes(`"${event}"`));
}

/** Says something, and remembers that whatever follows may be missing. */
async function sayFirst(scene: DiscordScene): Promise<void> {
  const { discord, inbox, ann, general } = scene;
  const first = discord.world.say(ann, general, "first");
  await inbox.received(1);
  inbox.gaps = [gapAfter(scene, first)];
}

suite("a connection that is lost", SIDE_BY_SIDE, () => {
  test("a connection that is cut is resumed: what was said meanwhile comes once, in order", async () => {
    await using scene = await openDiscordScene();
    const { discord, inbox, ann, general } = scene;
    await sayFirst(scene);
    discord.gateway.cut();
    for (const text of ["second", "third"]) discord.world.say(ann, general, text);
    await until("the resume", () => discord.journal.received(GatewayOpcodes.Resume).length === 1);
    discord.world.say(ann, general, "fourth");
    await until("all of it", () => inbox.said.includes("Ann: fourth"));
    assert.deepEqual([...new Set(inbox.said)], ["Ann: first", "Ann: second", "Ann: third", "Ann: fourth"]);
    assert.equal(discord.journal.received(GatewayOpcodes.Identify).length, 1);
  });

  for (const [what, interrupt] of [
    ["op 7", ({ gateway }) => gateway.reconnect()],
    ["close 4000", ({ gateway }) => gateway.close(4000)],
    ["op 9 with a session that can be resumed", ({ gateway }) => gateway.invalidate(true)],
  ] satisfies [string, (discord: DiscordScene["discord"]) => void][]) {
    test(`${what} loses nothing`, async () => {
      await using scene = await openDiscordScene();
      const { discord, inbox, ann, general } = scene;
      await sayFirst(scene);
      interrupt(discord);
      discord.world.say(ann, general, "second");
      await until("the second", () => inbox.said.includes("Ann: second"));
      await until("the catch-up", () => inbox.closed.length > 0);
      assert.deepEqual([...new Set(inbox.said)], ["Ann: first", "Ann: second"]);
    });
  }

  for (const [what, interrupt] of [
    ["op 9 without a session", ({ gateway }) => gateway.invalidate(false)],
    ["close 4007", ({ gateway }) => gateway.close(4007)],
    [
      "a cut with a forgotten session",
      ({ gateway }) => {
        gateway.forgetSessions();
        gateway.cut();
      },
    ],
  ] satisfies [string, (discord: DiscordScene["discord"]) => void][]) {
    test(`${what}: what was missed is fetched, before anything newer is taken`, async () => {
      await using scene = await openDiscordScene();
      const { discord, inbox, ann, general } = scene;
      await sayFirst(scene);
      interrupt(discord);
      const missed = discord.world.say(ann, general, "missed");
      discord.faults.next({ method: "GET", route: ROUTE_MESSAGES, fault: { kind: "delay", ms: 100 } });
      await until("a new session", () => discord.journal.received(GatewayOpcodes.Identify).length === 2);
      await until("its beginning", () => discord.journal.dispatched("READY").length === 2);
      discord.world.say(ann, general, "newer");
      await until("the newer", () => inbox.said.includes("Ann: newer"));
      assert.deepEqual([...new Set(inbox.said)], ["Ann: first", "Ann: missed", "Ann: newer"]);
      assert.ok(inbox.events.some(({ id }) => id === missed));
    });
  }
});

suite("a connection that cannot be resumed", SIDE_BY_SIDE, () => {
  test("what a replay leaves out is fetched, before what it brings is taken", async () => {
    await using scene = await openDiscordScene();
    const { discord, inbox, ann, general } = scene;
    await sayFirst(scene);
    discord.gateway.cut();
    discord.gateway.deliveries.lose("MESSAGE_CREATE");
    for (const text of ["lost", "replayed"]) discord.world.say(ann, general, text);
    await until("the replayed", () => inbox.said.includes("Ann: replayed"));
    assert.equal(discord.journal.received(GatewayOpcodes.Resume).length, 1);
    assert.deepEqual([...new Set(inbox.said)], ["Ann: first", "Ann: lost", "Ann: replayed"]);
  });

  test("heartbeats without an answer: the connection is given up, and what was said meanwhile comes", async () => {
    await using scene = await openDiscordScene({ server: { heartbeatIntervalMs: 60 } });
    const { discord, inbox, ann, general } = scene;
    await sayFirst(scene);
    discord.gateway.withholdAcks();
    await until("another connection", () => discord.journal.connections("open").length >= 2);
    discord.gateway.withholdAcks(false);
    discord.world.say(ann, general, "second");
    await until("the second", () => inbox.said.includes("Ann: second"));
  });

  test("a RESUME that nobody answers is given up for a new connection", async () => {
    await using scene = await openDiscordScene({ timing: { readyMs: 1200 } });
    const { discord, inbox, ann, general } = scene;
    await sayFirst(scene);
    assert.equal(scene.platform.connection?.().kind, "connected");
    discord.gateway.next({ on: "resume", do: { kind: "silence" } });
    discord.gateway.cut();
    discord.world.say(ann, general, "missed");
    await until("word of the cut", () => scene.platform.connection?.().kind === "interrupted");
    await until("a new session", () => discord.journal.received(GatewayOpcodes.Identify).length >= 2);
    // Looked at now: a new session that a busy machine does not open in time is told as well.
    assert.equal(logged(scene, "platform_disconnected").length, 1);
    await until("the missed", () => inbox.said.includes("Ann: missed"));
    await until("one connection", () => discord.gateway.openConnections() === 1);
  });
});

suite("an outage, and refusals", SIDE_BY_SIDE, () => {
  test("a replay that takes longer than a login may take is waited for as long as it gets on", async (context) => {
    const readyMs = 1500;
    await using scene = await openDiscordScene({ timing: { readyMs } });
    const { discord } = scene;
    await sayFirst(scene);
    discord.gateway.next({ on: "resume", do: { kind: "silence" } });
    discord.gateway.cut();
    await until("its RESUME", () => discord.journal.received(GatewayOpcodes.Resume).length === 1);
    const send = (t: string, s: number): void =>
      discord.gateway.sendText(JSON.stringify({ op: GatewayOpcodes.Dispatch, t, s, d: {} }));
    let s = 1000;
    let longestMs = 0;
    const beganAt = performance.now();
    for (let lastAt = beganAt; lastAt - beganAt < 2 * readyMs; s++) {
      send("PRESENCE_UPDATE", s);
      await delay(20);
      const at = performance.now();
      longestMs = Math.max(longestMs, at - lastAt);
      lastAt = at;
    }
    send("RESUMED", s);
    await until("its end", () => scene.platform.connection?.().kind === "connected");
    // A process that has stood still for so long has not got on, and rightly gives up.
    if (longestMs > readyMs / 2) return context.skip(`nothing was sent for ${Math.round(longestMs)} ms`);
    assert.equal(discord.journal.received(GatewayOpcodes.Resume).length, 1);
    assert.deepEqual(logged(scene, "platform_disconnected"), []);
  });

  test("an outage is waited out", async () => {
    await using scene = await openDiscordScene({ timing: { readyMs: 800 } });
    const { discord, inbox, ann, general } = scene;
    await sayFirst(scene);
    await discord.outage();
    discord.world.say(ann, general, "meanwhile");
    await until("word of it", () => logged(scene, "platform_disconnected").length > 1);
    assert.equal(scene.platform.connection?.().kind, "waiting");
    await discord.listen();
    await until("the message", () => inbox.said.includes("Ann: meanwhile"));
    discord.world.say(ann, general, "after");
    await until("the next", () => inbox.said.includes("Ann: after"));
    assert.equal(scene.platform.connection?.().kind, "connected");
    assert.deepEqual([...new Set(inbox.said)], ["Ann: first", "Ann: meanwhile", "Ann: after"]);
    assert.equal(discord.gateway.openConnections(), 1);
  });

  test("a wrong token is the operator's to mend, and is told without the token", async () => {
    await using scene = await openDiscordScene({ config: { token: "wrong-token" } });
    await until("two refusals", () => logged(scene, "platform_refused").length > 1);
    assert.match(logged(scene, "platform_refused")[0] ?? "", /does not know the token.*Reset Token/);
    assert.ok(!scene.lines.join("\n").includes("wrong-token"));
  });

  test("a token that is taken back while connected is told, and tried again", async () => {
    await using scene = await openDiscordScene();
    scene.discord.gateway.close(4004);
    await until("word of it", () => logged(scene, "platform_refused").length > 0);
    assert.match(logged(scene, "platform_refused")[0] ?? "", /does not know the token/);
    await until("a new session", () => scene.discord.journal.received(GatewayOpcodes.Identify).length === 2);
  });
});

suite("a gateway that refuses", SIDE_BY_SIDE, () => {
  test("an intent that is not allowed is named, with the place where it is switched on", async () => {
    await using scene = await openDiscordScene({ server: { allowsMessageContent: false } });
    await until("two refusals", () => logged(scene, "platform_refused").length > 1);
    assert.match(
      logged(scene, "platform_refused")[0] ?? "",
      /Bot → Privileged Gateway Intents → Message Content Intent/,
    );
  });

  for (const [what, fault] of [
    ["never says hello", { on: "open", do: { kind: "silence" } }],
    ["never gets ready", { on: "identify", do: { kind: "silence" } }],
    ["refuses the upgrade", { on: "upgrade", do: { kind: "close", code: 1000 } }],
    ["says a hello that cannot be read", { on: "open", do: { kind: "text", text: '{"op":10,"d":null}' } }],
    [
      "says no session at the login",
      { on: "identify", do: { kind: "text", text: '{"op":0,"t":"READY","s":1}' } },
    ],
    ["does not say who the bot is", { on: "identify", do: { kind: "text", text: NOBODYS_READY } }],
  ] as const) {
    test(`a gateway that ${what} is left for another connection, and leaves nothing behind`, async () => {
      await using scene = await openDiscordScene({
        timing: { readyMs: 300 },
        before: ({ discord }) => discord.gateway.next(fault),
      });
      const { discord, inbox, ann, general } = scene;
      // Not when READY was sent: where it comes late, that connection is left as well.
      await until("readiness", () => scene.platform.connection?.().kind === "connected");
      discord.world.say(ann, general, "hello");
      await inbox.received(1);
      await until("one connection", () => discord.gateway.openConnections() === 1);
      assert.deepEqual(inbox.said, ["Ann: hello"]);
    });
  }

  test("a bot that may not log in any more today waits for as long as Discord says", async () => {
    const limit = { total: 1000, remaining: 0, reset_after: 400, max_concurrency: 1 };
    const body = { url: "ws://127.0.0.1:9", shards: 1, session_start_limit: limit };
    const startedAt = performance.now();
    await using scene = await openDiscordScene({
      before: ({ discord }) =>
        discord.faults.next({
          method: "GET",
          route: "/gateway/bot",
          fault: { kind: "status", status: 200, body },
        }),
    });
    await until("readiness", () => scene.discord.journal.dispatched("READY").length === 1);
    assert.ok(performance.now() - startedAt >= 400);
    assert.match(
      logged(scene, "platform_disconnected")[0] ?? "",
      /allows no more logins today.*"retryInMs":400/,
    );
  });
});

suite("a login that waits", SIDE_BY_SIDE, () => {
  test("a connection that is given up before its upgrade is answered is closed, and its end costs nothing", async () => {
    await using scene = await openDiscordScene({
      timing: { readyMs: 300 },
      before: ({ discord }) => discord.gateway.next({ on: "upgrade", do: { kind: "silence" } }),
    });
    const { discord, inbox, ann, general } = scene;
    await until("readiness", () => scene.platform.connection?.().kind === "connected");
    await until("its end", () => discord.gateway.unanswered() === 0);
    discord.world.say(ann, general, "hello");
    await inbox.received(1);
  });

  test("messages of a channel keep their order, also where the file of one takes its time", async () => {
    await using scene = await openDiscordScene();
    const { discord, inbox, ann, general } = scene;
    discord.world.say(ann, general, "one", { files: [{ name: "slow.txt", body: "words", delayMs: 100 }] });
    discord.world.say(ann, general, "two");
    await inbox.received(2);
    assert.equal(inbox.said.at(-1), "Ann: two");
  });

  test("a bot that is stopped while its connection is down stays away", async () => {
    const scene = await openDiscordScene();
    const { discord, platform } = scene;
    discord.gateway.cut();
    await until("the cut", () => discord.gateway.openConnections() === 0);
    await platform.stopIntake(AbortSignal.abort());
    const before = discord.journal.connections("open").length;
    // Longer than the client's own wait before it connects again.
    await new Promise((resolve) => {
      setTimeout(resolve, 700);
    });
    assert.equal(discord.journal.connections("open").length, before);
    await scene[Symbol.asyncDispose]();
  });
});

/** Another host, of which the bot is not to know: it counts who connects. */
async function startElsewhere() {
  let met = 0;
  const listening = await startListening(createServer(() => met++));
  const url = `ws://localhost:${listening.port}/`;
  return { url, met: () => met, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

suite("an address that is named", SIDE_BY_SIDE, () => {
  test("the token goes to Discord's own gateway alone, whatever address is named for it", async () => {
    await using elsewhere = await startElsewhere();
    const limit = { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 1 };
    const body = { url: elsewhere.url, shards: 1, session_start_limit: limit };
    const fault = { kind: "status", status: 200, body } as const;
    await using scene = await openDiscordScene({
      before: ({ discord }) => discord.faults.next({ method: "GET", route: "/gateway/bot", fault }),
    });
    await until("readiness", () => scene.discord.journal.dispatched("READY").length === 1);
    assert.match(logged(scene, "platform_disconnected")[0] ?? "", /none of its own/);
    assert.equal(elsewhere.met(), 0);
  });

  test("a session that is to be resumed elsewhere is resumed where it was begun, and loses nothing", async () => {
    await using elsewhere = await startElsewhere();
    await using scene = await openDiscordScene({ server: { resumeUrl: elsewhere.url } });
    const { discord, inbox, ann, general } = scene;
    await sayFirst(scene);
    discord.gateway.cut();
    discord.world.say(ann, general, "second");
    await until("the resume", () => discord.journal.received(GatewayOpcodes.Resume).length === 1);
    await until("all of it", () => inbox.said.includes("Ann: second"));
    assert.equal(discord.journal.received(GatewayOpcodes.Identify).length, 1);
    assert.equal(elsewhere.met(), 0);
    assert.equal(logged(scene, "resume_address_not_used").length, 1);
  });
});
