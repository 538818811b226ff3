import { writeFile } from "node:fs/promises";
import path from "node:path";
import { loadConfig } from "../src/config/load.ts";
import { agentId } from "../src/core/ids.ts";
import { buildDaemon, type Daemon } from "../src/daemon.ts";
import { createSlack } from "../src/platforms/slack/adapter.ts";
import { bindPlatform } from "../src/router/bindings.ts";
import { createLog } from "../src/telemetry/log.ts";
import type { SlackChannel } from "../test/support/slack/model.ts";
import { type SlackServer, startSlackServer } from "../test/support/slack/server.ts";
import { createTalk } from "./support/conversation.ts";
import { makeFolder } from "./support/daemon.ts";
import { type Bench, type Figure, machineNow, median, quantile, type Row } from "./support/figure.ts";
import { type BenchModel, startBenchModel } from "./support/model.ts";

const MANY = 500;

/**
 * What Slack's side costs: from an event on its socket to the log and to the model's server, and from the model's last token
 * to the acknowledgement of the answer. The real Bolt on a small Slack, which runs in the daemon's process and
 * so counts. One message at a time, in one channel and by turns in 500; then one in each of 500 at once.
 */
export const slack: Figure = {
  name: "slack",
  about: "event → log → model, and last token → acknowledged, with the real Bolt; 0 ms model",
  async run(bench: Bench): Promise<Row[]> {
    await using scene = await openScene();
    const one = await measure(scene, scene.channels.slice(0, 1), bench.isQuick ? 100 : 500);
    bench.progress("one channel");
    await Promise.all(scene.channels.map(async (channel) => ask(scene, channel, "hello")));
    await scene.model.served();
    const many = await measure(scene, scene.channels, bench.isQuick ? 150 : 1000);
    bench.progress(`${MANY} channels by turns`);
    const startedAt = machineNow();
    await Promise.all(scene.channels.map(async (channel) => ask(scene, channel, "and now all of you")));
    const atOnce = machineNow() - startedAt;
    return [
      ...rows("1 channel", one),
      ...rows(`${MANY} channels`, many),
      { what: `${MANY} channels at once, until the last is acknowledged`, value: atOnce, unit: "ms" },
    ];
  },
};

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
  readonly slack: SlackServer;
  readonly model: BenchModel;
  readonly channels: readonly SlackChannel[];
  readonly say: (channel: SlackChannel, text: string) => void;
  /** Told of what happens, by the channel's address. */
  readonly logged: Map<string, (at: number) => void>;
  readonly delivered: Map<string, (at: number) => void>;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startBenchModel());
  const server = stack.use(await startSlackServer());
  const ann = server.world.addUser("ann");
  const channels = Array.from({ length: MANY }, (_, index) =>
    server.world.addChannel({ name: `room-${index}`, members: [ann] }),
  );
  const daemon = await startDaemon(stack, model, server);
  const logged = new Map<string, (at: number) => void>();
  const delivered = new Map<string, (at: number) => void>();
  daemon.events.on((event) => {
    if (event.type === "message_accepted") logged.get(event.channel)?.(machineNow());
    if (event.type === "reply_delivered") delivered.get(event.channel)?.(machineNow());
  });
  const kept = stack.move();
  return {
    slack: server,
    model,
    channels,
    say: (channel, text) => void server.world.say(ann, channel, `<@${server.world.bot.id}> ${text}`),
    logged,
    delivered,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

async function startDaemon(
  stack: AsyncDisposableStack,
  model: BenchModel,
  server: SlackServer,
): Promise<Daemon> {
  const folder = stack.use(await makeFolder());
  const agent = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "reply-0-8"\ncompactor_model = "summary-0"\n`;
  await writeFile(path.join(folder.path, "config.toml"), agent);
  const config = loadConfig({ cwd: folder.path, env: { OPENAI_BASE_URL: model.url } });
  const log = createLog("info", { kind: "file", path: path.join(folder.path, "weir.log") });
  const adapter = createSlack({
    config: {
      botToken: server.botToken,
      intake: { mode: "socket", appToken: server.appToken },
      apiUrl: `${server.origin}/api`,
      dm: "everyone",
      allow: [],
      owners: [],
      ownerRoles: [],
      catchUpMaxAgeMs: 3_600_000,
    },
    log,
    commands: [],
  });
  const bindings = [bindPlatform("slack", agentId("main"))];
  const daemon = stack.use(await buildDaemon({ config, log, platforms: () => [adapter], bindings }));
  await daemon.open();
  return daemon;
}

async function ask({ say, logged, delivered }: Scene, channel: SlackChannel, text: string): Promise<Asked> {
  const address = `slack:${channel.id}`;
  const stored = Promise.withResolvers<number>();
  const answered = Promise.withResolvers<number>();
  logged.set(address, stored.resolve);
  delivered.set(address, answered.resolve);
  const saidAt = machineNow();
  say(channel, text);
  return { saidAt, loggedAt: await stored.promise, deliveredAt: await answered.promise };
}

async function measure(scene: Scene, channels: readonly SlackChannel[], count: number): Promise<Times> {
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
