import { warnOfModelNames } from "../config/checks/check-models.ts";
import { describeConfig } from "../config/describe-config.ts";
import { createAgents } from "../agents.ts";
import { knownWindow } from "../llm/catalog/model-catalog.ts";
import { openModels } from "../llm/model-provider.ts";
import { loadPrompts, promptSources } from "../prompts/load.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { warnOfNames } from "./doctor/names.ts";
import { readConfig } from "./shared/open.ts";

/** `weir config check`: validates the configuration, the prompts and the agents' folders without starting. */
export async function checkConfig(io: Io, options: CommonOptions): Promise<void> {
  const config = readConfig(io, options);
  const problems: string[] = [];
  await using models = await openModels(config.llm);
  const prompts = loadPrompts(promptSources(config));
  if (prompts.absent.length > 0)
    problems.push(
      config.prompts.dir === null
        ? `Not in the folder of templates, and used in English: ${prompts.absent.join(", ")}`
        : `Not in ${config.prompts.dir}, and taken from Weir's own: ${prompts.absent.join(", ")}`,
    );
  const agents = createAgents(config, models, prompts, {
    onFileProblem: (_, problem) => problems.push(`Not used: ${problem}`),
  });
  await agents.readFolders();
  const warnings = [...warnOfModelNames(config), warnOfNames(config), problems.join("\n")].filter(
    (text) => text !== "",
  );
  say(io, [describeConfig(config, knownWindow), ...warnings].join("\n\n"));
}
