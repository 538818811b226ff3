import type { CheckedFile, ProblemAt } from "./check-file.ts";
import { configProblem, type ConfigProblem } from "./config-error.ts";
import { defaultVariable, type References } from "./references.ts";

/** What no single key of the bindings can get wrong. Without a file there are none. */
export function checkBindings(
  file: CheckedFile,
  agents: readonly { readonly id: string }[],
  problemAt: ProblemAt | null,
): ConfigProblem[] {
  if (problemAt === null) return [];
  const known = agents.map(({ id }) => id);
  return (file.config.bindings ?? []).flatMap(({ agent }, index) => {
    if (known.includes(agent) || file.isBroken(["agents"]) || file.isBroken(["bindings", index])) return [];
    return [
      problemAt(["bindings", index, "agent"], {
        message: "no agent has this id",
        expected: `one of ${known.map((id) => `"${id}"`).join(", ")}`,
        found: JSON.stringify(agent),
      }),
    ];
  });
}

/**
 * Half of Slack is set: it would be off, and nobody would know why. That is so whether the file names Slack or not: its
 * tokens may stand in the environment alone.
 * @param problemAt null: there is no file
 */
export function checkSlack(
  file: CheckedFile,
  references: References,
  problemAt: ProblemAt | null,
): ConfigProblem[] {
  const slack = file.config.platforms?.slack;
  if (references.slackBotToken === null || file.isBroken(["platforms", "slack"])) return [];
  const isSocket = (slack?.mode ?? "socket") === "socket";
  const [key, value] = isSocket
    ? (["app_token", references.slackAppToken] as const)
    : (["signing_secret", references.slackSigningSecret] as const);
  if (value !== null) return [];
  const variable = defaultVariable(isSocket ? "slackAppToken" : "slackSigningSecret");
  const wrong = {
    message: `Slack has a bot token and no ${key}`,
    expected: `${variable} in the environment or in .env${isSocket ? ', or mode = "http" under [platforms.slack]' : ""}`,
  };
  const isInFile = slack !== undefined && problemAt !== null;
  return [isInFile ? problemAt(["platforms", "slack"], wrong) : configProblem(wrong)];
}
