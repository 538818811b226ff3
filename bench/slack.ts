import { createSlack } from "../src/platforms/slack/adapter.ts";
import { startSlackServer } from "../test/support/slack/server.ts";
import { type ChatScene, measureAtOnce, measureTurns, OPEN_TO_ALL, openChatScene } from "./support/chat.ts";
import type { Bench, Figure, Row } from "./support/figure.ts";

const MANY = 500;

/**
 * The cost of Slack's side: from an event on its socket to the log and to the model's server, and from the model's last
 * token to the acknowledgement of the answer. The real Bolt on a small Slack, which runs in the daemon's process and so
 * is included. One message at a time, in one channel and by turns in 500; then one in each of 500 at once.
 */
export const slack: Figure = {
  name: "slack",
  about: "event → log → model, and last token → acknowledged, with the real Bolt; 0 ms model",
  async run(bench: Bench): Promise<Row[]> {
    await using scene = await openScene();
    const [first = ""] = scene.channels;
    const one = await measureTurns("1 channel", scene, [first], bench.isQuick ? 100 : 500);
    bench.progress("one channel");
    await Promise.all(scene.channels.map(async (channel) => scene.ask(channel, "hello")));
    await scene.model.served();
    const many = await measureTurns(`${MANY} channels`, scene, scene.channels, bench.isQuick ? 150 : 1000);
    bench.progress(`${MANY} channels by turns`);
    return [...one, ...many, await measureAtOnce(scene)];
  },
};

async function openScene(): Promise<ChatScene> {
  await using stack = new AsyncDisposableStack();
  const { world, origin, botToken, appToken } = stack.use(await startSlackServer());
  const ann = world.addUser("ann");
  const channels = new Map(
    Array.from({ length: MANY }, (_, index) => {
      const channel = world.addChannel({ name: `room-${index}`, members: [ann] });
      return [channel.id, channel] as const;
    }),
  );
  const config = {
    botToken,
    intake: { mode: "socket", appToken },
    agentView: "auto",
    feedbackButtons: true,
    apiUrl: `${origin}/api`,
    ...OPEN_TO_ALL,
  } as const;
  const scene = stack.use(
    await openChatScene(
      [...channels.keys()],
      (log) => createSlack({ config, log, commands: [] }),
      (id, text) => {
        const channel = channels.get(id);
        if (channel !== undefined) world.say(ann, channel, `<@${world.bot.id}> ${text}`);
      },
    ),
  );
  const kept = stack.move();
  return { ...scene, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}
