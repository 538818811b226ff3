/** What goes wrong in a soak: each does its harm to the world round the running daemon, and mends it. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { cutConnections } from "../chaos/troubles.ts";
import { ROUTE_MESSAGES } from "../support/discord/server.ts";
import type { Mood } from "./model.ts";
import type { SoakScene } from "./scene.ts";

export interface Fault {
  readonly name: string;
  run(scene: SoakScene): Promise<void> | void;
}

/** A few calls at a time, as a platform that stumbles. */
const CALLS = 3;

/** Each is met once before one of them is met again. A new kind is one more line. */
export const FAULTS: readonly Fault[] = [
  { name: "discord: gateway cut", run: ({ discord }) => discord.gateway.cut({ isReset: true }) },
  {
    name: "discord: session lost",
    run: ({ discord }) => {
      discord.gateway.forgetSessions();
      discord.gateway.cut();
    },
  },
  { name: "discord: asked to reconnect", run: ({ discord }) => discord.gateway.reconnect() },
  {
    name: "discord: 429",
    run: ({ discord, random }) => {
      const retryAfterMs = random.int(200, 2000);
      discord.faults.next({
        route: ROUTE_MESSAGES,
        fault: { kind: "rate-limit", retryAfterMs },
        times: CALLS,
      });
    },
  },
  {
    name: "discord: answers lost",
    run: ({ discord }) =>
      discord.faults.next({
        method: "POST",
        route: ROUTE_MESSAGES,
        fault: { kind: "reset", when: "after" },
        times: CALLS,
      }),
  },
  {
    name: "discord: 500",
    run: ({ discord }) => discord.faults.next({ fault: { kind: "status", status: 500 }, times: CALLS }),
  },
  { name: "slack: socket cut", run: ({ slack }) => slack.sockets.cut() },
  { name: "slack: asked to reconnect", run: ({ slack }) => slack.sockets.disconnect("refresh_requested") },
  {
    name: "slack: 429",
    run: ({ slack }) =>
      slack.faults.next({ method: "chat.postMessage", fault: "rate_limited", retryAfterS: 1, times: CALLS }),
  },
  {
    name: "slack: answers lost",
    run: ({ slack }) => slack.faults.next({ method: "chat.postMessage", fault: "reset_after", times: CALLS }),
  },
  {
    name: "slack: 500",
    run: ({ slack }) => slack.faults.next({ method: "*", fault: "status", status: 500, times: CALLS }),
  },
  { name: "loopback: answers lost", run: async (scene) => failLoopback(scene, "send", "reset_after") },
  { name: "loopback: edits lost", run: async (scene) => failLoopback(scene, "edit", "reset_before") },
  { name: "loopback: feed cut", run: async (scene) => failLoopback(scene, "events", "reset_before") },
  { name: "loopback: 429", run: async (scene) => failLoopback(scene, "send", "retry_after") },
  { name: "model: errors", run: async (scene) => inMood(scene, "failing") },
  { name: "model: 429", run: async (scene) => inMood(scene, "refusing") },
  { name: "model: slow", run: async (scene) => inMood(scene, "slow") },
  { name: "model: silent", run: async (scene) => inMood(scene, "silent") },
  { name: "database: connections cut", run: cutConnections },
  {
    name: "configuration: changed",
    async run({ configFile, random }) {
      const threshold = random.int(60, 85) / 100;
      await rewrite(
        configFile,
        (text) => `${text.replace(TRIED, "")}background_threshold = ${threshold} # tried\n`,
      );
    },
  },
  {
    name: "configuration: broken, and mended",
    async run({ configFile, random }) {
      await rewrite(configFile, (text) => `${text}nonsense =\n`);
      await delay(random.int(500, 4000));
      await rewrite(configFile, (text) => text.replace("nonsense =\n", ""));
    },
  },
];

/** A line of `[agents.compaction]`, the last table of the file. */
const TRIED = /background_threshold = .*# tried\n/;

async function rewrite(file: string, change: (text: string) => string): Promise<void> {
  await writeFile(file, change(await readFile(file, "utf8")));
}

async function failLoopback(
  { loopbackUrl }: SoakScene,
  operation: "send" | "edit" | "events",
  fault: "reset_after" | "reset_before" | "retry_after",
): Promise<void> {
  const response = await fetch(`${loopbackUrl}/faults`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ operation, fault, times: CALLS, delayMs: 500 }),
  });
  assert.equal(response.status, 201);
}

async function inMood({ model, random }: SoakScene, mood: Mood): Promise<void> {
  model.setMood(mood);
  await delay(random.int(1000, 4000));
  model.setMood("well");
}
