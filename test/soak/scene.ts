import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { startLoopbackServer } from "../../src/platforms/local/loopback/server.ts";
import { Sql } from "../chaos/sql.ts";
import { Random } from "../fuzz/random.ts";
import { type DiscordServer, startDiscordServer } from "../support/discord/server.ts";
import { openHome, openSeed } from "../support/e2e.ts";
import type { TestProcess } from "../support/process.ts";
import { type SlackServer, startSlackServer } from "../support/slack/server.ts";
import { type SoakModel, startSoakModel } from "./model.ts";
import { discordRooms, loopbackRooms, type Room, slackRooms } from "./rooms.ts";

/** One daemon in a process of its own and all that is round it: the model's server has its own process, the platforms have ours. */
export interface SoakScene extends AsyncDisposable {
  readonly random: Random;
  readonly discord: DiscordServer;
  readonly slack: SlackServer;
  readonly loopbackUrl: string;
  readonly model: SoakModel;
  readonly rooms: readonly Room[];
  readonly daemon: TestProcess;
  readonly sql: Sql;
  readonly probeFile: string;
  readonly tempFolder: string;
  /** The daemon reads it anew when it is saved. */
  readonly configFile: string;
}

export interface SceneOptions {
  readonly seed: number;
  /** Of each of the three platforms. */
  readonly rooms: number;
  /** A module that is loaded into the daemon: a leak to be found. */
  readonly planted?: string | undefined;
}

/**
 * A small window, so that the compactor is never idle; rooms that are asleep leave the memory. Everybody listens to everything.
 * A first token may take less time than a silent model is silent.
 */
const config = (lines: {
  discord: DiscordServer;
  slack: SlackServer;
  loopbackUrl: string;
  owners: { discord: string; slack: string };
}): string => `
[log]
level = "info"
[daemon]
drain_deadline_ms = 10000
idle_evict_ms = 20000
[llm]
max_retries = 2
first_token_timeout_ms = 3000
[platforms.loopback]
url = "${lines.loopbackUrl}"
max_text_length = 4000
[platforms.discord]
api_url = "${lines.discord.api}"
owners = ["${lines.owners.discord}"]
dm = "everyone"
[platforms.slack]
api_url = "${lines.slack.apiUrl}"
owners = ["${lines.owners.slack}"]
dm = "everyone"
[[bindings]]
agent = "main"
platform = "discord"
rate_limit = 0
[[bindings]]
agent = "main"
platform = "slack"
rate_limit = 0
[[agents]]
id = "main"
name = "Weir"
model = "talker"
compactor_model = "summariser"
context_window = 8192
max_output_tokens = 1024
generation_reserve = 512
[agents.subagents]
enabled = true
wait_ms = 50
[agents.compaction]
deadline_ms = 8000
`;

export async function openScene({ seed, rooms, planted }: SceneOptions): Promise<SoakScene> {
  await using stack = new AsyncDisposableStack();
  const discord = stack.use(await startDiscordServer());
  const slack = stack.use(await startSlackServer());
  const loopbackUrl = stack.use(await startLoopbackServer()).url;
  const model = stack.use(await startSoakModel(seed));
  const onDiscord = discordRooms(discord, rooms);
  const onSlack = slackRooms(slack, rooms);
  const owners = { discord: onDiscord.owner, slack: onSlack.owner };
  await using seedHome = await openSeed();
  const home = stack.use(
    await openHome({
      modelUrl: model.url,
      config: config({ discord, slack, loopbackUrl, owners }),
      seed: seedHome,
    }),
  );
  const probeFile = path.join(home.folder, "probe.jsonl");
  const tempFolder = path.join(home.folder, "tmp");
  await mkdir(tempFolder);
  await writeFile(probeFile, "");
  const modules = [path.join(import.meta.dirname, "probe.ts"), ...(planted === undefined ? [] : [planted])];
  const daemon = home.startWith(
    {
      DISCORD_TOKEN: discord.token,
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      NODE_OPTIONS: modules.map((file) => `--import=${pathToFileURL(file).href}`).join(" "),
      WEIR_SOAK_PROBE: probeFile,
      TMPDIR: tempFolder,
    },
    "start",
  );
  await daemon.line("Weir is ready");
  const sql = stack.use(new Sql(home.dataDir));
  const kept = stack.move();
  return {
    random: new Random(seed),
    discord,
    slack,
    loopbackUrl,
    model,
    // The busy ones are those at the beginning.
    rooms: new Random(seed + 1).shuffled([
      ...onDiscord.rooms,
      ...onSlack.rooms,
      ...loopbackRooms(loopbackUrl, rooms),
    ]),
    daemon,
    sql,
    probeFile,
    tempFolder,
    configFile: path.join(home.folder, "config.toml"),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}
