// proves: src/platforms/discord/adapter.ts, src/platforms/slack/address.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelAddress } from "../../src/core/ids.ts";
import { linkTo as discordLink } from "../../src/platforms/discord/adapter.ts";
import { addressOf, linkTo } from "../../src/platforms/slack/address.ts";

test("Discord: a message's link names its server and its channel; a thread's root stands in the channel of the thread", () => {
  const address = { platform: "discord", name: "200" };
  const channel = { address, workspace: "100", place: null };
  assert.equal(discordLink(channel, "300"), "https://discord.com/channels/100/200/300");
  assert.equal(discordLink({ ...channel, workspace: "" }, "300"), "https://discord.com/channels/@me/200/300");
  const place = { workspace: "Acme", channel: "a thread", parent: { id: "150", name: "general" } };
  const thread = { ...channel, place };
  assert.equal(discordLink(thread, "300"), "https://discord.com/channels/100/200/300");
  assert.equal(discordLink(thread, "200"), "https://discord.com/channels/100/150/200");
  for (const id of ["reaction/300/u-1/👍", "command/0b1c", "", "300/x"])
    assert.equal(discordLink(channel, id), null, id);
});

const slackLink = (url: string, address: ChannelAddress, id: string): string | null =>
  linkTo(url, address, id, (channel) => channel);

test("Slack: a message's link is that of its team; a reply in a thread opens the thread", () => {
  const url = "https://acme.slack.com/";
  const channel = addressOf({ channel: "C1", threadTs: null });
  assert.equal(slackLink(url, channel, "C1/1763.000100"), "https://acme.slack.com/archives/C1/p1763000100");
  const thread = addressOf({ channel: "C1", threadTs: "1763.000100" });
  assert.equal(slackLink(url, thread, "C1/1763.000100"), "https://acme.slack.com/archives/C1/p1763000100");
  assert.equal(
    slackLink("https://acme.slack.com", thread, "C1/1764.000200"),
    "https://acme.slack.com/archives/C1/p1764000200?thread_ts=1763.000100&cid=C1",
  );
  for (const id of ["reaction/C1/1763.000100/U1/tada", "command/0b1c", ""])
    assert.equal(slackLink(url, channel, id), null, id);
  assert.equal(slackLink("", channel, "C1/1763.000100"), null, "the team's address is not known");
});
