import { createHash } from "node:crypto";
import { steadyNow } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import type { Landed } from "../../core/compaction.ts";
import { answeredMessages, type History, type TurnRange } from "../../core/history.ts";
import { type ChannelAddress, formatAddress, type MemoryId, type TurnId } from "../../core/ids.ts";
import { type ChannelKind, MENTION_PREFIX, type Place, platformIdOf } from "../../core/message.ts";
import {
  type Attached,
  NOTHING_ATTACHED,
  type OmittedExtract,
  type Reply,
  type Scene,
} from "../../turn/context-sources.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Events } from "../../telemetry/events.ts";
import type { TurnChannel } from "../../turn/turn-channel.ts";
import type { ActorParts } from "../channel-context.ts";
import type { ToolKit } from "../../tools/tool.ts";
import type { Draft } from "../delivery/draft.ts";
import type { GuardedHistory } from "../guarded-history.ts";
import type { LastRequest, UsageAnchor } from "../model-usage.ts";
import type { TurnCalls } from "./turn-calls.ts";
import { handingOver } from "./hand-off.ts";
import { TurnImages } from "./result-images.ts";
import type { LastSent } from "./context-record.ts";
import { LOOKED_UP_WITHIN_MS, recallableBy, type TurnRecall } from "./turn-recall.ts";
import type { DueImages } from "../../context/assemble.ts";

export type TurnChannelParts = Omit<ActorParts, "recall"> & {
  readonly recall: TurnRecall;
  readonly allRecall: ActorParts["recall"];
  /** The channel's own agent, even if a guest answers this turn. */
  readonly own: ActorParts["agent"];
  readonly history: GuardedHistory;
  readonly turn: TurnRange;
  readonly draft: Draft | null;
  readonly usage: UsageAnchor;
  readonly lastRequest: LastRequest;
  readonly sent: LastSent;
  readonly calls: TurnCalls;
  readonly steering: Pick<TurnChannel, "isSteered" | "takeIn">;
  /** Called before every model call, since its request may make a compaction due. */
  readonly onRequest: () => void;
  /** Called when summaries written ahead were committed on the reply path, with the duration, ms. */
  readonly onLanded: (landed: readonly Landed[], ms: number) => void;
};

/** Different emoji that one run of a turn may use, so that nobody can make the bot flood the platform. */
const MAX_REACTIONS = 3;

/** Where a channel is, in people's words. */
export function sceneOf(parts: Pick<ChannelRow, "address" | "kind" | "workspace" | "place">): Scene {
  const { address, kind, workspace, place } = parts;
  const { platform, name } = address;
  const parent = place?.parent ?? null;
  // People choose the titles of threads, and of channels in their own servers.
  const title = parent?.name ?? (kind === "channel" ? place?.channel : undefined);
  const isNamed = title !== undefined && workspace !== "";
  const ids = [name, ...(parent === null ? [] : [parent.id])];
  return {
    platform,
    channel: titleOf(address, kind, place),
    ...(kind === "dm" && { isDirect: true }),
    names: [
      ...ids.map((id) => `${platform}:${id}`),
      ...(isNamed ? [`${platform}:${workspace}/#${title}`] : []),
    ],
    fileNames: ids.map((id) => `${platform}-${id}`),
  };
}

function titleOf(address: ChannelAddress, kind: ChannelKind, place: Place | null): string {
  if (kind === "dm") return "a direct conversation";
  if (place === null) return address.name;
  const inside = place.workspace === "" ? "" : ` in ${place.workspace}`;
  return place.parent === null
    ? `#${place.channel}${inside}`
    : `the thread "${place.channel}" of #${place.parent.name}${inside}`;
}

export function createTurnChannel(parts: TurnChannelParts): TurnChannel {
  const { history, turn, draft, owner, address, events, now, indexer } = parts;
  const channel = formatAddress(address);
  const scene = sceneOf(parts);
  const site = { ...parts, recall: parts.allRecall };
  const kitOf = parts.features.kitsOf(site);
  const images = new TurnImages(parts.store, turn, () => history.current);
  return {
    scene,
    // A hash: a name would show the provider where people chat.
    cacheKey: createHash("sha256").update(`${parts.agent.config.id} ${channel}`).digest("hex").slice(0, 32),
    pace: parts.lastRequest.pace,
    channelFiles: async () => parts.features.filesOf(kitOf),
    activeTexts: async () => parts.features.activeTexts(owner.channel, parts.agent, turn.agent),
    waitedFor: async () => parts.features.waitedFor(kitOf),
    toolKit: {
      react: reactor(parts),
      kitOf,
      handOff: handingOver(parts.guests.team, turn, () => history.current),
    },
    ...parts.steering,
    attached: async () => attachedTo(parts, history.current, turn),
    resultImages: async () => images.read(),
    snapshot: async () => history.snapshot(),
    onRequest(model, context, made) {
      const at = now();
      parts.sent.note(at, model, context, made);
      // A request for another window is no measure of the channel's own requests.
      if (made.isForOneCall) return;
      parts.lastRequest.note(model, context, { id: turn.id, at: at.getTime() });
      parts.onRequest();
    },
    anchor: (model) => parts.usage.of(model),
    gate: parts.features.gates.of(site),
    async append(drafts, beside) {
      await history.appendTurnEntries(turn, images.withinTurn(drafts), now(), beside, memoriesShown(parts));
      indexer.mark(owner.channel);
      beside?.written?.();
      events.tell({ type: "log_changed", id: owner.channel });
    },
    async commitAhead() {
      if (history.current.ahead.length === 0) return false;
      const startedAt = steadyNow();
      const landed = await history.commitAhead();
      parts.onLanded(landed, Math.round(steadyNow() - startedAt));
      return landed.length > 0;
    },
    async omit(omittedTo, tokensBefore, tokensAfter) {
      const omitted = await history.omit(omittedTo);
      events.emit({ type: "emergency", channel, omitted, omittedTo, tokensBefore, tokensAfter });
    },
    extract: async (maxTokens) => omittedExtract(parts, history.current, maxTokens),
    ...lookUps(parts),
    showDraft(text) {
      draft?.show(text);
      events.tell({ type: "draft", channel, agent: parts.agent.config.id, text });
    },
    ...countCalls(parts),
    ...tellSteps(events, channel, turn.id, draft),
  };
}

function lookUps(
  parts: TurnChannelParts,
): Pick<
  TurnChannel,
  "recall" | "searchHistory" | "readMessages" | "recallMemories" | "seesElsewhere" | "hasFoundAll"
> {
  const { recall, sent, history } = parts;
  const shown = (): History => sent.current?.history ?? history.current;
  return {
    recall: async (text, limit) => recall.entries(text, limit),
    searchHistory: async (request, signal) => recall.searchHistory(request, shown(), signal),
    readMessages: async (request, signal) => recall.readMessages(request, shown(), signal),
    recallMemories: async (text, purpose, limit, signal) => recall.memories(text, purpose, limit, signal),
    seesElsewhere: () => recallableBy(parts).seesElsewhere,
    hasFoundAll: () => !recall.hasMissed,
  };
}

function countCalls({ calls, usage, sent }: TurnChannelParts): Pick<TurnChannel, "onAttempt" | "onCall"> {
  return {
    onAttempt: (model, estimatedTokens) => calls.begin(model, estimatedTokens),
    onCall(record, estimatedTokens) {
      usage.note(record, estimatedTokens);
      sent.answered(record);
      calls.end(record, estimatedTokens);
    },
  };
}

/** Memories in a turn's last model request: from the automatic recall and from tool calls. */
function memoriesShown({ sent, recall, history, turn }: TurnChannelParts): MemoryId[] {
  const { entries } = sent.current?.history ?? history.current;
  const found = entries.flatMap((entry) =>
    entry.kind === "tool_result" && entry.turnId === turn.id
      ? entry.memories.flatMap(({ id, memory }) => (memory === null ? [] : id))
      : [],
  );
  return [...new Set([...recall.found.memories, ...found])];
}

function tellSteps(
  events: Events,
  channel: string,
  turn: TurnId,
  draft: Draft | null,
): Pick<TurnChannel, "onRetry" | "onToolFailure" | "onRecalled" | "onToolStart" | "onToolCall"> {
  return {
    onRecalled: (found, ms) => events.emit({ type: "recalled", channel, turn, ...found, ms: Math.round(ms) }),
    onToolStart: ({ callId, title, isDelegated }) => draft?.begin(callId, title, isDelegated),
    onToolCall({ ms, ...call }) {
      draft?.end(call.callId, call.outcome);
      events.emit({ type: "tool_called", channel, turn, ...call, ms: Math.round(ms) });
    },
    onRetry: (attempt, of) => events.emit({ type: "model_retry", channel, attempt, of }),
    onToolFailure: (tool, why) => events.emit({ type: "tool_failed", channel, tool, why }),
  };
}

/** Reacts with emoji to the newest message that the turn answers, or to another message. */
function reactor({ platform, address, history, turn }: TurnChannelParts): ToolKit["react"] {
  const tried = new Set<string>();
  return async (emoji, under) => {
    if (platform.react === undefined) return "unsupported";
    const ids = answeredMessages(history.current, turn).map((message) => platformIdOf(message.messageId));
    const messageId = under === undefined ? ids.findLast((id) => id !== null) : under;
    if (messageId === undefined || messageId === null) return "gone";
    if (tried.size >= MAX_REACTIONS && !tried.has(emoji)) return "enough";
    tried.add(emoji);
    await platform.react(address, messageId, emoji);
    return "shown";
  };
}

/** Pictures that one turn shows, the newest first. */
const MAX_IMAGES = 4;
/** How an adapter marks a picture in a message's text. */
const IMAGE_LABEL = "[image ";

/** Replies and pictures of a turn's messages. Most turns have none, which costs no query. */
async function attachedTo(
  { store, owner, address, agent }: Pick<ActorParts, "store" | "owner" | "address" | "agent">,
  history: History,
  turn: Pick<TurnRange, "toSeq">,
): Promise<Attached> {
  const due = answeredMessages(history, turn);
  const replying = due.flatMap(({ author, replyTo, seq }) =>
    replyTo === null ? [] : [{ author: author.name, replyTo, seq }],
  );
  // Those of an edited message are shown with the entry that asks for its answer.
  const pictured = !agent.config.seesImages
    ? []
    : due
        .filter(({ messageId, text }) => text.includes(IMAGE_LABEL) || messageId.startsWith(MENTION_PREFIX))
        .map(({ messageId }) => ({ messageId, source: platformIdOf(messageId) ?? messageId }));
  if (replying.length === 0 && pictured.length === 0) return NOTHING_ATTACHED;
  const seqs = replying.map(({ seq }) => seq);
  const [said, quoted, kept] = await Promise.all([
    replying.length === 0
      ? undefined
      : store.attached.said(
          owner.channel,
          replying.map(({ replyTo }) => replyTo),
        ),
    seqs.length === 0 ? undefined : store.quotes.of(owner.channel, seqs),
    pictured.length === 0
      ? []
      : store.attached.imagesOf(
          address.platform,
          pictured.map(({ source }) => source),
          MAX_IMAGES,
        ),
  ]);
  const replies: Reply[] = replying.flatMap(({ author, replyTo, seq }) => {
    const [to, quote] = [said?.get(replyTo), quoted?.get(seq)];
    return [
      ...(to === undefined ? [] : [{ author, to }]),
      ...(quote === undefined ? [] : [{ author, to: quote, isUnheard: true as const }]),
    ];
  });
  const images: DueImages[] = pictured.map(({ messageId, source }) => ({
    messageId,
    images: kept
      .filter((image) => image.messageId === source)
      .map(({ type, bytes }) => ({ type, base64: Buffer.from(bytes).toString("base64") })),
  }));
  return { replies, images };
}

/** Newest omitted entries that an extract reads, since a turn waits for it. */
const MOST_ENTRIES = 300;

/**
 * An extract of the omitted range from its current texts, used until a summary covers it.
 * @returns null: nothing is omitted, or the extract is late
 */
async function omittedExtract(
  parts: Pick<ActorParts, "store" | "owner" | "compactorAgent" | "lookUpWithinMs">,
  { omission }: History,
  maxTokens: number,
): Promise<OmittedExtract | null> {
  const { store, owner, compactorAgent, lookUpWithinMs = LOOKED_UP_WITHIN_MS } = parts;
  if (omission === null) return null;
  const { fromSeq, toSeq } = omission;
  const make = async (): Promise<OmittedExtract> => {
    const from = Math.max(fromSeq, toSeq - MOST_ENTRIES + 1);
    const entries = await store.log.readCurrent(owner.channel, from, toSeq);
    return { toSeq, ...(await compactorAgent.digester.ofEntries(entries, maxTokens)) };
  };
  return withDeadline(make(), lookUpWithinMs);
}
