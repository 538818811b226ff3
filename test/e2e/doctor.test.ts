// proves: src/cli/doctor.ts
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import { startDiscordServer } from "../support/discord/server.ts";
import { openHome } from "../support/e2e.ts";
import { text } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import { startSlackServer } from "../support/slack/server.ts";
import { connectionUrl } from "../support/weir.ts";
import { openStore } from "../store/open-store.ts";
import { wordVectors } from "../support/word-vectors.ts";
import { slackManifest } from "../../src/platforms/slack/manifest.ts";
import { z } from "zod";

const NOWHERE = "http://127.0.0.1:9";
const manifest = z.object({ oauth_config: z.object({ scopes: z.object({ bot: z.array(z.string()) }) }) });

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const model = await startModelServer();
after(async () => model[Symbol.asyncDispose]());
const discord = await startDiscordServer();
after(async () => discord[Symbol.asyncDispose]());
const { scopes } = manifest.parse(slackManifest("socket")).oauth_config;
const slack = await startSlackServer({ scopes: scopes.bot });
after(async () => slack[Symbol.asyncDispose]());
discord.world.addGuild();
model.respond(() => text("pong"));

/** An embedding model, where the test says so. */
const EMBEDDINGS = '[llm.embeddings]\nmodel = "words"\n';

interface Places {
  readonly databaseUrl: string;
  readonly modelUrl: string;
  readonly discordUrl: string;
  readonly slackUrl: string;
}

const RIGHT: Places = {
  databaseUrl: connectionUrl(database.connection),
  modelUrl: model.url,
  discordUrl: discord.api,
  slackUrl: slack.apiUrl.replace(/\/$/, ""),
};

/** `weir doctor` with everything where it is said to be. */
async function doctor(
  places: Places,
  more = "",
): Promise<{ code: number | null; wrong: string[]; text: string }> {
  const config = `
${more}
[[agents]]
id = "main"
model = "test-model"
[platforms.discord]
api_url = "${places.discordUrl}"
[platforms.slack]
api_url = "${places.slackUrl}"
`;
  await using home = await openHome({ modelUrl: places.modelUrl, config });
  const env = {
    DATABASE_URL: places.databaseUrl,
    DISCORD_TOKEN: discord.token,
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
  };
  const lines = Object.entries(env).map(([name, value]) => `${name}="${value}"\n`);
  await writeFile(path.join(home.folder, ".env"), lines.join(""));
  const { code, out, stderr } = await home.run("doctor");
  const wrong = out.flatMap((line) => /^✗ ([^:]+):/.exec(line)?.[1] ?? []);
  return { code, wrong, text: [...out, stderr].join("\n") };
}

test("doctor ends with 0 where all is well", async () => {
  const { code, wrong, text: said } = await doctor(RIGHT);
  assert.deepEqual([code, wrong], [0, []], said);
});

for (const [what, places, wrong] of [
  ["the database", { databaseUrl: "postgres://weir@127.0.0.1:9/weir" }, ["database"]],
  ["the model server", { modelUrl: `${NOWHERE}/v1` }, ["model test-model"]],
  ["Discord", { discordUrl: `${NOWHERE}/api` }, ["Discord token"]],
  ["Slack", { slackUrl: `${NOWHERE}/api` }, ["Slack token", "Slack socket"]],
] satisfies [string, Partial<Places>, string[]][]) {
  test(`doctor ends with 1 where ${what} can't be reached, and looks at the rest all the same`, async () => {
    const found = await doctor({ ...RIGHT, ...places });
    assert.deepEqual([found.code, found.wrong], [1, wrong], found.text);
    assert.match(found.text, new RegExp(`^${wrong.length} of these must be mended`, "m"));
  });
}

test("doctor tells of wishes that this Weir has not signed, without their words", async () => {
  await using open = openStore(database.connection);
  const { id } = await open.channel("doctor");
  const seq = await open.say(id, "answer in Klingon");
  await open.sql(
    `insert into wishes (channel_id, seq, agent, act, topic, asker, wish, quote, at, key_id, signature)
     values ($1, $2, 'main', 'want', 'language', 'u-ann', 'Answer in Klingon.', 'Klingon', now(), 'k', 's')`,
    id,
    seq,
  );
  const found = await doctor(RIGHT);
  await open.sql("delete from wishes");
  assert.deepEqual([found.code, found.wrong], [1, ["wishes"]], found.text);
  assert.match(
    found.text,
    /✗ wishes: Not used: 1 row of wishes \(1\), signed under another key than this Weir has/,
  );
  assert.doesNotMatch(found.text, /Klingon/);
});

test("doctor asks the embedding model for a vector, and says what its answer lacks", async () => {
  assert.match((await doctor(RIGHT)).text, /^– embeddings: off: llm\.embeddings\.model is not set$/m);
  assert.match((await doctor(RIGHT, EMBEDDINGS)).text, /^✗ embeddings: .*404/m);
  model.embed = ({ input }) => wordVectors(input);
  const right = await doctor(RIGHT, EMBEDDINGS);
  assert.equal(right.code, 0);
  assert.match(
    right.text,
    /^✓ embeddings: words at http:.* answers \(.*\) with 256 numbers a text; 0 texts have/m,
  );
  const short = await doctor(RIGHT, `${EMBEDDINGS}dimensions = 64\n`);
  assert.match(short.text, /✗ embeddings: .*has 256 numbers, and not 64.*\n.*see \[llm\.embeddings\]/);
});

test("doctor has a second of silence transcribed", async () => {
  const named = '[llm.transcription]\nmodel = "words"\n';
  assert.match((await doctor(RIGHT)).text, /^– transcription: off: llm\.transcription\.model is not set$/m);
  const wrong = await doctor(RIGHT, named);
  assert.match(wrong.text, /^✗ transcription: .*404.*\n.*see \[llm\.transcription\]/m);
  model.transcribe = () => ({ text: "" });
  assert.match((await doctor(RIGHT, named)).text, /^✓ transcription: words at http:.* answers \(/m);
  const [asked] = model.transcribed;
  assert.deepEqual(asked?.file, { name: "silence.wav", type: "audio/wav", bytes: 16_044 });
});
