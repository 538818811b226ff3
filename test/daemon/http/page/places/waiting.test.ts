// proves: src/daemon/http/page/places/waiting.ts, src/admin/reports/server-list.ts, src/features/features.ts, src/features/reminders/feature.ts, src/features/subagents/feature.ts, src/features/skills/feature.ts
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { SKILLS } from "../../../../../src/features/skills/key.ts";
import { ANN, authorOf, command } from "../../../../support/commands.ts";
import { stalledStream, text, toolCalls } from "../../../../support/model-behaviours.ts";
import { startPage } from "../../../../support/page.ts";
import { until } from "../../../../support/patience.ts";
import { openSubagentWorld, scriptBoth, spawn } from "../../../../support/subagents.ts";
import { readConfig, startWeir } from "../../../../support/weir.ts";

const SECRET = "sk-list-secret-0123456789";
const GOOD_SERVER = path.join(import.meta.dirname, "../../../../support/mcp/good-server.ts");
const AGENT = '[[agents]]\nid = "main"\nmodel = "test-model"\ntime_zone = "UTC"\n';
const BARE = `${AGENT}[agents.subagents]\nenabled = true\n`;
const SERVED = `${BARE}
[[agents.mcp]]
name = "kit"
command = "node"
args = [${JSON.stringify(GOOD_SERVER)}]
[[agents.mcp]]
name = "lost"
command = "/nowhere/to-be-found"
`;
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const world = stack.use(await openSubagentWorld());
const agentsDir = await mkdtemp(path.join(tmpdir(), "weir-lists-"));
stack.defer(async () => rm(agentsDir, { recursive: true, force: true }));
const options = { connection: world.connection, modelUrl: world.server.url, apiKey: SECRET, agentsDir };
const weir = stack.use(await startWeir({ ...options, config: BARE }));
const page = stack.use(
  await startPage(weir.daemon, await readConfig({ ...options, config: BARE }), Date.now()),
);
const operator = await page.signIn();

/** The lists of the place. */
async function lists(): Promise<string> {
  const { status, body } = await page.get("/page/waiting", operator);
  assert.equal(status, 200, body);
  assert.ok(!body.includes(SECRET));
  assert.doesNotMatch(body, /<img/);
  return body.slice(body.indexOf("<h2>Reminders</h2>"));
}

test("each empty list says how there comes to be something in it", async () => {
  const body = await lists();
  assert.match(body, /<h2>Reminders<\/h2>\s*<p class="dim">None\. \/remind in a channel sets one/);
  assert.match(body, /<h2>Subagents at work<\/h2>\s*<p class="dim">None\. An agent begins one/);
  assert.match(body, /<h2>Skills<\/h2>\s*<p class="dim">None\. A skill is a folder/);
  assert.match(body, /<h2>MCP servers<\/h2>\s*<p class="dim">None\. Servers stand in config\.toml/);
});

test("reminders of all channels are listed as `/reminders` has them, the next first, without one that was deleted", async () => {
  const reminding = toolCalls([{ name: "remind", arguments: { in: "2h", text: "swordfish" } }]);
  world.server.respond(({ messages }) => (messages.at(-1)?.role === "tool" ? text("I will.") : reminding));
  await weir.say("remind me of swordfish", { room: "pier", id: "pier-1", author: authorOf(ANN) });
  await weir.event("turn_settled", (event) => event.channel === "test:pier");
  await weir.say("hello", { room: "quay", addressed: false });
  await command(weir, "quay", `/remind in 3h <img src=x> ${SECRET}`);
  const body = await lists();
  assert.match(
    body,
    /<a href="\/page\/channel\?id=test%3Apier">test:pier<\/a>\s*#1 \w+ [\d-]+ [\d:]+ UTC for Ann: swordfish[^]*test:quay<\/a>\s*#2 [^<]*: &lt;img src=x&gt; •••/,
  );
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "pier-1", at: new Date() });
  assert.doesNotMatch(await lists(), /swordfish/);
});

test("a list of 10,000 shows the first fifty and says that there are more", async () => {
  await world.beside.sql(
    `insert into reminders (channel_id, time_zone, text, next_at, asked_seq)
     select channel_id, 'UTC', 'many ' || n, now() + n * interval '1 day', asked_seq
       from reminders, generate_series(1, 10000) n where state = 'active'`,
  );
  const body = await lists();
  assert.equal(body.match(/: many \d+/g)?.length, 49);
  assert.match(body, /The first 50: there are more\./);
  await world.beside.sql("delete from reminders where text like 'many%'");
});

test("a subagent at work is listed with its channel until it ends", async () => {
  scriptBoth(
    world.server,
    () => stalledStream(),
    ({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? text("It is counted.")
        : spawn(`count the boats <img src=x> ${SECRET}`),
  );
  await weir.say("count them", { room: "dock", author: authorOf(ANN) });
  await until("it is at work", async () => (await lists()).includes("count the boats"));
  assert.match(
    await lists(),
    /test:dock<\/a>\s*1: since [\d-]+ [\d:]+, asked for by Ann, [\d,]+ tokens so far: count the boats &lt;img src=x&gt; •••/,
  );
  assert.equal(await command(weir, "dock", "/agents stop 1"), "Subagent 1 is stopped.");
  assert.match(await lists(), /<h2>Subagents at work<\/h2>\s*<p class="dim">None/);
});

test("skills are listed by agent, with where they are active, also without their file", async () => {
  await mkdir(path.join(agentsDir, "main/skills/sails"), { recursive: true });
  await writeFile(
    path.join(agentsDir, "main/skills/sails/SKILL.md"),
    "---\nname: sails\ndescription: mends <b>sails</b>\n---\nSew.",
  );
  await weir.reload(BARE);
  await weir.daemon.current.setup.agents.first.agent.folder.refresh();
  const [channel] = await world.beside.sql<{ id: number }>("select id from channels where name = 'quay'");
  assert.match(await lists(), /<li>\s*main: sails: mends &lt;b&gt;sails&lt;\/b&gt;\s*<\/li>/);
  await world.beside.sql(
    `insert into active_skills (channel_id, name, agent) values (${channel?.id}, 'sails', ''), (${channel?.id}, 'gone<i>', 'other')`,
  );
  const body = await lists();
  assert.match(body, /main: sails \(active in 1 channel\): mends/);
  assert.match(body, /other: gone&lt;i&gt; \(active in 1 channel, but its file is gone\)/);
  assert.deepEqual(await weir.daemon.features.serviceOf(SKILLS).everywhere(), [
    { agent: "main", name: "sails", channels: 1 },
    { agent: "other", name: "gone<i>", channels: 1 },
  ]);
});

test("MCP servers are listed with their tools, and one that cannot be reached says why", async () => {
  await weir.reload(SERVED);
  await until("both are tried", async () =>
    /main: server kit: \d+ tools[^]*✗ server lost cannot be reached: (?!it does not answer)/.test(
      await lists(),
    ),
  );
});
