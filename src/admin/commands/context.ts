import { formatNumber } from "../../text/format.ts";
import { isFileKind, isOperators } from "../../context/sections/section.ts";
import { contextSections } from "../../context/sections/list.ts";
import type { Card, CommandAnswer } from "../../core/card.ts";
import type { Context, ModelMessage, Section } from "../../core/context.ts";
import { nearestName } from "../../config/nearest-name.ts";
import { counted, truncateMiddle } from "../../text/text.ts";
import { displayable, displayableLine } from "../../text/displayable.ts";
import { type ContextReport, nextRequest, reportContext } from "../reports/context-report.ts";
import { type AskedCommand, type Command, channelTitle, type CommandParts } from "./command.ts";
import { formatChannelReport, formatSections, sectionRow } from "../reports/channel-format.ts";
import { lastAnswerer } from "../reports/answerer.ts";
import { contextCard } from "../reports/context-card.ts";
import { type ChannelReport, readRequest, reportChannel } from "../reports/channel-report.ts";
import { forOwners, type Typed } from "./permissions.ts";
import { maskOf } from "../secrets.ts";

type Part = ContextReport["segments"][number];

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
  const sections = formatSections("made of, in the order in which it is sent", report.sections);
  return [head, "", ...rows, ...sections, "", total].join("\n");
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
  const tools = context.tools.map(
    (one) => `${one.name}: ${one.description}\n${JSON.stringify(one.parameters)}`,
  );
  const items = key === "tools" ? tools : messages.map(describeMessage);
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

/** One section in full, with why it is there. Pure. @param masked removes secrets */
function formatSection(section: Section, masked: (text: string) => string): string {
  const { priority, isProtected, place, scope, text } = section;
  const rank = `priority ${priority}${isProtected ? ", never cut" : ""}; ${place} part; for ${scope === "all agents" ? scope : `this ${scope}`}`;
  const shown = displayable(truncateMiddle(masked(text), SHOWN_LENGTH));
  return [sectionRow(section), rank, "", shown === "" ? "There is nothing in it." : shown].join("\n");
}

export function unknownKey(key: string, { segments, sections }: ContextReport): string {
  const keys = [...new Set([...segments, ...sections].map((part) => part.key))];
  const all = `The keys are ${keys.join(", ")}.`;
  if (key === "") return `Of which part? ${all}`;
  const near = nearestName(key, keys);
  const guess = near === null ? "" : ` Did you mean ${near}?`;
  return `There is no part "${displayableLine(key.slice(0, 60))}".${guess} ${all}`;
}

function shareOf({ tokens }: Part, { usable }: ContextReport): string {
  return `${((tokens / usable) * 100).toFixed(1)} %`;
}

function describeMessage(message: ModelMessage): string {
  const calls = message.role === "assistant" ? message.calls : [];
  const lines = calls.map((call) => `calls ${call.name}(${call.arguments})`);
  return [`<${message.role}>`, ...(message.text === "" ? [] : [message.text]), ...lines].join("\n");
}

export const contextCommand: Command = {
  name: "context",
  help: "how full the context is, and with what",
  isCommon: true,
  argument: { name: "part", form: "list | detail KEY", help: "its parts, or one of them in full" },
  allowed: "everybody",
  run: showContext,
};

async function showContext(parts: CommandParts, command: AskedCommand): Promise<CommandAnswer> {
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
const OPERATORS: ReadonlySet<string> = new Set(["system", "tools", "identity"]);

/** Sections without a text of their own, and the part that shows them. */
const HOLDERS: Readonly<Record<string, string>> = { identity: "system", now: "dynamic" };

/** Removes the contents of the agent's folder, and the people that they name, unless the asker is a configured owner. */
function forAsker<Report extends ContextReport>(report: Report, { isNamedOwner }: AskedCommand): Report {
  if (isNamedOwner) return report;
  return { ...report, sections: report.sections.filter((section) => !isOperators(section)) };
}

function maskedReport(report: ChannelReport, masked: (text: string) => string): ChannelReport {
  return {
    ...report,
    channel: masked(report.channel),
    sections: report.sections.map((section) => ({ ...section, evidence: section.evidence.map(masked) })),
    summaries: report.summaries.map((summary) => ({ ...summary, text: masked(summary.text) })),
    memories: report.memories.map((memory) => ({
      ...memory,
      statement: masked(memory.statement),
      assertedBy: masked(memory.assertedBy),
    })),
  };
}

async function describeContext(parts: CommandParts, command: AskedCommand): Promise<Card> {
  const { channel, columns } = command;
  const { store } = parts;
  const agent = parts.agentOf(channel);
  const staff = { store, agent, guests: parts.guestsOf(channel), digester: parts.digesterOf(channel) };
  const report = await reportChannel({ ...parts, ...staff, now: parts.now(), isFresh: false }, channel);
  const own = { ...forAsker(report, command), channel: channelTitle(channel) };
  const shown = maskedReport(own, maskOf(parts.secrets));
  return contextCard(shown, agent.time, columns(formatChannelReport(shown, agent.time)));
}

/** @param key null: all of them, as a list */
async function describeParts(
  parts: CommandParts,
  command: AskedCommand,
  key: string | null,
): Promise<string> {
  const { store, agentOf, guestsOf, digesterOf, now } = parts;
  const { secrets, activeTexts, channelFiles, readWaitedFor } = parts;
  const { channel, typed, columns } = command;
  const staff = { store, agent: agentOf(channel), guests: guestsOf(channel), digester: digesterOf(channel) };
  const { agent, isGuest, seen } = await lastAnswerer(staff, channel);
  const { snapshot: read, situation } = await readRequest(
    { store, agent, activeTexts, channelFiles, readWaitedFor, now: now() },
    channel.id,
    isGuest,
  );
  const snapshot = await seen(read);
  const whole = reportContext(agent, snapshot, situation);
  const report = { ...forAsker(whole, command), channel: channelTitle(channel) };
  const masked = maskOf(secrets);
  if (key === null) return columns(masked(formatSegments(report, typed)));
  const { context } = nextRequest(agent, snapshot, situation);
  const refused = forOwners(typed(`context detail ${key}`), channel.address.platform);
  const sections = contextSections(context);
  const segment = report.segments.find((one) => one.key === (HOLDERS[key] ?? key));
  if (segment !== undefined) {
    const holdsOperators =
      segment.key === "dynamic" && sections.some((one) => one.place === "dynamic" && isOperators(one));
    if (holdsOperators && !command.isNamedOwner) return refused;
    return columns(formatSegment(segment, report, context, masked));
  }
  const section = sections.find((one) => one.key.toLowerCase() === key);
  // Only readers of the agent's folder may know which files exist.
  if (section === undefined)
    return isFileKind(key.split(":")[0] ?? "") && !command.isNamedOwner ? refused : unknownKey(key, report);
  if (isOperators(section) && !command.isNamedOwner) return refused;
  return columns(formatSection(section, masked));
}
