import type { ChannelRegistry } from "../channel/registry.ts";
import { formatAddress } from "../core/ids.ts";
import { counted } from "../core/text.ts";
import type { InboundCommand } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels.ts";
import type { Store } from "../store/store.ts";
import type { Agent } from "../turn/agent.ts";
import { formatChannelReport } from "./channel-format.ts";
import { reportChannel } from "./channel-report.ts";
import { describeAnswer, forceCompaction, quoteSummary } from "./compact-answer.ts";
import { formatMemories, MEMORIES_ASKED } from "./memory-format.ts";

export interface CommandParts {
  readonly store: Store;
  readonly registry: ChannelRegistry;
  readonly agentOf: (channel: ChannelRow) => Agent;
  readonly helpText: (commands: readonly { name: string; help: string }[]) => string;
  /** One line about the models in use. */
  readonly describeModels: () => string;
  readonly now: () => Date;
}

const COMMANDS: readonly { name: string; help: string }[] = [
  { name: "context", help: "how full the context is, and with what" },
  { name: "memory", help: "what is remembered here, who said it and when" },
  { name: "compact", help: "summarise what is old now, instead of when the context is full" },
  { name: "summarize", help: "as /compact, and show the summary" },
  { name: "status", help: "what this channel is doing just now" },
  { name: "stop", help: "end the answer that is being written" },
  {
    name: "reset",
    help: "start afresh: nothing said so far is shown to the model any more; the log keeps it",
  },
  { name: "help", help: "this list" },
];

interface Commands {
  has(name: string): boolean;
  run(command: InboundCommand): Promise<string>;
}

/** What people ask with a slash. Answers are for the asker alone; none of them waits for the mailbox. */
export function createCommands(parts: CommandParts): Commands {
  const has = (name: string): boolean => COMMANDS.some((command) => command.name === name);
  const run = async (command: InboundCommand): Promise<string> => {
    const { store, registry } = parts;
    if (command.name === "help") return parts.helpText(COMMANDS).trim();
    if (!has(command.name)) return `There is no command /${command.name}. /help lists what there is.`;
    const channel = await store.channels.find(command.channel);
    if (channel === undefined) return "Nothing has been said in this channel yet.";
    switch (command.name) {
      case "stop": {
        const isStopped = (await registry.inMemory(channel.id))?.stop() ?? false;
        return isStopped ? "Stopped." : "Nothing is being written just now.";
      }
      case "reset":
        await (await registry.get(channel.id)).reset();
        return "Reset: the model starts afresh here. The log keeps what was said; memories stay.";
      case "context":
        return describeContext(parts, channel);
      case "compact":
      case "summarize":
        return compact(parts, channel, command.name === "summarize");
      case "memory":
        return describeMemories(parts, channel);
      default:
        return describeStatus(parts, channel);
    }
  };
  return { has, run };
}

async function describeContext(parts: CommandParts, channel: ChannelRow): Promise<string> {
  const agent = parts.agentOf(channel);
  const report = await reportChannel(
    { store: parts.store, agent, now: parts.now(), isFresh: false },
    channel,
  );
  return formatChannelReport(report, agent.time);
}

/** How long the asker waits for a summary, ms. */
const COMPACT_WAIT_MS = 15_000;

async function compact(parts: CommandParts, { id }: ChannelRow, showsText: boolean): Promise<string> {
  const { compactor } = await parts.registry.get(id);
  const answer = await inTime(forceCompaction(compactor, parts.store.compactions), COMPACT_WAIT_MS);
  if (answer === null) return "This is still being summarised. /context shows how far it is.";
  const quoted = showsText ? quoteSummary(answer) : "";
  return quoted === "" ? describeAnswer(answer) : `${describeAnswer(answer)}\n\n${quoted}`;
}

/** @returns null where it takes longer; the work goes on, and the wait keeps no process alive */
async function inTime<Result>(work: Promise<Result>, ms: number): Promise<Result | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), ms).unref();
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** By the same filter as recall: a channel is told what its agent may say there, and no more. */
async function describeMemories(parts: CommandParts, row: ChannelRow): Promise<string> {
  const { config, time } = parts.agentOf(row);
  const asker = { agent: config.id, channel: row.id, workspace: row.workspace, kind: row.kind };
  return formatMemories(await parts.store.memories.inScope(asker, MEMORIES_ASKED), time);
}

async function describeStatus(parts: CommandParts, channel: ChannelRow): Promise<string> {
  const status = parts.registry.loaded(channel.id)?.status;
  const running = status?.turnRunningForMs ?? null;
  const lines = [
    `${formatAddress(channel.address)}, answered by ${channel.agent}`,
    parts.describeModels(),
    running === null
      ? "No answer is being written."
      : `An answer is being written, for ${(running / 1000).toFixed(1)} s now.`,
    `Waiting for an answer: ${counted(status?.due ?? 0, "message")}. In the log: ${counted(channel.lastSeq, "entry", "entries")}.`,
  ];
  if (status?.delivering === true) lines.push("An answer is on its way to the platform.");
  return lines.join("\n");
}
