import { nearestName } from "../nearest-name.ts";
import type { CheckedFile, ProblemAt } from "./check-file.ts";
import {
  type AgentConfig,
  type CompactionConfig,
  type Config,
  configuredWindow,
  type ModelConfig,
  reserveIn,
} from "../config.ts";
import type { ConfigProblem } from "../config-error.ts";
import { BUILT_IN_TOOLS } from "../tool-names.ts";
import type { OptionOrigin } from "../../features/declaration.ts";
import { FEATURE_CHECKS } from "../../features/declarations.ts";
import type { FileConfig } from "../schema/file.ts";
import { valueAt, type KeyPath } from "../value-tree.ts";

/** Least usable window, in tokens: in a smaller one, a system prompt and one message do not fit. */
const MIN_USABLE_WINDOW = 1024;

/** Problems between keys: the order of the thresholds, the room in the window, the ids. */
export function checkAgents(
  { agents, llm }: Pick<Config, "agents" | "llm">,
  file: CheckedFile,
  problemAt: ProblemAt,
): ConfigProblem[] {
  const seen = new Map<string, number>();
  const problems = agents.flatMap((agent, index) => {
    const origin = originOf(file, index, problemAt);
    const own = [
      ...checkThresholds(agent, origin),
      ...checkWindow(agent, llm.models, origin),
      ...checkSharedMemory(agent, agents, origin),
      ...FEATURE_CHECKS.flatMap((check) => check(agent, origin)),
    ];
    const first = seen.get(agent.id);
    seen.set(agent.id, first ?? index);
    if (first === undefined || file.isBroken(["agents", index, "id"])) return own;
    const message = `the id "${agent.id}" is taken: agents[${first}] has it too`;
    return [...own, origin.problem([["id"]], { message, expected: "an id that no other agent has" })];
  });
  return [...new Map(problems.map((problem) => [JSON.stringify(problem), problem])).values()];
}

interface Origin extends OptionOrigin {
  /** The place that sets a key: the agent's own table, `[defaults]`, or null for the built-in default. */
  pathOf(key: KeyPath): KeyPath | null;
  levelOf(key: KeyPath): string;
}

/** Tells where a merged value of an agent came from. @param index the agent's place in the file */
function originOf(file: CheckedFile, index: number, problemAt: ProblemAt): Origin {
  const placesOf = (key: KeyPath): KeyPath[] => [
    ["agents", index, ...key],
    ["defaults", ...key],
  ];
  const pathOf = (key: KeyPath): KeyPath | null =>
    placesOf(key).find((path) => valueAt(file.config, path) !== undefined) ?? null;
  return {
    pathOf,
    levelOf(key) {
      const path = pathOf(key);
      if (path === null) return "built-in";
      return path[0] === "defaults" ? "from [defaults]" : "from the agent";
    },
    // Problems that follow from an invalid key are not reported.
    isBroken: (keys) => keys.flatMap(placesOf).some((path) => file.isBroken(path)),
    // The agent's own key comes before that of `[defaults]`, so that a problem of all agents is reported once.
    problem(keys, fields) {
      const paths = keys.map(pathOf).filter((path) => path !== null);
      const path = paths.find((candidate) => candidate[0] === "agents") ?? paths[0];
      return problemAt(path ?? ["agents", index], fields);
    },
    toolMeantBy: (name) => (BUILT_IN_TOOLS.includes(name) ? null : nearestName(name, BUILT_IN_TOOLS)),
  };
}

const LADDER: readonly { readonly key: string; readonly of: (compaction: CompactionConfig) => number }[] = [
  { key: "target", of: (compaction) => compaction.target },
  { key: "background_threshold", of: (compaction) => compaction.backgroundThreshold },
  { key: "aggressive_threshold", of: (compaction) => compaction.aggressiveThreshold },
  { key: "emergency_threshold", of: (compaction) => compaction.emergencyThreshold },
];

function checkThresholds(agent: AgentConfig, origin: Origin): ConfigProblem[] {
  const steps = LADDER.map(({ key, of }) => ({
    key,
    value: of(agent.compaction),
    path: ["compaction", key],
  }));
  if (origin.isBroken(steps.map((step) => step.path))) return [];
  const values = steps.map((step) => step.value);
  const isRising = values.every((value, index) => value > (values[index - 1] ?? 0));
  if (isRising) return [];
  const told = steps.map((step) => `${step.key} = ${step.value} (${levelOfStep(step.path, origin)})`);
  return [
    origin.problem(
      steps.map((step) => step.path),
      {
        message: "the thresholds are not in order",
        expected: "0 < target < background_threshold < aggressive_threshold < emergency_threshold < 1",
        found: told.join(", "),
      },
    ),
  ];
}

function levelOfStep(path: KeyPath, origin: Origin): string {
  const isDerived = path.at(-1) === "target" && origin.pathOf(path) === null;
  return isDerived ? "built-in: background_threshold - 0.2" : origin.levelOf(path);
}

function checkSharedMemory(
  { id, sharedMemory }: AgentConfig,
  agents: readonly AgentConfig[],
  origin: Origin,
): ConfigProblem[] {
  const others = agents.map((one) => one.id).filter((one) => one !== id);
  return sharedMemory
    .filter((other) => !others.some((one) => one === other))
    .map((other) =>
      origin.problem([["shared_memory"]], {
        message: other === id ? "an agent is always told its own memories" : "no agent has this id",
        expected: others.length === 0 ? null : `ids among ${others.map((one) => `"${one}"`).join(", ")}`,
        found: JSON.stringify(other),
        suggestion: other === id ? null : nearestName(other, others),
      }),
    );
}

function checkWindow(agent: AgentConfig, models: readonly ModelConfig[], origin: Origin): ConfigProblem[] {
  const keys = ["context_window", "max_output_tokens", "generation_reserve"] satisfies (keyof NonNullable<
    FileConfig["defaults"]
  >)[];
  const ofModel = configuredWindow(models, agent.model, 0);
  const window = configuredWindow(models, agent.model, agent.contextWindow);
  if (window === 0 || origin.isBroken(keys.map((key) => [key]))) return [];
  const room = window - reserveIn(window, agent);
  if (room >= MIN_USABLE_WINDOW) return [];
  const values = {
    context_window: window,
    max_output_tokens: agent.maxOutputTokens,
    generation_reserve: agent.generationReserve,
  };
  const levelOf = (key: (typeof keys)[number]): string =>
    key === "context_window" && ofModel > 0 ? "from [models]" : origin.levelOf([key]);
  const told = keys.map((key) => `${key} = ${values[key]} (${levelOf(key)})`);
  return [
    origin.problem(
      keys.map((key) => [key]),
      {
        message: "the window leaves no room for a conversation",
        expected:
          "context_window - max_output_tokens - generation_reserve (of the two at most a quarter of the window) " +
          `of at least ${MIN_USABLE_WINDOW} tokens`,
        found: `${told.join(", ")}: ${room} tokens are left`,
      },
    ),
  ];
}
