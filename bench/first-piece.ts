import type { Logger } from "pino";
import { createDiscord } from "../src/platforms/discord/adapter.ts";
import type { Platform } from "../src/platforms/platform.ts";
import { createSlack } from "../src/platforms/slack/adapter.ts";
import { startDiscordServer } from "../test/support/discord/server.ts";
import { heldText } from "../test/support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../test/support/model-server.ts";
import { startSlackServer } from "../test/support/slack/server.ts";
import { OPEN_TO_ALL, openAdapterDaemon } from "./support/chat.ts";
import { type Bench, type Figure, machineNow, median, quantile, type Row } from "./support/figure.ts";

/** Slack takes twenty new streams a minute, so each batch has adapters of its own. */
const ROUNDS = 13;
const WARM_UP = 3;
const BEGINNING = "The first words of an answer";

/** A place in which somebody asks, and the texts that people see there. */
interface Place {
  ask(text: string): void;
  shown(): readonly string[];
}

/**
 * How long somebody waits for the first piece of an answer whose model has said its beginning at once: from the event to the piece that
 * people see. In a thread of Slack the piece begins a stream, in its channel it is a message that later grows by edits, as on Discord.
 * The three take turns. The pause before a first piece is off.
 */
export const firstPiece: Figure = {
  name: "first-piece",
  about:
    "event → first visible piece of an answer, on Slack as a stream and by edits, on Discord; 0 ms model",
  async run(bench: Bench): Promise<Row[]> {
    const times = new Map<string, number[]>();
    for (let batch = 0; batch < (bench.isQuick ? 2 : 10); batch++) {
      await using stack = new AsyncDisposableStack();
      const model = stack.use(await startModelServer());
      const places = { ...(await slackPlaces(stack, model)), ...(await discordPlaces(stack, model)) };
      for (let round = -WARM_UP; round < ROUNDS; round++)
        for (const [name, place] of Object.entries(places)) {
          const ms = await measured(place, model, round);
          if (round >= 0) times.set(name, [...(times.get(name) ?? []), ms]);
        }
      bench.progress(`batch ${batch + 1}`);
    }
    const p50 = (name: string): number => median(times.get(name) ?? []);
    return [
      ...[...times].flatMap(([name, all]): Row[] => [
        { what: `${name}, p50`, value: median(all), unit: "ms" },
        { what: `${name}, p95`, value: quantile(all, 0.95), unit: "ms" },
      ]),
      {
        what: "Slack, a stream over edits, p50",
        value: p50("Slack, a stream") / p50("Slack, edits"),
        unit: "×",
      },
    ];
  },
};

async function measured(place: Place, model: ModelServer, round: number): Promise<number> {
  const gate = Promise.withResolvers<void>();
  model.reply(heldText(BEGINNING, gate.promise, ` ${round}.`));
  const before = place.shown().length;
  const saidAt = machineNow();
  place.ask(`question ${round}?`);
  await untilSeen(
    () => place.shown().length > before && place.shown().at(-1)?.startsWith("The first") === true,
  );
  const ms = machineNow() - saidAt;
  gate.resolve();
  await untilSeen(() => place.shown().at(-1)?.includes(`answer ${round}.`) === true);
  return ms;
}

async function untilSeen(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise((resolve) => setImmediate(resolve));
}

async function openDaemon(
  stack: AsyncDisposableStack,
  model: ModelServer,
  createAdapter: (log: Logger) => Platform,
): Promise<void> {
  await openAdapterDaemon(stack, { modelUrl: model.url, models: 'model = "test-model"' }, createAdapter);
}

async function slackPlaces(stack: AsyncDisposableStack, model: ModelServer): Promise<Record<string, Place>> {
  const slack = stack.use(await startSlackServer());
  const { world, botToken, appToken, origin } = slack;
  const ann = world.addUser("ann");
  const [threaded, plain] = ["threaded", "plain"].map((name) => world.addChannel({ name, members: [ann] }));
  if (threaded === undefined || plain === undefined) throw new Error("no channels");
  const root = world.say(ann, threaded, "a thread");
  const intake = { mode: "socket", appToken } as const;
  const own = {
    botToken,
    intake,
    agentView: "auto",
    feedbackButtons: false,
    apiUrl: `${origin}/api`,
    ...OPEN_TO_ALL,
  } as const;
  // Slack's own pace is not what is measured.
  const timing = { firstPieceMs: 0, readEveryMs: 0 };
  await openDaemon(stack, model, (log) => createSlack({ config: own, log, commands: [], timing }));
  const mention = `<@${world.bot.id}>`;
  const texts = (threadTs?: string): readonly string[] =>
    slack
      .messages(threadTs === undefined ? plain : threaded, threadTs)
      .filter(({ user }) => user === world.bot.id)
      .map(({ text }) => text);
  return {
    "Slack, a stream": {
      ask: (text) => void world.say(ann, threaded, `${mention} ${text}`, { threadTs: root }),
      shown: () => texts(root),
    },
    "Slack, edits": {
      ask: (text) => void world.say(ann, plain, `${mention} ${text}`),
      shown: () => texts(),
    },
  };
}

async function discordPlaces(
  stack: AsyncDisposableStack,
  model: ModelServer,
): Promise<Record<string, Place>> {
  const discord = stack.use(await startDiscordServer());
  const { world, token, api: apiUrl } = discord;
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  const general = world.addChannel({ guild: world.addGuild({ name: "Mill" }), name: "general" });
  const own = { token, apiUrl, shards: 1, ...OPEN_TO_ALL };
  const timing = { callsPerSecond: 10_000 };
  await openDaemon(stack, model, (log) => createDiscord({ config: own, log, commands: [], timing }));
  return {
    "Discord, edits": {
      ask: (text) => void world.say(ann, general, `<@${world.botId}> ${text}`),
      shown: () => discord.answers(general),
    },
  };
}
