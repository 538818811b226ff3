import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { OperatorError } from "../../../src/core/errors.ts";
import { Connection, type Session, waitBefore } from "../../../src/platforms/shared/connection.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";

const BACK_OFF = { fromMs: 5, toMs: 20 };

/** Sessions that a test ends; `cut`: one that is cut while it is being opened. */
function scripted(outcomes: readonly (Error | "open" | "cut")[]): {
  connection: Connection;
  lines: { level: number; msg: string; why?: string; retryInMs?: number }[];
  ends: ((why: Error | null) => void)[];
  closed: () => number;
} {
  const lines: { level: number; msg: string; why?: string; retryInMs?: number }[] = [];
  const ends: ((why: Error | null) => void)[] = [];
  let closes = 0;
  let opened = 0;
  const connection = new Connection({
    platform: "chat",
    log: pino({ base: null }, { write: (line) => lines.push(JSON.parse(line)) }),
    backOff: BACK_OFF,
    startMs: 1000,
    // oxlint-disable-next-line require-await -- as a client's would be
    async open(): Promise<Session> {
      const outcome = outcomes[opened++] ?? "open";
      if (outcome instanceof Error) throw outcome;
      if (outcome === "cut") connection.interrupted();
      const { promise, resolve } = Promise.withResolvers<Error | null>();
      ends.push(resolve);
      return {
        closed: promise,
        async close() {
          closes += 1;
          resolve(null);
          await promise;
        },
      };
    },
  });
  return { connection, lines, ends, closed: () => closes };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Whether a wait is this one, give or take a quarter. */
function isAbout(waitMs: number | undefined, ms: number): boolean {
  return waitMs !== undefined && waitMs >= Math.floor(ms * 0.75) && waitMs <= Math.ceil(ms * 1.25);
}

test("what the operator has to change is an error in words, and is tried again ever more rarely", async () => {
  const refused = new OperatorError("The token is wrong: set DISCORD_TOKEN.");
  const { connection, lines, ends } = scripted([refused, refused, refused, refused, "open"]);
  await connection.start();
  await until(() => ends.length === 1);
  const refusals = lines.filter(({ msg }) => msg === "platform_refused");
  assert.deepEqual(
    refusals.map(({ level, why }) => [level, why]),
    refusals.map(() => [50, refused.message]),
  );
  const waits = refusals.map(({ retryInMs }) => retryInMs);
  assert.ok(
    [5, 10, 20, 40].every((ms, index) => isAbout(waits[index], ms)),
    String(waits),
  );
  await connection[Symbol.asyncDispose]();
});

test("what nobody has to mend is tried again with growing pauses up to a short bound, and not in step", async () => {
  const away = Array.from({ length: 12 }, () => new Error("away"));
  const { connection, lines, ends } = scripted(away);
  await connection.start();
  await until(() => ends.length === 1);
  const waits = lines.flatMap(({ msg, retryInMs }) => (msg === "platform_disconnected" ? [retryInMs] : []));
  assert.equal(waits.length, 12);
  assert.ok(
    waits.every((waitMs, index) => isAbout(waitMs, Math.min(5 * 2 ** index, 20))),
    String(waits),
  );
  assert.ok(new Set(waits.slice(2)).size > 1, String(waits));
  await connection[Symbol.asyncDispose]();
});

test("by default nobody waits longer than half a minute, unless an operator has to do something", () => {
  const [away, refused] = [new Error("away"), new OperatorError("The token is wrong.")];
  for (let failures = 0; failures < 40; failures++) {
    const [ms, operatorsMs] = [waitBefore(away, failures), waitBefore(refused, failures)];
    assert.ok(isAbout(ms, Math.min(1000 * 2 ** failures, 20_000)), `${ms} ms after ${failures}`);
    assert.ok(isAbout(operatorsMs, Math.min(1000 * 2 ** failures, 300_000)), `${operatorsMs} ms`);
  }
  const limited = new PlatformError("chat", "unavailable", "too many", { retryAfterMs: 86_400_000 });
  assert.equal(waitBefore(limited, 0), 600_000);
});

test("a platform that says how long it wants to be left alone is left alone for as long", async () => {
  const limited = new PlatformError("chat", "unavailable", "too many", { retryAfterMs: 300 });
  const { connection, lines, ends } = scripted([limited, "open"]);
  const startedAt = performance.now();
  await connection.start();
  await until(() => ends.length === 1);
  assert.ok(performance.now() - startedAt >= 299);
  assert.equal(lines.find(({ msg }) => msg === "platform_disconnected")?.retryInMs, 300);
  await connection[Symbol.asyncDispose]();
});

test("a session that ends is opened again", async () => {
  const { connection, ends, closed } = scripted([]);
  await connection.start();
  ends[0]?.(new Error("revoked"));
  await until(() => ends.length === 2);
  assert.equal(closed(), 1);
  await connection[Symbol.asyncDispose]();
  assert.equal(closed() >= 2, true);
});

test("disposing ends the waiting, and nothing is opened after it", async () => {
  const { connection, ends } = scripted([new Error("away"), new Error("away"), new Error("away")]);
  await connection.start();
  await connection[Symbol.asyncDispose]();
  await connection[Symbol.asyncDispose]();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(ends.length, 0);
});

test("how it stands is told: why it waits, whether an operator has to act, and what mends itself", async () => {
  const refused = new OperatorError("The token is wrong: set DISCORD_TOKEN.");
  const { connection, ends } = scripted([refused, "open"]);
  assert.deepEqual([connection.state.kind, connection.state.why], ["connecting", null]);
  await connection.start();
  assert.partialDeepStrictEqual(connection.state, {
    kind: "waiting",
    why: refused.message,
    isOperators: true,
  });
  connection.interrupted();
  assert.equal(connection.state.kind, "waiting", "there is no session that could be cut");
  await until(() => ends.length === 1);
  assert.partialDeepStrictEqual(connection.state, { kind: "connected", why: null, isOperators: false });
  connection.interrupted();
  assert.equal(connection.state.kind, "interrupted");
  connection.resumed();
  assert.equal(connection.state.kind, "connected");
  ends[0]?.(new Error("the socket hung up"));
  await until(() => connection.state.kind === "waiting");
  assert.partialDeepStrictEqual(connection.state, { why: "the socket hung up", isOperators: false });
  await until(() => ends.length === 2);
  assert.partialDeepStrictEqual(connection.state, { kind: "connected", why: null });
  await connection[Symbol.asyncDispose]();
});

test("a session that is cut before it is handed over is not called connected, and the next one knows nothing of that", async () => {
  const { connection, ends } = scripted(["cut", "open"]);
  await connection.start();
  assert.equal(connection.state.kind, "interrupted");
  connection.resumed();
  assert.equal(connection.state.kind, "connected");
  connection.interrupted();
  ends[0]?.(new Error("the socket hung up"));
  await until(() => ends.length === 2);
  assert.equal(connection.state.kind, "connected");
  await connection[Symbol.asyncDispose]();
});
