import { setTimeout as delay } from "node:timers/promises";
import { createDiscord } from "../src/platforms/discord/adapter.ts";
import { startDiscordServer } from "../test/support/discord/server.ts";
import { type ChatScene, measureAtOnce, measureTurns, OPEN_TO_ALL, openChatScene } from "./support/chat.ts";
import type { Bench, Figure, Row } from "./support/figure.ts";

const MANY = 500;
/** Delay between the first messages of the channels, ms: each fetches earlier messages, which count for Discord's rate limit. */
const PACE_MS = 25;

/**
 * The cost of Discord's side: from an event on the gateway to the log and to the model's server, and from the model's
 * last token to the acknowledgement of the answer. The real discord.js on a small Discord, which runs in the daemon's
 * process and so is included. One message at a time, in one channel and by turns in 500; then one in each of 500 at
 * once, which has to wait for the fifty calls a second that Discord allows, and without that limit.
 */
export const discord: Figure = {
  name: "discord",
  about: "event → log → model, and last token → acknowledged, with the real discord.js; 0 ms model",
  async run(bench: Bench): Promise<Row[]> {
    const paced = bench.isQuick ? [] : [await allAtOnce(45, "; as Discord allows calls")];
    bench.progress("at once, with the rate limit");
    await using scene = await openScene(10_000);
    await meetAll(scene);
    const [first = ""] = scene.channels;
    const one = await measureTurns("1 channel", scene, [first], bench.isQuick ? 100 : 500);
    bench.progress("one channel");
    const many = await measureTurns(`${MANY} channels`, scene, scene.channels, bench.isQuick ? 150 : 1000);
    bench.progress(`${MANY} channels by turns`);
    return [...one, ...many, await measureAtOnce(scene, "; no rate limit"), ...paced];
  },
};

async function allAtOnce(callsPerSecond: number, how: string): Promise<Row> {
  await using scene = await openScene(callsPerSecond);
  await meetAll(scene);
  return await measureAtOnce(scene, how);
}

async function openScene(callsPerSecond: number): Promise<ChatScene> {
  await using stack = new AsyncDisposableStack();
  const { api: apiUrl, token, world } = stack.use(await startDiscordServer());
  const guild = world.addGuild({ name: "Mill" });
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  const channels = Array.from({ length: MANY }, (_, index) =>
    world.addChannel({ guild, name: `room-${index}` }),
  );
  const config = { token, apiUrl, shards: 1, ...OPEN_TO_ALL };
  const scene = stack.use(
    await openChatScene(
      channels,
      (log) => createDiscord({ config, log, commands: [], timing: { callsPerSecond } }),
      (channel, text) => void world.say(ann, channel, `<@${world.botId}> ${text}`),
    ),
  );
  const kept = stack.move();
  return { ...scene, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** Lets every channel be heard and answered once. */
async function meetAll(scene: ChatScene): Promise<void> {
  const answered = scene.channels.map(async (channel, index) => {
    await delay(index * PACE_MS);
    await scene.ask(channel, "hello");
  });
  await Promise.all(answered);
  await scene.model.served();
}
