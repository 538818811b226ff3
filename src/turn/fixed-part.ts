import { chooseSections } from "../context/sections/choose.ts";
import { sectionLimits } from "../context/sections/fit.ts";
import { usableTokens } from "../context/usage.ts";
import { SUMMARIES_SHARE } from "../core/compaction.ts";
import { estimateTokens } from "../text/tokens.ts";
import { type Agent, budgetOf } from "./agent.ts";
import { systemText } from "./context-sources.ts";

/**
 * Checks that the fixed part of every request and all summaries leave a conversation room below the target: otherwise
 * each compaction would only make another one due. A mistake to report, never a reason to compact.
 * @returns null: there is room
 */
export function fixedPartProblem(agent: Agent): string | null {
  const { config } = agent;
  const { sections, limits, usable, prompt, tools, room } = fixedPart(agent);
  const fixed = prompt + tools;
  const { enabled, target } = config.compaction;
  const whole = sections.filter(({ isProtected }) => isProtected);
  const wholeTokens = whole.reduce((sum, { tokens }) => sum + tokens.after, 0);
  if (wholeTokens > limits.tokens) {
    const names = whole.map(({ source }) => source).join(" and ");
    return (
      `Agent "${config.id}": ${names} are never cut, take about ${wholeTokens} tokens, and may take ` +
      `${limits.tokens}, a quarter of ${usable} usable tokens. Shorten them, or set context_window to what the model really holds.`
    );
  }
  if (fixed < room) return null;
  const limit = enabled
    ? `${room}, which is the target (${target}) less ${SUMMARIES_SHARE.least} for summaries, of ${usable} usable tokens`
    : `${room}, half of the window`;
  return (
    `Agent "${config.id}": its prompt and tools take about ${fixed} tokens (prompt ${prompt}, tools ${tools}), and ${config.model} has room for ${limit}. ` +
    `Shorten its instructions and the files of its folder, ${leavingOut(agent.tools)}raise compaction.target, or set context_window to what the model really holds.`
  );
}

/** What leaves tools out, and about how many tokens that frees, the most first. */
function leavingOut(tools: Agent["tools"]): string {
  const freed = new Map<string, number>();
  for (const { spec, leftOutBy } of tools)
    if (leftOutBy !== undefined)
      freed.set(leftOutBy, (freed.get(leftOutBy) ?? 0) + estimateTokens(JSON.stringify(spec)));
  const options = [...freed]
    .toSorted((a, b) => b[1] - a[1])
    .map(([option, tokens]) => `${option}: ${tokens}`);
  return options.length === 0 ? "" : `leave out tools (${options.join(", ")}), `;
}

/** The size of an agent's fixed part and its limit, in estimated tokens. */
function fixedPart(agent: Agent) {
  const { config, tools, folder } = agent;
  const budget = budgetOf(agent, config.model);
  const usable = usableTokens(budget);
  const { enabled, target } = config.compaction;
  const limits = sectionLimits(usable);
  const nowhere = { platform: "", names: [], fileNames: [] };
  const sections = chooseSections(folder.current, nowhere, [], limits).static;
  const prompt = estimateTokens(systemText(agent, "2026-01-01", sections));
  const ofTools = estimateTokens(JSON.stringify(tools.map(({ spec }) => spec)));
  const room = Math.floor(enabled ? (target - SUMMARIES_SHARE.least) * usable : budget.window / 2);
  return { sections, limits, usable, prompt, tools: ofTools, room };
}

/**
 * Limit for the tools of servers, in estimated tokens: half of the room that the agent's own part leaves, so that no
 * server can crowd out the conversation.
 */
export function roomForServers(agent: Agent, own: Agent["tools"]): number {
  const { prompt, tools, room } = fixedPart({ ...agent, tools: own });
  return Math.max(0, Math.floor((room - prompt - tools) / 2));
}
