// proves: src/platforms/slack/outbound/mrkdwn-inline.ts, src/platforms/discord/outbound/content.ts
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { toDiscord } from "../../../src/platforms/discord/outbound/content.ts";
import { toMrkdwn } from "../../../src/platforms/slack/outbound/mrkdwn.ts";
import { readDiscord } from "./discord-reader.ts";
import { readSlack } from "./slack-reader.ts";
import { asSeen, type Shown, styledText } from "./styled-text.ts";

/** These texts are tried in every run; others begin at `MARKUP_SEED`, or at a number that the failure names. */
const FIXED = 1500;
const FREE = 500;
const first = Number(process.env["MARKUP_SEED"] ?? Math.floor(Math.random() * 1e9));
const SEEDS = [
  ...Array.from({ length: FIXED }, (_, index) => index),
  ...Array.from({ length: FREE }, (_, index) => first + index),
];

for (const [platform, convert, read] of [
  ["Slack", (text: string): string => toMrkdwn(text, new Map()), readSlack],
  ["Discord", (text: string): string => toDiscord(text).content, readDiscord],
] as readonly (readonly [string, (text: string) => string, (text: string) => Shown[]])[])
  test(`${platform} shows the same words with the same emphasis as the agent wrote`, () => {
    for (const seed of SEEDS) {
      const { markdown, shown } = styledText(seed);
      const sent = convert(markdown);
      assert.equal(
        asSeen(read(sent)),
        asSeen(shown),
        `MARKUP_SEED=${seed}\n${markdown}\nis sent as\n${sent}`,
      );
    }
  });
