import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { describe, test } from "node:test";
import { pino } from "pino";
import { ChannelRenames } from "../../../../src/platforms/slack/channel-renames.ts";
import type { ButtonPress } from "../../../../src/platforms/slack/inbound/payload.ts";
import { SlashCommands } from "../../../../src/platforms/slack/inbound/slash-commands.ts";
import { startRedirectingServer } from "../../../support/redirecting-server.ts";
import { toBlocks } from "../../../../src/platforms/slack/outbound/card.ts";
import type { ScriptedFault } from "../../../support/slack/faults.ts";
import { commandTable } from "../../../../src/admin/commands/commands.ts";
import { COMMANDS as ALL_COMMANDS } from "../../../../src/features/features.ts";
import { until } from "../../../support/patience.ts";
import { CARD } from "../../cards.ts";
import { outbound } from "../../contract.ts";
import { openSlackScene, type SceneOptions, type SlackScene } from "../slack-harness.ts";

const HTTP: SceneOptions = {
  config: ({ signingSecret }) => ({
    intake: { mode: "http", signingSecret, host: "127.0.0.1", port: 0 },
  }),
};

for (const [mode, options] of Object.entries<SceneOptions>({ "Socket Mode": {}, "HTTP mode": HTTP }))
  describe(`commands in ${mode}`, () => {
    answered(options);
    troubled(options);
  });

function answered(options: SceneOptions): void {
  test("are run with their argument, and answered to the asker alone", async () => {
    await using scene = await openSlackScene(options);
    const { slack, ana, general, inbox } = scene;
    inbox.onCommand = ({ name, argument }) => `**${name}** of <${argument}>`;
    const command = slack.world.command(ana, general, "/weir", " Context  detail all ");
    assert.deepEqual(await command.acknowledged, {
      isAcknowledged: true,
      body: { response_type: "ephemeral", text: "*context* of &lt;detail all&gt;" },
    });
    assert.deepEqual(inbox.commands, [
      {
        channel: { platform: "slack", name: general.id },
        name: "context",
        argument: "detail all",
        asker: { id: ana.id, name: "Ana", roles: [], roleNames: [] },
      },
    ]);
    await slack.world.command(ana, general, "/weir").acknowledged;
    assert.equal(inbox.commands[1]?.name, "help");
  });

  test("whose answer is a card are answered by blocks, to the asker alone", async () => {
    await using scene = await openSlackScene(options);
    const { slack, ana, general, inbox } = scene;
    inbox.onCommand = () => CARD;
    const command = slack.world.command(ana, general, "/weir", "context");
    await posts(scene, command, 1);
    assert.equal((await command.acknowledged).isAcknowledged, true);
    assert.deepEqual(
      command.posts.map(({ body }) => body),
      [
        {
          response_type: "ephemeral",
          replace_original: false,
          text: CARD.summary,
          blocks: toBlocks(CARD),
        },
      ],
    );
  });

  test("that take long are acknowledged in time, and answered later", async () => {
    await using scene = await openSlackScene({ ...options, timing: { commandMs: 300 } });
    const { slack, ana, general, inbox } = scene;
    const { promise, resolve } = Promise.withResolvers<string>();
    inbox.onCommand = async () => promise;
    const command = slack.world.command(ana, general, "/weir", "status");
    const { isAcknowledged } = await command.acknowledged;
    assert.equal(isAcknowledged, true);
    assert.deepEqual(command.posts, []);
    resolve("at last");
    await posts(scene, command, 1);
    assert.deepEqual(
      command.posts.map(({ text, type }) => [text, type]),
      [["at last", "ephemeral"]],
    );
  });
}

/** A command that takes its text by a form as well. */
const REMEMBER = commandTable(ALL_COMMANDS).filter(({ name }) => name === "remember");

test("a command without its text opens a form; one whose form Slack refuses is run as it is", async () => {
  await using scene = await openSlackScene({ commands: REMEMBER });
  const { slack, ana, general, inbox } = scene;
  inbox.onCommand = ({ name, argument }) => `${name}: ${argument}`;
  const command = slack.world.command(ana, general, "/weir", "remember");
  assert.equal((await command.acknowledged).isAcknowledged, true);
  await until("the form", () => slack.world.form !== null);
  assert.deepEqual([slack.world.form?.user, slack.world.form?.view.title.text], [ana.id, "Remember"]);
  assert.deepEqual([command.posts, inbox.commands], [[], []]);
  assert.equal((await slack.world.submit("  the mill\nis red ")).isAcknowledged, true);
  await posts(scene, command, 1);
  assert.deepEqual(
    command.posts.map(({ text, type }) => [text, type]),
    [["remember: the mill is red", "ephemeral"]],
  );
  assert.deepEqual(inbox.commands[0]?.channel, { platform: "slack", name: general.id });
  slack.faults.next({ method: "views.open", fault: "error", error: "expired_trigger_id" });
  const refused = slack.world.command(ana, general, "/weir", "remember");
  await posts(scene, refused, 1);
  assert.equal(refused.posts[0]?.text, "remember: ");
  const typed = slack.world.command(ana, general, "/weir", "remember it rains");
  await posts(scene, typed, 1);
  assert.equal(typed.posts[0]?.text, "remember: it rains");
});

function troubled(options: SceneOptions): void {
  test("whose answer is long are answered in several posts, as many as Slack takes", async () => {
    await using scene = await openSlackScene(options);
    const { slack, ana, general, inbox } = scene;
    inbox.onCommand = () => "some words & more ".repeat(300);
    const command = slack.world.command(ana, general, "/weir", "status");
    await posts(scene, command, 2);
    assert.equal(
      command.posts
        .map(({ text }) => text)
        .join("")
        .replaceAll("&amp;", "&").length,
      5400,
    );
    inbox.onCommand = () => "too many words ".repeat(3000);
    const longer = slack.world.command(ana, general, "/weir", "status");
    await posts(scene, longer, 5);
    assert.match(longer.posts.at(-1)?.text ?? "", /too long for Slack/);
    assert.ok(slack.journal.responses.every(({ status }) => status === 200));
  });

  test("whose card is refused, in either of Slack's ways, are answered by its text", async () => {
    const refusals: ScriptedFault[] = [
      { method: "response_url", fault: "error", error: "invalid_blocks" },
      { method: "response_url", fault: "status", status: 400, body: "invalid_blocks" },
    ];
    await using scene = await openSlackScene(options);
    const { slack, ana, general, inbox, lines } = scene;
    inbox.onCommand = () => ({ ...CARD, text: "too many words ".repeat(3000) });
    for (const refusal of refusals) {
      slack.faults.next(refusal);
      const command = slack.world.command(ana, general, "/weir", "context");
      await posts(scene, command, 4);
      assert.match(command.posts[0]?.text ?? "", /^too many words/);
      assert.match(command.posts.at(-1)?.text ?? "", /too long for Slack/);
      assert.ok(
        command.posts.every(({ type, body }) => type === "ephemeral" && body["blocks"] === undefined),
      );
    }
    assert.equal(lines.filter((line) => line.includes("card_refused")).length, 2);
  });
}

test("an answer goes to Slack alone: what names another place for it, or redirects, gets none", async () => {
  await using server = await startRedirectingServer();
  const named = async (responseUrl: string, apiUrl: string | null): Promise<string[]> => {
    const lines: string[] = [];
    const commands = new SlashCommands({
      inbox: { command: async () => CARD },
      api: { call: assert.fail },
      commands: [],
      reader: { person: async (id) => ({ id, name: "Ana", isBot: false, roles: [] }) },
      renames: new ChannelRenames(),
      apiUrl,
      log: pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }),
      ackMs: 0,
      callMs: 10_000,
    });
    const given = {
      command: "/weir",
      channel_id: "C1",
      user_id: "U1",
      trigger_id: "1",
      response_url: responseUrl,
    };
    await commands.run(given, async () => undefined);
    await commands.idle();
    return lines;
  };
  for (const [url, apiUrl] of [
    [`${server.elsewhere}/`, null],
    [`${server.elsewhere}/`, `${server.origin}/api`],
    [`${server.origin}/`, `${server.origin}/api`],
  ] as const)
    assert.match((await named(url, apiUrl)).join(), /command_answer_not_sent/);
  // The card, and its text.
  assert.deepEqual(server.asked, ["POST /", "POST /"]);
  assert.deepEqual(server.followed, []);
});

test("a press is acknowledged once its command has run, so that one that is cut off fails before the person's eyes", async () => {
  const running = Promise.withResolvers<string>();
  const called = Promise.withResolvers<void>();
  const commands = new SlashCommands({
    inbox: {
      command: async () => {
        called.resolve();
        return running.promise;
      },
    },
    api: { call: assert.fail },
    commands: commandTable(ALL_COMMANDS),
    reader: { person: async (id) => ({ id, name: "Ana", isBot: false, roles: [] }) },
    renames: new ChannelRenames(),
    apiUrl: null,
    log: pino({ level: "silent" }),
    ackMs: 600_000,
    callMs: 10_000,
  });
  const press: ButtonPress = {
    type: "block_actions",
    user: { id: "U1" },
    container: { type: "message", channel_id: "C1", message_ts: "1.1" },
    response_url: "http://elsewhere.test/",
    trigger_id: "1",
    actions: [{ value: "weir/answer 1 1" }],
  };
  let isAcknowledged = false;
  const pressed = commands.press(press, async () => {
    isAcknowledged = true;
  });
  await called.promise;
  assert.equal(isAcknowledged, false);
  running.resolve("Your answer is noted.");
  await pressed;
  assert.equal(isAcknowledged, true);
  await commands.idle();
});

async function posts(
  { slack }: SlackScene,
  command: { readonly posts: readonly unknown[] },
  count: number,
): Promise<void> {
  await slack.journal.until(`${count} posts`, () => command.posts.length >= count);
}

describe("HTTP mode", () => {
  test("takes signed requests, and refuses those with a wrong signature or an old timestamp", async () => {
    await using scene = await openSlackScene({ ...HTTP, server: { retryDelaysMs: [] } });
    const { slack, ana, general, inbox } = scene;
    assert.deepEqual(await slack.requestUrl.verify("abc"), { status: 200, body: '{"challenge":"abc"}' });
    slack.requestUrl.tamperNext({ signature: "wrong" }, { signature: "missing" }, { ageS: 600 });
    for (const text of ["forged", "unsigned", "replayed"]) slack.world.say(ana, general, text);
    await slack.deliveries.idle();
    slack.world.say(ana, general, "true");
    await inbox.received(1);
    await slack.deliveries.idle();
    assert.deepEqual(inbox.said, ["Ana: true"]);
    assert.deepEqual(
      slack.journal.acks.map(({ status }) => status),
      [401, 401, 401, 200],
    );
  });

  test("answers an event that is not stored with an error, so that it comes again and is taken", async () => {
    await using scene = await openSlackScene({ ...HTTP, server: { retryDelaysMs: [10] } });
    const { slack, ana, general, inbox } = scene;
    inbox.failures.push(new Error("no"));
    const ts = slack.world.say(ana, general, `<@${slack.world.bot.id}> hello`);
    await inbox.received(1);
    await slack.deliveries.idle();
    const statuses = slack.journal.acks.map(({ status }) => status);
    assert.deepEqual(statuses.filter((status) => status === 500).length >= 1, true);
    // It is fetched as well, and whichever comes second is a duplicate.
    assert.deepEqual(new Set(inbox.events.map(({ id }) => id)), new Set([`${general.id}/${ts}`]));
    assert.deepEqual(slack.journal.givenUp, []);
  });

  test("a port that is taken is told in words, and counts as no connection", async () => {
    await using first = await openSlackScene(HTTP);
    const port = Number(new URL(first.slack.requestUrl.url ?? "").port);
    await using second = await openSlackScene({
      config: ({ signingSecret }) => ({ intake: { mode: "http", signingSecret, host: "127.0.0.1", port } }),
    });
    // Some more attempts.
    await delay(50);
    assert.equal(second.inbox.mark, null, "nothing counts as heard");
    const refused = second.lines.find((line) => line.includes("platform_refused"));
    assert.match(refused ?? "", /change platforms.slack.listen/);
  });
});

test("a person can be told alone, in a channel and in a thread", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, platform } = scene;
  for (const name of [general.id, `${general.id}/1763000000.000100`])
    await platform.tellAlone?.({ platform: "slack", name }, ana.id, "**Stopped.**");
  assert.deepEqual(
    slack.ephemerals.map(({ channel, user, text }) => [channel, user, text]),
    [
      [general.id, ana.id, "*Stopped.*"],
      [general.id, ana.id, "*Stopped.*"],
    ],
  );
});

test("a person is told a card alone, and one that Slack refuses is an error that says so", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, platform } = scene;
  const channel = { platform: "slack", name: general.id };
  await platform.tellAlone?.(channel, ana.id, CARD.summary, CARD);
  assert.deepEqual(
    slack.ephemerals.map(({ user, text, blocks }) => [user, text, blocks]),
    [[ana.id, CARD.summary, toBlocks(CARD)]],
  );
  slack.faults.next({ method: "chat.postEphemeral", fault: "error", error: "invalid_blocks" });
  await assert.rejects(async () => platform.tellAlone?.(channel, ana.id, CARD.summary, CARD), {
    kind: "rejected",
    retryable: false,
  });
  slack.faults.next({ method: "chat.postMessage", fault: "error", error: "msg_blocks_too_long" });
  const message = outbound({ platform, channel: general.id }, { text: CARD.summary, card: CARD });
  await assert.rejects(platform.send(message), { kind: "rejected", retryable: false });
  await platform.send(message);
  assert.deepEqual(
    slack.messages(general).map(({ text, blocks }) => [text, blocks]),
    [[CARD.summary, toBlocks(CARD)]],
  );
});
