// proves: src/platforms/local/loopback/client.ts, src/platforms/local/loopback/event-feed.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { InboundEvent, Receipt } from "../../../../src/core/message.ts";
import { OperatorError, UnstorableError, WeirError } from "../../../../src/core/errors.ts";
import { createLoopback, type LoopbackOptions } from "../../../../src/platforms/local/loopback/adapter.ts";
import { type LoopbackServer, startLoopbackServer } from "../../../../src/platforms/local/loopback/server.ts";
import type { Platform } from "../../../../src/platforms/platform.ts";
import { CARD } from "../../cards.ts";
import { outbound } from "../../contract.ts";
import { RecordingInbox } from "../../recording-inbox.ts";
import { BACK_OFF, Person } from "./loopback-harness.ts";

class StorageError extends WeirError {
  readonly retryable: boolean;
  constructor(retryable: boolean) {
    super("the database is away");
    this.retryable = retryable;
  }
}

/** A log whose lines can be awaited. */
class Lines {
  readonly texts: string[] = [];
  readonly #waiters = new Set<() => void>();
  readonly info = (_fields: object, text: string): void => this.#add(text);
  readonly warn = (_fields: object, text: string): void => this.#add(text);
  readonly error = (_fields: object, text: string): void => this.#add(text);

  async has(pattern: RegExp): Promise<void> {
    while (!this.texts.some((text) => pattern.test(text))) {
      await new Promise<void>((resolve) => {
        this.#waiters.add(resolve);
      });
    }
  }

  #add(text: string): void {
    this.texts.push(text);
    for (const wake of this.#waiters) wake();
    this.#waiters.clear();
  }
}

interface Setup extends AsyncDisposable {
  readonly server: LoopbackServer;
  readonly person: Person;
  readonly platform: Platform;
  readonly inbox: RecordingInbox;
  readonly log: Lines;
}

async function open(options: Partial<LoopbackOptions> = {}): Promise<Setup> {
  const server = await startLoopbackServer();
  const log = new Lines();
  const platform = createLoopback({ url: server.url, log, backOff: BACK_OFF, ...options });
  return {
    server,
    log,
    platform,
    person: new Person(server.url),
    inbox: new RecordingInbox(),
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** An inbox that waits before it stores an event. */
class SlowInbox extends RecordingInbox {
  readonly #takes: (event: InboundEvent) => Promise<void>;

  constructor(takes: (event: InboundEvent) => Promise<void>) {
    super();
    this.#takes = takes;
  }

  override async receive(event: InboundEvent): Promise<Receipt> {
    await this.#takes(event);
    return await super.receive(event);
  }
}

const say = (text: string): object => ({ author: "ana", text, id: `id of ${text}` });

describe("the loopback adapter's intake", () => {
  test("delivers messages from before its start, and those that come while it waits", async () => {
    await using setup = await open();
    const { person, platform, inbox } = setup;
    await person.ask("POST", "/channels/x/messages", say("before"));
    await platform.start(inbox, inbox);
    await person.ask("POST", "/channels/x/messages", say("after"));
    await inbox.received(2);
    assert.deepEqual(inbox.said, ["ana: before", "ana: after"]);
  });

  test("retries an event until it is durable, and delivers later ones after it", async () => {
    await using setup = await open();
    const { person, platform, inbox } = setup;
    inbox.failures.push(new StorageError(true), new StorageError(true));
    inbox.failures.push(new StorageError(false), new Error("cached plan must not change result type"));
    for (const text of ["a", "b"]) await person.ask("POST", "/channels/x/messages", say(text));
    await platform.start(inbox, inbox);
    await inbox.received(2);
    assert.deepEqual(inbox.said, ["ana: a", "ana: b"]);
  });

  test("leaves out an event that can never be stored, and logs it", async () => {
    await using setup = await open();
    const { person, platform, inbox, log } = setup;
    inbox.failures.push(new UnstorableError("its id has 5,000 bytes"));
    for (const text of ["a", "b"]) await person.ask("POST", "/channels/x/messages", say(text));
    await platform.start(inbox, inbox);
    await inbox.received(1);
    assert.deepEqual(inbox.said, ["ana: b"]);
    await log.has(/can't be stored/);
  });

  test("acknowledges no event before it is durable: another adapter receives it again", async () => {
    await using setup = await open({ backOff: { fromMs: 60_000, toMs: 60_000 } });
    const { server, person, platform, inbox, log } = setup;
    inbox.failures.push(null, new StorageError(true));
    for (const text of ["a", "b"]) await person.ask("POST", "/channels/x/messages", say(text));
    await platform.start(inbox, inbox);
    await log.has(/could not be stored yet/);
    await platform.stopIntake(AbortSignal.abort());
    const next = new RecordingInbox();
    await using second = createLoopback({ url: server.url, log, backOff: BACK_OFF });
    await second.start(next, next);
    await next.received(2);
    assert.deepEqual(next.said, ["ana: a", "ana: b"]);
  });
});

describe("a channel that floods the loopback adapter", () => {
  /** One message, and so many edits of it, one after the other. */
  async function flood(person: Person, edits: number): Promise<void> {
    await person.ask("POST", "/channels/flood/messages", { author: "eve", text: "0", id: "m" });
    for (let edit = 1; edit <= edits; edit += 1)
      await person.ask("PATCH", "/channels/flood/messages/m", { text: String(edit) });
  }
  const editsOf = ({ events }: RecordingInbox): number[] =>
    events.flatMap((event) => (event.type === "edit" ? [Number(event.text)] : []));

  test("holds up no other channel, and each of its events is delivered once, in order", async () => {
    await using setup = await open();
    const { person, platform } = setup;
    const released = Promise.withResolvers<void>();
    const inbox = new SlowInbox(async ({ type }) => (type === "edit" ? released.promise : undefined));
    await flood(person, 5);
    await platform.start(inbox, inbox);
    for (const text of ["one", "two"]) {
      await person.ask("POST", "/channels/quiet/messages", say(text));
      await inbox.received(inbox.events.length + 1);
    }
    assert.deepEqual(inbox.said, ["eve: 0", "ana: one", "ana: two"]);
    released.resolve();
    await inbox.received(8);
    assert.deepEqual(editsOf(inbox), [1, 2, 3, 4, 5]);
  });

  test("loses no event in a crash, and no acknowledged one is delivered again", async () => {
    await using setup = await open({ backOff: { fromMs: 60_000, toMs: 60_000 } });
    const { server, person, platform, log } = setup;
    await flood(person, 5);
    await person.ask("POST", "/channels/quiet/messages", say("a"));
    // oxlint-disable-next-line require-await -- an inbox rejects
    const inbox = new SlowInbox(async (event) => {
      if (event.type === "edit" && event.text === "3") throw new StorageError(true);
    });
    await platform.start(inbox, inbox);
    await log.has(/could not be stored yet/);
    await inbox.received(4);
    const isQuiet = ({ channel }: Record<string, unknown>): boolean => channel === "quiet";
    while ((await person.list("/events", "events", {})).some(isQuiet));
    await platform.stopIntake(AbortSignal.abort());
    const next = new RecordingInbox();
    await using second = createLoopback({ url: server.url, log, backOff: BACK_OFF });
    await second.start(next, next);
    while (editsOf(next).at(-1) !== 5) await next.received(next.events.length + 1);
    assert.deepEqual(editsOf(next).slice(-3), [3, 4, 5]);
    assert.ok(!next.said.includes("ana: a"));
  });
});

describe("the loopback adapter before a troubled service", () => {
  test("survives faults of the service, and loses no event", async () => {
    await using setup = await open();
    const { person, platform, inbox } = setup;
    for (const fault of ["status", "reset_before", "reset_after", "gone", "retry_after"] as const) {
      await person.fault({ operation: "events", fault, times: 2 });
    }
    await person.ask("POST", "/channels/x/messages", say("a"));
    await platform.start(inbox, inbox);
    await inbox.received(1);
    assert.deepEqual(inbox.said, ["ana: a"]);
  });

  test("logs that no service answers, and continues once one does", async () => {
    const gone = await startLoopbackServer();
    const port = Number(new URL(gone.url).port);
    await gone[Symbol.asyncDispose]();
    const log = new Lines();
    await using platform = createLoopback({ url: gone.url, log, backOff: BACK_OFF });
    const inbox = new RecordingInbox();
    assert.equal(platform.connection?.().kind, "connecting");
    await platform.start(inbox, inbox);
    assert.equal(platform.connection?.().kind, "waiting");
    assert.match(platform.connection?.().why ?? "", /ECONNREFUSED|reach/);
    await log.has(/can't be reached.*Is `npm run -s weir -- loopback` running there\?/);
    assert.equal(log.texts.length, 1);
    await using server = await startLoopbackServer({ port });
    await new Person(server.url).ask("POST", "/channels/x/messages", say("a"));
    await inbox.received(1);
    await log.has(/answers again/);
    assert.partialDeepStrictEqual(platform.connection?.(), { kind: "connected", why: null });
  });

  test("starts over with a restarted service", async () => {
    const first = await startLoopbackServer();
    const port = Number(new URL(first.url).port);
    const log = new Lines();
    await using platform = createLoopback({ url: first.url, log, backOff: BACK_OFF });
    const inbox = new RecordingInbox();
    await platform.start(inbox, inbox);
    for (const text of ["a", "b"]) await new Person(first.url).ask("POST", "/channels/x/messages", say(text));
    await inbox.received(2);
    await first[Symbol.asyncDispose]();
    await log.has(/can't be reached/);
    await using second = await startLoopbackServer({ port });
    await new Person(second.url).ask("POST", "/channels/x/messages", say("c"));
    await inbox.received(3);
    assert.deepEqual(inbox.said, ["ana: a", "ana: b", "ana: c"]);
  });
});

describe("the loopback adapter", () => {
  test("runs commands and brings back their answers", async () => {
    await using setup = await open();
    const { person, platform, inbox } = setup;
    await platform.start(inbox, inbox);
    const { id } = await person.ask("POST", "/channels/x/commands", {
      name: "stop",
      argument: "now",
      asker: "ana",
    });
    assert.deepEqual(await person.ask("GET", `/commands/${String(id)}?waitMs=10000`), { answer: "did stop" });
    assert.deepEqual(inbox.commands, [
      {
        channel: { platform: "loopback", name: "x" },
        name: "stop",
        argument: "now",
        asker: { id: "ana", name: "ana", roles: [] },
      },
    ]);
    await platform.stopIntake(AbortSignal.abort());
    const events = await person.list("/events", "events", {});
    assert.deepEqual(events, []);
  });

  test("delivers messages during a slow command", async () => {
    await using setup = await open();
    const { person, platform, inbox } = setup;
    const slow = Promise.withResolvers<string>();
    inbox.onCommand = () => slow.promise;
    await platform.start(inbox, inbox);
    await person.ask("POST", "/channels/x/commands", { name: "compact" });
    await person.ask("POST", "/channels/x/messages", say("a"));
    await inbox.received(1);
    await platform.stopIntake(AbortSignal.abort());
    slow.resolve("done");
  });

  test("reports when to retry, and that a message was deleted", async () => {
    await using setup = await open();
    const { person, platform } = setup;
    const message = outbound({ platform, channel: "x" }, { text: "hi" });
    await person.fault({ operation: "send", fault: "retry_after", delayMs: 1500 });
    await assert.rejects(platform.send(message), {
      kind: "unavailable",
      retryable: true,
      retryAfterMs: 1500,
    });
    await assert.rejects(platform.edit("nope", message), { kind: "gone", retryable: false });
    await person.fault({ operation: "edit", fault: "reset_before" });
    await assert.rejects(platform.edit("nope", message), { kind: "unavailable" });
  });

  test("gives up on a send that takes too long, and finds it done when it sends again", async () => {
    await using setup = await open({ sendTimeoutMs: 20 });
    const { person, platform } = setup;
    const message = outbound({ platform, channel: "x" }, { text: "hi" });
    await person.fault({ operation: "send", fault: "slow", delayMs: 60_000 });
    await assert.rejects(platform.send(message), /no answer within 0.02 s/);
  });

  test("refuses an address that is none", () => {
    for (const url of ["", "localhost:80", "ftp://x"]) {
      assert.throws(() => createLoopback({ url, log: new Lines() }), OperatorError);
    }
  });
});

test("the loopback adapter brings back a card as data beside its text", async () => {
  await using setup = await open();
  const { person, platform, inbox } = setup;
  inbox.onCommand = () => CARD;
  await platform.start(inbox, inbox);
  const { id } = await person.ask("POST", "/channels/x/commands", { name: "context" });
  const { text, ...card } = CARD;
  assert.deepEqual(await person.ask("GET", `/commands/${String(id)}?waitMs=10000`), { answer: text, card });
  await platform.stopIntake(AbortSignal.abort());
});
