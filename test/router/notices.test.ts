import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pino } from "pino";
import type { Card } from "../../src/core/card.ts";
import { PlatformError } from "../../src/platforms/platform.ts";
import { Notices } from "../../src/router/notices.ts";
import { CARD } from "../platforms/cards.ts";
import { TestPlatform } from "../support/test-platform.ts";

const CHANNEL = { platform: "test", name: "room" };
const LIMIT = 200;

function textOf(lines: number): string {
  return Array.from({ length: lines }, (_, index) => `line ${index} of a long report`).join("\n");
}

function open(): { notices: Notices; platform: TestPlatform; warned: string[] } {
  const platform = new TestPlatform({ maxTextLength: LIMIT });
  const warned: string[] = [];
  const log = pino({}, { write: (line) => void warned.push(line) });
  return { notices: new Notices(() => platform, log), platform, warned };
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("what Weir says of its own accord", () => {
  test("is one message where it fits, and else whole in several, in order, each with a key of its own", async () => {
    const { notices, platform } = open();
    notices.tell(CHANNEL, "m1", "short");
    const text = textOf(30);
    notices.tell(CHANNEL, "m2", text);
    await settled();
    assert.equal(platform.texts()[0], "short");
    const parts = platform.texts().slice(1);
    assert.ok(parts.length > 3 && parts.every((part) => part.length <= LIMIT));
    assert.equal(parts.join("\n"), text);
    assert.ok(platform.calls.slice(1).every(({ message }) => message.inReplyTo[0] === "m2"));
    notices.tell(CHANNEL, "m2", text);
    await settled();
    assert.equal(platform.texts().length, 1 + parts.length, "nothing is said twice");
  });

  test("fills no channel: where it is cut, it says so", async () => {
    const { notices, platform } = open();
    notices.tell(CHANNEL, "m1", textOf(1000));
    await settled();
    assert.equal(platform.texts().length, 10);
    assert.match(platform.texts().at(-1) ?? "", /too long to be shown/);
  });

  test("ends with the part that does not arrive", async () => {
    const { notices, platform, warned } = open();
    platform.fail = (_, { text }) => {
      if (text.includes("line 12 ")) throw new PlatformError("test", "unavailable", "not now");
    };
    notices.tell(CHANNEL, "m1", textOf(30));
    await settled();
    assert.ok(platform.texts().length > 0);
    assert.doesNotMatch(platform.texts().join("\n"), /line (?:12|29) /);
    assert.equal(warned.length, 1);
    assert.match(warned[0] ?? "", /notice_not_sent/);
  });
});

describe("the answer to a command that is a card", () => {
  const asked = { id: "m1", author: { id: "u", name: "Ann", isBot: false }, kind: "channel" } as const;

  function openDrawing(capabilities: { drawsCards?: true } = { drawsCards: true }) {
    const platform = new TestPlatform({ maxTextLength: LIMIT, ...capabilities });
    const lines: string[] = [];
    const notices = new Notices(() => platform, pino({}, { write: (line) => void lines.push(line) }));
    return { notices, platform, lines };
  }

  test("is drawn once where the platform can, and is its text elsewhere", async () => {
    const drawing = openDrawing();
    drawing.notices.answer(CHANNEL, asked, CARD, null);
    await settled();
    assert.deepEqual(
      drawing.platform.calls.map(({ message: { text, card } }) => [text, card]),
      [[CARD.summary, CARD]],
    );
    const plain = openDrawing({});
    plain.notices.answer(CHANNEL, asked, CARD, null);
    await settled();
    assert.deepEqual(
      plain.platform.calls.map(({ message: { text, card } }) => [text, card]),
      [[CARD.text, undefined]],
    );
  });

  test("is its text, in as many messages as it takes, where the card is refused", async () => {
    for (const kind of ["rejected", "gone"] as const) {
      const { notices, platform, lines } = openDrawing();
      platform.fail = (_, { card }) => {
        if (card !== undefined) throw new PlatformError("test", kind, "no");
      };
      notices.answer(CHANNEL, asked, { ...CARD, text: textOf(30) }, null);
      await settled();
      assert.equal(platform.texts().join("\n"), textOf(30));
      assert.ok(lines.some((line) => line.includes("card_refused")));
    }
  });

  test("is not said a second time where the card may have come through", async () => {
    const { notices, platform, lines } = openDrawing();
    platform.fail = () => {
      throw new PlatformError("test", "unavailable", "no answer");
    };
    notices.answer(CHANNEL, asked, CARD, null);
    await settled();
    assert.deepEqual(platform.texts(), []);
    assert.ok(lines.some((line) => line.includes("notice_not_sent")));
  });

  test("is shown to the asker alone where the platform can, also as a text", async () => {
    const { notices, platform } = openDrawing();
    const alone: string[] = [];
    Object.assign(platform, {
      // oxlint-disable-next-line require-await -- an interface's method
      tellAlone: async (_: unknown, person: string, text: string, card?: Card) => {
        if (card !== undefined) throw new PlatformError("test", "rejected", "no");
        alone.push(`${person}: ${text}`);
      },
    });
    notices.answer(CHANNEL, asked, CARD, null);
    await settled();
    assert.deepEqual([alone, platform.texts()], [[`u: ${CARD.text}`], []]);
  });
});
