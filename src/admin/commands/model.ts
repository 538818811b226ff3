import type { ChannelRow, ChosenModel } from "../../store/channels/channels.ts";
import { nearestName } from "../../config/nearest-name.ts";
import { usableTokens } from "../../context/usage.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatNumber } from "../../text/format.ts";
import { describeKnown } from "../reports/channel-format.ts";
import { type Agent, budgetOf } from "../../turn/agent.ts";
import { fixedPartProblem } from "../../turn/fixed-part.ts";
import { type AskedCommand, type Command, type CommandParts, placeName, timeOf } from "./command.ts";
import { forOwners } from "./permissions.ts";

/** Typed instead of a name: the agent's own answers again. */
const DEFAULT = "default";

export const modelCommand: Command = {
  name: "model",
  help: "which model answers here, and why, or have another one answer",
  isCommon: true,
  argument: { name: "name", form: "NAME | default", help: "answer here with this one, or with the agent's" },
  allowed: "everybody",
  run: model,
};

async function model(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { argument, channel, isNamedOwner, typed } = command;
  if (argument === "") return describe(parts, command);
  // Which model is paid for is the operator's matter, also in a direct message.
  if (!isNamedOwner) return forOwners(typed("model NAME"), channel.address.platform);
  return argument === DEFAULT ? unchoose(parts, command) : choose(parts, command);
}

async function describe(
  parts: CommandParts,
  { channel, isNamedOwner, typed }: AskedCommand,
): Promise<string> {
  const agent = parts.agentBy(channel);
  const own = parts.agentBy({ ...channel, model: null }).config.model;
  const { model: answers } = agent.config;
  const facts = [
    `${placeName(channel, true)} is answered with ${displayableLine(answers)} (${await windowOf(agent)}).`,
    await whyOf(parts, channel, { answers, own }),
  ];
  if (!isNamedOwner) return [...facts, "Owners may choose another."].join("\n");
  const others = parts.modelNames().filter((name) => name !== answers);
  return [
    ...facts,
    others.length === 0
      ? "No other model is set up."
      : `Others that may be chosen: ${others.map((name) => displayableLine(name)).join(", ")}.`,
    `Owners choose with ${typed("model NAME")}; ${typed(`model ${DEFAULT}`)} goes back to the agent's own.`,
  ].join("\n");
}

async function whyOf(
  parts: CommandParts,
  channel: ChannelRow,
  { answers, own }: { readonly answers: string; readonly own: string },
): Promise<string> {
  const chosen = channel.model;
  const { id } = parts.agentBy(channel).config;
  if (chosen === null) return `It is the model of the agent ${id}.`;
  const choice = await describeChoice(parts, channel, chosen);
  if (chosen.name === answers)
    return `It was chosen here ${choice}${own === answers ? "" : `; the agent ${id} has ${displayableLine(own)}`}.`;
  return `It is the model of the agent ${id}: ${displayableLine(chosen.name)}, chosen here ${choice}, is not set up any more.`;
}

/** `by Ann at 2026-11-21 14:05`; `at 2026-11-21 14:05` if the author must not be shown */
async function describeChoice(
  parts: CommandParts,
  channel: ChannelRow,
  { by, at }: ChosenModel,
): Promise<string> {
  const when = `at ${timeOf(parts, channel).minute(at)}`;
  if (by === null) return when;
  const name = await parts.store.channelModels.nameOf(channel.id, by);
  return `by ${displayableLine(name ?? `the person with the id ${by}`)} ${when}`;
}

/** If the server does not answer, the known facts. */
async function windowOf({ config, models, time }: Agent): Promise<string> {
  const name = await models.resolve(config.model).catch(() => config.model);
  const { tokens, source, until } = models.knownWindow(name, config.contextWindow);
  const window = `a window of ${formatNumber(tokens)} tokens, ${describeKnown(source, until, time)}`;
  return name === config.model ? window : `now ${displayableLine(name)}, ${window}`;
}

async function choose(
  parts: CommandParts,
  { channel, argument, asker, typed }: AskedCommand,
): Promise<string> {
  const names = parts.modelNames();
  if (!names.includes(argument)) return unknownModel(argument, names, typed("model"));
  const chosen = { name: argument, by: asker.id };
  const agent = parts.agentBy({ ...channel, model: { ...chosen, at: parts.now() } });
  const window = await windowOf(agent);
  const problem = fixedPartProblem(agent);
  if (problem !== null)
    return `${displayableLine(argument)} is too small for this agent, so nothing was changed. ${displayableLine(problem)}`;
  const before = parts.agentBy(channel);
  await parts.renewal.restaff(await parts.store.channelModels.choose(channel.id, chosen));
  const isSmaller = usableOf(agent) < usableOf(before);
  return (
    `From the next answer on, ${placeName(channel)} is answered with ${displayableLine(argument)} (${window}), until somebody changes it.` +
    (isSmaller ? " It holds less than the one before: more of what was said is summarised." : "")
  );
}

function usableOf(agent: Agent): number {
  const { models, config } = agent;
  return usableTokens(budgetOf(agent, models.nameOf(config.model) ?? config.model));
}

async function unchoose(parts: CommandParts, { channel }: AskedCommand): Promise<string> {
  const row = await parts.store.channelModels.choose(channel.id, null);
  await parts.renewal.restaff(row);
  const { model: own, id } = parts.agentBy(row).config;
  const which = `${displayableLine(own)}, the model of the agent ${id}`;
  return channel.model === null
    ? `Nothing was chosen here: ${which}, answers.`
    : `From the next answer on, ${placeName(channel)} is answered with ${which}, again.`;
}

function unknownModel(name: string, names: readonly string[], list: string): string {
  const near = nearestName(name, names);
  const guess = near === null ? "" : ` Did you mean ${displayableLine(near)}?`;
  return `No model ${displayableLine(name)} is set up.${guess} ${list} lists those that are.`;
}
