// proves: src/channel/delivery/outbox.ts, src/channel/delivery/part-sender.ts, src/platforms/slack/outbound/uploader.ts, src/platforms/discord/outbound/poster.ts
// A daemon that is killed while it sends a file behind an answer, or a refused part in shorter pieces: all of it is there once.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import { ROUTE_MESSAGES, startDiscordServer } from "../support/discord/server.ts";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { text, toolCalls } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import { startSlackServer } from "../support/slack/server.ts";
import { botTexts } from "../platforms/slack/slack-harness.ts";

await using stack = new AsyncDisposableStack();
const model = stack.use(await startModelServer());
// The server has forgotten a key when the next process comes: it has to look for the message.
const discord = stack.use(await startDiscordServer({ nonceLifeMs: 1 }));
const slack = stack.use(await startSlackServer({ retryDelaysMs: [0, 200] }));
const database = stack.use(await createTestDatabase());
const home = stack.use(
  await openMainHome(
    `[platforms.discord]\ndm = "everyone"\napi_url = "${discord.api}"\n[platforms.slack]\ndm = "everyone"\napi_url = "${slack.apiUrl}"\nfeedback_buttons = false`,
    {
      ...envOf(database.connection, model.url),
      DISCORD_TOKEN: discord.token,
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
    },
    `[agents.files]\nattach = true\n${["discord", "slack"].map((one) => `[[bindings]]\nplatform = "${one}"\nagent = "main"\nstreaming = false\n`).join("")}`,
  ),
);
const kept = stack.move();
after(async () => kept.disposeAsync());
let daemon = await home.start();

const FILE = "plan.md: Buy salt.";
const LINES = Array.from({ length: 30 }, (_, index) => `line ${index}: ${"words ".repeat(8)}`.trim());

function answersWithFile(): void {
  const attach = { name: "attach", arguments: { name: "plan.md", text: "Buy salt." } };
  model.reply(toolCalls([attach]), text("Here is the plan."));
}

async function killed(): Promise<void> {
  await daemon.kill();
  discord.faults.clear();
  daemon = await home.start();
}

/** What each test finds there in the end. */
const findings: (() => void)[] = [];

for (const when of ["before", "after"] as const)
  test(`killed while Discord takes a file, ${when} it is there`, async () => {
    const ann = discord.world.addUser({ name: `ann-${when}` });
    const dm = discord.world.openDm(ann);
    answersWithFile();
    const posts = (): number => discord.journal.calls("POST", ROUTE_MESSAGES).length;
    const before = posts();
    discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, skip: 1, fault: { kind: "hang", when } });
    discord.world.say(ann, dm, "a plan?");
    await until("the file's post", () => posts() === before + 2);
    await until("its fate", () => discord.sentFiles(dm).length === (when === "after" ? 1 : 0));
    await killed();
    await until("the file", () => discord.sentFiles(dm).length > 0);
    findings.push(() => {
      assert.deepEqual(discord.sentFiles(dm), [FILE]);
      assert.deepEqual(discord.answers(dm), ["Here is the plan.", ""]);
    });
  });

for (const [method, fault] of [
  ["files.getUploadURLExternal", "hang_before"],
  ["files.completeUploadExternal", "hang_before"],
  ["files.completeUploadExternal", "hang_after"],
  ["files.info", "hang_before"],
] as const)
  test(`killed while Slack takes a file, at ${method} (${fault})`, async () => {
    const ann = slack.world.addUser(`ann-${fault}`);
    const dm = slack.world.openIm(ann);
    const files = (): string[] =>
      slack
        .messages(dm)
        .flatMap(({ files: shown }) => shown.map(({ name, content }) => `${name}: ${content.toString()}`));
    answersWithFile();
    const calls = slack.journal.calls(method).length;
    slack.faults.next({ method, fault });
    slack.world.say(ann, dm, "a plan?");
    await slack.journal.until("the call", () => slack.journal.calls(method).length > calls);
    await killed();
    await slack.journal.until("the file", () => files().length > 0);
    findings.push(() => {
      assert.deepEqual(files(), [FILE]);
      assert.deepEqual(
        botTexts(slack, dm).filter((one) => one !== ""),
        ["Here is the plan."],
      );
    });
  });

for (const when of ["before", "after"] as const)
  test(`killed among the pieces of a part that Discord refuses as a whole, ${when} it took one`, async () => {
    const ann = discord.world.addUser({ name: `cleo-${when}` });
    const dm = discord.world.openDm(ann);
    model.reply(text(LINES.join("\n")));
    const body = { message: "Invalid Form Body", code: 50_035 };
    discord.faults.next({
      method: "POST",
      route: ROUTE_MESSAGES,
      fault: { kind: "status", status: 400, body },
    });
    discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, skip: 1, fault: { kind: "hang", when } });
    const posts = (): number => discord.journal.calls("POST", ROUTE_MESSAGES).length;
    const before = posts();
    discord.world.say(ann, dm, "tell me all");
    await until("the second piece's post", () => posts() === before + 3);
    await until("its fate", () => discord.answers(dm).length === (when === "after" ? 2 : 1));
    await killed();
    await until(
      "the last piece",
      () =>
        discord
          .answers(dm)
          .at(-1)
          ?.endsWith(LINES.at(-1) ?? "") === true,
    );
    findings.push(() => assert.deepEqual(discord.answers(dm).join("\n").split("\n"), LINES));
  });

test("when the last of them has ended in peace, all of it is there once", async () => {
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  assert.equal(findings.length, 8);
  for (const find of findings) find();
});
