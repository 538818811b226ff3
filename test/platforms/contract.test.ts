// proves: src/platforms/platform.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatPlatform } from "../../src/platforms/platforms.ts";
import { platformContract, type PlatformHarness } from "./contract.ts";
import { openDiscordHarness } from "./discord/discord-harness.ts";
import { openLoopbackHarness } from "./local/loopback/loopback-harness.ts";
import { openSlackHarness } from "./slack/slack-harness.ts";
import { openAttachedHarness } from "./local/attached/attached-harness.ts";
import { openJsonlHarness, openLinesHarness } from "./terminal/terminal-harness.ts";

/** One for each row. */
const CHATS: Readonly<Record<ChatPlatform, () => Promise<PlatformHarness>>> = {
  discord: openDiscordHarness,
  slack: openSlackHarness,
};

platformContract("the terminal with JSON lines", openJsonlHarness);
platformContract("the terminal with piped lines", openLinesHarness);
platformContract("an attached terminal", openAttachedHarness);
platformContract("loopback", openLoopbackHarness);
for (const [key, open] of Object.entries(CHATS)) {
  platformContract(key, open);
  test(`${key} speaks for the addresses of its row`, async () => {
    await using harness = await open();
    assert.equal(harness.platform.name, key);
  });
}
