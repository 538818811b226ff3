// proves: src/platforms/slack/outbound/agent-threads.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../support/patience.ts";
import type { SlackChannel } from "../../support/slack/model.ts";
import { openSlackScene, type SceneOptions, type SlackScene } from "./slack-harness.ts";

const AGENT = { app_context: {} };
const PROMPTS = [{ title: "What is new?", message: "What is new since yesterday?" }];

interface Dm extends SlackScene {
  readonly dm: SlackChannel;
}

async function openDm(options: SceneOptions = {}): Promise<Dm> {
  const scene = await openSlackScene(options);
  scene.inbox.prompts = PROMPTS;
  const dm = scene.slack.world.openIm(scene.ana);
  return { ...scene, dm, [Symbol.asyncDispose]: async () => scene[Symbol.asyncDispose]() };
}

function came({ inbox }: SlackScene): unknown[] {
  return inbox.events.flatMap((event) =>
    event.type === "message" && event.isBackground !== true
      ? [[event.text, event.channel.name, event.kind, event.place?.parent?.id ?? null]]
      : [],
  );
}

function calls({ slack }: SlackScene, method: string): readonly Record<string, unknown>[] {
  return slack.journal.calls(`assistant.threads.${method}`).map(({ args }) => args);
}

test("to an agent, each message that begins a thread is a conversation of its own, below the direct messages", async () => {
  await using scene = await openDm();
  const { slack, ana, dm, inbox } = scene;
  const first = slack.world.say(ana, dm, "first", { raw: AGENT });
  slack.world.say(ana, dm, "more", { threadTs: first });
  // Later messages need not show it.
  const second = slack.world.say(ana, dm, "second");
  await inbox.received(3);
  assert.deepEqual(came(scene), [
    ["first", `${dm.id}/${first}`, "dm", dm.id],
    ["more", `${dm.id}/${first}`, "dm", dm.id],
    ["second", `${dm.id}/${second}`, "dm", dm.id],
  ]);
  await until("its title", () => calls(scene, "setTitle").length === 2);
  assert.deepEqual(
    calls(scene, "setTitle").map(({ thread_ts: ts, title }) => [ts, title]),
    [
      [first, "first"],
      [second, "second"],
    ],
  );
});

test("the title follows its message, and does not outlive it", async () => {
  await using scene = await openDm({ config: () => ({ agentView: "on" }) });
  const { slack, ana, dm } = scene;
  const titles = (): unknown[] => calls(scene, "setTitle").map(({ title }) => title);
  const first = slack.world.say(ana, dm, "first");
  await until("the title", () => titles().length === 1);
  slack.world.say(ana, dm, "more", { threadTs: first });
  slack.world.edit(dm, first, "second");
  await until("the edit", () => titles().length === 2);
  slack.world.remove(dm, first);
  await until("the deletion", () => titles().length === 3);
  assert.deepEqual(titles(), ["first", "second", "A conversation"]);
});

test("a title whose message is deleted at once is not set again by what was read before", async () => {
  await using scene = await openDm({ config: () => ({ agentView: "on" }) });
  const { slack, ana, dm, inbox } = scene;
  const first = slack.world.say(ana, dm, "first");
  slack.world.remove(dm, first);
  await inbox.received(2);
  await slack.deliveries.idle();
  await until("the last title", () => calls(scene, "setTitle").at(-1)?.["title"] === "A conversation");
});

test("edits, deletions and reactions of such a message stay in its conversation", async () => {
  await using scene = await openDm();
  const { slack, ana, dm, inbox } = scene;
  const first = slack.world.say(ana, dm, "first", { raw: AGENT });
  slack.world.react(ana, dm, first, "tada");
  await inbox.received(2);
  assert.equal(inbox.events[1]?.type === "message" && inbox.events[1].channel.name, `${dm.id}/${first}`);
});

test("an app that is no agent has one conversation of direct messages; the option decides before Slack does", async () => {
  for (const agentView of ["auto", "off", "on"] as const) {
    await using scene = await openDm({ config: () => ({ agentView }) });
    const { slack, ana, dm, inbox } = scene;
    const raw = agentView === "off" ? AGENT : {};
    const ts = slack.world.say(ana, dm, "hello", { raw });
    await inbox.received(1);
    const name = agentView === "on" ? `${dm.id}/${ts}` : dm.id;
    assert.deepEqual(came(scene)[0], ["hello", name, "dm", agentView === "on" ? dm.id : null]);
  }
});

test("whoever opens an agent's direct messages is shown its prompts, in no thread", async () => {
  await using scene = await openDm();
  const { slack, ana, dm } = scene;
  const opened = (tab: string, more: object): void => {
    const event = { type: "app_home_opened", user: ana.id, channel: dm.id, tab, event_ts: "1.1", ...more };
    slack.feed.emit("app_home_opened", event);
  };
  // An older app has both tabs, too.
  opened("messages", {});
  opened("home", { context: {} });
  await slack.deliveries.idle();
  opened("messages", { context: { entities: [] } });
  await until("the prompts", () => calls(scene, "setSuggestedPrompts").length > 0);
  const [asked, ...others] = calls(scene, "setSuggestedPrompts");
  assert.deepEqual(others, []);
  assert.deepEqual(JSON.parse(String(asked?.["prompts"])), PROMPTS);
  assert.deepEqual([asked?.["channel_id"], asked?.["thread_ts"]], [dm.id, undefined]);
});

test("a thread with an assistant gets its prompts when it is begun, and its title with its first message", async () => {
  await using scene = await openDm();
  const { slack, ana, dm, inbox } = scene;
  const root = slack.world.say(slack.world.bot, dm, "New thread", {
    raw: { subtype: "assistant_app_thread" },
  });
  slack.feed.emit("assistant_thread_started", {
    type: "assistant_thread_started",
    assistant_thread: { user_id: ana.id, context: {}, channel_id: dm.id, thread_ts: root },
    event_ts: "1.1",
  });
  await until("the prompts", () => calls(scene, "setSuggestedPrompts").length === 1);
  assert.equal(calls(scene, "setSuggestedPrompts")[0]?.["thread_ts"], root);
  const long = "What is the plan for the day after tomorrow, and who is going to be there?";
  slack.world.say(ana, dm, long, { threadTs: root });
  slack.world.say(ana, dm, "and then?", { threadTs: root });
  await inbox.received(2);
  assert.deepEqual(came(scene), [
    [long, `${dm.id}/${root}`, "dm", dm.id],
    ["and then?", `${dm.id}/${root}`, "dm", dm.id],
  ]);
  await until("the title", () => calls(scene, "setTitle").length === 1);
  assert.equal(
    calls(scene, "setTitle")[0]?.["title"],
    "What is the plan for the day after tomorrow, and who is goi…",
  );
});

test("without prompts, or where Slack refuses them, nothing else changes", async () => {
  await using scene = await openDm({ config: () => ({ agentView: "on" }) });
  const { slack, ana, dm, inbox } = scene;
  slack.faults.next({ method: "assistant.threads.setTitle", fault: "error", error: "missing_scope" });
  inbox.prompts = [];
  const opened = { user: ana.id, channel: dm.id, tab: "messages", event_ts: "1.1" };
  slack.feed.emit("app_home_opened", { type: "app_home_opened", ...opened });
  slack.world.say(ana, dm, "hello");
  await inbox.received(1);
  await until("the refusal", () => slack.faults.pending === 0);
  assert.deepEqual(calls(scene, "setSuggestedPrompts"), []);
});
