// proves: src/store/database/server-client.ts, src/platforms/intake/intake.ts
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { openStore } from "../store/open-store.ts";
import { makeAuthority } from "../support/certificates.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { startDiscordServer } from "../support/discord/server.ts";
import { openMainHome } from "../support/e2e-main.ts";
import { text } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { startSlackServer } from "../support/slack/server.ts";
import { startTlsFront } from "../support/tls-front.ts";

/** A platform with a person in a channel. */
interface Room extends AsyncDisposable {
  readonly config: string;
  readonly env: NodeJS.ProcessEnv;
  readonly mention: string;
  /** @returns the message's id */
  say(words: string): string;
  edit(id: string, words: string): void;
  remove(id: string): void;
}

async function openDiscord(): Promise<Room> {
  const discord = await startDiscordServer();
  const { world } = discord;
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  const general = world.addChannel({ guild: world.addGuild({ name: "Mill" }), name: "general" });
  return {
    config: `[platforms.discord]\napi_url = "${discord.api}"`,
    env: { DISCORD_TOKEN: discord.token },
    mention: `<@${world.botId}>`,
    say: (words) => world.say(ann, general, words),
    edit: (id, words) => world.edit(id, words),
    remove: (id) => world.remove(id),
    [Symbol.asyncDispose]: async () => discord[Symbol.asyncDispose](),
  };
}

async function openSlack(): Promise<Room> {
  // Nothing is delivered again: what Weir drops is lost.
  const slack = await startSlackServer({ retryDelaysMs: [], ackTimeoutMs: 1000 });
  const { world } = slack;
  const ann = world.addUser("ann");
  const general = world.addChannel({ name: "general", members: [ann] });
  return {
    config: `[platforms.slack]\napi_url = "${slack.apiUrl}"`,
    env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken },
    mention: `<@${world.bot.id}>`,
    say: (words) => world.say(ann, general, words),
    edit: (id, words) => world.edit(general, id, words),
    remove: (id) => world.remove(general, id),
    [Symbol.asyncDispose]: async () => slack[Symbol.asyncDispose](),
  };
}

function userOf({ connection }: TestDatabase): string {
  return "url" in connection ? new URL(connection.url).username : connection.user;
}

for (const [name, openRoom] of [
  ["Discord", openDiscord],
  ["Slack", openSlack],
] as const) {
  test(`a certificate of the database that is refused is waited for, and nothing of ${name} is lost meanwhile`, async () => {
    await using room = await openRoom();
    await using model = await startModelServer();
    model.respond(() => text("Noted."));
    await using database = await createTestDatabase();
    await using outside = openStore(database.connection);
    const authority = makeAuthority();
    const good = authority.issue();
    const expired = authority.issue({ until: new Date(Date.now() - 60_000) });
    await using front = await startTlsFront(database.connection, expired);
    const where = `localhost:${front.port}`;
    await using home = await openMainHome(room.config, {
      ...room.env,
      OPENAI_BASE_URL: model.url,
      DATABASE_URL: `postgres://${userOf(database)}@${where}/${database.name}?sslmode=verify-full&sslrootcert=ca.pem`,
    });
    await writeFile(path.join(home.folder, "ca.pem"), authority.cert);
    const held = async (): Promise<string> => {
      const rows = await outside.sql<{ said: string }>(
        "select text as said from entries where kind = 'user' union all select text from revisions",
      );
      return rows.map(({ said }) => said).join("\n");
    };

    const daemon = home.run("start");
    const waits = await daemon.errorLine("database_waited_for");
    assert.match(waits, /certificate has expired \(localhost:\d+\)/);
    assert.doesNotMatch(daemon.stderr, /\n\s+at /);
    front.show(good);
    await daemon.line("Weir is ready");

    const { mention } = room;
    const changed = room.say(`${mention} the meeting is at nine`);
    const secret = room.say(`${mention} my password is papaya`);
    await until("both are held", async () => /nine[^]*papaya/.test(await held()));
    await until("they are answered", async () => {
      const open = await outside.sql("select 1 from turns where settled_at is null");
      return open.length === 0 && model.requests.length > 0;
    });

    front.show(makeAuthority("Another").issue());
    room.edit(changed, `${mention} the meeting is at ten`);
    room.remove(secret);
    room.say(`${mention} and where is it?`);
    const before = front.dialled;
    await until("it has tried", () => front.dialled >= before + 12);
    front.show(good);
    await until("all is held", async () => {
      const now = await held();
      return now.includes("where is it?") && now.includes("at ten") && !now.includes("papaya");
    });
    assert.doesNotMatch(daemon.stderr, /event_refused|event_not_read\b/);
    daemon.signal("SIGTERM");
    assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  });
}
