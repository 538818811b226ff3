import assert from "node:assert/strict";
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
  assert.deepEqual(await chats.say(ALONE, "  good morning\n\nall  "), { channel: "main" });
  assert.deepEqual(await chats.say({ channel: null, multi: false }, "//etc/hosts is wrong"), {
    channel: "main",
  });
  assert.deepEqual(await chats.say({ channel: "crew", multi: true }, "ana: and here"), { channel: "crew" });
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
    const said = await chats.say(where, text);
    assert.ok("why" in said, text);
    return said.why;
  };
  assert.match(await why(ALONE, " \n "), /Nothing was written/);
  assert.match(await why(ALONE, "/compact"), /Commands are typed in `weir chat`/);
  assert.match(await why(ALONE, "/as ben"), /Commands are typed/);
  daemon.inbox.failures.push(new Error("the disk is full"));
  assert.match(await why(ALONE, "hello"), /could not be stored, .*the disk is full/);
  const elsewhere = new PageChats({
    findSocket: async () => null,
    isWatched: () => false,
    closing: page.closing.signal,
  });
  assert.deepEqual(await elsewhere.say(ALONE, "hello"), {
    why: "Chats cannot attach to this daemon: its log says why.",
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
  await Promise.all(texts.map(async (text) => chats.say(ALONE, text)));
  assert.equal(opened, 1);
  assert.equal(daemon.inbox.events.length, texts.length);
});

test("a chat of the page leaves when nobody looks any more, and later answers wait for the next one", async () => {
  await using page = await openPage(1);
  const { daemon, chats } = page;
  await chats.say(ALONE, "hello");
  await daemon.shared.send(answer("main", "it is there while the page is"));
  page.isWatched = false;
  const isLeft = (): boolean => !daemon.shared.capabilities.serves({ platform: "terminal", name: "main" });
  await until("end of the chat", isLeft);
  await assert.rejects(
    daemon.shared.send(answer("main", "nobody is there")),
    /No terminal has this channel open/,
  );
  page.isWatched = true;
  assert.deepEqual(await chats.say(ALONE, "back again"), { channel: "main" });
  await daemon.shared.send(answer("main", "so are you"));
});

test("it attaches to the next daemon when the one before was killed", async () => {
  await using page = await openPage();
  const { daemon, chats } = page;
  await chats.say(ALONE, "hello");
  await daemon.die();
  await using next = await daemon.revive();
  let said: unknown;
  await until("next daemon", async () => {
    said = await chats.say(ALONE, "are you there?");
    return "channel" in Object(said);
  });
  assert.deepEqual(said, { channel: "main" });
  assert.equal(next.inbox.events.length, 2);
});

test("with the service its chats end", async () => {
  await using page = await openPage();
  await page.chats.say(ALONE, "hello");
  page.closing.abort();
  const { shared } = page.daemon;
  await until("end", () => !shared.capabilities.serves({ platform: "terminal", name: "main" }));
  const said = await page.chats.say(ALONE, "too late");
  assert.ok("why" in said, "nothing is said by a service that ends");
});
