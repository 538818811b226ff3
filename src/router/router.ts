/**
 * The inbox of every platform: finds the binding of an event, runs commands, and appends messages to the log. It touches
 * channels through the store and the waker; it never calls a model.
 */

import type { Logger } from "pino";
import type { ChannelRegistry } from "../channel/registry.ts";
import type { ChannelHomes } from "../ownership/channel-homes.ts";
import type { Renewal } from "../channel/renewal.ts";
import type { Waker } from "../channel/waker.ts";
import { BoundedMap } from "../async/bounded-map.ts";
import type { CommandAnswer } from "../core/card.ts";
import type { Meant } from "../core/entry.ts";
import type { Team } from "../core/team.ts";
import { type AgentId, formatAddress, personKey } from "../core/ids.ts";
import {
  type Author,
  type ChannelOnPlatform,
  type ChannelPrivacy,
  type InboundChannelDeletion,
  type InboundEdit,
  type InboundEvent,
  type InboundImage,
  type InboundMessage,
  mentionId,
  platformIdOf,
  REACTION_PREFIX,
  type Receipt,
  type Server,
} from "../core/message.ts";
import type { InboundCommand, PlatformInbox, SuggestedPrompt, Transcripts } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import type { Store } from "../store/store.ts";
import type { Events } from "../telemetry/events.ts";
import type { TurnRateLimit } from "./turn-rate-limit.ts";
import { type TurnRole, TurnRoles } from "./turn-roles.ts";
import { type Admission, admit, type Binding, findBinding, isAnswered, type NameHolds } from "./bindings.ts";
import type { Strangers } from "./strangers.ts";
import { type Addressee, addresseeOf } from "./addressee.ts";
import { BindingLedger } from "./catch-up-ledger.ts";
import { ChannelIds } from "./channel-ids.ts";
import { MessageChanges } from "./message-changes.ts";
import type { ConfirmedNames } from "./confirmed-names.ts";
import { ChannelErasure } from "./channel-erasure.ts";
import { ChannelPrivacyNotes } from "./channel-privacy.ts";
import { retryWrite } from "../async/retry.ts";
import { assertStorable, blame } from "./storable-event.ts";
import type { Refusals } from "./refusals.ts";
import type { Speakers } from "./speakers.ts";
import { type Commands, type TextCommand, TextCommands, UNLIMITED } from "./text-commands.ts";
import type { Notices } from "./notices.ts";
import type { Transcription } from "../llm/transcription.ts";
import { type Bill, Transcriber, type TranscriberParts } from "./transcriber.ts";

export interface RouterParts {
  readonly store: Store;
  readonly homes: Pick<ChannelHomes, "place">;
  readonly registry: Pick<ChannelRegistry, "loaded" | "inMemory">;
  readonly waker: Waker;
  readonly renewal: Pick<Renewal, "follow">;
  readonly events: Events;
  readonly log: Logger;
  readonly bindings: readonly Binding[];
  readonly names: ConfirmedNames;
  readonly speakers: Speakers;
  /** The agents that can be asked if an agent answers with others; empty if it answers alone. */
  readonly teamOf: (agent: AgentId, also: readonly AgentId[]) => Team;
  /** Names of a channel's agents, which no person in it may have. */
  readonly namesOf: (agent: AgentId, also: readonly AgentId[]) => readonly string[];
  /** Makes the extract that replaces a summary with a deleted text in it. */
  readonly digesterOf: (channel: ChannelRow) => Digester;
  /** Runs slash commands; only the asker gets the answer. */
  readonly commands: Commands;
  readonly limits: TurnRateLimit;
  /** Gets each person's message that causes no turn. */
  readonly refusals: Refusals;
  /** Whether the agent of a channel sees pictures with its model there; only then are they stored. */
  readonly seesImages: (channel: ChannelRow) => boolean;
  readonly notices: Notices;
  /** Null: sounds are only named. */
  readonly transcription?: Transcription | null;
  /** Needed beside it. */
  readonly budgets?: TranscriberParts["budgets"];
  /** Open it before the intake. */
  readonly strangers: Strangers;
  readonly promptsOf: (agent: AgentId) => readonly SuggestedPrompt[];
  /** The one sentence for a person whose request fails. */
  readonly failureText: (kind: "too_often" | "internal") => string;
}

interface AskedByEdit {
  readonly isInLog: boolean;
  readonly at: Date;
}

/** Limit of channels in each of the maps below. */
const KNOWN_CHANNELS = 10_000;
const NOBODY_HERE = "Nobody answers in this channel.";
const NOT_RUN =
  "That is more than I may do for you in a minute, so it was not run. Please try again a little later.";
const NOT_FOR_YOU =
  "Here I answer only people whom whoever runs me has named, and my commands are for them, too. " +
  "To be one of them, ask whoever runs me: allow_users and allow_roles in config.toml.";

/**
 * Finds the binding of an event, appends the event to the log, and only then wakes its channel. The log is
 * the inbox: whatever fails after it is resumed from there.
 */
export class Router implements PlatformInbox {
  readonly #parts: RouterParts;
  readonly #holds: NameHolds;
  readonly #channelIds: ChannelIds;
  /** Threads that the agent takes part in. */
  readonly #threads = new BoundedMap<true>(KNOWN_CHANNELS);
  /** Channels without a binding that were reported. */
  readonly #unbound = new BoundedMap<true>(KNOWN_CHANNELS);
  readonly #roles: TurnRoles;
  readonly #commands: TextCommands;
  readonly #messageChanges: MessageChanges;
  readonly strangers: Strangers;
  /** Tells the adapters about the channels of the bindings. */
  readonly ledger: BindingLedger;
  /** Blanks the messages of deleted channels; begin it once at the start, and dispose of it. */
  readonly erasures: ChannelErasure;
  /** Stores who may see the channels; dispose of it. */
  readonly privacy: ChannelPrivacyNotes;
  readonly transcripts: Transcripts | undefined;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.strangers = parts.strangers;
    this.#holds = (platform, kind, name, server) => parts.names.holds(platform, kind, name, server);
    this.#channelIds = new ChannelIds(parts.store.channels, parts.homes);
    this.#roles = new TurnRoles(parts, this.#channelIds);
    this.ledger = new BindingLedger({
      store: parts.store,
      registry: parts.registry,
      waker: parts.waker,
      channelIds: this.#channelIds,
      bindingOf: (where) => this.#find(where),
      findLetIn: parts.strangers.find,
    });
    this.#commands = new TextCommands(parts);
    this.#messageChanges = new MessageChanges(parts);
    this.erasures = new ChannelErasure(parts);
    this.privacy = new ChannelPrivacyNotes(parts.store, parts.log);
    const { transcription = null, budgets, log } = parts;
    this.transcripts =
      transcription === null || budgets === undefined
        ? undefined
        : new Transcriber({
            transcription,
            budgets,
            log,
            calls: parts.store.modelCalls,
            billTo: async (where, author) => this.#billTo(where, author),
          });
  }

  /** The bindings have changed: each channel is looked up again with its next message. */
  rebound(): void {
    this.#channelIds.forget();
    this.#unbound.clear();
  }

  async receive(event: InboundEvent): Promise<Receipt> {
    assertStorable(event);
    try {
      switch (event.type) {
        case "message":
          return await this.#message(event);
        case "edit":
          return await this.#edit(event);
        case "deletion":
          return await this.#messageChanges.delete(event);
        case "channel_deletion":
          return await this.#deleteChannel(event);
      }
    } catch (error) {
      throw blame(event.type, error);
    }
  }

  async command(command: InboundCommand): Promise<CommandAnswer> {
    const { name, where } = command;
    const binding = where === undefined ? undefined : this.#find(where);
    if (where !== undefined && binding !== undefined) await this.#openFor(name, where, binding);
    return (await this.#refuseCommand(command)) ?? (await this.#parts.commands.run(command));
  }

  /** A kept command has a place in the log, even as the first message of a channel. */
  async #openFor(command: string, where: ChannelOnPlatform, binding: Binding): Promise<void> {
    if (!this.#parts.commands.keepsMessage(command)) return;
    await retryWrite(async () => this.#channelIds.of(where, binding));
  }

  /** Applies the channel's binding and the rate limit. @returns null: the command may run */
  async #refuseCommand({ channel, name, asker }: InboundCommand): Promise<string | null> {
    const { store, commands, limits } = this.#parts;
    const row = await store.channels.find(channel);
    // The log does not have this channel, so there is nothing to protect.
    if (row === undefined) return null;
    const { kind, workspace, place } = row;
    const where = { channel, kind, workspace, ...(place !== null && { place }) };
    const binding = this.#find(where);
    if (binding === undefined) return NOBODY_HERE;
    const isMeant = isAnswered(binding, where, asker, this.#holds, this.strangers.find);
    if (!isMeant && !commands.isNamedFor(name, row, asker))
      return kind === "dm" && binding.dmLetsIn ? this.strangers.commandAnswer : NOT_FOR_YOU;
    if (name === UNLIMITED) return null;
    const asked = limits.ask(personKey(channel.platform, asker.id), binding.rateLimit);
    return asked === "within" ? null : NOT_RUN;
  }

  promptsFor(where: ChannelOnPlatform, person: Author): readonly SuggestedPrompt[] {
    const binding = this.#find(where);
    const isHeard =
      binding !== undefined && isAnswered(binding, where, person, this.#holds, this.strangers.find);
    return isHeard ? this.#parts.promptsOf(binding.agent) : [];
  }

  async meetChannels(_platform: string, channels: readonly ChannelPrivacy[]): Promise<void> {
    await this.privacy.note(channels);
  }

  /** A message of somebody who is heard there will be in its log. */
  async #billTo(where: ChannelOnPlatform, author: Author): Promise<Bill | null> {
    const binding = this.#find(where);
    if (binding === undefined || !isAnswered(binding, where, author, this.#holds, this.strangers.find))
      return null;
    return { agent: binding.agent, channel: await this.#channelIds.of(where, binding) };
  }

  #find(where: ChannelOnPlatform): Binding | undefined {
    return findBinding(this.#parts.bindings, where, this.#holds);
  }

  async meetServers(platform: string, list: () => Promise<readonly Server[]>): Promise<void> {
    await this.#parts.names.meet(platform, list);
  }

  /** An edit may make a message one to answer: a missed one is appended, and one of the log gets an entry that asks for it. */
  async #edit(edit: InboundEdit): Promise<Receipt> {
    const receipt = await this.#messageChanges.edit(edit);
    const { said } = edit;
    if (said === undefined) return receipt;
    const { result: isAsked } = await retryWrite(async () =>
      this.#parts.store.log.isAskedBefore(said.channel, said.id, edit.at),
    );
    if (isAsked === true) return receipt;
    const asked = await this.#message(said, { isInLog: isAsked !== undefined, at: edit.at });
    return asked.outcome === "accepted" ? asked : receipt;
  }

  /** @param edit the message is asked by an edit; default: it has just been said */
  async #message(said: InboundMessage, edit?: AskedByEdit): Promise<Receipt> {
    const binding = this.#find(said);
    if (binding === undefined) {
      this.#tellUnbound(said);
      this.#parts.refusals.note(said, "unbound");
      return { outcome: "unbound" };
    }
    const addressee = await this.#addressee(binding, said);
    const message = addressee === undefined ? said : { ...said, addressed: true };
    if (edit !== undefined && !message.addressed) return { outcome: "ignored" };
    const takesPart = await this.#takesPart(binding, message);
    const admission = await this.#admit(binding, message, takesPart);
    const isHeard = isAnswered(binding, message, message.author, this.#holds, this.strangers.find);
    if (admission.outcome === "ignored") {
      this.#noteIgnored(binding, message, admission.why, isHeard);
      this.#parts.log.debug(
        { channel: formatAddress(message.channel), why: admission.why },
        "message_ignored",
      );
      return { outcome: "ignored" };
    }
    if (await this.#wasTakenBack(message)) return { outcome: "ignored" };
    if (message.isBackground === true && this.#wouldAsk(binding, message, takesPart)) {
      // Such a command is too old to run, or has already run; it does not belong in the log either way.
      if (this.#commands.find(message) !== null) return { outcome: "ignored" };
      this.#parts.refusals.note(message, "too_old");
    }
    const isRepeated = await this.#wasAnswered(message);
    const isAsked = admission.outcome === "turn" && !isRepeated;
    const mayRun = (): boolean => this.#roles.isWithinRate(binding, message, () => NOT_RUN);
    const mayBeCommand = isAsked && addressee?.isAsk !== true;
    // An edit or a proxy runs nothing, and refused edits leave nothing in the log.
    const isNew = edit === undefined && message.replaces === undefined;
    const find = async (): Promise<TextCommand | null> =>
      isNew ? this.#commands.findMeant(message) : this.#commands.find(message);
    const command = mayBeCommand ? await find() : null;
    if ((edit !== undefined && !isAsked) || (!isNew && command !== null)) return { outcome: "ignored" };
    if (command !== null) {
      await this.#openFor(command.name, message, binding);
      await this.#commands.run(message, command, mayRun);
      return { outcome: "command" };
    }
    const agent = addressee?.member.agent ?? null;
    const tooOften = (): string => this.#parts.failureText("too_often");
    const role = this.#roles.of(binding, message, isAsked, agent, tooOften);
    const { quote, ...about } = edit?.isInLog === true ? askingFor(message, edit.at) : message;
    const id = await this.#messageChanges.idOf(about);
    const addressed = role !== "listens";
    if (isAsked && !addressed && message.isBackground !== true)
      this.#parts.refusals.note(message, "too_often");
    return this.#append(
      {
        ...about,
        id,
        addressed,
        // Only a turn is shown it.
        ...(addressed && quote !== undefined && { quote }),
        ...(addressed && agent !== null && { agent }),
        ...(!isHeard && { unheard: true }),
      },
      binding,
      role,
    );
  }

  /** Decides about a message. A stranger may be told how to be let in; a person who was let in a moment ago is no stranger. */
  async #admit(binding: Binding, message: InboundMessage, takesPart: boolean): Promise<Admission> {
    const judge = (): Admission => admit(binding, message, takesPart, this.#holds, this.strangers.find);
    const admission = judge();
    const isStranger = admission.outcome === "ignored" && admission.why === "dm_not_allowed";
    return isStranger && binding.dmLetsIn && (await this.strangers.meet(message)) ? judge() : admission;
  }

  /** The agent among several that a message means; a reply to an agent's message means that agent. */
  async #addressee(
    { agent, also }: Binding,
    message: InboundMessage,
  ): Promise<Pick<Addressee, "member" | "isAsk"> | undefined> {
    if (also.length === 0 || message.isBackground === true) return undefined;
    const team = this.#parts.teamOf(agent, also);
    const named = addresseeOf(team, message);
    if (named !== undefined || message.replyTo === undefined || !message.addressed) return named;
    const by = await this.#parts.store.answers.agentOf(message.channel, message.replyTo);
    const member = by === null ? undefined : team.find((one) => one.agent === by);
    return member === undefined ? undefined : { member, isAsk: false };
  }

  async #append(message: InboundMessage & Meant, binding: Binding, role: TurnRole): Promise<Receipt> {
    const { store, waker, renewal, events, notices, speakers, namesOf } = this.#parts;
    const channel = formatAddress(message.channel);
    const { result: appended, isRepeated } = await retryWrite(async () => {
      const id = await this.#channelIds.of(message, binding);
      renewal.follow(id, binding.agent);
      // Before the message, whose turn may begin at once.
      if (message.images !== undefined) await this.#keepImages(message, message.images);
      const name = await speakers.nameIn(id, message.author, namesOf(binding.agent, binding.also));
      const said = { ...message, author: { ...message.author, name } };
      // A turn that begins with its message is the channel's own agent's.
      const isOwn = message.addressed && message.agent === undefined;
      const beginner = isOwn
        ? waker.expect(id, { author: said.author, text: said.text, replyTo: said.replyTo ?? null })
        : null;
      return { id, ...(await store.log.appendMessage(id, said, beginner)) };
    });
    const { id, seq } = appended;
    // A duplicate that is still due: an attempt of ours or an earlier delivery may have committed it
    // unknowingly.
    if (appended.duplicate && appended.due) void waker.wakeAgain(id, seq);
    else if (appended.duplicate && isRepeated) void waker.mention(id, seq);
    if (appended.duplicate && !(appended.due && isRepeated)) return { outcome: "duplicate", seq };
    const { id: messageId, addressed } = message;
    this.#roles.appended(binding, message, { id, seq }, role);
    events.emit({ type: "message_accepted", channel, seq, messageId, addressed });
    if (addressed && binding.acknowledge !== "")
      notices.acknowledge(message.channel, platformIdOf(messageId) ?? messageId, binding.acknowledge);
    if (appended.duplicate) return { outcome: "accepted", seq };
    const loaded = addressed ? this.#roles.awaits(binding, message) : undefined;
    void waker.notify(id, appended.entry, appended.turn).finally(loaded);
    return { outcome: "accepted", seq };
  }

  /** A deleted message may be delivered again; its pictures stay deleted. */
  async #keepImages(message: InboundMessage, images: readonly InboundImage[]): Promise<void> {
    const { channels, attached } = this.#parts.store;
    const { channel } = message;
    const id = platformIdOf(message.id) ?? message.id;
    const { platform } = channel;
    const row = await channels.find(channel);
    if (row === undefined || !this.#parts.seesImages(row)) return;
    if (!(await channels.wasTakenBack(platform, id))) await attached.keep(platform, id, images);
  }

  /** The platform may still have a forgotten message, and deliver it as background of a new thread. */
  async #wasTakenBack({ channel, id, kind, isBackground }: InboundMessage): Promise<boolean> {
    if (kind !== "thread" || isBackground !== true) return false;
    return this.#parts.store.channels.wasTakenBack(channel.platform, id);
  }

  /** The person has the answer to the message that this one repeats: it is only context. */
  async #wasAnswered({ channel, replaces }: InboundMessage): Promise<boolean> {
    if (replaces === undefined) return false;
    return (await retryWrite(async () => this.#parts.store.log.wasAnswered(channel, replaces))).result;
  }

  /** Whether a message that is kept as mere context because it is old would have caused a turn if it were new. */
  #wouldAsk(binding: Binding, message: InboundMessage, takesPart: boolean): boolean {
    const said = { ...message, isBackground: false };
    return admit(binding, said, takesPart, this.#holds, this.strangers.find).outcome === "turn";
  }

  #noteIgnored(
    { dmLetsIn }: Binding,
    message: InboundMessage,
    why: "bot" | "dm_not_allowed" | "not_addressed",
    isHeard: boolean,
  ): void {
    if (message.id.startsWith(REACTION_PREFIX)) return;
    const { refusals } = this.#parts;
    if (why === "dm_not_allowed") refusals.note(message, dmLetsIn ? "not_let_in" : "not_allowed");
    else if (why === "bot") refusals.note(message, "bot");
    else refusals.note(message, isHeard ? "not_addressed" : "not_allowed");
  }

  /** Whether the agent was addressed in this thread before: later messages are then meant for it. */
  async #takesPart(binding: Binding, message: InboundMessage): Promise<boolean> {
    if (message.kind !== "thread" || message.addressed || !binding.mentionRequired) return false;
    const channel = formatAddress(message.channel);
    if (this.#threads.has(channel)) return true;
    const takesPart = await this.#parts.store.channels.hasAddressed(message.channel);
    if (takesPart) this.#threads.set(channel, true);
    return takesPart;
  }

  /** One line per channel: people may talk all day. */
  #tellUnbound({ channel: address, workspace, place }: InboundMessage): void {
    const channel = formatAddress(address);
    this.#parts.names.tellUnbound(address.platform, { id: workspace, name: place?.workspace ?? "" });
    if (this.#unbound.has(channel)) return;
    this.#unbound.set(channel, true);
    this.#parts.log.info({ channel }, "message_unbound");
  }

  async #deleteChannel({ channel, at }: InboundChannelDeletion): Promise<Receipt> {
    const { store } = this.#parts;
    const { result: known } = await retryWrite(async () => store.erasures.note(channel, at));
    if (known === 0) return { outcome: "unknown_message" };
    this.erasures.begin();
    return { outcome: "accepted", seq: 0 };
  }
}

/** The entry that asks for an answer to a message of the log. It replies to the message, whose words a turn is shown by that. */
function askingFor(message: InboundMessage, at: Date): InboundMessage {
  const text = "(edited an earlier message, which asks you since then)";
  return { ...message, id: mentionId(message.id), text, at, replyTo: message.id };
}
