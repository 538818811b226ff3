import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "pino";
import { loadConfig } from "../../src/config/load.ts";
import { agentId, formatAddress } from "../../src/core/ids.ts";
import { buildDaemon, type Daemon } from "../../src/daemon/daemon.ts";
import type { Platform } from "../../src/platforms/platform.ts";
import { bindPlatform } from "../../src/router/bindings.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { createTalk } from "./conversation.ts";
import { makeFolder } from "./daemon.ts";
import { machineNow, median, quantile, type Row } from "./figure.ts";
import { type BenchModel, startBenchModel } from "./model.ts";

/** A chat platform with people, and the whole daemon on it. */
export interface ChatScene extends AsyncDisposable {
  readonly model: BenchModel;
  readonly channels: readonly string[];
  /** Says something to the bot, and waits until its answer is acknowledged. */
  ask(channel: string, text: string): Promise<Asked>;
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

/** The settings of every account of a benchmark. */
export const OPEN_TO_ALL = {
  dm: "everyone",
  allow: [],
  owners: [],
  ownerRoles: [],
  secrets: [],
  catchUpMaxAgeMs: 3_600_000,
} as const;

/**
 * A whole daemon on one adapter, whose agent `main` is bound to all of it.
 * @param options.models the agent's models, as lines of the configuration
 */
export async function openAdapterDaemon(
  stack: AsyncDisposableStack,
  options: { readonly modelUrl: string; readonly models: string },
  createAdapter: (log: Logger) => Platform,
): Promise<{ readonly adapter: Platform; readonly daemon: Daemon }> {
  const folder = stack.use(await makeFolder());
  const agent = `[[agents]]\nid = "main"\nname = "Weir"\n${options.models}\n`;
  await writeFile(path.join(folder.path, "config.toml"), agent);
  const config = loadConfig({ cwd: folder.path, env: { OPENAI_BASE_URL: options.modelUrl } });
  const log = createLog("info", {
    file: { path: path.join(folder.path, "weir.log"), maxBytes: 10_000_000, maxFiles: 5 },
  });
  const adapter = createAdapter(log);
  const bindings = [bindPlatform(adapter.name, agentId("main"))];
  const daemon = stack.use(await buildDaemon({ config, log, platforms: () => [adapter], bindings }));
  await daemon.open();
  return { adapter, daemon };
}

/** @param say says something in a channel, with a mention of the bot */
export async function openChatScene(
  channels: readonly string[],
  createAdapter: (log: Logger) => Platform,
  say: (channel: string, text: string) => void,
): Promise<ChatScene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startBenchModel());
  const models = `model = "reply-0-8"\ncompactor_model = "summary-0"`;
  const { adapter, daemon } = await openAdapterDaemon(stack, { modelUrl: model.url, models }, createAdapter);
  const logged = new Map<string, (at: number) => void>();
  const delivered = new Map<string, (at: number) => void>();
  const acknowledged = new Map<string, number>();
  tellAcknowledged(adapter, (channel) => acknowledged.set(channel, machineNow()));
  daemon.events.on((event) => {
    if (event.type === "message_accepted") logged.get(event.channel)?.(machineNow());
    // Measured at the platform's acknowledgement: the log's note of it is batched, and nobody waits for it.
    if (event.type === "reply_delivered")
      delivered.get(event.channel)?.(acknowledged.get(event.channel) ?? Number.NaN);
  });
  const kept = stack.move();
  return {
    model,
    channels,
    async ask(channel, text) {
      const address = `${adapter.name}:${channel}`;
      const stored = Promise.withResolvers<number>();
      const answered = Promise.withResolvers<number>();
      logged.set(address, stored.resolve);
      delivered.set(address, answered.resolve);
      const saidAt = machineNow();
      say(channel, text);
      return { saidAt, loggedAt: await stored.promise, deliveredAt: await answered.promise };
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** Reports each last piece of an answer that the platform has accepted. */
function tellAcknowledged(adapter: Platform, tell: (channel: string) => void): void {
  const [send, edit] = [adapter.send.bind(adapter), adapter.edit.bind(adapter)];
  adapter.send = async (message) => {
    const id = await send(message);
    if (message.final) tell(formatAddress(message.channel));
    return id;
  };
  adapter.edit = async (id, message) => {
    await edit(id, message);
    if (message.final) tell(formatAddress(message.channel));
  };
}

/** One message at a time, in these channels by turns. @returns p50 and p99 of each section of its way */
export async function measureTurns(
  where: string,
  scene: ChatScene,
  channels: readonly string[],
  count: number,
): Promise<Row[]> {
  const talk = createTalk(1);
  const turn = async (index: number): Promise<Asked> => {
    const channel = channels[index % channels.length];
    if (channel === undefined) throw new Error("no channel");
    return scene.ask(channel, talk(80));
  };
  for (let index = 0; index < 50; index++) await turn(index);
  await scene.model.served();
  const asked: Asked[] = [];
  for (let index = 0; index < count; index++) asked.push(await turn(index));
  const served = (await scene.model.served()).filter(({ model }) => model.startsWith("reply"));
  return rows(where, {
    toLog: asked.map(({ saidAt, loggedAt }) => loggedAt - saidAt),
    toModel: asked.map(({ saidAt }, index) => (served[index]?.arrivedAt ?? Number.NaN) - saidAt),
    toAcknowledged: asked.map(
      ({ deliveredAt }, index) => deliveredAt - (served[index]?.endedAt ?? Number.NaN),
    ),
  });
}

/** One message in each channel, all at once. */
export async function measureAtOnce(scene: ChatScene, how = ""): Promise<Row> {
  const startedAt = machineNow();
  await Promise.all(scene.channels.map(async (channel) => scene.ask(channel, "and now all of you")));
  const value = machineNow() - startedAt;
  const what = `${scene.channels.length} channels at once, until the last is acknowledged${how}`;
  return { what, value, unit: "ms" };
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
