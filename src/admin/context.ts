import { formatNumber } from "../text/format.ts";
import leven from "leven";
import type { Context, ModelMessage, ToolSpec } from "../core/context.ts";
import { counted, truncateMiddle } from "../text/text.ts";
import { displayable, displayableLine } from "../text/displayable.ts";
import { type ContextReport, nextRequest, reportContext } from "./context-report.ts";
import { type AskedCommand, type Command, channelTitle, type CommandParts, type Typed } from "./command.ts";
import { formatChannelReport } from "./channel-format.ts";
import { reportChannel } from "./channel-report.ts";
import { forOwners } from "./permissions.ts";
import { withoutSecrets } from "./secrets.ts";

type Part = ContextReport["segments"][number];

/** Shown characters of a part. */
const SHOWN_LENGTH = 3000;

/** The parts of the next model call, one per line: key, label, tokens, share of the usable window. Pure. */
export function formatSegments(report: ContextReport, typed: Typed): string {
  const { channel, agent, model, tokens, usable, segments } = report;
  const head = displayableLine(`${channel} · agent ${agent} · model ${model}`);
  const rows = segments.map((part) => {
    const count = formatNumber(part.tokens).padStart(9);
    return `  ${part.key.padEnd(10)} ${part.label.padEnd(24)} ${count} tokens  ${shareOf(part, report).padStart(6)}`;
  });
  const total = `${formatNumber(tokens)} of ${formatNumber(usable)} usable tokens. ${typed("context detail KEY")} shows one in full.`;
  return [head, "", ...rows, "", total].join("\n");
}

/**
 * One part in full, cut to a length that a person can read. Pure.
 * @param masked removes secrets, before a cut could leave a piece of one
 */
export function formatSegment(
  part: Part,
  report: ContextReport,
  context: Context,
  masked: (text: string) => string,
): string {
  const { key, label, tokens, count } = part;
  const head = `${key}: ${label}, ${counted(count, "item")}, ${counted(tokens, "token")}, ${shareOf(part, report)} of what is usable`;
  const messages = context.segments.find((segment) => segment.key === key)?.messages ?? [];
  const items = key === "tools" ? context.tools.map(describeTool) : messages.map(describeMessage);
  const text = masked(items.join("\n\n"));
  if (text === "") return `${head}\n\nThere is nothing in it.`;
  const shown = displayable(truncateMiddle(text, SHOWN_LENGTH));
  const cut = text.length - Math.floor(SHOWN_LENGTH * 0.7) - Math.floor(SHOWN_LENGTH * 0.2);
  const foot =
    text.length <= SHOWN_LENGTH
      ? ""
      : `\n\n${formatNumber(cut)} of its ${formatNumber(text.length)} characters are cut from the middle.`;
  return `${head}\n\n${shown}${foot}`;
}

/** The answer to an unknown key. Pure. */
export function unknownKey(key: string, { segments }: ContextReport): string {
  const keys = segments.map((segment) => segment.key);
  const all = `The keys are ${keys.join(", ")}.`;
  if (key === "") return `Of which part? ${all}`;
  const near = keys
    .map((known) => ({ known, distance: leven(key.slice(0, 60), known) }))
    .toSorted((a, b) => a.distance - b.distance)
    .find(({ known, distance }) => distance <= Math.max(1, Math.floor(known.length / 3)));
  const guess = near === undefined ? "" : ` Did you mean ${near.known}?`;
  return `There is no part "${displayableLine(key.slice(0, 60))}".${guess} ${all}`;
}

function shareOf({ tokens }: Part, { usable }: ContextReport): string {
  return `${((tokens / usable) * 100).toFixed(1)} %`;
}

function describeTool({ name, description, parameters }: ToolSpec): string {
  return `${name}: ${description}\n${JSON.stringify(parameters)}`;
}

function describeMessage(message: ModelMessage): string {
  const calls = message.role === "assistant" ? message.calls : [];
  const lines = calls.map((call) => `calls ${call.name}(${call.arguments})`);
  return [`<${message.role}>`, ...(message.text === "" ? [] : [message.text]), ...lines].join("\n");
}

export const contextCommand: Command = {
  name: "context",
  help: "how full the context is, and with what",
  argument: { name: "part", form: "list | detail KEY", help: "its parts, or one of them in full" },
  allowed: "everybody",
  run: showContext,
};

/** `/context`, `/context list`, `/context detail KEY` */
async function showContext(parts: CommandParts, command: AskedCommand): Promise<string> {
  const [word = "", key = "", ...more] = command.argument.toLowerCase().split(/\s+/);
  const { typed } = command;
  if (word === "") return describeContext(parts, command);
  const isUnderstood = (word === "list" && key === "") || (word === "detail" && more.length === 0);
  if (!isUnderstood)
    return `This is ${typed("context")}, ${typed("context list")} or ${typed("context detail KEY")}.`;
  if (OPERATORS.has(key) && !command.isNamedOwner)
    return forOwners(typed(`context detail ${key}`), command.channel.address.platform);
  return describeParts(parts, command, word === "list" ? null : key);
}

/** Parts from the operator, not from the conversation. */
const OPERATORS: ReadonlySet<string> = new Set(["system", "tools"]);

async function describeContext(parts: CommandParts, { channel, columns }: AskedCommand): Promise<string> {
  const agent = parts.agentOf(channel);
  const report = await reportChannel(
    { store: parts.store, agent, now: parts.now(), isFresh: false },
    channel,
  );
  return columns(formatChannelReport({ ...report, channel: channelTitle(channel) }, agent.time));
}

/** @param key null: all of them, as a list */
async function describeParts(
  { store, agentOf, now, secrets }: CommandParts,
  { channel, typed, columns }: AskedCommand,
  key: string | null,
): Promise<string> {
  const agent = agentOf(channel);
  const [snapshot, spent] = await Promise.all([store.load(channel.id), store.modelCalls.totals(channel.id)]);
  // The report must not depend on a server that does not answer.
  const model = await agent.models.resolve(agent.config.model).catch(() => agent.config.model);
  const situation = { model, spent, now: now() };
  const report = { ...reportContext(agent, snapshot, situation), channel: channelTitle(channel) };
  const masked = (text: string): string => withoutSecrets(text, secrets);
  if (key === null) return columns(masked(formatSegments(report, typed)));
  const segment = report.segments.find((one) => one.key === key);
  if (segment === undefined) return unknownKey(key, report);
  return columns(formatSegment(segment, report, nextRequest(agent, snapshot, situation).context, masked));
}
