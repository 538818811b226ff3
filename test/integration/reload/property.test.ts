// proves: src/daemon/reload.ts, src/config/changes.ts
// A reload from A to B is as stop, and start with B: what is said afterwards meets the same agents, with the same bytes.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import type { Config } from "../../../src/config/config.ts";
import { type Binding, bindPlatform } from "../../../src/router/bindings.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const original = await createTestDatabase();
after(async () => original[Symbol.asyncDispose]());

const ROOMS = ["one", "two"];
const AT = new Date("2026-05-01T12:00:00Z");

const agentLines = fc.record({
  instructions: fc.constantFrom("", "Speak of mills.", "Speak of boats."),
  model: fc.constantFrom("model-a", "model-b"),
  time_zone: fc.constantFrom("UTC", "Asia/Tokyo"),
  max_output_tokens: fc.constantFrom(500, 2048),
  context_window: fc.constantFrom(0, 16_384),
  name: fc.constantFrom("Ada", "Max"),
});
const configuration = fc.record({
  main: agentLines,
  other: fc.option(agentLines),
  also: fc.boolean(),
  reminders: fc.boolean(),
  whole: fc.constantFrom(0, 3),
  isOthers: fc.boolean(),
});
type Drawn = typeof configuration extends fc.Arbitrary<infer Value> ? Value : never;

function toml({ main, other, also, reminders, whole, isOthers }: Drawn): string {
  const table = (id: string, lines: object): string =>
    [
      `[[agents]]\nid = "${id}"`,
      ...Object.entries(lines).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
      `[agents.reminders]\nenabled = ${reminders}`,
      `[agents.pruning]\nwhole_turns = ${whole}`,
    ].join("\n");
  // Who answers where is told by the names of people, which bindingsOf reads.
  const marks = [...(also ? ["also"] : []), ...(isOthers ? ["others"] : [])];
  return [
    table("main", { ...main, aliases: marks }),
    ...(other === null ? [] : [table("other", { ...other, name: `${other.name}2` })]),
    "",
  ].join("\n");
}

function bindingsOf({ agents }: Config): Binding[] {
  const [main, other] = agents;
  if (main === undefined) return [];
  const also = other !== undefined && main.aliases.includes("also") ? [other.id] : [];
  const isOthers = other !== undefined && main.aliases.includes("others");
  return [
    ...(isOthers ? [{ ...bindPlatform("test", other.id), channels: ["two"] }] : []),
    { ...bindPlatform("test", main.id), also },
  ];
}

async function talk(weir: TestWeir, part: string): Promise<void> {
  for (const room of ROOMS) {
    const before = weir.platform.shown.size;
    await weir.say(`what of ${part}?`, { room, id: `${part}-${room}`, at: AT });
    await until("it is answered", () => weir.platform.shown.size === before + 1);
    // The answer's row is written, too: a start would find it there.
    await until("all is at rest", () => weir.daemon.registry.size === 0 || isQuiet(weir));
  }
}

function isQuiet(weir: TestWeir): boolean {
  return weir.events.filter(({ type }) => type === "reply_delivered").length >= weir.platform.shown.size;
}

/** The requests of what is said after B is in force. */
async function play(a: string, b: string, isReload: boolean): Promise<string[]> {
  await using database = await createTestDatabase(original);
  await using server = await startModelServer();
  server.respond(() => text("an answer"));
  const options = { connection: database.connection, modelUrl: server.url, bindingsOf, now: () => AT };
  const first = await startWeir({ ...options, config: a });
  let asked = 0;
  try {
    await talk(first, "before");
    asked = server.requests.length;
    if (isReload) {
      assert.equal((await first.reload(b)).kind, "reloaded");
      await talk(first, "after");
      await talk(first, "later");
    }
  } finally {
    await first[Symbol.asyncDispose]();
  }
  if (!isReload) {
    await using second = await startWeir({ ...options, config: b });
    await talk(second, "after");
    await talk(second, "later");
  }
  return server.requests.slice(asked).map(({ body }) => JSON.stringify(body));
}

test("a reload from one configuration to another leaves what stop and start with the other leave", async () => {
  await fc.assert(
    fc.asyncProperty(configuration, configuration, async (a, b) => {
      assert.deepEqual(await play(toml(a), toml(b), true), await play(toml(a), toml(b), false));
    }),
    { numRuns: 8, seed: 22, endOnFailure: true },
  );
});
