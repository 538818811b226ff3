import { formatChannelReport } from "../admin/channel-format.ts";
import { reportChannel } from "../admin/channel-report.ts";
import { createAgents } from "../agents.ts";
import { openModels } from "../llm/model-provider.ts";
import { loadPrompts, promptSources } from "../prompts/load.ts";
import { type CommonOptions, type Io, say, sayJson } from "./io.ts";
import { findChannel, onlyLooking, readConfig, withStore } from "./open.ts";

export type ContextOptions = CommonOptions & { readonly json?: boolean };

/** `weir context CHANNEL`: what the next model call would be sent. */
export async function showContext(io: Io, name: string, options: ContextOptions): Promise<void> {
  const config = readConfig(io, options);
  await withStore(io, config, async (store) => {
    const channel = await findChannel(store, name);
    await using models = await openModels(config.llm, { learned: onlyLooking(store) });
    const agents = createAgents(config, models, loadPrompts(promptSources(config)));
    await agents.readFolders();
    await models.recallLearned();
    const { agent } = agents.of(channel.agent);
    const report = await reportChannel({ store, agent, now: new Date(), isFresh: true }, channel);
    if (options.json === true) sayJson(io, report, 2);
    else say(io, formatChannelReport(report, agent.time));
  });
}
