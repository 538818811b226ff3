import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pino } from "pino";
import type { ChannelOnPlatform } from "../../../src/core/message.ts";
import type { HistoryMessage } from "../../../src/platforms/intake/history.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { AwayError } from "./away-error.ts";
import { HOUR_MS, gapAfter, hand, open } from "./open-intake.ts";
import { HOME, said } from "./scripted-history.ts";

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const plus = (ids: readonly number[]): string[] => ids.map((id) => `+${id}`);
const tick = async (): Promise<void> => new Promise(setImmediate);

describe("a gap that is too long to be waited for", () => {
  test("brings its newest messages first, what is said now behind them, and then all of the rest", async () => {
    const { inbox, history, intake, got } = open({ pageSize: 100 });
    history.add(...range(1, 5000));
    inbox.gaps = [gapAfter(0)];
    const held = Promise.withResolvers<void>();
    const inGap = history.inGap.bind(history);
    history.inGap = async (...args) => {
      await held.promise;
      return inGap(...args);
    };
    intake.resume();
    await hand(intake, said(5001), HOME);
    assert.deepEqual(got(), plus(range(4501, 5001)));
    held.resolve();
    await intake.idle();
    assert.deepEqual(got().slice(501), plus(range(1, 4500)));
    assert.deepEqual(inbox.closed, ["room"]);
  });

  test("of 100,000 messages comes whole, with a call for each page", async () => {
    const { inbox, history, intake, got } = open({ pageSize: 100 });
    history.messages = range(1, 100_000).map((id) => ({ message: said(id), editedAt: null }));
    // The scripted past looks for each page from its first message on.
    history.after = async (_, id, limit) => {
      history.calls.push(`after ${id}`);
      return Promise.resolve(
        history.messages.slice(Number(id), Number(id) + limit).map(({ message }) => ({
          id: message.id,
          editedAt: null,
          read: async () => Promise.resolve(message),
        })),
      );
    };
    inbox.gaps = [gapAfter(0)];
    intake.resume();
    await intake.idle();
    assert.equal(new Set(got()).size, 100_000);
    assert.equal(got().length, 100_000);
    assert.equal(history.calls.length, 1 + 995 + 1);
  });

  test("is on record before anything newer is in the log, and the log says where it is", async () => {
    const { inbox, history, intake } = open({ pageSize: 100 });
    history.add(...range(1, 1000));
    inbox.gaps = [gapAfter(0)];
    const atFirst: unknown[] = [];
    inbox.onEvent = () => {
      if (inbox.events.length === 1) atFirst.push(inbox.kept.get("room"), [...inbox.absences]);
    };
    intake.resume();
    await intake.idle();
    const absence = { kind: "late", from: history.timeOf("0"), to: history.timeOf("501") };
    assert.deepEqual(atFirst, ["0", [["absence/late/0", absence]]]);
  });
});

describe("a backlog", () => {
  test("goes on where it was after a restart, and brings nothing twice that was noted", async () => {
    const first = open({ pageSize: 100 });
    first.history.add(...range(1, 2000));
    first.inbox.gaps = [gapAfter(0)];
    const stuck = Promise.withResolvers<void>();
    const inGap = first.history.inGap.bind(first.history);
    first.history.inGap = async (gap, ...rest) => {
      if (Number(gap.afterId) >= 500) {
        stuck.resolve();
        return new Promise(() => undefined);
      }
      return inGap(gap, ...rest);
    };
    first.intake.resume();
    await stuck.promise;
    first.intake.close();
    assert.equal(first.inbox.kept.get("room"), "500");
    const { inbox, history, intake, got } = open({ pageSize: 100 });
    // The newest page is in the log.
    for (const id of range(1501, 2000)) await inbox.receive(said(id));
    inbox.events.length = 0;
    history.add(...range(1, 2000));
    inbox.gaps = [gapAfter(500)];
    intake.resume();
    await intake.idle();
    assert.deepEqual(got().slice(500), plus(range(501, 1500)));
    assert.deepEqual([inbox.closed, inbox.absences.size], [["room"], 0]);
  });

  test("answers what was asked in it by its age when the connection came, and tells how far it is", async () => {
    const now = { ms: 1_000_000 + 2000_000 };
    const { inbox, history, intake, got } = open({
      pageSize: 100,
      catchUpMaxAgeMs: 1_500_000,
      now: () => new Date(now.ms),
    });
    for (const id of range(1, 2000))
      history.messages.push({ message: said(id, { addressed: id % 100 === 0 }), editedAt: null });
    inbox.gaps = [gapAfter(0)];
    inbox.onEvent = () => (now.ms += 1000);
    intake.resume();
    await intake.idle();
    const asked = got().filter((one) => one.startsWith("*"));
    assert.deepEqual(new Set(asked), new Set(range(5, 20).map((hundred) => `*${hundred * 100}`)));
    assert.deepEqual(
      [inbox.steps.reduce((sum, { read }) => sum + read, 0), inbox.steps.at(-1)?.readTo],
      [1500, history.timeOf("1500")],
    );
  });
});

describe("a gap", () => {
  test("that is found again while it is being filled, since the connection was lost, ends where the newest messages begin", async () => {
    const { inbox, history, intake, got } = open({ pageSize: 100 });
    history.add(...range(1, 1000));
    inbox.gaps = [gapAfter(0)];
    const [asked, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const inGap = history.inGap.bind(history);
    history.inGap = async (...args) => {
      asked.resolve();
      await rest.promise;
      return inGap(...args);
    };
    intake.resume();
    await asked.promise;
    history.add(...range(1001, 2000));
    intake.interrupt();
    intake.resume();
    await hand(intake, said(2001), HOME);
    assert.equal(got().at(-1), "+2001");
    rest.resolve();
    await intake.idle();
    assert.equal(new Set(got()).size, 2001);
    assert.deepEqual(inbox.closed, ["room"]);
  });
});

describe("filling a backlog", () => {
  test("is not ended by a platform that is away for a while, nor by a database that is", async () => {
    const { inbox, history, intake, got } = open({ pageSize: 100 });
    history.add(...range(1, 1000));
    inbox.gaps = [gapAfter(0)];
    let pages = 0;
    const inGap = history.inGap.bind(history);
    history.inGap = async (...args) => {
      pages += 1;
      if (pages % 2 === 0) throw new PlatformError("chat", "unavailable", "down", { retryAfterMs: 2 });
      if (pages === 3) inbox.failures.push(new AwayError("the database is away"));
      return inGap(...args);
    };
    intake.resume();
    await intake.idle();
    assert.deepEqual(new Set(got()), new Set(plus(range(1, 1000))));
    assert.deepEqual(inbox.closed, ["room"]);
  });

  test("stays on record where the platform refuses to go on", async () => {
    const { inbox, history, intake } = open({ pageSize: 100 });
    history.add(...range(1, 1000));
    inbox.gaps = [gapAfter(0)];
    history.inGap = async () => Promise.reject(new PlatformError("chat", "gone", "not for you"));
    intake.resume();
    await intake.idle();
    assert.deepEqual([inbox.closed, inbox.kept.get("room")], [[], "0"]);
  });

  test("waits while older messages of the channel are summarised, and talk goes on", async () => {
    const { inbox, history, intake, got } = open({ pageSize: 100 });
    history.add(...range(1, 1000));
    inbox.gaps = [gapAfter(0)];
    inbox.onEvent = () => {
      if (got().at(-1) === "+30") inbox.crowded.add("room");
    };
    intake.resume();
    while (got().at(-1) !== "+50") await tick();
    await hand(intake, said(1001), HOME);
    assert.equal(got().at(-1), "+1001");
    inbox.crowded.clear();
    await intake.idle();
    assert.equal(new Set(got()).size, 1001);
  });
});

describe("backlogs", () => {
  test("take turns: a short backlog is filled before a long one, and neither waits for the other", async () => {
    const rooms = ["long", "longer", "short"].map((name): ChannelOnPlatform => ({
      ...HOME,
      channel: { platform: "chat", name },
    }));
    const { inbox, history, intake } = open({ pageSize: 100 });
    const lengths: Readonly<Record<string, number>> = { long: 4000, longer: 6000, short: 700 };
    const page = ({ channel }: ChannelOnPlatform, from: number, to: number): HistoryMessage[] =>
      range(from, Math.min(to, lengths[channel.name] ?? 0)).map((id) => ({
        id: String(id),
        editedAt: null,
        read: async () => Promise.resolve(said(id, { channel })),
      }));
    history.newest = async (where, limit, reach) =>
      Promise.resolve({
        messages: page(
          where,
          (lengths[where.channel.name] ?? 0) - (reach ?? limit) + 1,
          Number.POSITIVE_INFINITY,
        ),
        isAll: false,
      });
    history.after = async (where, id, limit) =>
      Promise.resolve(page(where, Number(id) + 1, Number(id) + limit));
    inbox.gaps = rooms.map((where) => ({ ...where, afterId: "0" }));
    intake.resume();
    await intake.idle();
    assert.deepEqual(inbox.closed, ["short", "long", "longer"]);
    assert.equal(inbox.events.length, 10_700);
  });

  test("says in the log and to the operator what the platform has no more", async () => {
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const { inbox, history, intake } = open({ pageSize: 100, log });
    history.add(...range(201, 1000));
    history.hiddenTo = history.timeOf("201");
    inbox.gaps = [{ ...gapAfter(0), place: { workspace: "Mill", channel: "general", parent: null } }];
    intake.resume();
    await intake.idle();
    const absence = { kind: "lost", from: history.timeOf("0"), to: history.timeOf("201") };
    assert.deepEqual(inbox.absences.get("absence/lost/0"), absence);
    const line = lines.find((one) => one.includes("messages_not_readable"));
    assert.match(line ?? "", /"channel":"chat:room","name":"general"/);
    assert.deepEqual(inbox.closed, ["room"]);
  });
});

test("what cannot be shown is told, where something was said since, and only there", async () => {
  for (const [lastId, count] of [
    ["7", 1],
    ["5", 0],
    [null, 0],
  ] as const) {
    const { inbox, history, intake } = open({ now: () => new Date(1_000_000 + HOUR_MS) });
    history.newest = async () => Promise.resolve({ messages: [], isAll: false, isBlank: true, lastId });
    inbox.gaps = [gapAfter(5)];
    intake.resume();
    await intake.idle();
    assert.equal(inbox.absences.size, count);
    assert.deepEqual(inbox.closed, ["room"]);
  }
});

test("the record of a backlog is not closed while newer messages are still looked for", async () => {
  const { inbox, history, intake, got } = open({ pageSize: 100 });
  history.add(...range(1, 700));
  inbox.gaps = [gapAfter(0)];
  const [paged, look] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const [inGap, newest] = [history.inGap.bind(history), history.newest.bind(history)];
  history.inGap = async (...args) => {
    await paged.promise;
    return inGap(...args);
  };
  intake.resume();
  while (!inbox.absences.has("absence/late/0") || got().length < 500) await tick();
  history.newest = async (...args) => {
    await look.promise;
    return newest(...args);
  };
  // More than the newest page is missed in the next interruption.
  history.add(...range(701, 2000));
  intake.interrupt();
  intake.resume();
  await tick();
  paged.resolve();
  while (!got().includes("+200")) await tick();
  for (let turn = 0; turn < 50; turn++) await tick();
  assert.deepEqual(inbox.closed, [], "what a crash would find now");
  look.resolve();
  await intake.idle();
  assert.equal(new Set(got()).size, 2000);
  assert.deepEqual(inbox.closed, ["room"]);
});
