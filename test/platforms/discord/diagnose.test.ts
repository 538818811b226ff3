import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import { diagnoseDiscord, inviteLink } from "../../../src/platforms/discord/diagnose.ts";
import { startDiscordServer } from "../../support/discord/server.ts";
import { discordConfig } from "./discord-harness.ts";

test("a bot that is set up well is told so", async () => {
  await using discord = await startDiscordServer();
  discord.world.addGuild();
  const findings = await diagnoseDiscord(discordConfig(discord));
  assert.deepEqual(
    findings.map(({ what, state }) => `${what}: ${state}`),
    ["Discord token: ok", "Discord message content intent: ok", "Discord gateway: ok", "Discord servers: ok"],
  );
});

test("a wrong token, a missing intent, and no server: each with what to do", async () => {
  await using discord = await startDiscordServer({ allowsMessageContent: false });
  const [wrong, ...others] = await diagnoseDiscord(discordConfig(discord, { token: "wrong" }));
  assert.deepEqual([wrong?.state, others], ["wrong", []]);
  assert.match(wrong?.todo ?? "", /Reset Token/);
  const findings = await diagnoseDiscord(discordConfig(discord));
  const todo = findings.flatMap((finding) => (finding.state === "wrong" ? [finding.todo] : []));
  assert.equal(todo.length, 2);
  assert.match(todo[0] ?? "", /Message Content Intent/);
  assert.match(todo[1] ?? "", /weir -- invite discord/);
});

test("a Discord that can't be reached is wrong, and it is said where to look", async () => {
  const discord = await startDiscordServer();
  const config = discordConfig(discord);
  await discord[Symbol.asyncDispose]();
  const [finding] = await diagnoseDiscord(config);
  assert.equal(finding?.state, "wrong");
  assert.match(finding.todo ?? "", /reaches discord\.com/);
});

test("the invite link names the application, and asks for what the bot does", async () => {
  await using discord = await startDiscordServer();
  const link = new URL(await inviteLink(discordConfig(discord)));
  assert.equal(link.origin + link.pathname, "https://discord.com/oauth2/authorize");
  assert.equal(link.searchParams.get("client_id"), discord.world.botId);
  assert.equal(link.searchParams.get("scope"), "bot applications.commands");
  assert.ok((Number(link.searchParams.get("permissions")) & 0x8) === 0, "not an administrator");
  await assert.rejects(inviteLink(discordConfig(discord, { token: "wrong" })), OperatorError);
});
