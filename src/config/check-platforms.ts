import type { CheckedFile, ProblemAt } from "./check-file.ts";
import { DEFAULT_SLACK } from "./defaults.ts";
import type { ConfigProblem } from "./config-error.ts";
import type { References } from "./references.ts";

/** What no single key of the platforms and bindings can get wrong. */
export function checkPlatforms(
  file: CheckedFile,
  agents: readonly { readonly id: string }[],
  references: References,
  problemAt: ProblemAt | null,
): ConfigProblem[] {
  if (problemAt === null) return [];
  return [...checkBindings(file, agents, problemAt), ...checkSlack(file, references, problemAt)];
}

function checkBindings(
  file: CheckedFile,
  agents: readonly { readonly id: string }[],
  problemAt: ProblemAt,
): ConfigProblem[] {
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

/** Half of Slack is set: it would be off, and nobody would know why. */
function checkSlack(file: CheckedFile, references: References, problemAt: ProblemAt): ConfigProblem[] {
  const slack = file.config.platforms?.slack;
  if (slack === undefined || references.slackBotToken === null) return [];
  const isSocket = (slack.mode ?? DEFAULT_SLACK.mode) === "socket";
  const [key, value] = isSocket
    ? (["app_token", references.slackAppToken] as const)
    : (["signing_secret", references.slackSigningSecret] as const);
  if (value !== null || file.isBroken(["platforms", "slack"])) return [];
  const variable = isSocket ? "SLACK_APP_TOKEN" : "SLACK_SIGNING_SECRET";
  return [
    problemAt(["platforms", "slack"], {
      message: `Slack has a bot token and no ${key}`,
      expected: `${variable} in the environment or in .env${isSocket ? ', or mode = "http"' : ""}`,
    }),
  ];
}
