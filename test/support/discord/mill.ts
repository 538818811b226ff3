import { createTestDatabase, type TestDatabase } from "../database.ts";
import { type ModelServer, startModelServer } from "../model-server.ts";
import { connectionUrl } from "../weir.ts";
import type { DiscordWeirOptions } from "./discord-weir.ts";
import { type DiscordServer, startDiscordServer } from "./server.ts";

/** A Discord with Ann in the channel `general` of a server, and the common options of daemons on it. */
export interface Mill extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly model: ModelServer;
  readonly database: TestDatabase;
  readonly guild: string;
  readonly general: string;
  readonly ann: string;
  readonly mention: string;
  /** The options to start a daemon. */
  readonly options: Pick<DiscordWeirOptions, "databaseUrl" | "modelUrl" | "discord">;
}

export async function openMill(): Promise<Mill> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const discord = stack.use(await startDiscordServer());
  const database = stack.use(await createTestDatabase());
  const guild = discord.world.addGuild({ name: "Mill" });
  const general = discord.world.addChannel({ guild, name: "general" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const kept = stack.move();
  return {
    discord,
    model,
    database,
    guild,
    general,
    ann,
    mention: `<@${discord.world.botId}>`,
    options: {
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      discord: { token: discord.token, apiUrl: discord.api },
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}
