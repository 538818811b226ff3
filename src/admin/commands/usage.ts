import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import { type AskedCommand, type Command, type CommandParts, placeName } from "./command.ts";
import { about, describeCached, describeCost } from "../reports/cost-format.ts";
import { formatUsage, parseSince, reportUsage, type UsageReport } from "../reports/usage-report.ts";

export const usageCommand: Command = {
  name: "usage",
  help: "what the models have cost for you and in this channel",
  argument: { name: "since", form: "7d | 2026-11-01", help: "since when; a day, if it is left out" },
  allowed: "everybody",
  run: describeUsage,
};

const DEFAULT_SINCE = "1d";

async function describeUsage(
  { store, agentOf, now }: CommandParts,
  { channel, asker, argument, isNamedOwner, columns, typed }: AskedCommand,
): Promise<string> {
  const said = argument === "" ? DEFAULT_SINCE : argument;
  const since = parseSince(said, now());
  if (since === null) return `Since when? ${typed("usage 7d")}, or a day: ${typed("usage 2026-11-01")}.`;
  const agent = agentOf(channel);
  const { priceOf } = agent.models;
  const { timeZone } = agent.config;
  const { platform } = channel.address;
  const person = { platform, id: asker.id };
  const [mine, here, all] = await Promise.all([
    store.usage.by("purpose", { since, person }, timeZone),
    store.usage.by("purpose", { since, channel: channel.id }, timeZone),
    isNamedOwner ? store.usage.by("agent", { since }, timeZone) : [],
  ]);
  const lines = [
    `Since ${agent.time.minute(since)}:`,
    `You: ${inWords(reportUsage("purpose", since, mine, priceOf))}`,
    `${placeName(channel, true)}: ${inWords(reportUsage("purpose", since, here, priceOf))}`,
  ];
  if (isNamedOwner) lines.push(columns(formatUsage(reportUsage("agent", since, all, priceOf))));
  return lines.join("\n");
}

function inWords({ total }: UsageReport): string {
  const { calls, tokensIn, tokensCached, tokensWritten, tokensOut, cost } = total;
  if (calls === 0) return "no model was called.";
  const parts = { cachedTokens: tokensCached, writtenTokens: tokensWritten, promptTokens: tokensIn };
  const cached = tokensCached + tokensWritten === 0 ? "" : ` (${describeCached(parts)})`;
  return `${counted(calls, "model call")}, ${about(cost.uncounted)}${formatNumber(tokensIn)} tokens in${cached}, ${formatNumber(tokensOut)} out; ${describeCost(cost)}.`;
}
