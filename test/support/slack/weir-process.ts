/** Weir on a Slack server as a process of its own, to be killed: `node weir-process.ts OPTIONS`, as JSON. */
import { once } from "node:events";
import { z } from "zod";
import { startSlackWeir } from "./slack-weir.ts";

const options = z.object({
  databaseUrl: z.string(),
  modelUrl: z.string(),
  apiUrl: z.string(),
  botToken: z.string(),
  appToken: z.string(),
});

const { databaseUrl, modelUrl, apiUrl, botToken, appToken } = options.parse(
  JSON.parse(process.argv[2] ?? ""),
);
await using _weir = await startSlackWeir({
  databaseUrl,
  modelUrl,
  slack: { botToken, apiUrl, intake: { mode: "socket", appToken } },
  onLine: (line) => process.stderr.write(line),
});
process.stdout.write("ready\n");
await once(process, "SIGTERM");
