// proves: src/daemon/http/page/places/overview.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { describeCost } from "../../../../../src/admin/reports/cost-format.ts";
import { reportUsage } from "../../../../../src/admin/reports/usage-report.ts";
import { openStore } from "../../../../store/open-store.ts";
import { coverRoom } from "../../../../support/covered.ts";
import { createTestDatabase } from "../../../../support/database.ts";
import { text } from "../../../../support/model-behaviours.ts";
import { startModelServer } from "../../../../support/model-server.ts";
import { startPage } from "../../../../support/page.ts";
import { readConfig, startWeir } from "../../../../support/weir.ts";

/** A time zone in which it is noon, so that no test is the one at midnight. */
const hours = 12 - new Date().getUTCHours();
const NOON = `Etc/GMT${hours > 0 ? "-" : "+"}${Math.abs(hours)}`;
const CONFIG = `
[[agents]]
id = "main"
model = "test-model"
time_zone = "${NOON}"
[agents.budget]
tokens = 1_000_000
[models."test-model"]
price_in = 1.0
price_out = 2.0
`;
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const model = stack.use(await startModelServer());
model.respond(() => text("It lies under the stone."));
const { connection } = stack.use(await createTestDatabase());
const beside = stack.use(openStore(connection));
const weir = stack.use(await startWeir({ connection, modelUrl: model.url, config: CONFIG }));
const config = await readConfig({ connection, modelUrl: model.url, config: CONFIG });
const page = stack.use(await startPage(weir.daemon, config, Date.now()));
const operator = await page.signIn();

async function overview(): Promise<string> {
  const { status, body } = await page.get("/", operator);
  assert.equal(status, 200, body);
  return body;
}

test("an overview without anything says how each part is filled", async () => {
  await weir.reload(CONFIG.replace("tokens = 1_000_000", "tokens = 0"));
  const body = await overview();
  assert.match(body, /<p class="ok">Nothing waits for you\.<\/p>/);
  assert.match(body, /No model was called\. <a href="\/page\/usage">/);
  assert.match(body, /No budget is counted today: limits stand in config\.toml/);
  assert.match(body, /No summary has landed: [^<]*<code>\/compact<\/code>/);
  assert.match(body, /No channel has a message yet/);
  assert.match(body, /<p>Weir \d+\.\d+\.\d+, Node \d+\.\d+\.\d+, database version \d+<\/p>/);
  await weir.reload(CONFIG);
});

test("money has the figures of `weir usage`, and landings and emergencies are those of the last day by channel", async () => {
  for (const room of ["<b>quay", "pier"]) {
    await weir.say("where is the key?", { room });
    await weir.event("reply_delivered", (event) => event.channel === `test:${room}`);
  }
  await coverRoom(connection, "<b>quay", "They spoke of a key.");
  await coverRoom(connection, "pier", "They spoke of a key.");
  await beside.sql(
    `update jobs set ended_at = ended_at - interval '25 hours', created_at = created_at - interval '25 hours'
      where channel_id = (select id from channels where name = 'pier')`,
  );
  await beside.sql("update jobs set tier = 'emergency'");
  const body = await overview();
  assert.match(
    body,
    /<a href="\/page\/channel\?id=test%3A%3Cb%3Equay">test:&lt;b&gt;quay<\/a><\/td><td>1<\/td><td><span class="warn">1<\/span>/,
  );
  const [, compacted = ""] = /Compactions in a day([^]*?)Versions/.exec(body) ?? [];
  assert.doesNotMatch(compacted, /pier/);
  const { store, models } = weir.daemon;
  const since = new Date(Date.now() - 3_600_000);
  const usages = await store.usage.by("agent", { since }, "UTC");
  const { total } = reportUsage("agent", since, usages, (name) => models.priceOf(name));
  assert.equal(total.calls, 2);
  assert.ok(body.includes(`2 model calls: ${describeCost(total.cost)}. <a`));
  assert.match(body, /<td>agent main<\/td><td>main<\/td><td>[\d,]+ of 1,000,000 tokens<\/td>/);
});

test("the daemons of a cluster that are there stand with their versions, and none that is gone", async () => {
  assert.doesNotMatch(await overview(), /In the cluster:/);
  await beside.sql(
    `insert into members (id, name, version, host, pid, started_at, seen_at, held, vitals)
     select gen_random_uuid(), name, '0.1.' || n, 'host', n, now(), now() - n * interval '40 minutes', '{}', '{}'
       from (values ('east<b>', 0), ('west', 1)) m (name, n)`,
  );
  assert.match(await overview(), /<p>\s*In the cluster:\s+east&lt;b&gt; 0\.1\.0\s*<\/p>/);
  await beside.sql("delete from members");
});

test("what waits is counted, and leads to its list; a list that is full may be longer", async () => {
  await beside.sql(
    `insert into pairing_requests (platform, person, name, channel, code, said_to, said_ids)
     select 'discord', n::text, 'Eve<i>', 'dm', 'ABCD' || lpad(n::text, 4, '0'), now(), '{}' from generate_series(1, 60) n`,
  );
  assert.match(
    await overview(),
    /<p class="warn">\s*<a href="\/page\/waiting">50 things or more for a person to decide<\/a>/,
  );
  await beside.sql("delete from pairing_requests where person <> '1'");
  await weir.reload("[[agents]]\nid = 1");
  assert.match(await overview(), />1 thing for a person to decide; the configuration<\/a>/);
  await weir.reload(CONFIG);
});
