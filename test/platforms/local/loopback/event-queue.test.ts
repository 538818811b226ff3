// proves: src/platforms/local/loopback/event-queue.ts, src/platforms/local/loopback/events-under-way.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EventQueue } from "../../../../src/platforms/local/loopback/event-queue.ts";
import { EventsUnderWay } from "../../../../src/platforms/local/loopback/events-under-way.ts";
import { eventRequest, type LoopbackEvent } from "../../../../src/platforms/local/loopback/protocol.ts";

const AT = "2026-11-24T12:00:00Z";

/** A service and its client, without the network between them. */
class Pair {
  readonly queue = new EventQueue("one");
  readonly underWay = new EventsUnderWay("one");
  readonly taken: LoopbackEvent[] = [];

  emit(channel: string, count: number, text = "x"): void {
    for (let left = count; left > 0; left -= 1) this.queue.emit({ type: "edit", channel, id: "m", text }, AT);
  }

  /** @returns the channels of a page's events */
  async fetch(): Promise<string[]> {
    const request = eventRequest.parse(this.underWay.request());
    const { events } = await this.queue.take(request, new AbortController().signal);
    for (const event of events) this.underWay.take(event);
    this.taken.push(...events);
    return events.map(({ channel }) => channel);
  }

  /** The first events of a channel become durable. */
  finish(channel: string, count: number): void {
    const events = this.taken.filter((event) => event.channel === channel).slice(0, count);
    for (const event of events) {
      this.taken.splice(this.taken.indexOf(event), 1);
      this.underWay.end(event, true);
    }
    if (!this.underWay.isAcknowledgementDue) return;
    const channels = this.underWay.unacknowledged();
    this.queue.acknowledge({ server: "one", channels });
    this.underWay.acknowledged(channels);
  }
}

describe("the events of the loopback service", () => {
  test("a channel has its share of events under way, others get theirs, and half of it makes room", async () => {
    const pair = new Pair();
    pair.emit("flood", 1000);
    pair.emit("quiet", 1);
    const first = await pair.fetch();
    assert.deepEqual([first.length, first.at(-1)], [101, "quiet"]);
    assert.deepEqual(await pair.fetch(), []);
    pair.emit("quiet", 2);
    assert.deepEqual(await pair.fetch(), ["quiet", "quiet"]);
    pair.finish("flood", 49);
    assert.deepEqual(await pair.fetch(), []);
    pair.finish("flood", 1);
    assert.equal((await pair.fetch()).length, 50);
  });

  test("brings each event once, in the order of its channel", async () => {
    const pair = new Pair();
    const seen: number[] = [];
    pair.emit("flood", 777);
    while (seen.length < 777) {
      await pair.fetch();
      const batch = pair.taken.slice(0, 37).map(({ number }) => number);
      seen.push(...batch);
      pair.finish("flood", 37);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 777 }, (_, index) => index + 1),
    );
    assert.deepEqual(await pair.fetch(), []);
    assert.deepEqual(pair.underWay.request().underWay, []);
  });

  test("long texts count, too: one channel does not fill the memory", async () => {
    const pair = new Pair();
    pair.emit("flood", 10, "x".repeat(400_000));
    pair.emit("quiet", 1);
    assert.deepEqual(await pair.fetch(), ["flood", "flood", "flood", "quiet"]);
  });

  test("where a page has no room for all, channels with nothing under way come first, one event each in turn", async () => {
    const { queue } = new Pair();
    for (const channel of ["a", "b"])
      for (let left = 20; left > 0; left -= 1) queue.emit({ type: "edit", channel, id: "m", text: "" }, AT);
    queue.emit({ type: "edit", channel: "c", id: "m", text: "" }, AT);
    const request = {
      server: "one",
      underWay: [
        { channel: "a", number: 2 },
        { channel: "b", number: 21 },
      ],
    };
    const page = async (room: number): Promise<string> => {
      const { events } = await queue.take({ ...request, room, waitMs: 0 }, new AbortController().signal);
      return events.map(({ channel }) => channel).join("");
    };
    assert.deepEqual([await page(1), await page(3), await page(5)], ["c", "abc", "aabbc"]);
  });
});

describe("the events that a client of the loopback service has under way", () => {
  test("many channels at work leave room again with the first event that is durable", async () => {
    const pair = new Pair();
    for (let channel = 0; channel < 30; channel += 1) pair.emit(`flood-${channel}`, 100);
    for (let page = 0; page < 4; page += 1) assert.equal((await pair.fetch()).length, 500);
    const stop = new AbortController();
    let hasRoom = false;
    const waits = pair.underWay.untilRoom(stop.signal).then(() => (hasRoom = true));
    await new Promise(setImmediate);
    assert.equal(hasRoom, false);
    pair.finish("flood-0", 1);
    await waits;
    pair.emit("quiet", 1);
    assert.deepEqual(await pair.fetch(), ["quiet"]);
  });

  test("an acknowledgement that a later event overtakes counts what it has named, and no more", async () => {
    const pair = new Pair();
    pair.emit("a", 60);
    await pair.fetch();
    const end = (count: number): void => {
      for (const event of pair.taken.splice(0, count)) pair.underWay.end(event, true);
    };
    end(50);
    const channels = pair.underWay.unacknowledged();
    end(1);
    pair.queue.acknowledge({ server: "one", channels });
    pair.underWay.acknowledged(channels);
    assert.deepEqual(channels, [{ channel: "a", number: 50 }]);
    assert.equal(pair.underWay.isAcknowledgementDue, false);
    end(9);
    assert.deepEqual(pair.underWay.unacknowledged(), [{ channel: "a", number: 60 }]);
  });
});
