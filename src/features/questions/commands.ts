import { outcomeOf, shownName, shownTool } from "./question-text.ts";
import { pagesOf, shownArguments, shownPart } from "./shown-arguments.ts";
import { agentHere, agentsHere } from "../../channel/guests.ts";
import { hasApprover, namedOn } from "./approvers.ts";
import { QUESTIONS } from "./key.ts";
import type { Asker } from "../../platforms/platform.ts";
import type { QuestionRow } from "./question.ts";
import { displayableLine } from "../../text/displayable.ts";
import { codeBlock, counted, sliceWhole } from "../../text/text.ts";
import { decideFound, LONGEST_REASON, type WantedDecision } from "./decide.ts";
import type { Agent } from "../../turn/agent.ts";
import {
  type AskedCommand,
  type Command,
  type CommandParts,
  placeName,
  timeOf,
} from "../../admin/commands/command.ts";
import { howToOwn } from "../../admin/commands/permissions.ts";
import { maskOf } from "../../admin/secrets.ts";

export const approveCommand: Command = {
  name: "approve",
  help: "let a call that waits for an approval run (approvers only)",
  argument: { name: "number", form: "NUMBER | NUMBER always", help: "once, or these arguments from now on" },
  allowed: "everybody",
  isNamedFor: isApprover,
  run: approve,
};

export const denyCommand: Command = {
  name: "deny",
  help: "deny a call that waits for an approval (approvers only)",
  argument: { name: "number", form: "NUMBER | NUMBER REASON", help: "the agent is told the reason" },
  form: { title: "Deny with a reason", label: "Reason, which the agent is told", maxLength: LONGEST_REASON },
  allowed: "everybody",
  isNamedFor: isApprover,
  run: deny,
};

export const approvalsCommand: Command = {
  name: "approvals",
  help: "calls that wait for an approval here, and what is allowed from now on (approvers only)",
  argument: { name: "what", form: "NUMBER [PAGE] | forget NUMBER", help: "all of one; end what is allowed" },
  allowed: "everybody",
  isNamedFor: isApprover,
  run: approvals,
};

const LONGEST_LINE = 200;
/** Shown in place of deleted arguments. */
const TAKEN_BACK = "(taken back)";
/** More would not fit the messages of one answer. */
const LONGEST_PAGE = 12_000;

/** Whether an agent of the channel names this person as an approver. */
function isApprover(parts: CommandParts, channel: AskedCommand["channel"], { id }: Asker): boolean {
  const { platform } = channel.address;
  return agentsOf(parts, { channel }).some((agent) => namedOn(agent, platform).includes(`${platform}:${id}`));
}

/** Null: the asker may decide about calls of one of these agents. A direct message does not make a person its approver. */
function refusal(
  agents: readonly Agent[],
  { asker, channel: { address }, isNamedOwner }: AskedCommand,
  owners: CommandParts["owners"],
): string | null {
  const { platform } = address;
  const mayDecide = agents.some((agent) => {
    const named = namedOn(agent, platform);
    return named.length === 0 ? isNamedOwner : named.includes(`${platform}:${asker.id}`);
  });
  if (mayDecide) return null;
  const isSomebody = agents.some((agent) => hasApprover(agent, platform, owners));
  const who = isSomebody ? "That is for approvers only." : "Nobody may approve anything here yet.";
  return `${who} Whoever runs Weir names them in config.toml, as approvers under [agents.approvals]; without any, the owners are. ${howToOwn(platform)}`;
}

async function approve(parts: CommandParts, command: AskedCommand): Promise<string> {
  const match = /^#?(\d{1,15})(?:\s+(always))?$/i.exec(command.argument);
  if (match === null)
    return `This is ${command.typed("approve NUMBER")} or ${command.typed("approve NUMBER always")}.`;
  return decide(parts, command, Number(match[1]), {
    state: "allowed",
    isAlways: match[2] !== undefined,
    reason: "",
  });
}

async function deny(parts: CommandParts, command: AskedCommand): Promise<string> {
  const match = /^#?(\d{1,15})(?:\s+(\S[^]*))?$/.exec(command.argument);
  if (match === null)
    return `This is ${command.typed("deny NUMBER")} or ${command.typed("deny NUMBER REASON")}.`;
  const reason = sliceWhole(displayableLine(match[2] ?? ""), 0, LONGEST_REASON);
  return decide(parts, command, Number(match[1]), { state: "denied", isAlways: false, reason });
}

async function decide(
  parts: CommandParts,
  command: AskedCommand,
  id: number,
  wanted: WantedDecision,
): Promise<string> {
  const { channel, asker } = command;
  const found = await findFor(parts, command, id);
  if (typeof found === "string") return found;
  const { decide: write } = parts.serviceOf(QUESTIONS);
  const name = await parts.nameIn(channel, { id: asker.id, name: asker.name, isBot: false });
  const { isDone, sentence } = await decideFound(write, channel.id, found, wanted, { id: asker.id, name });
  return isDone && wanted.isAlways ? `${sentence} ${command.typed("approvals")} lists what is.` : sentence;
}

/** An approval that the asker may decide about, or the reason why there is none: each agent has its approvers. */
async function findFor(
  parts: CommandParts,
  command: AskedCommand,
  id: number,
): Promise<QuestionRow | string> {
  const { channel } = command;
  const refused = refusal(agentsOf(parts, command), command, parts.owners);
  if (refused !== null) return refused;
  const found = await parts.serviceOf(QUESTIONS).store.find(channel.id, id);
  if (found?.kind !== "approval") return `${placeName(channel, true)} has no approval #${id}.`;
  const own = parts.agentOf(channel);
  const asking = agentHere(own, parts.guestsOf(channel), found.agent) ?? own;
  return refusal([asking], command, parts.owners) ?? found;
}

function agentsOf(parts: CommandParts, { channel }: Pick<AskedCommand, "channel">): Agent[] {
  return agentsHere(parts.agentOf(channel), parts.guestsOf(channel));
}

async function approvals(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, argument, typed } = command;
  const refused = refusal(agentsOf(parts, command), command, parts.owners);
  if (refused !== null) return refused;
  if (argument === "") return list(parts, command);
  const [, ended] = /^forget\s+#?(\d{1,15})$/i.exec(argument) ?? [];
  if (ended !== undefined) {
    const isThere = await parts.serviceOf(QUESTIONS).store.endRule(channel.id, Number(ended));
    return isThere
      ? `Ended: ${ended}. Such a call needs an approval again.`
      : `Nothing here has the number ${ended}.`;
  }
  const [, id, page] = /^#?(\d{1,15})(?:\s+(\d{1,4}))?$/.exec(argument) ?? [];
  if (id === undefined)
    return `This is ${typed("approvals [NUMBER [PAGE]]")} or ${typed("approvals forget NUMBER")}.`;
  const found = await findFor(parts, command, Number(id));
  return typeof found === "string" ? found : whole(parts, command, found, Number(page ?? 1));
}

/** All of one, where it is long on pages. */
function whole(parts: CommandParts, { typed }: AskedCommand, found: QuestionRow, page: number): string {
  const { id, tool, arguments: json } = found;
  const masked = maskOf(parts.secrets);
  const pages = json === "" ? [TAKEN_BACK] : pagesOf(shownArguments(json, masked), LONGEST_PAGE);
  const shown = pages[page - 1];
  if (shown === undefined) return `#${id} has ${counted(pages.length, "page")}.`;
  const next = page < pages.length ? `, and goes on: ${typed(`approvals ${id} ${page + 1}`)}` : "";
  const where = pages.length === 1 ? "" : `\nThis is page ${page} of ${pages.length}${next}.`;
  return `#${id}: ${outcomeOf(found)}\n${codeBlock(`tool: ${shownTool(tool)}\n${shown}`)}${where}`;
}

async function list(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, typed } = command;
  const { store } = parts.serviceOf(QUESTIONS);
  const [open, rules] = await Promise.all([store.open(channel.id), store.rules(channel.id)]);
  const time = timeOf(parts, channel);
  const block = (lines: readonly string[]): string => codeBlock(lines.join("\n"));
  const masked = maskOf(parts.secrets);
  const beginning = (json: string, id: number): string =>
    json === ""
      ? TAKEN_BACK
      : shownPart(shownArguments(json, masked, "line"), LONGEST_LINE, typed(`approvals ${id}`)).text;
  const waiting = open.map(
    (one) =>
      `#${one.id} ${shownTool(one.tool)} ${beginning(one.arguments, one.id)} (until ${time.minute(one.expiresAt)})`,
  );
  const allowed = rules.map(({ id, tool, arguments: json, by, approval }) => {
    return `${id} ${shownTool(tool)} ${beginning(json, approval)}${by === "" ? "" : ` (by ${shownName(by)})`}`;
  });
  const here = placeName(channel);
  return [
    open.length === 0
      ? `No call waits for an approval in ${here}.`
      : `${counted(open.length, "call waits", "calls wait")} for an approval in ${here}:\n${block(waiting)}\n${typed("approve NUMBER [always]")} and ${typed("deny NUMBER [REASON]")} decide.`,
    rules.length === 0
      ? "Nothing is allowed from now on."
      : `Allowed from now on:\n${block(allowed)}\n${typed("approvals forget NUMBER")} ends one.`,
  ].join("\n");
}
