/**
 * Subagents: an agent has runs of a model work on tasks beside its turns. A turn begins them (`turn-subagents.ts`); their rows decide
 * which of them run in a channel and how each end is reported (`channel-subagents.ts`); `subagent-run.ts` is the loop of one of them.
 */

import { z } from "zod";
import { DueWorkDesk } from "../../channel/due-work.ts";
import type { Database } from "../../store/database/database.ts";
import { formatNumber } from "../../text/format.ts";
import { ToolFailure, type DescribedToolMaker, makeTool } from "../../tools/tool.ts";
import type { Feature } from "../feature.ts";
import { agentsCommand, describeSubagent } from "./command.ts";
import { type SubagentKit, SUBAGENTS } from "./key.ts";
import { openLines } from "./report-texts.ts";
import { SubagentDesk } from "./subagent-desk.ts";
import { SubagentStore } from "./subagent-store.ts";
import { TurnSubagents } from "./turn-subagents.ts";
import type { AgentConfig } from "../../config/config.ts";
import { standaloneTools } from "../../tools/tools.ts";
import { modelsOfSubagents } from "./subagent-run.ts";

const Name = z.string().trim().min(1).max(200);

const Input = z.strictObject({
  task: z.string().trim().min(1).max(8000),
  persona: Name.optional(),
  model: Name.optional(),
  tools: z.array(Name).max(50).optional(),
  context: z.enum(["none", "brief"]).default("none"),
});

/** `spawn_agent`: a subagent does a task, and reports the outcome to its agent. */
export function spawnAgent(
  agent: Pick<AgentConfig, "model" | "fallbacks"> & {
    readonly subagents: Pick<AgentConfig["subagents"], "personas">;
  },
): DescribedToolMaker {
  return (prompts, beside) =>
    makeTool({
      name: "spawn_agent",
      shownAs: "A subagent at work",
      isDelegation: true,
      leftOutBy: "subagents.enabled = false",
      description: prompts.render("tool-spawn-agent", {
        personas: Object.keys(agent.subagents.personas),
        models: modelsOfSubagents(agent),
        tools: standaloneTools(beside).map(({ spec }) => spec.name),
      }),
      input: Input,
      timeoutMs: "own",
      async run({ task, persona = null, model = null, tools = null, context: told }, context) {
        const request = { task, persona, model, tools, context: told };
        const text = await context.kitOf(SUBAGENTS).spawn(request, context);
        return { kind: "result", text, references: [] };
      },
    });
}

export const subagents = subagentsBy((database) => new SubagentStore(database));

/** @param storeOf how its rows are read and written */
export function subagentsBy(
  storeOf: (database: Database) => SubagentStore,
): Feature<SubagentDesk, SubagentKit> {
  return {
    key: SUBAGENTS,
    describedToolsOf: (agent) => (agent.subagents.enabled ? [spawnAgent(agent)] : []),
    commands: [{ command: agentsCommand, after: "ask" }],
    async waiting(database) {
      const json = await storeOf(database).countOpen();
      const { count, since } = json;
      return {
        json,
        line: (_time, oldest) =>
          count === 0
            ? "none"
            : `${formatNumber(count)} at work, or their reports are not told yet${oldest(since)}`,
      };
    },
    section: {
      kind: "subagents",
      ofTurn: async (kit) => kit.lines(),
      async ofChannel(database, channel, time) {
        const { open } = await storeOf(database).look(channel);
        return openLines(open, time);
      },
    },
    open({ database, setup }) {
      const rows = storeOf(database);
      const desk = new SubagentDesk(rows);
      return {
        service: desk,
        background: desk,
        kitOf: (site) => (site.agent.config.subagents.enabled ? new TurnSubagents(site, desk) : NONE),
        async list({ limit, masked }) {
          const running = await rows.running(limit + 1);
          const lines = running.slice(0, limit).map((one) => {
            const { time } = setup().agents.of(one.agent).agent;
            return { channel: one.address, text: describeSubagent({ ...one, task: masked(one.task) }, time) };
          });
          return {
            label: "Subagents at work",
            lines,
            isMore: running.length > limit,
            howTo: "An agent begins one for a long task, where its configuration enables subagents.",
          };
        },
        begunBy: async (channel, messageId) => rows.turnOf(channel, messageId),
        work({ store, waker }) {
          desk.tellBy(new DueWorkDesk(store, waker));
          return null;
        },
        [Symbol.asyncDispose]: async () => desk[Symbol.asyncDispose](),
      };
    },
  };
}

const NONE: SubagentKit = {
  lines: async () => [],
  async spawn() {
    throw new ToolFailure("You have no subagents.");
  },
};
