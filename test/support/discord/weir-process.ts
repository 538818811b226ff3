/** Weir on a Discord server as a process of its own, to be killed: `node weir-process.ts OPTIONS`, as JSON. */
import { once } from "node:events";
import { z } from "zod";
import { startDiscordWeir } from "./discord-weir.ts";

const options = z.object({
  databaseUrl: z.string(),
  modelUrl: z.string(),
  apiUrl: z.string(),
  token: z.string(),
});

const { databaseUrl, modelUrl, ...discord } = options.parse(JSON.parse(process.argv[2] ?? ""));
await using _weir = await startDiscordWeir({
  databaseUrl,
  modelUrl,
  discord,
  onLine: (line) => process.stderr.write(line),
});
process.stdout.write("ready\n");
await once(process, "SIGTERM");
