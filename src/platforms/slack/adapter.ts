/**
 * Slack: its Web API, Socket Mode or HTTP requests, and the conversion of messages in both directions. The room knows
 * the platform interfaces and `platforms/intake`; it reaches the log only through the inbox and ledger that it is
 * given.
 */

import type { App, HTTPReceiver, SocketModeReceiver } from "@slack/bolt";
import type { SlackConfig } from "./row.ts";
import type { AdapterParts } from "../row.ts";
import type { Card } from "../../core/card.ts";
import type { ChannelAddress } from "../../core/ids.ts";
import type { OutboundMessage, ChannelOnPlatform } from "../../core/message.ts";
import { errorMessage } from "../../core/errors.ts";
import { unlessAborted, withDeadline } from "../../async/deadline.ts";
import { Connection, type Session } from "../shared/connection.ts";
import { Intake } from "../intake/intake.ts";
import {
  type CatchUpLedger,
  type ConnectionState,
  type LinkedChannel,
  notConnectedYet,
  type Platform,
  type PlatformCapabilities,
  type PlatformInbox,
  type Transcripts,
} from "../platform.ts";
import { addressOf, linkTo, placeOf, PLATFORM_NAME, isDm } from "./address.ts";
import { ChannelRenames } from "./channel-renames.ts";
import { SlackApi, type SlackApiOptions } from "./web/api.ts";
import { SlackError } from "./web/slack-error.ts";
import { createApp, type Handlers } from "./connection/bolt-app.ts";
import { AgentView } from "./inbound/agent-view.ts";
import { SlashCommands } from "./inbound/slash-commands.ts";
import { SlackEvents } from "./inbound/events.ts";
import { SlackHistory } from "./web/history.ts";
import { openHttpSession } from "./connection/http-session.ts";
import { missingScopes } from "./manifest.ts";
import { isSharedOutside, type Bot, Names, nothing, privacyOf } from "./web/names.ts";
import { Content, MAX_POST_LENGTH } from "./outbound/content.ts";
import { AgentThreads } from "./outbound/agent-threads.ts";
import { toBlocks } from "./outbound/card.ts";
import { feedbackOf } from "./outbound/feedback.ts";
import { fitMrkdwn } from "./outbound/mrkdwn.ts";
import { KnownPeople } from "../shared/known-people.ts";
import { Recipients } from "./web/recipients.ts";
import { StreamBudget } from "./web/stream-budget.ts";
import { Streams } from "./outbound/streams.ts";
import { ThreadStatus } from "./outbound/status.ts";
import { Poster } from "./outbound/poster.ts";
import { Uploader } from "./outbound/uploader.ts";
import { MessageReader } from "./inbound/reader.ts";
import { forOperator } from "./web/api-errors.ts";
import { openSocketSession } from "./connection/socket-session.ts";
import { SLACK_TIMING, type SlackTiming } from "./timing.ts";
import { UpdateBudget } from "./web/update-budget.ts";
import { type JoinedChannel, joinedPage } from "./inbound/payload.ts";

interface SlackOptions extends AdapterParts {
  readonly config: SlackConfig;
  /** Default: the wall clock. */
  readonly now?: () => Date;
  /** For tests. */
  readonly timing?: Partial<SlackTiming>;
  /** HTTP mode: called with the listening port. */
  readonly onListening?: (port: number) => void;
}

/** Slack edits at most 4,000 characters: the rest is for entities, mentions and tables. */
const MAX_TEXT_LENGTH = 3000;

/** Slack through its Web API, and Socket Mode or HTTP requests. */
export function createSlack(options: SlackOptions): Platform {
  return new SlackPlatform(options);
}

class SlackPlatform implements Platform {
  readonly name = PLATFORM_NAME;
  readonly capabilities: PlatformCapabilities;
  readonly #options: SlackOptions;
  readonly #timing: SlackTiming;
  readonly #apiOptions: SlackApiOptions;
  readonly #renames = new ChannelRenames();
  readonly #names: Names;
  readonly #reader: MessageReader;
  readonly #history: SlackHistory;
  readonly #poster: Poster;
  readonly #status: ThreadStatus;
  readonly #agentView: AgentView;
  #connection: Connection | null = null;
  #intake: Intake | null = null;
  #inbox: PlatformInbox | null = null;
  #commands: SlashCommands | null = null;

  constructor(options: SlackOptions) {
    const { config, log } = options;
    this.#options = options;
    this.#timing = { ...SLACK_TIMING, ...options.timing };
    const { apiUrl, botToken } = config;
    const { callMs: timeoutMs, postMs } = this.#timing;
    this.#apiOptions = { token: botToken, apiUrl, timeoutMs, log, renames: this.#renames };
    const api = new SlackApi(this.#apiOptions);
    const people = new KnownPeople();
    const recipients = new Recipients();
    this.#names = new Names(api, log);
    const agentView = new AgentView(config.agentView);
    this.#agentView = agentView;
    const transcripts = (): Transcripts | undefined => this.#inbox?.transcripts;
    const reading = { api, names: this.#names, renames: this.#renames, people, recipients, agentView };
    this.#reader = new MessageReader({ ...reading, botToken, apiUrl, transcripts, log });
    const { readEveryMs } = this.#timing;
    this.#history = new SlackHistory({ api, reader: this.#reader, names: this.#names, readEveryMs });
    const { streamMs: intervalMs, firstPieceMs: firstAfterMs, lookAgainMs } = this.#timing;
    const patient = new SlackApi({ ...this.#apiOptions, timeoutMs: postMs });
    const budget = new UpdateBudget();
    const streamBudget = new StreamBudget();
    const content = new Content(people, config.feedbackButtons);
    const streams = new Streams({
      api,
      patient,
      people,
      recipients,
      budget: streamBudget,
      content,
      log,
      onStopped: (channel, user) => void this.#stopped(channel, user),
    });
    this.#status = new ThreadStatus(api);
    const outbound = {
      api,
      patient,
      names: this.#names,
      people,
      budget,
      streams,
      status: this.#status,
      content,
      uploader: new Uploader({ api: patient, apiUrl }),
    };
    this.#poster = new Poster({ ...outbound, lookAgainMs, log });
    this.capabilities = {
      streaming: {
        intervalMs,
        firstAfterMs,
        mayShow: (key) => streamBudget.mayAppend(key) ?? budget.mayShow(key),
        ended: (key) => budget.ended(key),
        showsSteps: (channel) => streams.mayBegin(channel),
      },
      takesIdempotencyKeys: true,
      maxTextLength: MAX_TEXT_LENGTH,
      hasTextCommands: true,
      commandPrefix: "/weir ",
      isProportional: true,
      drawsCards: true,
      drawsActions: true,
      takesFiles: true,
      serves: (channel) => channel.platform === PLATFORM_NAME,
    };
  }

  /** Resolves after the first attempt to connect. Failures are logged and retried. */
  async start(inbox: PlatformInbox, ledger: CatchUpLedger): Promise<void> {
    this.#inbox = inbox;
    const { config, log, now = () => new Date() } = this.#options;
    this.#renames.use(ledger);
    const { backOff, holdMs } = this.#timing;
    const intake = new Intake({
      platform: PLATFORM_NAME,
      account: async () => {
        const { teamId, userId } = await this.#names.bot();
        return `${teamId}/${userId}`;
      },
      inbox,
      ledger,
      history: this.#history,
      log,
      catchUpMaxAgeMs: config.catchUpMaxAgeMs,
      now,
      backOff,
      holdMs,
    });
    this.#intake = intake;
    const handlers = this.#handlers(inbox, ledger, intake);
    const open = async (signal: AbortSignal): Promise<Session> => this.#open(handlers, signal);
    this.#connection = new Connection({ platform: PLATFORM_NAME, open, log, backOff });
    await this.#connection.start();
  }

  async stopIntake(deadline: AbortSignal): Promise<void> {
    this.#intake?.close();
    await this.#connection?.[Symbol.asyncDispose]();
    if (this.#commands !== null) await unlessAborted(this.#commands.idle(), deadline);
  }

  async send(message: OutboundMessage): Promise<string> {
    return await this.#poster.send(message);
  }

  async edit(messageId: string, message: OutboundMessage): Promise<void> {
    await this.#poster.edit(messageId, message);
  }

  async remove(_channel: ChannelAddress, messageId: string): Promise<void> {
    await this.#poster.remove(messageId);
  }

  async react(_channel: ChannelAddress, messageId: string, emoji: string): Promise<void> {
    await this.#poster.react(messageId, emoji);
  }

  async tellAlone(address: ChannelAddress, user: string, text: string, card?: Card): Promise<void> {
    const { channel, threadTs } = placeOf(address);
    const thread = threadTs === null ? {} : { thread_ts: threadTs };
    const blocks = card === undefined ? {} : { blocks: toBlocks(card) };
    const body = { channel, user, text: fitMrkdwn(text, new Map(), MAX_POST_LENGTH), ...blocks, ...thread };
    await new SlackApi(this.#apiOptions).call("chat.postEphemeral", body, nothing);
  }

  /** Slack takes a person's id as the channel of a post; to open the channel itself would need one more scope. */
  async directChannel(person: string): Promise<ChannelAddress> {
    return addressOf({ channel: person, threadTs: null });
  }

  async linkTo({ address }: LinkedChannel, messageId: string): Promise<string | null> {
    const bot = await this.#names.bot().catch(() => null);
    return bot === null ? null : linkTo(bot.teamUrl, address, messageId, (id) => this.#renames.newestId(id));
  }

  showTyping(channel: ChannelAddress, _inReplyTo: readonly string[], isWorking: boolean): void {
    this.#status.show(channel, isWorking);
  }

  connection(): ConnectionState {
    const state = this.#connection?.state ?? notConnectedYet();
    const bot = this.#names.known;
    if (state.kind !== "connected" || bot === null) return state;
    return { ...state, as: bot.teamName === "" ? bot.name : `${bot.name} in ${bot.teamName}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#poster.close();
    await this.stopIntake(AbortSignal.abort());
  }

  /** A reader has stopped an answer, as if by the command. Must not throw. */
  async #stopped(address: ChannelAddress, user: string | null): Promise<void> {
    const { log } = this.#options;
    this.#status.stopped(address);
    try {
      const id = user ?? (await this.#names.channel(placeOf(address).channel)).user;
      if (id === null || this.#inbox === null) return;
      const asker = { ...(await this.#reader.person(id)), roles: [] };
      await this.#inbox.command({ channel: address, name: "stop", argument: "", asker });
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, command: "stop", why: errorMessage(error) }, "command_failed");
    }
  }

  #handlers(inbox: PlatformInbox, ledger: CatchUpLedger, intake: Intake): Handlers {
    const { config, log, commands } = this.#options;
    const reader = this.#reader;
    const renames = this.#renames;
    const api = new SlackApi(this.#apiOptions);
    const events = new SlackEvents({
      api,
      names: this.#names,
      reader,
      intake,
      inbox,
      ledger,
      renames,
      log,
      onStopped: async (channel, user) => this.#stopped(channel, user),
      agentView: this.#agentView,
      agentThreads: new AgentThreads({ api, reader, inbox, log }),
    });
    const { commandMs: ackMs, callMs } = this.#timing;
    const slash = new SlashCommands({
      inbox,
      commands,
      reader,
      renames,
      api,
      apiUrl: config.apiUrl,
      log,
      ackMs,
      callMs,
    });
    this.#commands = slash;
    return {
      event: async (body) => events.take(body),
      command: async (command, acknowledge) => slash.run(command, acknowledge),
      press: async (press, acknowledge) => {
        const feedback = feedbackOf(press.actions[0]?.value ?? "");
        if (feedback === null) return slash.press(press, acknowledge);
        const stored = await withDeadline(events.rated(feedback, press), ackMs);
        // Not stored: Slack tells the person, who may press again.
        if (stored !== false) await acknowledge();
      },
      submit: async (submission, acknowledge) => slash.submit(submission, acknowledge),
      connected: () => {
        this.#connection?.resumed();
        intake.resume();
        intake.search(async () => {
          await renames.read();
          const joined = await findJoinedChannels(api, this.#names);
          void inbox.meetChannels(
            PLATFORM_NAME,
            joined.flatMap(({ channel, isPrivate }) =>
              isPrivate === undefined ? [] : [{ channel, isPrivate }],
            ),
          );
          return joined;
        });
      },
      disconnected: () => {
        this.#connection?.interrupted();
        intake.interrupt();
      },
    };
  }

  /** @throws OperatorError if the operator has to change something */
  async #open(handlers: Handlers, signal: AbortSignal): Promise<Session> {
    const { config, log, onListening } = this.#options;
    const bot = await this.#whoAmI();
    const create = (receiver: SocketModeReceiver | HTTPReceiver): App =>
      createApp(receiver, handlers, { ...this.#apiOptions, bot, log });
    const { intake } = config;
    if (intake.mode === "http")
      return await openHttpSession({ ...intake, createApp: create, handlers, log, onListening });
    const { appToken } = intake;
    const { apiUrl } = config;
    const parts = { appToken, apiUrl, createApp: create, handlers, log, timing: this.#timing };
    return await openSocketSession(parts, signal);
  }

  async #whoAmI(): Promise<Bot> {
    try {
      this.#names.forgetBot();
      const bot = await this.#names.bot();
      const missing = missingScopes(bot.scopes);
      if (missing.length > 0) this.#options.log.warn({ platform: PLATFORM_NAME, missing }, "scopes_missing");
      return bot;
    } catch (error) {
      throw error instanceof SlackError ? forOperator(error, "SLACK_BOT_TOKEN") : error;
    }
  }
}

const TYPES = "public_channel,private_channel,mpim,im";
/** Slack takes fewer than 1,000. */
const PAGE = 999;
const MAX_PAGES = 5;

/**
 * The bot's channels: direct messages first, then by creation, newest first, since Slack does not report the last
 * activity.
 * @throws SlackError
 */
async function findJoinedChannels(api: SlackApi, names: Names): Promise<readonly ChannelOnPlatform[]> {
  const { teamId, teamName } = await names.bot();
  const channels: JoinedChannel[] = [];
  let cursor = "";
  for (let count = 0; count < MAX_PAGES; count++) {
    const args = { types: TYPES, exclude_archived: true, limit: PAGE, ...(cursor !== "" && { cursor }) };
    const page = await api.call("users.conversations", args, joinedPage);
    channels.push(...page.channels);
    cursor = page.response_metadata?.next_cursor ?? "";
    if (cursor === "") break;
  }
  for (const { id, name, user, ...rest } of channels)
    names.learnChannel(id, {
      name: name ?? "",
      user: user ?? null,
      isPrivate: privacyOf(rest),
      isExternal: isSharedOutside(rest),
    });
  return channels.toSorted(byAge).map(({ id, name, ...rest }) => ({
    channel: addressOf({ channel: id, threadTs: null }),
    kind: isDm(id) ? "dm" : "channel",
    workspace: teamId,
    place: {
      workspace: isDm(id) ? "" : teamName,
      channel: name ?? "",
      parent: null,
      ...(isSharedOutside(rest) && { isExternal: true as const }),
    },
    ...(!isDm(id) && privacyOf(rest) !== undefined && { isPrivate: privacyOf(rest) === true }),
  }));
}

function byAge(a: JoinedChannel, b: JoinedChannel): number {
  const directFirst = Number(isDm(b.id)) - Number(isDm(a.id));
  return directFirst === 0 ? (b.created ?? 0) - (a.created ?? 0) : directFirst;
}
