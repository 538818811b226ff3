// proves: src/channel/delivery/part-sender.ts, src/channel/delivery/loss-report.ts, src/channel/delivery/refusal.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { OutboundMessage } from "../../../src/core/message.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `
[daemon]
drain_deadline_ms = 300
[[agents]]
id = "main"
model = "test-model"
`;
const LINES = Array.from({ length: 40 }, (_, index) =>
  `line ${index}: **bold ${index}** ${"words ".repeat(6)}`.trim(),
);
const ANSWER = LINES.join("\n");
const PLAIN = ANSWER.replaceAll("**", "");

async function start({ url: modelUrl }: ModelServer, platform: TestPlatform): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl, config: CONFIG, platform });
}

function refused(kind: "rejected" | "gone" = "rejected"): PlatformError {
  return new PlatformError("test", kind, "the platform refuses it");
}

/** What a room shows, as one text. */
function whole(platform: TestPlatform, room: string): string {
  return asOne(platform.texts(room));
}

function asOne(texts: readonly string[]): string {
  return texts.join(" ").replaceAll(/\s+/g, " ").trim();
}

/** The model's next request, once it was told something. */
async function nextRequest(weir: TestWeir, server: ModelServer, room: string): Promise<string> {
  const before = server.requests.length;
  server.respond(() => text("I see"));
  await weir.say("and now?", { room });
  await until("the next request", () => server.requests.length > before);
  return JSON.stringify(server.requests.at(-1)?.body);
}

for (const kind of ["rejected", "gone"] as const)
  test(`an edit that is refused for good (${kind}) is no refusal of the text: a new message has it, and the draft goes`, async () => {
    await using server = await startModelServer();
    const platform = new TestPlatform({ streaming: { intervalMs: 0 }, maxTextLength: 800 });
    await using weir = await start(server, platform);
    const room = `edit-${kind}`;
    platform.fail = (operation) => {
      if (operation === "edit") throw refused(kind);
    };
    server.reply(
      text(
        LINES.map((line) => `${line}\n`),
        { delayMs: 2 },
      ),
    );
    await weir.say("tell me all", { room });
    const { parts } = await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
    assert.equal(whole(platform, room), asOne([ANSWER]));
    assert.equal(parts, platform.texts(room).length);
    assert.equal(platform.removed.length, 1);
    // In order: the first part is the first message.
    assert.match(platform.texts(room)[0] ?? "", /^line 0:/);
    assert.doesNotMatch(await nextRequest(weir, server, room), /have not seen/);
  });

test("a part that is refused as a whole is sent in shorter pieces, and the later parts follow", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ maxTextLength: 800 });
  await using weir = await start(server, platform);
  platform.fail = (_, message) => {
    if (message.text.startsWith("line 0:") && message.text.length > 250) throw refused();
  };
  server.reply(text(ANSWER));
  await weir.say("tell me all", { room: "shorter" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:shorter");
  assert.equal(whole(platform, "shorter"), asOne([ANSWER]));
  assert.ok(platform.texts("shorter").length > Math.ceil(ANSWER.length / 800));
});

test("a text that is refused for its markup is sent without it", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ maxTextLength: 800 });
  await using weir = await start(server, platform);
  platform.fail = (_, message) => {
    if (message.text.includes("**")) throw refused();
  };
  server.reply(text(ANSWER));
  await weir.say("tell me all", { room: "plain" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:plain");
  assert.equal(whole(platform, "plain"), asOne([PLAIN]));
  assert.ok([...platform.shown.values()].every(({ plain }) => plain === true));
});

test("a piece that is refused in every form is missing with a word at its place, and the agent is told", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ maxTextLength: 800 });
  await using weir = await start(server, platform);
  platform.fail = (_, message) => {
    if (/line (?:17|18):/.test(message.text)) throw refused();
  };
  server.reply(text(ANSWER));
  await weir.say("tell me all", { room: "missing" });
  await weir.event(
    "delivery_failed",
    ({ channel, retryInMs }) => channel === "test:missing" && retryInMs === null,
  );
  await platform.until(() => whole(platform, "missing").includes("line 39:"));
  const shown = platform.texts("missing");
  const words = shown.filter((one) => one.startsWith("("));
  assert.deepEqual(words, ["(A part of this answer is missing here: it could not be shown.)"]);
  const at = shown.indexOf(words[0] ?? "");
  assert.match(shown[at - 1] ?? "", /line (?:1\d):/);
  const { overview } = weir.daemon.store;
  await until("nothing pending", async () => (await overview.waiting()).deliveries === 0);
  const request = await nextRequest(weir, server, "missing");
  assert.match(
    request,
    /have not seen all of your answer.{1,200}about \d+ of its \d+ characters, in the middle/,
  );
  assert.ok((await overview.waiting()).refused >= 1);
});

/** Where a daemon ends while a part is refused, posted in pieces, and given up. */
for (const [what, suffix, isTaken] of [
  ["before its second piece is taken", "/short-1", false],
  ["after its second piece is taken", "/short-1", true],
  ["before the word is taken", "/missing", false],
  ["after the word is taken", "/missing", true],
] as const)
  test(`a daemon that ends ${what}: each piece is there once, with one word, and one notice`, async () => {
    await using server = await startModelServer();
    const platform = new TestPlatform({ maxTextLength: 800 });
    const room = what.replaceAll(" ", "-");
    const send = platform.send.bind(platform);
    const refuse = (message: OutboundMessage): void => {
      const isWhole = message.text.startsWith("line 0:") && message.text.length > 250;
      if (isWhole || /line (?:17|18):/.test(message.text)) throw refused();
    };
    let ended = 0;
    platform.send = async (message) => {
      refuse(message);
      if (!message.idempotencyKey.endsWith(suffix)) return send(message);
      ended += 1;
      if (isTaken) await send(message);
      throw new PlatformError("test", "unavailable", "reset", { retryAfterMs: 60_000 });
    };
    server.reply(text(ANSWER));
    {
      await using weir = await start(server, platform);
      await weir.say("tell me all", { room });
      await weir.event(
        "delivery_failed",
        ({ channel, retryInMs }) => channel === `test:${room}` && retryInMs === 60_000,
      );
    }
    assert.equal(ended, 1);
    platform.send = async (message) => {
      refuse(message);
      return send(message);
    };
    await using weir = await start(server, platform);
    await until("nothing pending", async () => (await weir.daemon.store.overview.waiting()).deliveries === 0);
    const shown = platform.texts(room);
    assert.equal(shown.filter((one) => one.startsWith("(")).length, 1);
    const numbers = Array.from(whole(platform, room).matchAll(/line (\d+):/g), ([, number]) =>
      Number(number),
    );
    const missing = LINES.map((_, index) => index).filter((index) => !numbers.includes(index));
    assert.deepEqual(numbers, [...new Set(numbers)]);
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
    assert.ok(missing.includes(17) && missing.includes(18) && missing.length < 8, missing.join());
    const request = await nextRequest(weir, server, room);
    assert.equal(request.match(/have not seen all/g)?.length, 1);
  });
