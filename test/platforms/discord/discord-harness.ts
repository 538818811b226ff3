import { pino } from "pino";
import type { DiscordConfig } from "../../../src/platforms/discord/row.ts";
import { storableText } from "../../../src/text/text.ts";
import { createDiscord } from "../../../src/platforms/discord/adapter.ts";
import type { DiscordTiming } from "../../../src/platforms/discord/timing.ts";
import type { Gap, Platform, PlatformCommand } from "../../../src/platforms/platform.ts";
import type { Fault } from "../../support/discord/faults.ts";
import { type DiscordServer, ROUTE_MESSAGES, startDiscordServer } from "../../support/discord/server.ts";
import type { DiscordOptions } from "../../support/discord/state.ts";
import { until } from "../../support/patience.ts";
import type { CommandCall } from "../../support/discord/world.ts";
import type { Asked, PlatformHarness, SendFailure } from "../contract.ts";
import { RecordingInbox } from "../recording-inbox.ts";

export const COMMANDS: readonly PlatformCommand[] = [
  { name: "status", help: "what it does", argument: null },
  { name: "context", help: "how full it is", argument: { name: "part", form: "list", help: "which part" } },
  { name: "help", help: "this list", argument: null },
];

/**
 * Fast, so that a test need not wait for what a person would not notice. How long the adapter waits for Discord's answers is a
 * daemon's: a busy machine answers late.
 */
export const FAST: Partial<DiscordTiming> = {
  longestWaitMs: 1000,
  closeMs: 200,
  streamMs: 20,
  isLoginPaced: false,
  callsPerSecond: 1000,
  backOff: { fromMs: 10, toMs: 50 },
};

export function discordConfig(discord: DiscordServer, overrides: Partial<DiscordConfig> = {}): DiscordConfig {
  return {
    token: discord.token,
    apiUrl: discord.api,
    shards: 1,
    dm: "everyone",
    allow: [],
    owners: [],
    ownerRoles: [],
    secrets: [],
    catchUpMaxAgeMs: 3_600_000,
    ...overrides,
  };
}

export interface DiscordScene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly platform: Platform;
  readonly inbox: RecordingInbox;
  readonly ann: string;
  readonly guild: string;
  readonly general: string;
  /** `<@…>` of the bot. */
  readonly mention: string;
  /** Lines of the log, as JSON. */
  readonly lines: readonly string[];
}

/** As the log would say it: what was said in #general behind a message may be missing. */
export function gapAfter(scene: Pick<DiscordScene, "general" | "guild">, afterId: string): Gap {
  const { general, guild } = scene;
  return { channel: { platform: "discord", name: general }, kind: "channel", workspace: guild, afterId };
}

export interface SceneOptions {
  readonly server?: DiscordOptions;
  readonly config?: Partial<DiscordConfig>;
  readonly timing?: Partial<DiscordTiming>;
  readonly commands?: readonly PlatformCommand[];
  /** Runs before the adapter is started. */
  readonly before?: (scene: Omit<DiscordScene, keyof AsyncDisposable>) => void;
}

/** The adapter on a small Discord, with Ann in #general of the server "Mill". */
export async function openDiscordScene(options: SceneOptions = {}): Promise<DiscordScene> {
  const discord = await startDiscordServer(options.server);
  const guild = discord.world.addGuild({ name: "Mill" });
  const general = discord.world.addChannel({ guild, name: "general" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const inbox = new RecordingInbox();
  const lines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
  const config = discordConfig(discord, options.config);
  const platform = createDiscord({
    config,
    log,
    commands: options.commands ?? COMMANDS,
    timing: { ...FAST, ...options.timing },
  });
  const mention = `<@${discord.world.botId}>`;
  const scene = { discord, platform, inbox, ann, guild, general, mention, lines };
  options.before?.(scene);
  await platform.start(inbox, inbox);
  return {
    ...scene,
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]();
      await discord[Symbol.asyncDispose]();
    },
  };
}

const FAULTS: Readonly<Record<SendFailure, Fault>> = {
  unavailable: { kind: "status", status: 503 },
  gone: { kind: "status", status: 404, body: { message: "Unknown Channel", code: 10_003 } },
  rejected: { kind: "status", status: 400, body: { message: "Invalid Form Body", code: 50_035 } },
  reset_after: { kind: "reset", when: "after" },
};

function asked(call: CommandCall): Asked {
  return {
    answer: async () =>
      call.responses().find(({ isLoading, isEphemeral }) => !isLoading && isEphemeral)?.text ?? null,
  };
}

/** In a DM, where everything said is meant for the bot. */
export async function openDiscordHarness(): Promise<PlatformHarness> {
  const { discord, platform, inbox, ann, ...scene } = await openDiscordScene();
  const dm = discord.world.openDm(ann);
  return {
    platform,
    inbox,
    channel: dm,
    failures: ["unavailable", "gone", "rejected", "reset_after"],
    say: async ({ text }) => {
      discord.world.say(ann, dm, text);
    },
    shown: async () => discord.answers(dm),
    edit: async (id, text) => discord.world.edit(id, text),
    delete: async (id) => discord.world.remove(id),
    moderate: async (id) => discord.world.remove(id),
    deliverTwice: () => discord.gateway.deliveries.duplicate("MESSAGE_CREATE"),
    interrupt: async (meanwhile) => {
      // The session is over: what was missed is not replayed.
      discord.gateway.invalidate(false);
      await meanwhile();
      await until("another session", () => discord.journal.dispatched("READY").length === 2);
    },
    command: async (name, argument) => {
      await until("the commands", () => discord.commands().length === COMMANDS.length);
      return asked(discord.world.command(ann, dm, name, argument === "" ? {} : { part: argument }));
    },
    press: async (id, label) => asked(discord.world.press(ann, id, label)),
    sign: async () => ({
      channel: dm,
      isShown: () => discord.journal.calls("POST", "/channels/:channel/typing").length > 0,
    }),
    reactions: (id) => Object.keys(discord.messages(dm).find((one) => one.id === id)?.reactions ?? {}).length,
    // Discord's limit is the outbox's business; an adapter that is handed more shows what fits.
    looks: (text) => storableText(text).slice(0, 2000),
    fail: async (how) => discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault: FAULTS[how] }),
    [Symbol.asyncDispose]: async () => scene[Symbol.asyncDispose](),
  };
}
