// proves: src/daemon/http/page/places/channel.ts, src/daemon/http/page/timeline/chart.ts, src/daemon/http/page/timeline/section.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { coverRoom } from "../../../../support/covered.ts";
import { createTestDatabase } from "../../../../support/database.ts";
import { text } from "../../../../support/model-behaviours.ts";
import { startModelServer } from "../../../../support/model-server.ts";
import { startPage } from "../../../../support/page.ts";
import { readConfig, startWeir } from "../../../../support/weir.ts";

const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const model = stack.use(await startModelServer());
model.respond(() => text("It lies under the stone."));
const { connection } = stack.use(await createTestDatabase());
const weir = stack.use(await startWeir({ connection, modelUrl: model.url }));
const page = stack.use(
  await startPage(weir.daemon, await readConfig({ connection, modelUrl: model.url }), Date.now()),
);
const operator = await page.signIn();

/** The page of a channel. */
async function channelPage(name: string, more = ""): Promise<string> {
  const { status, body } = await page.get(
    `/page/channel?id=${encodeURIComponent(`test:${name}`)}${more}`,
    operator,
  );
  assert.equal(status, 200);
  return body;
}

async function ask(room: string, question: string): Promise<void> {
  await weir.say(question, { room });
  await weir.event("turn_settled", (event) => event.channel === `test:${room}`);
}

test("replies, compactions and the level stand on one axis, and in words", async () => {
  await ask("harbor", "Where is the key?");
  await coverRoom(connection, "harbor", "They spoke of a key.");
  const body = await channelPage("harbor");
  assert.match(body, /<b>replies p50 [\d.]+ s<\/b>/);
  const [svg = ""] = /<svg[^>]*class="timeline"[\s\S]*?<\/svg>/.exec(body) ?? [];
  assert.match(svg, /role="img"\s+aria-label="replies p50 [\d.]+ s\. 1 reply, from the message/);
  assert.match(
    svg,
    /aria-label="[^"]*Level \d+ % of the usable window; next mark: background at [\d,]+ tokens/,
  );
  assert.equal(svg.match(/class="reply"/g)?.length, 1);
  assert.equal(svg.match(/class="job forced"/g)?.length, 1);
  assert.equal(svg.match(/class="landing"/g)?.length, 1);
  assert.match(svg, />−992</);
  assert.match(svg, /class="step"/);
  assert.match(body, /<td>forced<\/td>\s*<td>1–2<\/td>\s*<td>1,000 → 8<\/td>/);
  assert.match(body, /landed, −992 tokens at \d\d:\d\d/);
});

test("the axis has the length that is asked for, of some", async () => {
  assert.match(await channelPage("harbor"), /<b>all<\/b>/);
  const hour = await channelPage("harbor", "&span=60");
  assert.match(hour, /<b>1 h<\/b>/);
  assert.match(hour, /href="\/page\/channel\?id=test%3Aharbor&amp;span=10"/);
  for (const span of ["7", "-1", "x", "1e9"])
    assert.match(await channelPage("harbor", `&span=${span}`), /<b>all<\/b>/);
});

test("a channel in which nothing was answered yet says so", async () => {
  await weir.say("just talking", { room: "quiet", addressed: false });
  const body = await channelPage("quiet");
  assert.match(body, /Nothing was answered or compacted here yet\. Level \d+ % of the usable window/);
  assert.doesNotMatch(body, /<svg/);
});
