// proves: src/platforms/discord/inbound/proxied-messages.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { type MessagePayload, messagePayload } from "../../../../src/platforms/discord/inbound/payload.ts";
import { ProxiedMessages } from "../../../../src/platforms/discord/inbound/proxied-messages.ts";

let ids = 0;

function said(content: string, more: object = {}): MessagePayload {
  const author = { id: "7", username: "ann" };
  const timestamp = "2026-11-28T10:00:00.000Z";
  return messagePayload.parse({ id: String(++ids), channel_id: "1", author, content, timestamp, ...more });
}

/** As PluralKit posts: by a webhook of its application. */
function repeated(content: string, more: object = {}): MessagePayload {
  const author = { id: "77", username: "River", bot: true };
  return said(content, { author, webhook_id: "77", application_id: "466378653216014359", ...more });
}

interface Case {
  readonly name: string;
  readonly original: string;
  readonly copy: MessagePayload;
  readonly isFound: boolean;
  readonly more?: object;
}

const FILE = { filename: "moon.png", url: "https://cdn.discordapp.com/moon.png" };
const CASES: readonly Case[] = [
  {
    name: "with signs around the words",
    original: "R: hello there",
    copy: repeated("hello there"),
    isFound: true,
  },
  { name: "without signs", original: "hello there", copy: repeated("hello there"), isFound: true },
  { name: "other words", original: "R: hello there", copy: repeated("good night"), isFound: false },
  {
    name: "a part of a long text",
    original: `${"never ".repeat(30)}say yes`,
    copy: repeated("say yes"),
    isFound: false,
  },
  { name: "no words and no file", original: "R:", copy: repeated(""), isFound: false },
  {
    name: "a file alone",
    original: "R:",
    copy: repeated("", { attachments: [FILE] }),
    isFound: true,
    more: { attachments: [FILE] },
  },
  {
    name: "another file",
    original: "R:",
    copy: repeated("", { attachments: [FILE] }),
    isFound: false,
    more: { attachments: [{ ...FILE, filename: "sun.png" }] },
  },
  {
    name: "a webhook that a person made",
    original: "hello",
    copy: repeated("hello", { application_id: undefined }),
    isFound: false,
  },
  {
    name: "an application's answer by its own webhook",
    original: "hello",
    copy: repeated("hello", { application_id: "77" }),
    isFound: false,
  },
  {
    name: "an answer to a command",
    original: "hello",
    copy: repeated("hello", { interaction_metadata: { id: "1" } }),
    isFound: false,
  },
  {
    name: "another channel",
    original: "hello",
    copy: repeated("hello", { channel_id: "2" }),
    isFound: false,
  },
  {
    name: "a bot's message",
    original: "hello",
    copy: repeated("hello"),
    isFound: false,
    more: { author: { id: "8", username: "b", bot: true } },
  },
];

for (const { name, original, copy, isFound, more } of CASES)
  test(`a deleted message and a webhook's: ${name}`, async () => {
    const proxied = new ProxiedMessages(() => new Date(0));
    const message = said(original, more);
    proxied.said(message);
    proxied.deleted("1", [message.id]);
    assert.equal((await proxied.originalOf(copy))?.id, isFound ? message.id : undefined);
    assert.equal(await proxied.originalOf(copy), null, "each message is repeated once");
  });

test("a repetition waits for the deletion, for some seconds", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const proxied = new ProxiedMessages(() => new Date(0));
  const [first, second] = [said("R: hello"), said("R: good night")];
  for (const one of [first, second]) proxied.said(one);
  const [deleted, kept] = [proxied.originalOf(repeated("hello")), proxied.originalOf(repeated("good night"))];
  proxied.deleted("1", [first.id]);
  assert.equal((await deleted)?.id, first.id);
  t.mock.timers.tick(10_000);
  assert.equal(await kept, null);
});

test("after some seconds a deleted message is nobody's to repeat", async () => {
  let now = 0;
  const proxied = new ProxiedMessages(() => new Date(now));
  const message = said("hello");
  proxied.said(message);
  proxied.deleted("1", [message.id]);
  now = 10_001;
  assert.equal(await proxied.originalOf(repeated("hello")), null);
});
