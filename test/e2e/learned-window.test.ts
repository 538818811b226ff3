// proves: src/daemon/daemon.ts, src/llm/catalog/learned-models.ts, src/cli/compactions.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { z } from "zod";
import { estimateTokens } from "../../src/text/tokens.ts";
import { type Home, openHome, openSeed } from "../support/e2e.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { text } from "../support/model-behaviours.ts";
import { contextLengthError } from "../support/model-refusals.ts";
import { type ChatRequest, startModelServer } from "../support/model-server.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

const WINDOW = 9000;
const BELIEVED = 60_000;
const AGENT = `
[llm]
max_retries = 0
[[agents]]
id = "main"
model = "narrow"
context_window = ${BELIEVED}
max_output_tokens = 512
generation_reserve = 512
[agents.compaction]
enabled = false
[models."narrow"]
price_in = 2
price_out = 8
price_cached = 0.5
`;
const PARAGRAPH =
  "The river stood above the old mark by the mill, and Ann wrote it into the green book. ".repeat(20);

/** A request's tokens by our own formula, near enough. */
function sizeOf({ messages, tools }: ChatRequest): number {
  const texts = messages.map(({ content }) => estimateTokens(content ?? "") + 4);
  return texts.reduce((sum, tokens) => sum + tokens, estimateTokens(JSON.stringify(tools ?? [])));
}

const report = z.object({
  window: z.number(),
  windowSource: z.string(),
  windowUntil: z.string().nullable(),
  spent: z.object({ calls: z.number(), cost: z.object({ dollars: z.number().nullable() }) }),
});

async function reportOf(home: Home): Promise<z.infer<typeof report>> {
  const { code, out, stderr } = await home.run("context", "loopback:room", "--json");
  assert.equal(code, 0, stderr);
  return report.parse(JSON.parse(out.join("\n")));
}

test("a window that a refusal has told is known to the next daemon, and to who looks", async () => {
  await using model = await startModelServer();
  let refused = 0;
  model.respond((request) => {
    if (sizeOf(request) <= WINDOW) return text("noted", { usage: { prompt: sizeOf(request), cached: 1000 } });
    refused++;
    return contextLengthError("openai", WINDOW);
  });
  await using world = await openLoopbackWorld();
  await using home = await openHome({ modelUrl: model.url, config: world.config + AGENT, seed });
  const first = home.start("start");
  await first.line("ready");
  let count = 0;
  const talk = async (messages: number): Promise<void> => {
    for (let index = 0; index < messages; index++) {
      await world.say("room", `said-${++count}`, `${count}: ${PARAGRAPH}`);
      await world.untilAnswered();
    }
  };
  await talk(20);
  assert.equal(refused, 1, "the window was believed larger");
  first.signal("SIGTERM");
  assert.equal((await first.ended).code, 0);
  const looked = await reportOf(home);
  assert.deepEqual([looked.window, looked.windowSource], [WINDOW, "told"]);
  const days = (new Date(looked.windowUntil ?? 0).getTime() - Date.now()) / 86_400_000;
  assert.ok(days > 29 && days <= 30, `${days} days`);
  const shown = (await home.run("context", "loopback:room")).out.join("\n");
  assert.match(shown, /window 9,000 \(which a refusal has told, believed until 20\d\d-.*\), of which/);
  const doctor = (await home.run("doctor")).out.join("\n");
  assert.match(
    doctor,
    /model narrow: .*with a window of 9,000 tokens \(which a refusal has told, believed until/,
  );

  const next = home.start("start");
  await next.line("ready");
  await talk(5);
  assert.equal(refused, 1, "nobody had to be told again");
  const { window, spent } = await reportOf(home);
  assert.equal(window, WINDOW);
  assert.ok((spent.cost.dollars ?? 0) > 0, JSON.stringify(spent));
  const { out } = await home.run("context", "loopback:room");
  assert.match(out.join("\n"), /tokens in \([\d,]+ cached, [\d.]+ %\), .*\n {2}by today's prices: \$\d/);
});
