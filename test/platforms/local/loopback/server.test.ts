// proves: src/platforms/local/loopback/chat.ts, src/platforms/local/loopback/protocol.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { OperatorError } from "../../../../src/core/errors.ts";
import { startLoopbackServer } from "../../../../src/platforms/local/loopback/server.ts";
import { Person } from "./loopback-harness.ts";

const REPLY = { text: "ho", final: true, inReplyTo: ["m-1"], kind: "answer" };

describe("the conversation of the loopback service", () => {
  test("shows a conversation in order, with what became of each message", async () => {
    await using server = await startLoopbackServer();
    const person = new Person(server.url);
    await person.ask("POST", "/channels/x/messages", { author: "ana", text: "hi", id: "m-1" });
    await person.ask("POST", "/channels/x/messages", { author: "ben", text: "oops", id: "m-2" });
    await send(server.url, "k", REPLY);
    await person.ask("PATCH", "/channels/x/messages/m-1", { text: "hello" });
    await person.ask("DELETE", "/channels/x/messages/m-2");
    const messages = await person.list("/channels/x", "messages");
    assert.deepEqual(
      messages.map(({ from, author, text, texts, isDeleted }) => ({ from, author, text, texts, isDeleted })),
      [
        { from: "person", author: "ana", text: "hello", texts: ["hi", "hello"], isDeleted: false },
        { from: "person", author: "ben", text: "", texts: [], isDeleted: true },
        { from: "bot", author: "bot", text: "ho", texts: ["ho"], isDeleted: false },
      ],
    );
  });

  test("takes a text of a million characters, and refuses a longer one in words", async () => {
    await using server = await startLoopbackServer();
    const say = async (text: string): Promise<Response> =>
      fetch(`${server.url}/channels/x/messages`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ author: "ana", text }),
      });
    assert.equal((await say("x".repeat(1_000_000))).status, 201);
    const refused = await say("x".repeat(1_000_001));
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), /text: Too big: expected string to have <=1000000 characters/);
    const flood = await say("x".repeat(17_000_000));
    assert.equal(flood.status, 413);
    assert.match(await flood.text(), /the body is too large/);
    assert.equal((await new Person(server.url).list("/channels/x", "messages")).length, 1);
  });

  test("takes a key once, and keeps a journal of both calls", async () => {
    await using server = await startLoopbackServer();
    const first = await send(server.url, "k", REPLY);
    const second = await send(server.url, "k", { ...REPLY, text: "ho again" });
    assert.deepEqual([first.status, second.status], [201, 200]);
    assert.deepEqual(await first.json(), await second.json());
    const calls = await new Person(server.url).list("/journal", "calls");
    assert.deepEqual(
      calls.map(({ operation, idempotencyKey, outcome }) => [operation, idempotencyKey, outcome]),
      [
        ["send", "k", "sent"],
        ["send", "k", "repeated"],
      ],
    );
  });
});

describe("the loopback service", () => {
  test("gives each event until it is acknowledged, and not while it is said to be under way", async () => {
    await using server = await startLoopbackServer();
    const person = new Person(server.url);
    for (const text of ["a", "b", "c"])
      await person.ask("POST", "/channels/x/messages", { author: "ana", text });
    const texts = async (body: object): Promise<unknown[]> =>
      (await person.list("/events", "events", body)).map(({ text }) => text);
    const { server: name } = await person.ask("POST", "/events", {});
    const to = (number: number): object[] => [{ channel: "x", number }];
    assert.deepEqual(await texts({}), ["a", "b", "c"]);
    assert.deepEqual(await texts({ server: name, underWay: to(2) }), ["c"]);
    assert.deepEqual(await texts({ server: "another", underWay: to(2) }), ["a", "b", "c"]);
    assert.deepEqual(await texts({ room: 1 }), ["a"]);
    await person.ask("POST", "/events/durable", { server: name, channels: to(2) });
    await person.ask("POST", "/events/durable", { server: "another", channels: to(3) });
    await person.ask("POST", "/events/durable", { server: name, channels: to(1) });
    assert.deepEqual(await texts({}), ["c"]);
  });

  test("refuses what it can't read, and says why", async () => {
    await using server = await startLoopbackServer();
    const person = new Person(server.url);
    await assert.rejects(person.ask("POST", "/channels/x/messages", { text: "hi" }), /400.*author/);
    await assert.rejects(
      person.ask("POST", "/channels/x/messages", { author: "a", text: "hi", foo: 1 }),
      /400.*foo/,
    );
    await assert.rejects(person.ask("POST", "/faults", { operation: "send", fault: "none" }), /400.*fault/);
    await assert.rejects(person.ask("PATCH", "/channels/x/messages/nope", { text: "hi" }), /404/);
    await assert.rejects(person.ask("GET", "/commands/nope"), /404/);
    const tooLarge = { author: "a", text: "x".repeat(17 * 1024 * 1024) };
    await assert.rejects(person.ask("POST", "/channels/x/messages", tooLarge), /413/);
    assert.equal(
      (await fetch(`${server.url}/channels/x/replies`, { method: "POST", body: "{}" })).status,
      400,
    );
  });

  test("says which address is taken", async () => {
    await using server = await startLoopbackServer();
    const port = Number(new URL(server.url).port);
    await assert.rejects(startLoopbackServer({ port }), OperatorError);
  });
});

async function send(url: string, key: string, body: object): Promise<Response> {
  const headers = { "idempotency-key": key, "content-type": "application/json" };
  return await fetch(`${url}/channels/x/replies`, { method: "POST", headers, body: JSON.stringify(body) });
}
