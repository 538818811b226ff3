import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { diagnoseSlack } from "../../../src/platforms/slack/diagnose.ts";
import { manifestLink, missingScopes, slackManifest } from "../../../src/platforms/slack/manifest.ts";
import { type SlackServerOptions, startSlackServer } from "../../support/slack/server.ts";
import { slackConfig } from "./slack-harness.ts";

const SCOPES = ["chat:write", "app_mentions:read"];

test("doctor says what is right", async () => {
  const manifest = z.object({ oauth_config: z.object({ scopes: z.object({ bot: z.array(z.string()) }) }) });
  const scopes = manifest.parse(slackManifest("socket")).oauth_config.scopes.bot;
  await using slack = await startSlackServer({ scopes });
  assert.deepEqual(await diagnoseSlack(slackConfig(slack)), [
    { what: "Slack token", state: "ok", detail: "it is @weir in Weir test" },
    { what: "Slack scopes", state: "ok", detail: "the token has all that are needed" },
    { what: "Slack socket", state: "ok", detail: "Slack gives an address for Socket Mode" },
  ]);
});

test("doctor says what is wrong, and what to do about it", async () => {
  const options: SlackServerOptions = { scopes: SCOPES };
  await using slack = await startSlackServer(options);
  const config = slackConfig(slack);
  const [, scopes] = await diagnoseSlack(config);
  assert.equal(scopes?.state, "wrong");
  assert.match(scopes.detail, /lacks channels:history, /);
  const intake = { mode: "socket", appToken: "xapp-wrong" } as const;
  const wrong = await diagnoseSlack({ ...config, botToken: "xoxb-wrong", intake });
  assert.deepEqual(
    wrong.map(({ what, state, todo }) => [what, state, /SLACK_(BOT|APP)_TOKEN/.exec(todo ?? "")?.[0]]),
    [
      ["Slack token", "wrong", "SLACK_BOT_TOKEN"],
      ["Slack socket", "wrong", "SLACK_APP_TOKEN"],
    ],
  );
  const http = { mode: "http", signingSecret: "signed", host: "127.0.0.1", port: 3000 } as const;
  const [, , requests] = await diagnoseSlack({ ...config, intake: http });
  assert.match(requests?.detail ?? "", /^requests would be awaited on 127\.0\.0\.1:3000 /);
  slack.faults.next({ method: "*", fault: "reset_before", times: 2 });
  assert.deepEqual(
    (await diagnoseSlack(config)).map(({ state }) => state),
    ["wrong", "wrong"],
  );
});

/** The bounds of Slack's schema of app manifests, for what Weir fills in. */
const MANIFEST = z.object({
  display_information: z.strictObject({
    name: z.string().min(1).max(35),
    description: z.string().min(1).max(140),
  }),
  features: z.object({
    agent_view: z.strictObject({ agent_description: z.string().min(1).max(300) }),
    bot_user: z.object({ display_name: z.string().regex(/^[a-z0-9._-]{1,80}$/) }),
    slash_commands: z
      .array(
        z.strictObject({
          command: z.string().regex(/^\/[a-z]{1,31}$/),
          description: z.string().min(1).max(2000),
          usage_hint: z.string().min(1).max(1000),
          should_escape: z.boolean(),
          url: z
            .url({ protocol: /^https?$/ })
            .max(3000)
            .optional(),
        }),
      )
      .min(1)
      .max(50),
  }),
  oauth_config: z.object({ scopes: z.strictObject({ bot: z.array(z.string().max(50)).max(255) }) }),
  settings: z.object({
    event_subscriptions: z.strictObject({
      bot_events: z
        .array(z.string().max(50))
        .max(100)
        .refine((events) => new Set(events).size === events.length),
      request_url: z
        .url({ protocol: /^https?$/ })
        .max(3500)
        .optional(),
    }),
  }),
});

test("the manifest asks for what is checked, keeps within Slack's bounds, and stands in the link", () => {
  for (const mode of ["socket", "http"] as const) {
    const text = new URL(manifestLink(mode)).searchParams.get("manifest_json") ?? "";
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(slackManifest(mode))));
    assert.equal(text.includes("request_url"), mode === "http");
    MANIFEST.parse(slackManifest(mode));
  }
  assert.deepEqual(missingScopes([]), []);
  assert.ok(missingScopes(SCOPES).includes("users:read"));
});
