import { test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import { startDiscordWeir } from "../support/discord/discord-weir.ts";
import { startDiscordServer } from "../support/discord/server.ts";
import { echo } from "../support/e2e-model.ts";
import { startModelServer } from "../support/model-server.ts";
import { connectionUrl } from "../support/weir.ts";
test("t", async () => {
  const model = await startModelServer(); const discord = await startDiscordServer(); const db = await createTestDatabase();
  const guild = discord.world.addGuild({ name: "Mill" }); const ann = discord.world.addUser({ name: "ann" });
  const lines: string[] = [];
  const weir = await startDiscordWeir({ databaseUrl: connectionUrl(db.connection), modelUrl: model.url, discord: { token: discord.token, apiUrl: discord.api }, onLine: (l) => void lines.push(l) });
  model.respond(echo);
  const channels = Array.from({ length: 200 }, (_, i) => discord.world.addChannel({ guild, name: `r${i}` }));
  const t0 = performance.now();
  for (const c of channels) discord.world.say(ann, c, `<@${discord.world.botId}> hi`);
  for (let i = 0; i < 40; i++) {
    await new Promise((r) => setTimeout(r, 500));
    const types: Record<string, number> = {};
    for (const e of weir.events) types[e.type] = (types[e.type] ?? 0) + 1;
    const rest: Record<string, number> = {};
    for (const e of discord.journal.rest) { const k = `${e.method} ${e.route} ${e.status}`; rest[k] = (rest[k] ?? 0) + 1; }
    console.log(Math.round(performance.now() - t0), JSON.stringify(types), JSON.stringify(rest), model.requests.length);
    if ((types["reply_delivered"] ?? 0) >= 200) break;
  }
  console.log(lines.filter((l) => !l.includes('"level":30')).slice(0, 5).join(""));
  await weir[Symbol.asyncDispose](); await discord[Symbol.asyncDispose](); await model[Symbol.asyncDispose](); await db[Symbol.asyncDispose]();
});
