// proves: src/platforms/local/loopback/client.ts, src/platforms/discord/rest/api.ts, src/platforms/slack/web/api.ts
// No call to a platform follows a redirect: it carries a token, or what people say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { z } from "zod";
import { DiscordApi } from "../../src/platforms/discord/rest/api.ts";
import { DISCORD_TIMING } from "../../src/platforms/discord/timing.ts";
import { LoopbackClient } from "../../src/platforms/local/loopback/client.ts";
import { PlatformError } from "../../src/platforms/platform.ts";
import { SlackApi } from "../../src/platforms/slack/web/api.ts";
import { REDIRECTS, startRedirectingServer } from "../support/redirecting-server.ts";

const log = pino({ level: "silent" });

const CALLS: Readonly<Record<string, (origin: string) => Promise<unknown>>> = {
  "platforms.loopback.url": async (url) =>
    new LoopbackClient(url).call(
      { method: "POST", path: "/messages", body: { text: "my words" }, timeoutMs: 10_000 },
      z.unknown(),
    ),
  "platforms.discord.api_url": async (apiUrl) => {
    using api = new DiscordApi({ token: "token", apiUrl, timing: DISCORD_TIMING });
    return await api.call({ method: "DELETE", route: "/channels/1/messages/2" });
  },
  "platforms.slack.api_url": async (apiUrl) =>
    new SlackApi({ token: "xoxb-token", apiUrl, timeoutMs: 10_000, log }).call(
      "chat.postMessage",
      { channel: "C1", text: "my words" },
      z.unknown(),
    ),
};

for (const [option, call] of Object.entries(CALLS))
  test(`a redirect is followed nowhere, and told (${option}): what is to be sent waits`, async () => {
    await using server = await startRedirectingServer();
    for (const location of [undefined, "/elsewhere", null])
      for (const status of REDIRECTS) {
        server.status = status;
        server.location = location;
        const asked = server.asked.length;
        const failure = await call(server.origin).catch((error: unknown) => error);
        assert.ok(failure instanceof PlatformError, String(failure));
        const to =
          location === undefined
            ? server.elsewhere
            : location === null
              ? "no readable address"
              : server.origin;
        assert.equal(
          failure.message,
          `${server.origin} redirects to ${to} (HTTP ${status}), and Weir follows no redirect: set ${option} to an address of your server that answers without one`,
        );
        assert.equal(failure.kind, "unavailable");
        assert.equal(server.asked.length, asked + 1);
      }
    assert.deepEqual(server.followed, []);
  });
