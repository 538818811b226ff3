import { type AgentEvents, type Agents, createAgents } from "../../agents.ts";
import type { Config } from "../../config/config.ts";
import { OperatorError } from "../../core/errors.ts";
import type { Models } from "../../llm/models.ts";
import { loadPrompts, type Prompts, promptSources } from "../../prompts/load.ts";
import { displayableLine } from "../../text/displayable.ts";

/** Output for reports of skipped items. */
export interface Teller {
  readonly stderr: { write(text: string): unknown };
}

/** The templates for a read-only command: Weir's own in place of invalid ones. */
function readPromptsToLook({ stderr }: Teller, config: Config): Prompts {
  try {
    return loadPrompts(promptSources(config));
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    stderr.write(`${displayableLine(error.message)} Weir's own templates are used here.\n`);
    const { language } = config.prompts;
    return loadPrompts(promptSources({ prompts: { ...config.prompts, language, dir: null }, agents: [] }));
  }
}

/**
 * The agents for a command that only looks: where an agent's window has no room for a conversation, with the windows of the models; where an
 * agent's folder cannot be used, without it.
 * @throws OperatorError where an agent's prompt leaves no room in its model's window either
 */
export async function createAgentsToLook(
  io: Teller,
  config: Config,
  models: Models,
  events?: AgentEvents,
): Promise<Agents> {
  const prompts = readPromptsToLook(io, config);
  const agents = await passingOver(
    io,
    () => createAgents(config, models, prompts, events),
    () => {
      const withModelWindows = config.agents.map((agent) => ({ ...agent, contextWindow: 0 }));
      return createAgents({ ...config, agents: withModelWindows }, models, prompts, events);
    },
  );
  await passingOver(
    io,
    async () => agents.readFolders(),
    () => undefined,
  );
  return agents;
}

async function passingOver<Result>(
  { stderr }: Teller,
  work: () => Result | Promise<Result>,
  instead: () => Result,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    stderr.write(`${displayableLine(error.message)} This is passed over here.\n`);
    return instead();
  }
}
