import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageFlags } from "discord.js";
import { z } from "zod";
import { commandTable } from "../../../../src/admin/commands/commands.ts";
import { COMMANDS as ALL_COMMANDS } from "../../../../src/features/features.ts";
import { until } from "../../../support/patience.ts";
import { type DiscordServer, startDiscordServer } from "../../../support/discord/server.ts";
import { toCard } from "../../../../src/platforms/discord/outbound/card.ts";
import { textIn } from "../../../../src/platforms/discord/outbound/components.ts";
import { CARD } from "../../cards.ts";
import { COMMANDS, discordConfig, type DiscordScene, FAST, openDiscordScene } from "../discord-harness.ts";
import { createDiscord } from "../../../../src/platforms/discord/adapter.ts";
import { RecordingInbox } from "../../recording-inbox.ts";
import { pino } from "pino";

const ROUTE_COMMANDS = "/applications/:application/commands";
const ROUTE_ORIGINAL = "/webhooks/:application/:token/messages/:message";
const ROUTE_CALLBACK = "/interactions/:interaction/:token/callback";
const OPTION = { type: z.number(), name: z.string(), description: z.string(), required: z.boolean() };
const HELD = z.array(
  z.object({
    name: z.string(),
    description: z.string(),
    options: z.array(z.object(OPTION)).default([]),
  }),
);

const DRAWN = textIn(toCard(CARD).components);

async function registered(discord: DiscordServer): Promise<void> {
  await until("the commands", () => discord.commands().length === COMMANDS.length);
}

test("commands are registered where they differ, and left alone where they do not", async () => {
  await using scene = await openDiscordScene();
  const { discord } = scene;
  await registered(discord);
  assert.deepEqual(discord.commands().toSorted(), ["context", "help", "status"]);
  const start = async (commands: typeof COMMANDS): Promise<void> => {
    const config = discordConfig(discord);
    const asked = discord.journal.calls("GET", ROUTE_COMMANDS).length;
    await using platform = createDiscord({ config, log: pino({ level: "silent" }), commands, timing: FAST });
    const inbox = new RecordingInbox();
    await platform.start(inbox, inbox);
    await until("a look", () => discord.journal.calls("GET", ROUTE_COMMANDS).length > asked);
    await until("its end", () => discord.journal.calls("GET", ROUTE_COMMANDS).every(({ status }) => status));
    const isOther = JSON.stringify(commands) !== JSON.stringify(COMMANDS);
    if (isOther) await until("the change", () => discord.journal.calls("PUT", ROUTE_COMMANDS).length > 1);
  };
  await start(COMMANDS);
  assert.equal(discord.journal.calls("PUT", ROUTE_COMMANDS).length, 1);
  await start(COMMANDS.slice(0, 1));
  await until("the removal", () => discord.commands().length === 1);
});

test("the command that starts an app's activity stays as it is, beside Weir's commands", async () => {
  await using discord = await startDiscordServer();
  const url = `${discord.api}/v10/applications/${discord.world.botId}/commands`;
  const headers = { authorization: `Bot ${discord.token}`, "content-type": "application/json" };
  const launch = {
    type: 4,
    name: "launch",
    description: "",
    handler: 2,
    integration_types: [0, 1],
    contexts: [0, 1, 2],
  };
  await fetch(url, { method: "POST", headers, body: JSON.stringify(launch) });
  const config = discordConfig(discord);
  const options = { config, log: pino({ level: "silent" }), commands: COMMANDS, timing: FAST };
  for (const round of ["registers", "finds"]) {
    await using platform = createDiscord(options);
    const inbox = new RecordingInbox();
    const asked = discord.journal.calls("GET", ROUTE_COMMANDS).length;
    await platform.start(inbox, inbox);
    await until(round, () => discord.journal.calls("GET", ROUTE_COMMANDS).length > asked);
    await until("the commands", () => discord.commands().length === COMMANDS.length + 1);
  }
  const puts = discord.journal.calls("PUT", ROUTE_COMMANDS);
  assert.deepEqual(
    puts.map(({ status }) => status),
    [200],
  );
  const there = z
    .array(z.looseObject({ name: z.string() }))
    .parse(await (await fetch(url, { headers })).json());
  assert.partialDeepStrictEqual(
    there.find(({ name }) => name === "launch"),
    { type: 4, name: "launch", description: "", handler: 2 },
  );
  // Discord itself refuses a list without it.
  const bare = await fetch(url, { method: "PUT", headers, body: "[]" });
  assert.equal(bare.status, 400);
  assert.partialDeepStrictEqual(await bare.json(), { code: 50_240 });
});

test("Discord takes all the commands that there are, and shows what goes into their arguments", async () => {
  await using scene = await openDiscordScene({ commands: commandTable(ALL_COMMANDS) });
  const { discord } = scene;
  await until("an answer", () =>
    discord.journal.calls("PUT", ROUTE_COMMANDS).some(({ status }) => status !== null),
  );
  const answer = await fetch(`${discord.api}/v10/applications/${discord.world.botId}/commands`, {
    headers: { authorization: `Bot ${discord.token}` },
  });
  const held = HELD.parse(await answer.json());
  assert.deepEqual(
    held.map(({ name, description }) => ({ name, help: description })),
    commandTable(ALL_COMMANDS).map(({ name, help }) => ({ name, help })),
  );
  assert.deepEqual(
    held.flatMap(({ name, options }) => options.map((option) => ({ command: name, ...option }))),
    [
      ["context", "part", "list | detail KEY: its parts, or one of them in full"],
      ["compact", "focus", "FOCUS: what the summary should keep above all"],
      ["summarize", "focus", "FOCUS: what the summary should keep above all"],
      [
        "memory",
        "query",
        "QUERY | me: what it is about; me: your page, and what else you have said; alone: the newest",
      ],
      ["remember", "text", "TEXT: what is to be remembered"],
      [
        "forget",
        "what",
        "NUMBER | L1 | QUERY | me | me everywhere: a number of /memory or /learned, words, or all of yours",
      ],
      [
        "remind",
        "what",
        "in 20m TEXT | tomorrow at 9 TEXT | every monday at 9 TEXT | 2026-12-01 09:00 TEXT: when, and what",
      ],
      ["reminders", "what", "cancel NUMBER: end this one; alone: the list"],
      ["usage", "since", "7d | 2026-11-01: since when; a day, if it is left out"],
      ["ask", "question", "AGENT TEXT: which agent, and what you ask it"],
      ["agents", "what", "stop NUMBER: end one at once"],
      ["skill", "what", "on NAME | off [NAME]: take one up here, or lay it down"],
      ["model", "name", "NAME | default: answer here with this one, or with the agent's"],
      ["approve", "number", "NUMBER | NUMBER always: once, or these arguments from now on"],
      ["deny", "number", "NUMBER | NUMBER REASON: the agent is told the reason"],
      ["approvals", "what", "NUMBER [PAGE] | forget NUMBER: all of one; end what is allowed"],
      ["answer", "choice", "NUMBER CHOICE: which question, and the number or the words of the choice"],
      ["pair", "code", "CODE: the code that they were told"],
    ].map(([command, name, description]) => ({ command, type: 3, name, description, required: false })),
  );
});

test("a command is answered to its asker alone, with argument and roles", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, guild, general } = scene;
  await registered(discord);
  const role = discord.world.addRole(guild, "millers");
  discord.world.setMember(guild, ann, { nick: "Annie", roles: [role] });
  const call = discord.world.command(ann, general, "context", { part: " list " });
  await until("the answer", () => call.responses().some(({ isLoading }) => !isLoading));
  assert.deepEqual(
    call.responses().map(({ text, isEphemeral }) => [text, isEphemeral]),
    [["did context", true]],
  );
  assert.deepEqual(inbox.commands, [
    {
      channel: { platform: "discord", name: general },
      name: "context",
      argument: "list",
      asker: { id: ann, name: "Annie", roles: [role], roleNames: ["millers"] },
    },
  ]);
  assert.deepEqual(discord.answers(general), []);
});

test("a command without its text opens a form; one whose form Discord refuses is run as it is", async () => {
  const forms = commandTable(ALL_COMMANDS).filter(({ name }) => name === "remember" || name === "remind");
  await using scene = await openDiscordScene({ commands: forms });
  const { discord, inbox, ann, general } = scene;
  await until("the commands", () => discord.commands().length === forms.length);
  const opened = discord.world.command(ann, general, "remind");
  await until("the form", () => discord.world.form(opened.id)?.title === "Remind");
  const sent = discord.world.sendForm(opened.id, "in 20m\ntea");
  await until("the answer", () => sent.responses().some(({ isLoading }) => !isLoading));
  assert.deepEqual(opened.responses(), []);
  assert.deepEqual(
    inbox.commands.map(({ name, argument }) => [name, argument]),
    [["remind", "in 20m tea"]],
  );
  discord.faults.next({ method: "POST", route: ROUTE_CALLBACK, fault: { kind: "status", status: 400 } });
  const refused = discord.world.command(ann, general, "remember");
  await until("the answer", () => refused.responses().some(({ isLoading }) => !isLoading));
  assert.equal(inbox.commands.at(-1)?.argument, "");
});

test("a command that takes long is acknowledged first; in a DM, too", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann } = scene;
  await registered(discord);
  const { promise, resolve } = Promise.withResolvers<string>();
  inbox.onCommand = async () => promise;
  const call = discord.world.command(ann, discord.world.openDm(ann), "status");
  await until("the acknowledgement", () => call.responses().some(({ isLoading }) => isLoading));
  resolve("at last");
  await until("the answer", () => call.responses().some(({ text }) => text === "at last"));
  assert.equal(call.responses().length, 1);
});

test("a long answer comes in several messages, all of them private", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  await registered(discord);
  const lines = Array.from({ length: 200 }, (_, index) => `line ${index} of what it has to say`);
  inbox.onCommand = () => lines.join("\n");
  const call = discord.world.command(ann, general, "help");
  await until("all parts", () => call.responses().at(-1)?.text.includes("line 199") === true);
  const answers = call.responses();
  assert.ok(answers.length > 2);
  assert.ok(answers.every(({ isEphemeral }) => isEphemeral));
  assert.deepEqual(
    answers.flatMap(({ text }) => text.split("\n")),
    lines,
  );
});

test("a card is an embed for the asker alone, below its essence in words", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  await registered(discord);
  inbox.onCommand = () => CARD;
  const call = discord.world.command(ann, general, "context");
  await until("the answer", () => call.responses().some(({ isLoading }) => !isLoading));
  assert.deepEqual(
    call.responses().map(({ text, embeds, isEphemeral }) => ({ text, embeds, isEphemeral })),
    [{ text: DRAWN, embeds: [], isEphemeral: true }],
  );
  const [{ body } = { body: null }] = discord.journal.calls("PATCH", ROUTE_ORIGINAL);
  assert.deepEqual(body, {
    components: toCard(CARD).components,
    flags: MessageFlags.Ephemeral | MessageFlags.IsComponentsV2,
    allowed_mentions: { parse: [] },
  });
});

test("a card that Discord refuses is the text, in the same place, to the asker alone", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general, lines } = scene;
  await registered(discord);
  refuseOriginal(scene);
  inbox.onCommand = () => CARD;
  const call = discord.world.command(ann, general, "context");
  await until("the answer", () => call.responses().some(({ text }) => text === CARD.text));
  assert.deepEqual(
    call.responses().map(({ text, isEphemeral }) => ({ text, isEphemeral })),
    [{ text: CARD.text, isEphemeral: true }],
  );
  assert.ok(lines.some((line) => line.includes("card_refused")));
  assert.deepEqual(discord.answers(general), []);
});

test("a card whose acknowledgement is lost stands there once", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  await registered(discord);
  discord.faults.next({ method: "PATCH", route: ROUTE_ORIGINAL, fault: { kind: "reset", when: "after" } });
  inbox.onCommand = () => CARD;
  const call = discord.world.command(ann, general, "context");
  await until("both calls", () => discord.journal.calls("PATCH", ROUTE_ORIGINAL).length === 2);
  assert.deepEqual(
    call.responses().map(({ text }) => text),
    [DRAWN],
  );
});

test("a report is drawn in boxes, or written where it refuses them; a sentence is text", async () => {
  const commands = commandTable(ALL_COMMANDS);
  await using scene = await openDiscordScene({ commands });
  const { discord, inbox, ann, general } = scene;
  await until("the commands", () => discord.commands().length === commands.length);
  const lines = Array.from({ length: 400 }, (_, index) => `- line ${index} of the *report* here`);
  const ask = async (name: string, answer: string): Promise<readonly string[]> => {
    inbox.onCommand = () => answer;
    const call = discord.world.command(ann, general, name);
    const last = answer.split("\n").at(-1) ?? "";
    await until("the answer", () => call.responses().at(-1)?.text.endsWith(last) === true);
    return call.responses().map(({ text }) => text);
  };
  const bodies = (): string => JSON.stringify(discord.journal.calls("PATCH", ROUTE_ORIGINAL).at(-1)?.body);
  const boxes = await ask("why", lines.join("\n"));
  assert.deepEqual(boxes.join("\n").split("\n"), lines);
  assert.ok(boxes.length > 1 && boxes.every((one) => one.length <= 2000));
  assert.match(bodies(), /"components"/);
  refuseOriginal(scene);
  assert.deepEqual(await ask("status", "Nothing is being written here."), ["Nothing is being written here."]);
  assert.doesNotMatch(bodies(), /"components"/);
  await ask("stop", "Nothing is being written here.");
  assert.doesNotMatch(bodies(), /"components"/);
});

function refuseOriginal({ discord }: DiscordScene): void {
  discord.faults.next({
    method: "PATCH",
    route: ROUTE_ORIGINAL,
    fault: { kind: "status", status: 400, body: { message: "Invalid Form Body", code: 50_035 } },
  });
}

test("a command that comes twice is run once; one whose acknowledgement was lost is run", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  await registered(discord);
  discord.gateway.deliveries.duplicate("INTERACTION_CREATE");
  const twice = discord.world.command(ann, general, "status");
  await until("the answer", () => twice.responses().some(({ text }) => text === "did status"));
  await until("both calls", () => discord.journal.calls("POST", ROUTE_CALLBACK).length === 2);
  discord.faults.next({ method: "POST", route: ROUTE_CALLBACK, fault: { kind: "reset", when: "after" } });
  const lost = discord.world.command(ann, general, "help");
  await until("the answer", () => lost.responses().some(({ text }) => text === "did help"));
  assert.deepEqual(
    inbox.commands.map(({ name }) => name),
    ["status", "help"],
  );
});

test("an answer that comes too late harms nothing", async () => {
  await using scene = await openDiscordScene({ server: { interactionTokenMs: 100 } });
  const { discord, inbox, ann, general, lines } = scene;
  await registered(discord);
  const { promise, resolve } = Promise.withResolvers<string>();
  inbox.onCommand = async () => promise;
  discord.world.command(ann, general, "status");
  await new Promise((done) => {
    setTimeout(done, 150);
  });
  resolve("too late");
  await until("word of it", () => lines.some((line) => line.includes("command_not_answered")));
  discord.world.say(ann, general, "still there?");
  await inbox.received(1);
});
