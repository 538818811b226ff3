import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { setImmediate as nextTick } from "node:timers/promises";
import { test } from "node:test";
import { EventStream } from "../../../../../src/daemon/http/page/live/event-stream.ts";
import { openStream } from "../../../../support/event-stream.ts";

/** Serves each request by a stream. */
async function serve(
  work: (stream: EventStream) => void,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((_, response) => work(new EventStream(response, { "x-own": "yes" })));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

test("events arrive with their ids, and the headers of the page", async () => {
  await using server = await serve((stream) => {
    stream.send("row", '{"seq":1}', "1-0-0");
    stream.beat();
    stream.send("draft", '{"text":"a: b"}');
    stream.onClosed(() => undefined);
  });
  using stream = await openStream(server.url, {});
  await stream.next("draft");
  assert.deepEqual(stream.events, [
    { event: "row", data: { seq: 1 }, id: "1-0-0" },
    { event: "draft", data: { text: "a: b" }, id: "1-0-0" },
  ]);
  assert.deepEqual([stream.headers["x-own"], stream.headers["cache-control"]], ["yes", "no-store"]);
});

test("what nobody reads is cut at a bound, and one who reads is not", async () => {
  const opened: EventStream[] = [];
  await using server = await serve((stream) => opened.push(stream));
  using deaf = await openStream(server.url, {}, false);
  using reading = await openStream(server.url, {});
  const [left, right] = opened;
  assert.ok(left !== undefined && right !== undefined);
  const cut = Promise.withResolvers<"cut">();
  left.onClosed(() => cut.resolve("cut"));
  const json = JSON.stringify({ text: "x".repeat(100_000) });
  for (let sent = 1; ; sent++) {
    left.send("row", json);
    if ((await Promise.race([cut.promise, nextTick("open")])) === "cut") break;
    assert.ok(sent < 1000);
  }
  for (let n = 1; n <= 1000; n++) {
    right.send("row", json);
    while (right.isBehind) await nextTick();
  }
  right.send("end", "{}");
  await reading.next("end");
  assert.equal(reading.events.length, 1001);
  assert.equal(deaf.events.length, 0);
});

test("a stream that is closed before it is listened to says so", async () => {
  const closed = Promise.withResolvers<void>();
  await using server = await serve((stream) => {
    stream.close();
    stream.send("row", "{}");
    stream.onClosed(() => closed.resolve());
  });
  using stream = await openStream(server.url, {});
  await Promise.all([stream.ended, closed.promise]);
  assert.deepEqual(stream.events, []);
});
