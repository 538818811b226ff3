// proves: src/daemon/http/page/places/channel.ts, src/daemon/http/page/places/source.ts, src/daemon/http/page/timeline/chart.ts, src/daemon/http/page/timeline/section.ts
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
  await weir.event("reply_delivered", (event) => event.channel === `test:${room}`);
}

test("replies, compactions and the level stand on one axis, and in words", async () => {
  await ask("harbor", "Where is the key?");
  await coverRoom(connection, "harbor", "They spoke of a key.");
  const body = await channelPage("harbor");
  assert.match(body, /<b>Half of the replies came within [\d.]+ s<\/b>/);
  const [svg = ""] = /<svg[^>]*class="timeline"[\s\S]*<\/svg>/.exec(body) ?? [];
  assert.match(
    svg,
    /role="img"\s+aria-label="Half of the replies came within [\d.]+ s\. 1 reply, from the message/,
  );
  assert.match(
    svg,
    /aria-label="[^"]*Level [\d.]+ % of the usable window; next mark: background at [\d,]+ tokens/,
  );
  assert.equal(svg.match(/class="reply"/g)?.length, 1);
  assert.equal(svg.match(/class="job forced"/g)?.length, 1);
  assert.equal(svg.match(/class="landing"/g)?.length, 1);
  assert.match(svg, />−992</);
  assert.match(svg, /class="step"/);
  assert.match(body, /<td>forced<\/td>\s*<td>1–2<\/td>\s*<td>1,000 → 8<\/td>/);
  assert.match(body, /Violet replies came while a summary was being written/);
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
  assert.match(body, /Nothing was answered or compacted here yet\. Level [\d.]+ % of the usable window/);
  assert.doesNotMatch(body, /class="timeline"/);
});

test("a band leads to what its summary covers, line by line, without deleted texts", async () => {
  await weir.say("my number is 4711", { room: "pier", id: "number" });
  await weir.event("reply_delivered", (event) => event.channel === "test:pier");
  await coverRoom(connection, "pier", "Ann told a number.");
  const body = await channelPage("pier");
  assert.equal(body.match(/Ann told a number\./g)?.length, 1);
  const source = "/page/source?id=test%3Apier&from=1&to=2";
  assert.ok(body.replaceAll("&amp;", "&").includes(`href="${source}"`));
  assert.match((await page.get(source, operator)).body, /my number is 4711[\s\S]*It lies under the stone\./);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "number", at: new Date() });
  const { body: left } = await page.get(source, operator);
  assert.match(left, /<small>deleted<\/small>/);
  assert.doesNotMatch(left, /4711/);
  assert.doesNotMatch(await channelPage("pier"), /4711/);
});

test("the log is shown by pages of 200 entries, up to the last that is asked for", async () => {
  for (let n = 1; n <= 205; n++) await weir.say(`line ${n}.`, { room: "long", addressed: false });
  const first = await page.get("/page/source?id=test:long", operator);
  assert.match(first.body, /entries 1–200/);
  assert.doesNotMatch(first.body, /line 201\.|before these/);
  assert.match(first.body, /from=201&(?:amp;)?to=205">↓ 201–205/);
  const second = await page.get("/page/source?id=test:long&from=201&to=203", operator);
  assert.match(second.body, /line 203\./);
  assert.doesNotMatch(second.body, /line 204\.|↓/);
  assert.match(second.body, /↑ before these/);
  for (const wrong of ["from=206", "from=5&to=4"]) {
    const { status, body } = await page.get(`/page/source?id=test:long&${wrong}`, operator);
    assert.deepEqual([status, /it ends with 205/.test(body)], [404, true], wrong);
  }
  assert.match((await page.get("/page/source?id=test:long&from=x&to=-1", operator)).body, /entries 1–200/);
  assert.equal((await page.get("/page/source?id=test:none", operator)).status, 404);
  const conversation = await channelPage("long");
  assert.match(conversation, /5 entries before these are in the view, too/);
  assert.match(await channelPage("long", "&before=6"), /line 5\.[\s\S]*↓ newest/);
});

test("the parts of the next request have the numbers of `/context`", async () => {
  const body = await channelPage("harbor");
  const { body: json } = await page.get("/channels/test%3Aharbor/context", {
    host: `127.0.0.1:${page.port}`,
    authorization: `Bearer ${page.token}`,
  });
  const report: { tokens: number; segments: { label: string; tokens: number }[] } = JSON.parse(json);
  const numbers = [...report.segments.map(({ tokens }) => tokens), report.tokens].filter(
    (tokens) => tokens > 0,
  );
  assert.ok(numbers.length > 2);
  for (const number of numbers) assert.match(body, new RegExp(`>\\s*${number.toLocaleString("en-US")}\\b`));
});
