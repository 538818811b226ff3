// proves: src/features/questions/question-desk.ts, src/platforms/discord/inbound/slash-commands.ts, src/platforms/slack/inbound/slash-commands.ts
// A daemon that is killed while its questions wait: a press that reaches nobody fails before the person's eyes, and what is pressed or
// said afterwards answers; a press that was cut off is run by the next daemon.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openStore } from "../store/open-store.ts";
import { askFor, asking } from "../support/asking.ts";
import { createTestDatabase } from "../support/database.ts";
import { type DiscordServer, startDiscordServer } from "../support/discord/server.ts";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { gateRows } from "../support/row-gate.ts";
import { buttonsOf } from "../support/slack/blocks.ts";
import type { SlackMessage } from "../support/slack/model.ts";
import { startSlackServer } from "../support/slack/server.ts";

await using stack = new AsyncDisposableStack();
const model = stack.use(await startModelServer());
model.respond(asking);
const discord = stack.use(await startDiscordServer());
const slack = stack.use(await startSlackServer({ retryDelaysMs: [], ackTimeoutMs: 60_000 }));
const database = stack.use(await createTestDatabase());
const beside = stack.use(openStore(database.connection));
const home = stack.use(
  await openMainHome(
    `[platforms.discord]\ndm = "everyone"\napi_url = "${discord.api}"\n[platforms.slack]\ndm = "everyone"\napi_url = "${slack.apiUrl}"`,
    {
      ...envOf(database.connection, model.url),
      DISCORD_TOKEN: discord.token,
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
    },
  ),
);
const kept = stack.move();
after(async () => kept.disposeAsync());
let daemon = await home.start();

const RED = "1. Red";
const OUTCOME = /^#\d+: Weir asked: Which colour\?\nann has chosen: Red$/;

type Press = ReturnType<DiscordServer["world"]["press"]>;

/** Somebody who is asked in a direct message of their own. */
interface Asked {
  readonly say: (text: string) => void;
  /** Null: the platform has told the person that it failed, or is still at it. */
  readonly press: () => Promise<string | null>;
  /** Texts of the bot's. */
  readonly shown: () => readonly string[];
}

function onDiscord(): Asked & { readonly pressNow: () => Press } {
  const ann = discord.world.addUser({ name: "ann" });
  const dm = discord.world.openDm(ann);
  const pressNow = (): Press => {
    const question = discord.world.messages(dm).find(({ id }) => discord.world.buttons(id).has(RED));
    assert.ok(question !== undefined);
    return discord.world.press(ann, question.id, RED);
  };
  return {
    say: (text) => void discord.world.say(ann, dm, text),
    pressNow,
    async press() {
      const call = pressNow();
      if (daemon.isOver) return null;
      await until("an answer to the press", () => call.responses().some(({ isLoading }) => !isLoading));
      return call.responses()[0]?.text ?? null;
    },
    shown: () => discord.answers(dm),
  };
}

function onSlack(): Asked {
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  const own = (): readonly SlackMessage[] =>
    slack.messages(dm).filter(({ user }) => user === slack.world.bot.id);
  return {
    say: (text) => void slack.world.say(ann, dm, text),
    async press() {
      const question = own().find(({ blocks }) => buttonsOf(blocks).has(RED));
      const button = buttonsOf(question?.blocks).get(RED);
      assert.ok(question !== undefined && button !== undefined);
      const click = slack.world.click(ann, dm, question.ts, button);
      if (!(await click.acknowledged).isAcknowledged) return null;
      await until("an answer to the press", () => click.posts.length > 0);
      return click.posts[0]?.text ?? null;
    },
    shown: () => own().map(({ text }) => text),
  };
}

async function isAsked({ say, shown }: Asked): Promise<void> {
  say(askFor());
  await until("the question", () => shown().some((text) => /^#\d+: Weir asks: Which colour\?/.test(text)));
  await until("its turn's end", () => shown().some((text) => text.startsWith("told: ")));
}

/** The answer is shown, and the agent is told of it, once. */
async function isAnswered({ shown }: Asked): Promise<void> {
  await until("the outcome", () => shown().some((text) => OUTCOME.test(text)));
  await until("the answer", () => shown().some((text) => text.startsWith("heard: ")));
  assert.equal(shown().filter((text) => text.startsWith("heard: ")).length, 1);
}

test("pressed while no daemon runs, it fails; the next daemon takes the button and plain words", async () => {
  const people = [onDiscord(), onDiscord(), onSlack(), onSlack()] as const;
  for (const one of people) {
    await isAsked(one);
    assert.match(
      one.shown().join("\n"),
      /ann can answer by a button, by the number, or by \/(?:weir )?answer/,
    );
  }
  await daemon.kill();
  await until("the end of its socket", () => slack.sockets.openSockets === 0);
  for (const one of people) assert.equal(await one.press(), null);
  // A resumed session would bring the press, and be too late for it.
  discord.gateway.forgetSessions();
  daemon = await home.start();
  await until("its socket", () => slack.sockets.openSockets > 0);
  const [first, second, third, fourth] = people;
  assert.equal(await first.press(), "Your answer is noted.");
  second.say("1");
  assert.equal(await third.press(), "Your answer is noted.");
  fourth.say("red");
  for (const one of people) await isAnswered(one);
});

test("killed between Discord's hearing of a press and its effect, the next daemon makes it good", async () => {
  const ann = onDiscord();
  await isAsked(ann);
  await using gate = await gateRows(beside, "update on approvals", "new.state = 'answered'");
  const call = ann.pressNow();
  await gate.reached();
  assert.deepEqual(
    call.responses().map(({ isLoading }) => isLoading),
    [true],
  );
  await daemon.kill();
  await gate.cut();
  daemon = await home.start();
  await isAnswered(ann);
  await until("the answer to the press", () => call.responses()[0]?.isLoading === false);
  assert.deepEqual(
    call.responses().map(({ text }) => text),
    ["Your answer is noted."],
  );
});
