// proves: src/platforms/platform.ts
import { platformContract } from "./contract.ts";
import { openDiscordHarness } from "./discord/discord-harness.ts";
import { openLoopbackHarness } from "./loopback/loopback-harness.ts";
import { openSlackHarness } from "./slack/slack-harness.ts";
import { openAttachedHarness } from "./terminal/attached/attached-harness.ts";
import { openJsonlHarness, openLinesHarness } from "./terminal/terminal-harness.ts";

platformContract("the terminal with JSON lines", openJsonlHarness);
platformContract("the terminal with piped lines", openLinesHarness);
platformContract("an attached terminal", openAttachedHarness);
platformContract("loopback", openLoopbackHarness);
platformContract("slack", openSlackHarness);
platformContract("discord", openDiscordHarness);
