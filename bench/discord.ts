import { writeFile } from "node:fs/promises";
import path from "node:path";
import { loadConfig } from "../src/config/load.ts";
import { agentId } from "../src/core/ids.ts";
import { buildDaemon, type Daemon } from "../src/daemon.ts";
import { createDiscord } from "../src/platforms/discord/adapter.ts";
import { bindPlatform } from "../src/router/bindings.ts";
import { createLog } from "../src/telemetry/log.ts";
import { type DiscordServer, startDiscordServer } from "../test/support/discord/server.ts";
import { createTalk } from "./support/conversation.ts";
import { makeFolder } from "./support/daemon.ts";
import { type Bench, type Figure, machineNow, median, quantile, type Row } from "./support/figure.ts";
import { type BenchModel, startBenchModel } from "./support/model.ts";

const MANY = 500;
/** Between the first messages of the channels, ms: each fetches what was said before, and Discord's rate limit counts that. */
const PACE_MS = 25;

/**
 * What Discord's side costs: from an event on the gateway to the log and to the model's server, and from the model's last
 * token to the acknowledgement of the answer. The real discord.js on a small Discord, which runs in the daemon's process and
 * so counts. One message at a time, in one channel and by turns in 500; then one in each of 500 at once, which
 * has to wait for the fifty calls a second that Discord allows, and without that limit.
 */
export const discord: Figure = {
  name: "discord",
  about: "event → log → model, and last token → acknowledged, with the real discord.js; 0 ms model",
  async run(bench: Bench): Promise<Row[]> {
    const paced = bench.isQuick ? [] : [await allAtOnce(50, "as Discord allows calls")];
    bench.progress("at once, with the rate limit");
    await using scene = await openScene(10_000);
    await meetAll(scene);
    const one = await measure(scene, scene.channels.slice(0, 1), bench.isQuick ? 100 : 500);
    bench.progress("one channel");
    const many = await measure(scene, scene.channels, bench.isQuick ? 150 : 1000);
    bench.progress(`${MANY} channels by turns`);
    return [
      ...rows("1 channel", one),
      ...rows(`${MANY} channels`, many),
      await atOnce(scene, "no rate limit"),
      ...paced,
    ];
  },
};

async function allAtOnce(callsPerSecond: number, how: string): Promise<Row> {
  await using scene = await openScene(callsPerSecond);
  await meetAll(scene);
  return await atOnce(scene, how);
}

async function atOnce(scene: Scene, how: string): Promise<Row> {
  const startedAt = machineNow();
  await Promise.all(scene.channels.map(async (channel) => ask(scene, channel, "and now all of you")));
  const value = machineNow() - startedAt;
  return { what: `${MANY} channels at once, until the last is acknowledged; ${how}`, value, unit: "ms" };
}

/** Times in ms by `machineNow`. */
interface Asked {
  readonly saidAt: number;
  readonly loggedAt: number;
  readonly deliveredAt: number;
}

interface Times {
  readonly toLog: readonly number[];
  readonly toModel: readonly number[];
  readonly toAcknowledged: readonly number[];
}

interface Scene extends AsyncDisposable {
  readonly model: BenchModel;
  readonly channels: readonly string[];
  readonly say: (channel: string, text: string) => void;
  /** Told of what happens, by the channel's address. */
  readonly logged: Map<string, (at: number) => void>;
  readonly delivered: Map<string, (at: number) => void>;
}

async function openScene(callsPerSecond: number): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startBenchModel());
  const server = stack.use(await startDiscordServer());
  const { world } = server;
  const guild = world.addGuild({ name: "Mill" });
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  const channels = Array.from({ length: MANY }, (_, index) =>
    world.addChannel({ guild, name: `room-${index}` }),
  );
  const daemon = await startDaemon(stack, model, server, callsPerSecond);
  const logged = new Map<string, (at: number) => void>();
  const delivered = new Map<string, (at: number) => void>();
  daemon.events.on((event) => {
    if (event.type === "message_accepted") logged.get(event.channel)?.(machineNow());
    if (event.type === "reply_delivered") delivered.get(event.channel)?.(machineNow());
  });
  const kept = stack.move();
  return {
    model,
    channels,
    say: (channel, text) => void world.say(ann, channel, `<@${world.botId}> ${text}`),
    logged,
    delivered,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

async function startDaemon(
  stack: AsyncDisposableStack,
  model: BenchModel,
  server: DiscordServer,
  callsPerSecond: number,
): Promise<Daemon> {
  const folder = stack.use(await makeFolder());
  const agent = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "reply-0-8"\ncompactor_model = "summary-0"\n`;
  await writeFile(path.join(folder.path, "config.toml"), agent);
  const config = loadConfig({ cwd: folder.path, env: { OPENAI_BASE_URL: model.url } });
  const log = createLog("info", { kind: "file", path: path.join(folder.path, "weir.log") });
  const adapter = createDiscord({
    config: {
      token: server.token,
      apiUrl: server.api,
      dm: "everyone",
      allow: [],
      owners: [],
      ownerRoles: [],
      catchUpMaxAgeMs: 3_600_000,
    },
    log,
    commands: [],
    timing: { callsPerSecond },
  });
  const bindings = [bindPlatform("discord", agentId("main"))];
  const daemon = stack.use(await buildDaemon({ config, log, platforms: () => [adapter], bindings }));
  await daemon.open();
  return daemon;
}

/** Every channel has been heard of, and answered. */
async function meetAll(scene: Scene): Promise<void> {
  const answered = scene.channels.map(async (channel, index) => {
    await new Promise((resolve) => {
      setTimeout(resolve, index * PACE_MS);
    });
    await ask(scene, channel, "hello");
  });
  await Promise.all(answered);
  await scene.model.served();
}

async function ask({ say, logged, delivered }: Scene, channel: string, text: string): Promise<Asked> {
  const address = `discord:${channel}`;
  const stored = Promise.withResolvers<number>();
  const answered = Promise.withResolvers<number>();
  logged.set(address, stored.resolve);
  delivered.set(address, answered.resolve);
  const saidAt = machineNow();
  say(channel, text);
  return { saidAt, loggedAt: await stored.promise, deliveredAt: await answered.promise };
}

async function measure(scene: Scene, channels: readonly string[], count: number): Promise<Times> {
  const talk = createTalk(1);
  const turn = async (index: number): Promise<Asked> => {
    const channel = channels[index % channels.length];
    if (channel === undefined) throw new Error("no channel");
    return ask(scene, channel, talk(80));
  };
  for (let index = 0; index < 50; index++) await turn(index);
  await scene.model.served();
  const asked: Asked[] = [];
  for (let index = 0; index < count; index++) asked.push(await turn(index));
  const served = (await scene.model.served()).filter(({ model }) => model.startsWith("reply"));
  return {
    toLog: asked.map(({ saidAt, loggedAt }) => loggedAt - saidAt),
    toModel: asked.map(({ saidAt }, index) => (served[index]?.arrivedAt ?? Number.NaN) - saidAt),
    toAcknowledged: asked.map(
      ({ deliveredAt }, index) => deliveredAt - (served[index]?.endedAt ?? Number.NaN),
    ),
  };
}

function rows(where: string, { toLog, toModel, toAcknowledged }: Times): Row[] {
  const both = (what: string, times: readonly number[]): Row[] => [
    { what: `${where}: ${what}, p50`, value: median(times), unit: "ms" },
    { what: `${where}: ${what}, p99`, value: quantile(times, 0.99), unit: "ms" },
  ];
  return [
    ...both("event → in the log", toLog),
    ...both("event → request on the wire", toModel),
    ...both("last token → acknowledged", toAcknowledged),
  ];
}
