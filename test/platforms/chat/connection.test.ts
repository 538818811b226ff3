import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { OperatorError } from "../../../src/core/errors.ts";
import { Connection, type Session } from "../../../src/platforms/chat/connection.ts";

const BACK_OFF = { firstMs: 5, maxMs: 20 };

/** Sessions that a test ends. */
function scripted(outcomes: readonly (Error | "open")[]): {
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
      if (outcome !== "open") throw outcome;
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

test("what the operator has to change is an error in words, and is tried again with growing pauses", async () => {
  const refused = new OperatorError("The token is wrong: set DISCORD_TOKEN.");
  const { connection, lines, ends } = scripted([refused, refused, refused, "open"]);
  await connection.start();
  await until(() => ends.length === 1);
  const refusals = lines.filter(({ msg }) => msg === "platform_refused");
  assert.deepEqual(
    refusals.map(({ level, why, retryInMs }) => [level, why, retryInMs]),
    [5, 10, 20].map((ms) => [50, refused.message, ms]),
  );
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
