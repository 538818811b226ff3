import { withDeadline } from "../../../async/deadline.ts";
import { errorMessage } from "../../../core/errors.ts";
import type { GatewayPlace, KeptSession } from "../../../core/gateway.ts";
import type { Server } from "../../../core/message.ts";
import { Intake } from "../../intake/intake.ts";
import type { CatchUpLedger, ConnectionState, Gap, PlatformInbox } from "../../platform.ts";
import { Connection, type Session } from "../../shared/connection.ts";
import type { HeldShard, ShardHomes } from "../../shared/shard-homes.ts";
import { DiscordEvents, type EventParts } from "../inbound/events.ts";
import { placePayload, readyPayload } from "../inbound/payload.ts";
import type { SlashCommands } from "../inbound/slash-commands.ts";
import { PLATFORM_NAME } from "../rest/api.ts";
import type { DiscordHistory } from "../rest/history.ts";
import type { DiscordConfig } from "../row.ts";
import type { DiscordTiming } from "../timing.ts";
import type { Bot, BotIdentity } from "./bot-identity.ts";
import type { Logins } from "./logins.ts";
import { RecentActivity } from "./recent-activity.ts";
import { ReplayBuffer } from "./replay-buffer.ts";
import { GatewaySession } from "./session.ts";
import { SessionKeeper } from "./session-keeper.ts";
import { SettledSequence } from "./settled-sequence.ts";
import { isSnowflake } from "../snowflake.ts";

/** Parts that all connections of the bot share. */
export interface IntakeParts extends Omit<EventParts, "intake" | "ledger"> {
  readonly config: Pick<DiscordConfig, "token" | "catchUpMaxAgeMs">;
  readonly inbox: PlatformInbox;
  readonly ledger: CatchUpLedger;
  readonly identity: BotIdentity;
  /**
   * The bot's servers; concurrent callers share one listing.
   * @throws as `listGuilds` does
   */
  readonly servers: () => Promise<readonly Server[]>;
  /** The gaps of all channels; concurrent callers share one read. */
  readonly openGaps: (which: "all" | "recorded") => Promise<readonly Gap[]>;
  readonly commands: SlashCommands;
  readonly history: DiscordHistory;
  readonly logins: Logins;
  readonly homes: ShardHomes;
  readonly timing: DiscordTiming;
}

/** A gateway event of a person's message or action. */
interface HeldEvent {
  readonly t: string;
  readonly d: unknown;
  readonly bot: Bot;
  /** Call it once the event is in the log, or is known to be missing. */
  readonly taken: () => void;
}

/** Age of a session up to which it is tried: Discord does not state how long it keeps one, and a try costs some hundred ms, ms. */
const SESSION_MS = 600_000;

/**
 * One connection to the gateway and its events. Its progress is stored in the database, so that the next start, or
 * another daemon, resumes there: Discord replays the later events, and nothing has to be fetched.
 */
export class ShardIntake {
  readonly #parts: IntakeParts;
  readonly #shard: number;
  readonly #shards: number;
  readonly #ledger: CatchUpLedger;
  readonly #intake: Intake;
  readonly #events: DiscordEvents;
  readonly #replayBuffer: ReplayBuffer<HeldEvent>;
  readonly #recentActivity: RecentActivity;
  readonly #connection: Connection;
  readonly #sequence = new SettledSequence();
  readonly #keeper: SessionKeeper;
  /** Resume address of the session that began last. */
  #resumeUrl = "";
  /** A stored session is tried once: what it cannot replay is fetched. */
  #isFirst = true;
  /** A session of this process has begun. */
  #isBegun = false;
  #stopping: Promise<void> | null = null;

  /** @param shards total number of connections */
  constructor(parts: IntakeParts, { shard, epoch }: HeldShard, shards: number) {
    const { config, inbox, history, identity, directory, log, now } = parts;
    const { backOff, holdMs } = parts.timing;
    const ledger = shardLedger(parts.ledger, shard, shards, parts.openGaps);
    this.#parts = parts;
    this.#shard = shard;
    this.#shards = shards;
    this.#ledger = ledger;
    const intake = new Intake({
      platform: PLATFORM_NAME,
      account: async () => (await identity.bot()).user.id,
      inbox,
      ledger,
      history,
      log,
      catchUpMaxAgeMs: config.catchUpMaxAgeMs,
      now,
      backOff,
      holdMs,
    });
    const events = new DiscordEvents({ ...parts, ledger, intake });
    this.#intake = intake;
    this.#events = events;
    this.#replayBuffer = new ReplayBuffer({
      take: (event) => this.#takeNow(event),
      channelOf: ({ d }) => placePayload.safeParse(d).data?.channel_id ?? null,
      isKept: ({ t }) => t === "CHANNEL_DELETE" || t === "THREAD_DELETE",
      miss: ({ d }) => events.miss(d),
      dropped: ({ taken }) => taken(),
    });
    this.#recentActivity = new RecentActivity(directory, intake);
    this.#keeper = new SessionKeeper({
      ledger,
      epoch,
      retake: async () => (await parts.homes.retake?.(shard)) ?? null,
      place: () => this.#place(),
      isAlive: () => this.state.kind === "connected",
      log,
    });
    this.#connection = new Connection({
      platform: PLATFORM_NAME,
      open: async (signal) => this.#open(signal),
      log,
      backOff,
    });
  }

  get state(): ConnectionState {
    return this.#connection.state;
  }

  /** Resolves after the first attempt to connect. Failures are logged and retried. */
  async start(): Promise<void> {
    // Answers cached before, during another daemon's time, are outdated.
    this.#parts.directory.unhear((guildId) => this.#isMine(guildId));
    await this.#connection.start();
  }

  /**
   * Stops receiving. Resolves when the received events are in the log, within the time to close a connection, and the
   * progress is stored. May be called twice.
   */
  async stop(deadline: AbortSignal): Promise<void> {
    this.#stopping ??= this.#stop(deadline);
    await this.#stopping;
  }

  /** Like {@link stop}, when another daemon takes over this connection. What is known of its servers becomes outdated. */
  async leave(deadline: AbortSignal): Promise<void> {
    await this.stop(deadline);
    const { directory, lastMessages } = this.#parts;
    // Another daemon receives later messages, so an answer refers to its question even if it may be the last message.
    for (const [channel] of lastMessages.entries()) lastMessages.delete(channel);
    directory.unhear((guildId) => this.#isMine(guildId));
  }

  async #stop(deadline: AbortSignal): Promise<void> {
    const { closeMs } = this.#parts.timing;
    await this.#connection[Symbol.asyncDispose]();
    // Held events are only taken with the next session.
    if (!this.#replayBuffer.isHeld) await withDeadline(this.#sequence.idle(), closeMs, deadline);
    await withDeadline(this.#keeper.close(), closeMs);
    this.#intake.close();
  }

  async #open(signal: AbortSignal): Promise<Session> {
    const { config, inbox, servers, logins, timing, log } = this.#parts;
    this.#interrupted();
    // Before the first event, since server names may decide who answers it.
    await inbox.meetServers(PLATFORM_NAME, servers);
    const kept = await this.#kept();
    return await GatewaySession.open(
      {
        token: config.token,
        shard: this.#shard,
        shards: this.#shards,
        logins,
        timing,
        log,
        resumable: kept && { sessionId: kept.session, resumeURL: kept.resumeUrl, sequence: kept.sequence },
        dispatch: (t, d, sequence) => this.#dispatch(t, d, sequence),
        interrupted: () => this.#interrupted(),
      },
      signal,
    );
  }

  #interrupted(): void {
    this.#connection.interrupted();
    this.#intake.interrupt();
    // No event follows the last connection.
    if (this.#stopping === null) this.#replayBuffer.hold();
  }

  /** The stored session, of an earlier process or another daemon; null: none to resume. Does not throw. */
  async #kept(): Promise<KeptSession | null> {
    const { identity, config, logins, log } = this.#parts;
    if (!this.#isFirst) return null;
    this.#isFirst = false;
    try {
      const kept = await this.#ledger.keptSession(PLATFORM_NAME, this.#shard);
      if (kept === null || kept.shards !== this.#shards || !logins.isGateway(kept.resumeUrl)) return null;
      // Questions older than the operator's limit are not answered, but the gateway would replay them as new ones.
      if (kept.ageMs > Math.min(SESSION_MS, config.catchUpMaxAgeMs)) return null;
      if ((await identity.bot()).user.id !== kept.account) return null;
      this.#sequence.begin(kept.session, kept.sequence);
      this.#resumeUrl = kept.resumeUrl;
      return kept;
    } catch (error) {
      log.debug({ platform: PLATFORM_NAME, why: errorMessage(error) }, "session_not_found");
      return null;
    }
  }

  /** The last event up to which all are in the log; null: unknown now. */
  #place(): GatewayPlace | null {
    const settled = this.#sequence.settled;
    const account = this.#parts.identity.known?.user.id;
    const isComplete =
      this.#isBegun && !this.#replayBuffer.isHeld && this.#recentActivity.isDone && this.#intake.isComplete;
    if (!isComplete || settled === null || account === undefined) return null;
    return { shard: this.#shard, shards: this.#shards, account, resumeUrl: this.#resumeUrl, ...settled };
  }

  /** Places and commands are handled at once; people's messages wait for earlier messages. */
  #dispatch(t: string, d: unknown, sequence: number): void {
    if (t === "READY") {
      const { session_id: session, resume_gateway_url: resumeUrl } = readyPayload.parse(d);
      this.#sequence.begin(session, sequence);
      this.#resumeUrl = resumeUrl;
    }
    const { directory } = this.#parts;
    const taken = this.#sequence.came(sequence);
    try {
      directory.learn(t, d, (guildId) => this.#isMine(guildId));
      const told = this.#tellPlaces(t, d, directory.lacking(t, d));
      this.#take(t, d, () => void told.finally(taken));
    } catch (error) {
      taken();
      throw error;
    }
  }

  #isMine(guildId: string): boolean {
    return shardOf(guildId, this.#shards) === this.#shard;
  }

  /**
   * @param lacking the server that must be fetched first; null: all is known
   * @returns resolves when the channels' privacy is stored; does not reject
   */
  async #tellPlaces(t: string, d: unknown, lacking: string | null): Promise<void> {
    const { directory, inbox } = this.#parts;
    const tell = async (): Promise<void> => inbox.meetChannels(PLATFORM_NAME, directory.toldBy(t, d));
    if (lacking === null) return tell();
    await this.#intake
      .untilDone("server_not_read_yet", async () => {
        await directory.meetWhole(lacking);
        await tell();
      })
      .catch(() => undefined);
  }

  /** @param taken call it once the event is in the log, leaves no trace there, or is known to be missing */
  #take(t: string, d: unknown, taken: () => void): void {
    const { identity, commands } = this.#parts;
    switch (t) {
      case "READY": {
        const { user, application } = readyPayload.parse(d);
        const bot = { user, applicationId: application.id };
        identity.set(bot);
        this.#recentActivity.begin(d);
        this.#begun("all");
        if (this.#shard === 0) void commands.register(bot);
        return taken();
      }
      case "GUILD_CREATE":
        this.#recentActivity.take(d);
        return taken();
      case "RESUMED": {
        const isContinued = !this.#isBegun;
        this.#begun(isContinued ? "recorded" : "all");
        if (isContinued) void this.#meetAgain();
        return taken();
      }
      case "INTERACTION_CREATE":
        return commands.take(d, taken);
      default: {
        const bot = identity.known;
        if (bot === null) return taken();
        return this.#replayBuffer.pass({ t, d, bot, taken });
      }
    }
  }

  #takeNow({ t, d, bot, taken }: HeldEvent): void {
    void this.#events.take(t, d, bot).finally(taken);
  }

  /** A session has begun or continues. @param sought gaps to fetch */
  #begun(sought: "all" | "recorded"): void {
    this.#isBegun = true;
    this.#connection.resumed();
    this.#intake.resume(sought);
    this.#replayBuffer.release();
  }

  /** Fetches what READY would have reported. Not awaited; does not reject. */
  async #meetAgain(): Promise<void> {
    const { servers, directory, identity, commands, log } = this.#parts;
    log.info({ platform: PLATFORM_NAME, shard: this.#shard }, "session_resumed");
    const bot = identity.known;
    if (bot !== null && this.#shard === 0) void commands.register(bot);
    try {
      const guilds = await servers();
      directory.join(guilds.map(({ id }) => id).filter((id) => this.#isMine(id)));
    } catch (error) {
      log.debug({ platform: PLATFORM_NAME, why: errorMessage(error) }, "servers_not_counted");
    }
  }
}

/**
 * The connection that reports a server's events, by Discord's formula. @param guildId "": direct messages, which the
 * first one reports. Pure
 */
export function shardOf(guildId: string, shards: number): number {
  return isSnowflake(guildId) ? Number((BigInt(guildId) >> 22n) % BigInt(shards)) : 0;
}

/**
 * The part of a ledger for one of several connections: the channels of its servers, with its own watermark.
 * @param openGaps the gaps of all connections
 */
function shardLedger(
  ledger: CatchUpLedger,
  shard: number,
  shards: number,
  openGaps: (which: "all" | "recorded") => Promise<readonly Gap[]>,
): CatchUpLedger {
  if (shards === 1) return ledger;
  const own = (account: string): string => `${account}/${shard}-${shards}`;
  return {
    refuses: (message) => ledger.refuses(message),
    policyOf: async (channel) => ledger.policyOf(channel),
    openGaps: async (_platform, which = "all"): Promise<readonly Gap[]> => {
      const gaps = await openGaps(which);
      return gaps.filter(({ workspace }) => shardOf(workspace, shards) === shard);
    },
    gapOf: async (channel) => ledger.gapOf(channel),
    keepGap: async (gap) => ledger.keepGap(gap),
    advanceGap: async (channel, step) => ledger.advanceGap(channel, step),
    closeGap: async (channel) => ledger.closeGap(channel),
    noteAbsence: async (channel, key, absence) => ledger.noteAbsence(channel, key, absence),
    hasMessage: async (channel, id) => ledger.hasMessage(channel, id),
    newestMessageIds: async (channel, limit) => ledger.newestMessageIds(channel, limit),
    isCrowded: (channel) => ledger.isCrowded(channel),
    // Before the servers were divided, or with another division, the bot listened on one connection.
    watermark: async (platform, account) =>
      (await ledger.watermark(platform, own(account))) ?? (await ledger.watermark(platform, account)),
    moveWatermark: async (platform, account, to) => ledger.moveWatermark(platform, own(account), to),
    channelRenames: async (platform) => ledger.channelRenames(platform),
    renameChannel: async (platform, from, to) => ledger.renameChannel(platform, from, to),
    keptSession: async (platform, one) => ledger.keptSession(platform, one),
    keepSession: async (platform, place, epoch) => ledger.keepSession(platform, place, epoch),
  };
}
