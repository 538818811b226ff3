import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { OutboundMessage } from "../../../../../src/core/message.ts";
import { PageChats, type TalkedIn } from "../../../../../src/daemon/http/page/chat/page-chats.ts";
import { type Served, serve } from "../../../../platforms/local/attached/attached-harness.ts";
import { until } from "../../../../support/patience.ts";

const ALONE: TalkedIn = { channel: "main", multi: false };

interface Page extends AsyncDisposable {
  readonly daemon: Served;
  readonly chats: PageChats;
  readonly closing: AbortController;
  /** Whether a live page shows the channels. */
  isWatched: boolean;
}

async function openPage(restMs?: number): Promise<Page> {
  const daemon = await serve();
  const closing = new AbortController();
  const page: Page = {
    daemon,
    closing,
    isWatched: true,
    chats: new PageChats({
      findSocket: async () => daemon.socket,
      isWatched: () => page.isWatched,
      closing: closing.signal,
      restMs,
    }),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await daemon[Symbol.asyncDispose]();
    },
  };
  return page;
}

function answer(channel: string, text: string): OutboundMessage {
  return {
    channel: { platform: "terminal", name: channel },
    idempotencyKey: text,
    mayBeThere: false,
    text,
    final: true,
    inReplyTo: [],
    kind: "answer",
  };
}

function saidTo({ inbox }: Served): string[] {
  return inbox.events.map((event) =>
    event.type === "message" ? `${event.channel.name} ${event.kind}: ${event.text}` : event.type,
  );
}

test("what is said on the page is said by a chat of the channel, which takes the answers", async () => {
  await using page = await openPage();
  const { daemon, chats } = page;
  assert.deepEqual(await chats.say(ALONE, randomUUID(), "  good morning\n\nall  "), { channel: "main" });
  assert.deepEqual(await chats.say({ channel: null, multi: false }, randomUUID(), "//etc/hosts is wrong"), {
    channel: "main",
  });
  assert.deepEqual(await chats.say({ channel: "crew", multi: true }, randomUUID(), "ana: and here"), {
    channel: "crew",
  });
  assert.deepEqual(saidTo(daemon), [
    "main dm:   good morning\n\nall",
    "main dm: /etc/hosts is wrong",
    "crew channel: and here",
  ]);
  const [first, , third] = daemon.inbox.events;
  assert.ok(first?.type === "message" && third?.type === "message");
  assert.notEqual(first.id, third.id);
  assert.equal(third.author.name, "ana");
  await daemon.shared.send(answer("main", "good morning"));
  await daemon.shared.send(answer("crew", "here, too"));
});

test("what cannot be said says why, and is not said", async () => {
  await using page = await openPage();
  const { daemon, chats } = page;
  const why = async (where: TalkedIn, text: string): Promise<string> => {
    const said = await chats.say(where, randomUUID(), text);
    assert.ok("why" in said, text);
    return said.why;
  };
  assert.match(await why(ALONE, " \n "), /Nothing was written/);
  assert.match(await why(ALONE, "/compact"), /Commands are typed in `.*chat`/);
  assert.match(await why(ALONE, "/as ben"), /Commands are typed/);
  daemon.inbox.failures.push(new Error("the disk is full"));
  assert.match(await why(ALONE, "hello"), /could not be stored, .*the disk is full/);
  const elsewhere = new PageChats({
    findSocket: async () => null,
    isWatched: () => false,
    closing: page.closing.signal,
  });
  assert.deepEqual(await elsewhere.say(ALONE, randomUUID(), "hello"), {
    why: "Chats cannot attach to this daemon now: it ends, or its log says why.",
  });
  assert.deepEqual(daemon.inbox.events, []);
});

test("texts that are said at once are said by one chat", async () => {
  await using page = await openPage();
  const { daemon } = page;
  let opened = 0;
  const chats = new PageChats({
    findSocket: async () => (opened++, daemon.socket),
    isWatched: () => true,
    closing: page.closing.signal,
  });
  const texts = ["one", "two", "three", "four"];
  await Promise.all(texts.map(async (text) => chats.say(ALONE, randomUUID(), text)));
  assert.equal(opened, 1);
  assert.equal(daemon.inbox.events.length, texts.length);
});

test("a form that was sent twice says its text once, and nobody says it again", async () => {
  await using page = await openPage();
  const { daemon, chats } = page;
  const id = randomUUID();
  assert.deepEqual(await chats.say(ALONE, id, "hello"), { channel: "main" });
  daemon.inbox.receive = async () => ({ outcome: "duplicate", seq: 1 });
  assert.deepEqual(await chats.say(ALONE, id, "hello"), { channel: "main" });
});

test("a chat of the page leaves when nobody looks any more, whatever is answered, and later answers wait for the next one", async () => {
  await using page = await openPage(100);
  const { daemon, chats } = page;
  await chats.say(ALONE, randomUUID(), "hello");
  await daemon.shared.send(answer("main", "it is there while the page is"));
  page.isWatched = false;
  let answers = 0;
  const isLeft = async (): Promise<boolean> => {
    if (!daemon.shared.capabilities.serves({ platform: "terminal", name: "main" })) return true;
    await daemon.shared.send(answer("main", `answer ${answers++}`)).catch(() => undefined);
    return false;
  };
  await until("end of the chat", isLeft);
  await assert.rejects(
    daemon.shared.send(answer("main", "nobody is there")),
    /No terminal has this channel open/,
  );
  page.isWatched = true;
  assert.deepEqual(await chats.say(ALONE, randomUUID(), "back again"), { channel: "main" });
  await daemon.shared.send(answer("main", "so are you"));
});

test("a notice, which may stand nowhere else, is left to the next chat", async () => {
  await using page = await openPage();
  const { daemon, chats } = page;
  await chats.say(ALONE, randomUUID(), "clean the deck");
  await assert.rejects(daemon.shared.send({ ...answer("main", "May I?"), kind: "notice" }));
});

test("what is said to a daemon that ends is not said to be stored, nor to be lost", async () => {
  await using page = await openPage();
  const { daemon, chats, closing } = page;
  await chats.say(ALONE, randomUUID(), "hello");
  const { promise: never } = Promise.withResolvers<never>();
  const receive = daemon.inbox.receive.bind(daemon.inbox);
  daemon.inbox.receive = async (event) => {
    await receive(event);
    return never;
  };
  const said = chats.say(ALONE, randomUUID(), "are you there?");
  await daemon.inbox.received(2);
  closing.abort();
  assert.deepEqual(await said, {
    why: "Whether this is stored is not known: look into the channel before you say it again.",
  });
});

test("a daemon that drains is not said anything", async () => {
  await using page = await openPage();
  const { daemon, chats } = page;
  await chats.say(ALONE, randomUUID(), "hello");
  await daemon.shared.stopIntake(AbortSignal.timeout(60_000));
  let said: unknown;
  await until("refusal", async () => {
    said = await Promise.race([
      chats.say(ALONE, randomUUID(), "too late"),
      new Promise((later) => setTimeout(later, 50)),
    ]);
    return said !== undefined;
  });
  assert.match(JSON.stringify(said), /Chats cannot attach to this daemon/);
  assert.equal(daemon.inbox.events.length, 1);
});

test("it attaches to the next daemon when the one before was killed", async () => {
  await using page = await openPage();
  const { daemon, chats } = page;
  await chats.say(ALONE, randomUUID(), "hello");
  await daemon.die();
  await using next = await daemon.revive();
  let said: unknown;
  await until("next daemon", async () => {
    said = await chats.say(ALONE, randomUUID(), "are you there?");
    return "channel" in Object(said);
  });
  assert.deepEqual(said, { channel: "main" });
  assert.equal(next.inbox.events.length, 2);
});

test("with the service its chats end", async () => {
  await using page = await openPage();
  await page.chats.say(ALONE, randomUUID(), "hello");
  page.closing.abort();
  const { shared } = page.daemon;
  await until("end", () => !shared.capabilities.serves({ platform: "terminal", name: "main" }));
  const said = await page.chats.say(ALONE, randomUUID(), "too late");
  assert.ok("why" in said, "nothing is said by a service that ends");
});
