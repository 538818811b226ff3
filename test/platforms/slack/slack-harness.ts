import { pino } from "pino";
import type { SlackConfig } from "../../../src/platforms/slack/row.ts";
import type { Platform, PlatformCommand } from "../../../src/platforms/platform.ts";
import { tsOf } from "../../../src/platforms/slack/address.ts";
import { createSlack } from "../../../src/platforms/slack/adapter.ts";
import { unescapeText } from "../../../src/platforms/slack/inbound/readable-text.ts";
import type { SlackTiming } from "../../../src/platforms/slack/timing.ts";
import type { ScriptedFault } from "../../support/slack/faults.ts";
import type { SlackChannel, SlackUser } from "../../support/slack/model.ts";
import {
  accessTo,
  type SlackServer,
  type SlackServerOptions,
  startSlackServer,
} from "../../support/slack/server.ts";
import { escapeText } from "../../support/slack/world.ts";
import { buttonsOf } from "../../support/slack/blocks.ts";
import type { Interaction } from "../../support/slack/interactions.ts";
import type { Asked, PlatformHarness, SendFailure } from "../contract.ts";
import { RecordingInbox } from "../recording-inbox.ts";

export const COMMANDS: readonly PlatformCommand[] = [
  { name: "status", help: "what it does", argument: null },
  { name: "context", help: "how full it is", argument: { name: "part", form: "list", help: "which part" } },
  { name: "help", help: "this list", argument: null },
];

/**
 * Fast, so that a test need not wait for what a person would not notice. How long the adapter waits for Slack's answers is a
 * daemon's: a busy machine answers late, and what is given up comes as a further call, a further socket or an error.
 */
export const FAST: Partial<SlackTiming> = {
  shortMs: 0,
  streamMs: 20,
  firstPieceMs: 0,
  lookAgainMs: [50],
  readEveryMs: 0,
  backOff: { fromMs: 10, toMs: 50 },
};

export function slackConfig(slack: SlackServer, overrides: Partial<SlackConfig> = {}): SlackConfig {
  return {
    ...accessTo(slack),
    agentView: "auto",
    feedbackButtons: false,
    dm: "everyone",
    allow: [],
    owners: [],
    ownerRoles: [],
    secrets: [],
    catchUpMaxAgeMs: 3_600_000,
    ...overrides,
  };
}

export interface SlackScene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly platform: Platform;
  readonly inbox: RecordingInbox;
  readonly ana: SlackUser;
  readonly general: SlackChannel;
  /** Lines of the log, as JSON. */
  readonly lines: readonly string[];
}

export interface SceneOptions {
  readonly server?: SlackServerOptions;
  readonly config?: (slack: SlackServer) => Partial<SlackConfig>;
  readonly timing?: Partial<SlackTiming>;
  /** Default: three. */
  readonly commands?: readonly PlatformCommand[];
  /** Runs before the adapter is started. */
  readonly before?: (slack: SlackServer, inbox: RecordingInbox) => void;
}

/** The adapter on a small Slack, with Ana in #general. */
export async function openSlackScene(options: SceneOptions = {}): Promise<SlackScene> {
  const slack = await startSlackServer(options.server);
  const ana = slack.world.addUser("ana", { displayName: "Ana" });
  const general = slack.world.addChannel({ name: "general", members: [ana] });
  const inbox = new RecordingInbox();
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const platform = createSlack({
    config: slackConfig(slack, options.config?.(slack)),
    log,
    commands: options.commands ?? COMMANDS,
    timing: { ...FAST, ...options.timing },
    onListening: (port) => {
      slack.requestUrl.url = `http://127.0.0.1:${port}/slack/events`;
    },
  });
  options.before?.(slack, inbox);
  await platform.start(inbox, inbox);
  return {
    slack,
    platform,
    inbox,
    ana,
    general,
    lines,
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]();
      await slack[Symbol.asyncDispose]();
    },
  };
}

const FAULTS: Readonly<Record<SendFailure, ScriptedFault>> = {
  unavailable: { method: "chat.postMessage", fault: "status", status: 503 },
  gone: { method: "chat.postMessage", fault: "error", error: "is_archived" },
  rejected: { method: "chat.postMessage", fault: "error", error: "msg_too_long" },
  reset_after: { method: "chat.postMessage", fault: "reset_after" },
};

function asked(interaction: Interaction): Asked {
  return { answer: async () => interaction.posts.find(({ type }) => type === "ephemeral")?.text ?? null };
}

/** In a DM, where everything said is meant for the bot. */
export async function openSlackHarness(): Promise<PlatformHarness> {
  const { slack, platform, inbox, ana, ...scene } = await openSlackScene();
  const dm = slack.world.openIm(ana);
  return {
    platform,
    inbox,
    channel: dm.id,
    failures: ["unavailable", "gone", "rejected", "reset_after"],
    say: async ({ text }) => {
      slack.world.say(ana, dm, escapeText(text));
    },
    shown: async () => botTexts(slack, dm),
    edit: async (id, text) => slack.world.edit(dm, tsOf(id), escapeText(text)),
    delete: async (id) => slack.world.remove(dm, tsOf(id)),
    moderate: async (id) => slack.world.remove(dm, tsOf(id)),
    deliverTwice: () => slack.deliveries.duplicateNext(1),
    interrupt: async (meanwhile) => {
      slack.deliveries.hold();
      await meanwhile();
      slack.deliveries.release(() => []);
      slack.sockets.cut();
      await slack.journal.until("another socket", () => (slack.journal.sockets.at(-1)?.socket ?? 0) >= 2);
    },
    command: async (name, argument) => {
      const given = slack.world.command(ana, dm, "/weir", `${name} ${argument}`);
      await given.acknowledged;
      return asked(given);
    },
    press: async (id, label) => {
      const message = slack.messages(dm).find(({ ts }) => ts === tsOf(id));
      const button = buttonsOf(message?.blocks).get(label);
      if (button === undefined) throw new Error(`The message has no button ${label}.`);
      return asked(slack.world.click(ana, dm, tsOf(id), button));
    },
    sign: async () => {
      // Slack shows it in threads alone.
      const channel = `${dm.id}/${slack.world.say(ana, dm, "root")}`;
      return { channel, isShown: () => (slack.statuses.get(channel) ?? "") !== "" };
    },
    reactions: (id) => slack.messages(dm).find(({ ts }) => ts === tsOf(id))?.reactions.size ?? 0,
    // Slack's JSON has no lone surrogates, and Postgres takes no NUL.
    looks: (text) => text.toWellFormed(),
    fail: async (how) => slack.faults.next(FAULTS[how]),
    [Symbol.asyncDispose]: async () => scene[Symbol.asyncDispose](),
  };
}

/** The bot's messages in a channel, without Slack's entities. */
export function botTexts(slack: SlackServer, channel: SlackChannel, threadTs?: string): string[] {
  return slack
    .messages(channel, threadTs)
    .filter(({ user }) => user === slack.world.bot.id)
    .map(({ text }) => unescapeText(text));
}

/** The adapter of another process, which sends only. */
export function openSender(slack: SlackServer, timing: Partial<SlackTiming> = {}): Platform {
  return createSlack({
    config: slackConfig(slack),
    log: pino({ level: "silent" }),
    commands: [],
    timing: { ...FAST, ...timing },
  });
}
