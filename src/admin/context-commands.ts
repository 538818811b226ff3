import { type AskedCommand, channelTitle, type CommandParts } from "./command-parts.ts";
import { formatChannelReport } from "./channel-format.ts";
import { reportChannel } from "./channel-report.ts";
import { formatSegment, formatSegments, unknownKey } from "./context-detail.ts";
import { nextRequest, reportContext } from "./context-report.ts";
import { forOwners } from "./permissions.ts";
import { withoutSecrets } from "./secrets.ts";

/** `/context`, `/context list`, `/context detail KEY` */
export async function contextCommand(parts: CommandParts, command: AskedCommand): Promise<string> {
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

/** What the operator has told the agent, and nobody in the conversation. */
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
  // A server that does not answer must not keep a person from looking.
  const model = await agent.models.resolve(agent.config.model).catch(() => agent.config.model);
  const situation = { model, spent, now: now() };
  const report = { ...reportContext(agent, snapshot, situation), channel: channelTitle(channel) };
  const masked = (text: string): string => withoutSecrets(text, secrets);
  if (key === null) return columns(masked(formatSegments(report, typed)));
  const segment = report.segments.find((one) => one.key === key);
  if (segment === undefined) return unknownKey(key, report);
  return columns(formatSegment(segment, report, nextRequest(agent, snapshot, situation).context, masked));
}
