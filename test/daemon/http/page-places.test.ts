// proves: src/daemon/http/page/places/turn.ts, src/daemon/http/page/places/turn-calls.ts, src/daemon/http/page/places/turn-request.ts, src/daemon/http/page/places/memories.ts, src/daemon/http/page/places/waiting.ts, src/daemon/http/page/places/usage.ts, src/daemon/http/page/places/settings.ts, src/store/turns/turn-details.ts
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { reportUsage, usageTable } from "../../../src/admin/reports/usage-report.ts";
import { USAGE_KEYS } from "../../../src/core/listings.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { openStore } from "../../store/open-store.ts";
import { lookingUp } from "../../support/approvals.ts";
import { BEN, command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startPage } from "../../support/page.ts";
import { until } from "../../support/patience.ts";
import { readConfig, startWeir } from "../../support/weir.ts";

const SECRET = "sk-page-secret-0123456789";
const MARKUP = "<img src=x onerror=alert(1)>";
const CONFIG = `
[[agents]]
id = "main"
model = "test-model"
time_zone = "UTC"
[agents.budget]
tokens = 1_000_000
[models."test-model"]
price_in = 1.0
price_out = 2.0
`;
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());

const model = stack.use(await startModelServer());
model.respond(lookingUp);
const database = stack.use(await createTestDatabase());
const agentsDir = await mkdtemp(path.join(tmpdir(), "weir-places-"));
stack.defer(async () => rm(agentsDir, { recursive: true, force: true }));
await mkdir(path.join(agentsDir, "main"));
const memoryFile = path.join(agentsDir, "main", "MEMORY.md");
await writeFile(memoryFile, `The crane was bought in 1998. ${MARKUP} ${SECRET}`);
const options = {
  connection: database.connection,
  agentsDir,
  modelUrl: model.url,
  apiKey: SECRET,
  config: CONFIG,
};
const weir = stack.use(await startWeir(options));
const beside = stack.use(openStore(database.connection));
const page = stack.use(await startPage(weir.daemon, await readConfig(options), Date.now()));
const operator = await page.signIn();

/** The page as text. */
async function show(where: string, status = 200): Promise<string> {
  const answer = await page.get(where, operator);
  assert.equal(answer.status, status, answer.body);
  assert.doesNotMatch(answer.body, /style=|<img|<script(?! type="module" src="\/page\/assets\/)/);
  assert.doesNotMatch(answer.body, new RegExp(SECRET));
  return answer.body;
}

/** Says something, and waits for its turn. @returns the turn's number */
async function say(words: string, room: string, id: string): Promise<number> {
  const before = weir.events.length;
  await weir.say(words, { room, id });
  const settled = await weir.event(
    "turn_settled",
    (event) => event.channel === `test:${room}` && weir.events.indexOf(event) >= before,
  );
  return settled.turn;
}

test("a turn shows what it answered, called, was made of and delivered, as text", async () => {
  await say("the harbor opens at eight", "quay", "quay-1");
  await command(weir, "quay", "/remember the harbor has two piers");
  const turn = await say(`look up the harbor ${MARKUP} ${SECRET}`, "quay", "quay-2");
  await beside.sql(
    `set local session_replication_role = replica;
     update entries set data = '{"recalled": {"entries": [1], "memories": [1, 999]}}'
      where kind = 'assistant' and turn_id = ${turn}`,
  );
  const where = `/page/turn?id=test%3Aquay&turn=${turn}`;
  await until("its record is kept", async () => (await show(where)).includes("<h3>Sections</h3>"));
  const body = await show(where);
  assert.match(
    body,
    /It answers<\/h2>[^]*look up the harbor &lt;img src=x onerror=alert\(1\)&gt; •••[^]*It wrote/,
  );
  assert.match(body, /search_history\(\{&quot;query&quot;:&quot;the harbor &lt;img/);
  assert.match(body, /<td>search_history<\/td><td><span class="ok">entry \d+<\/span>/);
  assert.match(body, /It wrote[^]*told: Nothing was found in this channel/);
  assert.match(body, /aria-label="2 model calls of [\d.]+ s together; [\d.]+ s for everything else/);
  assert.match(body, /% of [\d,]+ usable tokens: low; the window\s+has 32,768\. In all: about/);
  assert.match(body, /<b>tools<\/b> · [\d,]+ tokens/);
  assert.match(body, /As it was said: 6 entries/);
  assert.match(
    body,
    /Recalled[^]*#1 the harbor has two piers[^]*1 memory forgotten or hidden since[^]*opens at eight/,
  );
  assert.match(body, /<span class="ok">sent<\/span>/);
  assert.match(body, /<h2>Log<\/h2>\s*<p class="dim">This daemon keeps no log in a file/);
  const list = await show("/page/turn?id=test%3Aquay");
  assert.match(list, new RegExp(`href="/page/turn\\?id=test%3Aquay&amp;turn=${turn}"`));
});

test("a turn shows no word that was deleted, and only turns of its own channel", async () => {
  const turn = await say("the password is swordfish", "pier", "pier-1");
  const where = `/page/turn?id=test%3Apier&turn=${turn}`;
  assert.match(await show(where), /swordfish/);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "pier-1", at: new Date() });
  const body = await show(where);
  assert.doesNotMatch(body, /swordfish/);
  assert.match(body, /No record is kept/);
  for (const wrong of [`test%3Aquay&turn=${turn}`, "test%3Apier&turn=0", "test%3Apier&turn=1e3", "none"])
    await show(`/page/turn?id=${wrong}`, 404);
});

test("a section of a turn opens while its text is the same", async () => {
  const turn = await say("how old is the crane?", "crane", "crane-1");
  const where = `/page/turn?id=test%3Acrane&turn=${turn}`;
  const opened = /<summary>\s*<b>memory<\/b>[^]*?<pre>[^<]*The crane was bought in 1998\. &lt;img[^<]*•••/;
  await until("its record is kept", async () => (await show(where)).includes("<h3>Sections</h3>"));
  assert.match(await show(where), opened);
  await writeFile(memoryFile, "The crane was sold.");
  await until("the changed file is read", async () => {
    await weir.daemon.current.setup.agents.first.agent.folder.refresh();
    return !opened.test(await show(where));
  });
  const body = await show(where);
  assert.match(body, /<b>memory<\/b>[^]*?· its text is another today/);
  assert.doesNotMatch(body, /1998|was sold/);
});

test("memories show who said what, where and when, what ended and what was refused, and a person's together", async () => {
  await command(weir, "quay", `/remember I sail on Fridays ${MARKUP}`);
  await command(weir, "quay", "/remember my key is AKIAIOSFODNN7EXAMPLE");
  await say("hello", "shed", "shed-1");
  await command(weir, "shed", "/remember the shed is blue", BEN);
  const [channel] = await beside.sql<{ id: number }>("select id from channels where name = 'shed'");
  await beside.sql(
    `update memories set valid_to = valid_from + interval '1 day' where channel_id = ${channel?.id}`,
  );
  const all = await show("/page/memories");
  assert.match(all, /I sail on Fridays &lt;img src=x onerror=alert\(1\)&gt;/);
  assert.match(all, /entry \d+, [\d: -]+, Ann:\s+“I sail on Fridays/);
  assert.match(all, /Ended <span class="dim">1 memory<\/span>[^]*the shed is blue/);
  assert.match(all, /<a href="\/page\/memories\?id=test%3Aquay">test:quay<\/a>/);
  const quay = await show("/page/memories?id=test%3Aquay");
  assert.doesNotMatch(quay, /shed is blue/);
  assert.match(quay, /Refused<\/h2>[^]*<td>secret<\/td><td>1<\/td>/);
  const ben = await show("/page/memories?person=ben");
  assert.match(ben, /the shed is blue/);
  assert.doesNotMatch(ben, /Fridays/);
  assert.match(await show("/page/memories?person=Nobody%3Cb%3E"), /Nothing is remembered of Nobody&lt;b&gt;/);
  await show("/page/memories?id=test%3Anone", 404);
  const [, number] = /#(\d+)<br \/>[^#]*I sail on Fridays/.exec(all) ?? [];
  assert.ok(number !== undefined);
  await command(weir, "quay", `/forget ${number}`);
  assert.doesNotMatch(await show("/page/memories"), /Fridays/);
});

test("a channel's memories come with what features know of it", async () => {
  await beside.sql(
    `insert into wishes (channel_id, seq, agent, act, topic, asker, wish, quote, at, key_id, signature)
     select id, 1, 'main', 'want', 'language', 'u-ann', 'Answer in Klingon.', 'opens', now(), 'x', 'x'
       from channels where name = 'quay'`,
  );
  const body = await show("/page/memories?id=test%3Aquay");
  assert.match(body, /Learned of how to answer<\/h2>[^]*Not used: 1 row of wishes \(1\)/);
  assert.doesNotMatch(body, /Klingon/);
});

test("what waits for a person is in one inbox, with how to act on it", async () => {
  const empty = await show("/page/waiting");
  assert.match(empty, /<p class="ok">Nothing waits for you\.<\/p>/);
  assert.match(empty, /<td>reminders<\/td><td>none<\/td>/);
  await beside.sql(
    `insert into approvals (channel_id, turn_id, call_id, agent, tool, arguments, fingerprint, expires_at)
     select c.id, t.id, 'call-1', 'main', 'note<b>', $1, 'print', now() + interval '1 hour'
       from channels c join turns t on t.channel_id = c.id where c.name = 'quay' order by t.id limit 1`,
    JSON.stringify({ text: `keep ${MARKUP} ${SECRET}` }),
  );
  await beside.sql(
    `insert into pairing_requests (platform, person, name, channel, code, said_to, said_ids)
     values ('discord', '42', 'Eve<i>', 'dm', 'ABCD2345', now(), '{}')`,
  );
  weir.platform.fail = () => {
    throw new PlatformError("test", "rejected", "the platform takes nothing");
  };
  await say("hello", "wharf", "wharf-1");
  await weir.reload("[[agents]]\nid = 1");
  await until("the refused part", async () =>
    (await show("/page/waiting")).includes("Refused by a platform"),
  );
  const body = await show("/page/waiting");
  weir.platform.fail = () => undefined;
  assert.match(body, /#1: main asks for an approval[^]*keep &lt;img[^]*\/approve 1[^]*\/deny 1 REASON/);
  assert.match(body, /Eve&lt;i&gt; \(discord:42\): [^<]*pair ABCD2345 lets them in/);
  assert.match(body, /It is refused since [^<]*: /);
  assert.match(body, /Refused by a platform within a day[^]*test%3Awharf&amp;turn=\d+/);
  await weir.reload(CONFIG);
  assert.doesNotMatch(await show("/page/waiting"), /It is refused since/);
});

test("usage shows the figures of `weir usage` and of the budgets, and the same as a file without formulas", async () => {
  const author = { id: "u-eve", name: "=HYPERLINK", isBot: false };
  await weir.say("hello", { room: "mast", id: "mast-1", author });
  await weir.event("turn_settled", (event) => event.channel === "test:mast");
  const since = new Date(Date.now() - 24 * 3_600_000);
  const { store, models } = weir.daemon;
  for (const by of USAGE_KEYS) {
    const body = await show(`/page/usage?by=${by}&since=1d`);
    const report = reportUsage(by, since, await store.usage.by(by, { since }, "UTC"), (name) =>
      models.priceOf(name),
    );
    const { rows } = usageTable(report);
    assert.ok(rows.length > 0);
    const cells = [...body.matchAll(/<td>(?:<a [^>]*>)?([^<]*)/g)].map(([, text]) => text);
    for (const [, ...numbers] of rows)
      assert.ok(cells.join("\n").includes(numbers.join("\n")), `${by}: ${numbers.join(", ")}`);
  }
  const people = await show("/page/usage?by=person&since=1d");
  assert.match(people, /href="\/page\/memories\?person=%3DHYPERLINK">\s*test:u-eve =HYPERLINK/);
  assert.match(people, /<td>agent main<\/td><td>main<\/td><td>[\d,]+ of 1,000,000 tokens<\/td><td><meter/);
  const file = await page.get("/page/usage.csv?by=person&since=1d", operator);
  assert.deepEqual(
    [file.status, file.headers["content-type"], file.headers["content-disposition"]],
    [200, "text/csv; charset=utf-8", 'attachment; filename="weir-usage-by-person.csv"'],
  );
  assert.match(
    file.body,
    /^"person","name","calls","tokens_in",[^]*\r\n"test:u-eve","'=HYPERLINK","1","\d+",/,
  );
  assert.equal((await page.get("/page/usage.csv")).status, 401);
  await show("/page/usage?by=colour", 400);
  await show("/page/usage?since=%3Cb%3E", 400);
  await weir.reload(CONFIG.replace("tokens = 1_000_000", "tokens = 0"));
  assert.match(await show("/page/usage?since=2026-01-01"), /No budget is counted today/);
});

test("settings show what is in force, why a file is refused, and the file without its secrets", async () => {
  await weir.reload(CONFIG);
  const notes = path.join(agentsDir, "main", "channels", "test-quay");
  await mkdir(notes, { recursive: true });
  await writeFile(path.join(notes, "MEMORY.md"), "12345");
  await mkdir(path.join(agentsDir, "main", "rules"), { recursive: true });
  await writeFile(path.join(agentsDir, "main", "rules", "<b>.md"), "---\nchannels: {\n---\nBe kind.");
  await weir.daemon.current.setup.agents.first.agent.folder.refresh();
  await until("the folder is read", async () => (await show("/page/settings")).includes("rules"));
  const listed = await show("/page/settings");
  assert.match(listed, /<td>[^<]*main\/MEMORY\.md<\/td><td>main<\/td><td>\d+<\/td><td>you<\/td><td><\/td>/);
  assert.match(
    listed,
    /main\/rules\/&lt;b&gt;\.md<\/td><td>main<\/td><td>\d+<\/td><td>you<\/td><td><span class="warn">[^<]+/,
  );
  assert.match(
    listed,
    /main\/channels\/test-quay\/MEMORY\.md<\/td><td>main<\/td><td>5<\/td><td>the agent and you/,
  );
  const { file } = weir.daemon.current.setup.config;
  assert.ok(file !== null);
  assert.match(await show("/page/settings"), /It is not there any more/);
  await mkdir(path.dirname(file), { recursive: true });
  stack.defer(async () => rm(path.dirname(file), { recursive: true, force: true }));
  await writeFile(
    file,
    `# ${SECRET}\n[llm]\napi_key = "${SECRET}"\n[[agents]]\nid = "${MARKUP}"\nprompt = "pass word"`,
  );
  const body = await show("/page/settings");
  assert.ok(body.includes(`<code>${file}</code>`));
  assert.match(body, /<p class="ok">\s*In force, reloaded at /);
  assert.match(body, /agent main\n {2}model {7}test-model/);
  assert.match(
    body,
    /2 {2}\[llm\]\n +3 {2}api_key = &quot;•+&quot;\n +4 {2}\[\[agents\]\]\n +5 {2}id = &quot;&lt;img/,
  );
  await weir.reload(`${CONFIG}[[agents]]\nid = 7\nname = "${MARKUP}"\n`);
  const refused = await show("/page/settings");
  assert.match(refused, /<p class="bad">It is refused since [^<]* and the one before is in force/);
  assert.match(refused, /The configuration has \d+ problems?:[^]*agents\[1\]\.id/);
  await weir.reload(`${CONFIG}[http]\nlisten = "127.0.0.1:0"\n`);
  assert.match(await show("/page/settings"), /<p class="warn">Takes effect at the next start: http/);
});
