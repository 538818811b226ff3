import type { Recall } from "../../src/memory/recall.ts";
import type { RecallMemories } from "../../src/memory/recall-memories.ts";
import { TurnRecall } from "../../src/channel/turns/turn-recall.ts";
import type { ChannelActor } from "../../src/channel/actor.ts";
import type { Context } from "../../src/core/context.ts";
import type { UserEntry } from "../../src/core/entry.ts";
import { appendEntries, type History, omit } from "../../src/core/history.ts";
import { type ChannelId, turnId } from "../../src/core/ids.ts";
import type { Store } from "../../src/store/store.ts";
import { estimateTokens } from "../../src/text/tokens.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { NOTHING_ATTACHED } from "../../src/turn/context-sources.ts";
import { TurnContexts } from "../../src/turn/turn-contexts.ts";
import type { TurnChannel } from "../../src/turn/turn-channel.ts";

/** What an agent may use to answer. */
export interface Access {
  readonly recall: "all" | "messages" | "off";
  /** Tokens. */
  readonly window: number;
}

/** Longest wait for a look-up, ms: a busy machine must not change a figure. */
const LOOK_UP_WITHIN_MS = 60_000;
const SCENE = { platform: "test", channel: "room", names: ["test:room"], fileNames: ["test-room"] };

/** A channel that was talked in, and is asked afterwards. */
export interface AskedChannel {
  readonly store: Store;
  readonly id: ChannelId;
  readonly actor: ChannelActor;
  /** The time of the questions. */
  readonly now: Date;
  readonly recall: Recall;
  readonly memories: RecallMemories;
}

/**
 * The request of a turn that answers this question, as a turn makes it: the view, what is looked up, and what fits. Nothing is
 * written, so that no question sees another one.
 */
export async function askedContext(
  { store, id, actor, now, recall: search, memories }: AskedChannel,
  question: string,
  { recall: reach, window }: Access,
): Promise<Context> {
  const { config } = actor.agent;
  const memory = { ...config.memory, recall: reach };
  const agent: Agent = { ...actor.agent, config: { ...config, memory, contextWindow: window } };
  const asked = entryOf(question, actor.history.current.lastSeq + 1, now);
  const turn = { id: turnId(-1), fromSeq: asked.seq, toSeq: asked.seq };
  let history = appendEntries(actor.history.current, [asked]);
  const view = {
    get current() {
      return history;
    },
  };
  const parts = {
    agent,
    store,
    owner: { channel: id, epoch: 1 },
    workspace: "",
    kind: "channel" as const,
    lookUpWithinMs: LOOK_UP_WITHIN_MS,
    recall: search,
    memories,
    now: () => now,
  };
  using recall = new TurnRecall(parts, view, turn);
  const channel = channelOf(view, recall, (toSeq) => (history = omit(history, toSeq)));
  const name = await agent.models.resolve(config.model);
  const contexts = new TurnContexts(agent, channel, turn, now);
  // What leaves the view for lack of room has left it before the turn.
  await contexts.fitForGood(name);
  await contexts.lookUp(history);
  return (await contexts.fitForGood(name)).fit.context;
}

function entryOf(question: string, seq: number, at: Date): UserEntry {
  return {
    kind: "user",
    seq,
    at,
    deleted: false,
    tokens: estimateTokens(question),
    author: { id: "asker", name: "Asker", isBot: false },
    text: question,
    messageId: "question",
    replyTo: null,
    addressed: true,
  };
}

type Used = Pick<
  TurnChannel,
  | "scene"
  | "snapshot"
  | "anchor"
  | "commitAhead"
  | "omit"
  | "extract"
  | "recall"
  | "recallMemories"
  | "seesElsewhere"
  | "hasFoundAll"
  | "channelFiles"
  | "activeTexts"
  | "waitedFor"
  | "attached"
  | "resultImages"
  | "onToolFailure"
>;

/** The part of a turn's channel that its requests need. */
function channelOf(
  view: { readonly current: History },
  recall: TurnRecall,
  onOmitted: (toSeq: number) => void,
): TurnChannel {
  const used: Used = {
    scene: SCENE,
    snapshot: async () => view.current,
    anchor: () => null,
    commitAhead: async () => false,
    omit: async (toSeq) => onOmitted(toSeq),
    extract: async () => null,
    recall: async (text, limit) => recall.entries(text, limit),
    recallMemories: async (text, purpose, limit) => recall.memories(text, purpose, limit),
    seesElsewhere: () => false,
    hasFoundAll: () => !recall.hasMissed,
    channelFiles: async () => [],
    activeTexts: async () => [],
    waitedFor: async () => [],
    attached: async () => NOTHING_ATTACHED,
    resultImages: async () => [],
    onToolFailure(tool, why) {
      throw new Error(`${tool}: ${why}`);
    },
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing is said there: requests need no more
  return used as TurnChannel;
}
