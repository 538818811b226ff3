/**
 * The Discord server in its own process: its options are JSON in the first argument, its first line of output is its
 * URL, and it ends when its input ends.
 *
 *     await using child = await startChildScript("discord/process.ts", JSON.stringify({ token }));
 *     const discord = driveDiscord(child.firstLine, token);
 */
import { once } from "node:events";

import { z } from "zod";

import { startDiscordServer } from "./server.ts";
import type { DiscordOptions } from "./state.ts";

const options = z.custom<DiscordOptions>().parse(JSON.parse(process.argv[2] ?? "{}"));
await using server = await startDiscordServer(options);
process.stdout.write(`${server.url}\n`);
process.stdin.resume();
await once(process.stdin, "end");
