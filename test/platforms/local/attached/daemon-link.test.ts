import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import type { OutboundMessage, Receipt } from "../../../../src/core/message.ts";
import { OperatorError } from "../../../../src/core/errors.ts";
import { PlatformError } from "../../../../src/platforms/platform.ts";
import type { TurnEnding } from "../../../../src/platforms/local/attached/wire.ts";
import { until } from "../../../support/patience.ts";
import { jsonLines } from "../../terminal/terminal-harness.ts";
import { attach, type Chat, HOST, sayHello, serve } from "./attached-harness.ts";

function answer(text: string, inReplyTo: readonly string[], key = `key of ${text}`): OutboundMessage {
  return {
    channel: { platform: "terminal", name: "main" },
    idempotencyKey: key,
    mayBeThere: false,
    text,
    final: true,
    inReplyTo,
    kind: "answer",
  };
}

function say(chat: Chat, id: string, text = "hello"): void {
  chat.input.write(`${JSON.stringify({ author: "ana", text, id })}\n`);
}

/** How a turn ended that owned these messages. */
function ended(outcome: "answered" | "skipped", inReplyTo: readonly string[]): TurnEnding["settled"] {
  return { channel: "terminal:main", outcome, reason: null, inReplyTo };
}

async function untilWritten(chat: Chat, wanted: string): Promise<void> {
  await until(`"${wanted}"`, () => chat.written().includes(wanted));
}

test("a message whose receipt was lost with the daemon is sent again under its id, and counts as accepted", async () => {
  await using first = await serve();
  // The log has it, and the daemon dies before it can say so.
  const { promise: never } = Promise.withResolvers<never>();
  const receive = first.inbox.receive.bind(first.inbox);
  let isDying = true;
  first.inbox.receive = async (event) => {
    const receipt = await receive(event);
    return isDying ? never : receipt;
  };
  await using chat = await attach(first.socket, "jsonl");
  say(chat, "m1");
  await first.inbox.received(1);
  void first.die();
  await until("the loss", () => chat.remarks.some((remark) => remark.includes("is lost")));
  isDying = false;
  await using second = await first.revive();
  await untilWritten(chat, '"type":"accepted"');
  assert.equal(second.inbox.events.length, 2);
  const [accepted] = jsonLines(chat.written());
  assert.deepEqual([accepted?.["id"], accepted?.["duplicate"]], ["m1", undefined]);
});

test("a turn that ended while the chat was cut off is reported with its answer, and a text that was shown is not shown again", async () => {
  await using first = await serve();
  await using chat = await attach(first.socket, "jsonl");
  say(chat, "skipped");
  say(chat, "shown elsewhere");
  say(chat, "open");
  await untilWritten(chat, '"id":"open"');
  await first.shared.send(answer("an earlier one", ["open"], "k1"));
  await first.die();
  const message = { ...answer("told to another chat", ["shown elsewhere"]), channel: "main" };
  await using second = await first.revive({
    endOf: async (_channel, id) => {
      if (id === "skipped") return { settled: ended("skipped", [id]), answer: null };
      if (id === "open") return null;
      return {
        settled: ended("answered", [id]),
        answer: { id: "k2", message: { ...message, inReplyTo: [id] } },
      };
    },
  });
  await untilWritten(chat, "told to another chat");
  await untilWritten(chat, '"type":"skipped"');
  assert.deepEqual(
    chat.terminal.awaited.map(({ id }) => id),
    ["open"],
  );
  // The acknowledgement was lost with the first daemon: the same key is the same text.
  await second.shared.send(answer("an earlier one", ["open"], "k1"));
  assert.equal(chat.written().split("an earlier one").length, 2);
});

test("a command is not repeated after a cut: the chat says that its answer was lost", async () => {
  await using first = await serve();
  first.inbox.onCommand = async () => new Promise(() => undefined);
  await using chat = await attach(first.socket, "lines");
  chat.input.write("/reset\n");
  await until("the command", () => first.inbox.commands.length === 1);
  void first.die();
  await untilWritten(chat, "/reset failed: The connection to Weir was lost before the answer came.");
  await using second = await first.revive();
  await until("the second", () => chat.remarks.some((remark) => remark.includes("Attached to Weir again")));
  assert.equal(second.inbox.commands.length, 1);
});

test("a daemon that does not come back ends the chat with a sentence, and messages that were not stored are reported", async () => {
  await using served = await serve();
  await using chat = await attach(served.socket, "jsonl", { patienceMs: 1000 });
  await served.die();
  await until("the loss", () => chat.remarks.length > 0);
  say(chat, "lost");
  await assert.rejects(chat.running, (error: unknown) => {
    assert(error instanceof OperatorError);
    assert.match(error.message, /did not come back within 1 seconds.*npm start/);
    return true;
  });
  await untilWritten(chat, '"type":"error"');
  assert.match(chat.written(), /"id":"lost".*Weir cannot be reached/);
});

test("a failure to store a message is reported to the chat, and the message is not retried", async () => {
  await using served = await serve();
  served.inbox.failures.push(new Error("the disk is full"));
  await using chat = await attach(served.socket, "lines");
  chat.input.write("hello\n");
  await untilWritten(chat, "This could not be stored, so it was not heard: the disk is full");
  assert.deepEqual(served.inbox.events, []);
});

test("a text counts as delivered when one chat of its channel has confirmed it, and is refused if there is none", async () => {
  await using served = await serve();
  const { shared } = served;
  assert.equal(shared.capabilities.serves({ platform: "terminal", name: "main" }), false);
  assert.equal(shared.capabilities.streaming, false);
  await assert.rejects(shared.send(answer("to nobody", [])), (error: unknown) => {
    return error instanceof PlatformError && error.kind === "unavailable";
  });
  // One that attaches and then reads nothing any more.
  const { chat: frozen } = sayHello(served.socket);
  frozen.pause();
  await until("its welcome", () => shared.capabilities.serves({ platform: "terminal", name: "main" }));
  assert.deepEqual(shared.capabilities.streaming, { intervalMs: 0 });
  await using chat = await attach(served.socket, "lines");
  await shared.send(answer("to both", []));
  await untilWritten(chat, "to both");
  // Nobody but the frozen one: it is delivered once that is gone and another has come.
  await chat[Symbol.asyncDispose]();
  const sending = shared.send(answer("to the next", []));
  frozen.destroy();
  await assert.rejects(sending, PlatformError);
  await using next = await attach(served.socket, "lines");
  await shared.send(answer("to the next", []));
  await untilWritten(next, "to the next");
});

test("a chat that reads nothing for long is cut off before it fills the memory", async () => {
  await using served = await serve();
  const { shared } = served;
  const { chat: frozen } = sayHello(served.socket);
  frozen.pause();
  const main = { platform: "terminal", name: "main" };
  await until("its welcome", () => shared.capabilities.serves(main));
  const megabytes = "x".repeat(4_000_000);
  const sent = Array.from({ length: 20 }, async (_, index) =>
    shared.send(answer(megabytes, [], String(index))),
  );
  const outcomes = await Promise.allSettled(sent);
  assert.ok(outcomes.every(({ status }) => status === "rejected"));
  assert.equal(shared.capabilities.serves(main), false);
  frozen.destroy();
});

test("a turn that answered several messages while the chat was cut off is reported once", async () => {
  await using first = await serve();
  await using chat = await attach(first.socket, "jsonl");
  say(chat, "m1");
  say(chat, "m2");
  say(chat, "m3");
  await untilWritten(chat, '"id":"m3"');
  await first.die();
  const skipped = (inReplyTo: readonly string[]): TurnEnding => ({
    settled: ended("skipped", inReplyTo),
    answer: null,
  });
  await using _second = await first.revive({
    endOf: async (_channel, id) => (id === "m3" ? skipped(["m3"]) : skipped(["m1", "m2"])),
  });
  await until("the end of all", () => chat.terminal.awaited.length === 0);
  const told = jsonLines(chat.written()).filter(({ type }) => type === "skipped");
  assert.deepEqual(told.map((line) => String(line["in_reply_to"])).toSorted(), ["m1,m2", "m3"]);
});

test("a chat may have more on its way to the daemon than a daemon keeps for a chat that reads nothing", async () => {
  await using served = await serve();
  await using chat = await attach(served.socket, "jsonl");
  const receive = async (id: string): Promise<Receipt> =>
    chat.link.receive({
      type: "message",
      channel: { platform: "terminal", name: "main" },
      kind: "channel",
      workspace: "",
      id,
      author: { id: "ana", name: "ana", isBot: false },
      text: id.repeat(8_000_000),
      at: new Date(),
      addressed: false,
    });
  const receipts = await Promise.all(["a", "b", "c", "d", "e"].map(receive));
  assert.deepEqual(new Set(receipts.map(({ outcome }) => outcome)), new Set(["accepted"]));
  assert.deepEqual(chat.remarks, []);
  assert.equal(served.inbox.events.length, 5);
});

test("a text that is longer than what is kept for a chat reaches one that reads", async () => {
  await using served = await serve();
  await using chat = await attach(served.socket, "lines");
  await served.shared.send(answer("y".repeat(33_000_000), []));
  assert.deepEqual(chat.remarks, []);
});

test("a chat that is left while it connects again ends, even if a daemon welcomes it", async () => {
  const first = await serve();
  await using chat = await attach(first.socket, "lines");
  await first.shared[Symbol.asyncDispose]();
  const connected = Promise.withResolvers<Socket>();
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => connected.resolve(socket));
  });
  server.listen(first.socket);
  const socket = await connected.promise;
  chat.link.leave();
  const { isOfChat, commands } = HOST;
  const welcome = { pid: 1, isOfChat, channel: "main", agent: "weirdo", about: [], commands };
  socket.write(`${JSON.stringify({ type: "welcome", ...welcome })}\n`);
  await chat.running;
  assert.doesNotMatch(chat.remarks.join("\n"), /Attached to Weir again/);
  const closed = once(server, "close");
  server.close();
  await closed;
  await first[Symbol.asyncDispose]();
});
