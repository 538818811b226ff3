import type { CheckedFile, ProblemAt } from "./check-file.ts";
import { nearestName } from "../nearest-name.ts";
import type { AgentConfig } from "../config.ts";
import { configProblem, type ConfigProblem } from "../config-error.ts";
import { mentionForm } from "../../core/team.ts";
import { PLATFORM_ROWS } from "../../platforms/platforms.ts";
import { camelCased } from "../camel-case.ts";
import { type References, secretVariable } from "../references.ts";
import { platformTables } from "../schema/platforms.ts";

type NamedAgent = Pick<AgentConfig, "id" | "name" | "aliases">;

export function checkBindings(
  file: CheckedFile,
  agents: readonly NamedAgent[],
  problemAt: ProblemAt,
): ConfigProblem[] {
  const known: string[] = agents.map(({ id }) => id);
  return [
    ...checkTeams(file, agents, problemAt),
    ...(file.config.bindings ?? []).flatMap(({ agent }, index) => {
      if (known.includes(agent) || file.isBroken(["agents"]) || file.isBroken(["bindings", index])) return [];
      return [
        problemAt(["bindings", index, "agent"], {
          message: "no agent has this id",
          expected: `one of ${known.map((id) => `"${id}"`).join(", ")}`,
          found: JSON.stringify(agent),
        }),
      ];
    }),
  ];
}

/** Checks that the other agents of each binding exist, differ from its agent, and have distinct names. */
function checkTeams(file: CheckedFile, agents: readonly NamedAgent[], problemAt: ProblemAt): ConfigProblem[] {
  if (file.isBroken(["agents"])) return [];
  return (file.config.bindings ?? []).flatMap(({ agent, also = [] }, index) => {
    const path = ["bindings", index, "also"];
    if (file.isBroken(["bindings", index])) return [];
    const others: string[] = agents.map(({ id }) => id).filter((id) => id !== agent);
    const unknown = also.filter((id) => !others.includes(id));
    if (unknown.length > 0) {
      const expected = others.length === 0 ? null : `ids among ${others.map((id) => `"${id}"`).join(", ")}`;
      return unknown.map((id) =>
        problemAt(path, {
          message: id === agent ? "this agent answers here already" : "no agent has this id",
          expected,
          found: JSON.stringify(id),
          suggestion: id === agent ? null : nearestName(id, others),
        }),
      );
    }
    const team = agents.filter(({ id }) => id === agent || also.includes(id));
    return also.length === 0 ? [] : sharedNames(team).map((fields) => problemAt(path, fields));
  });
}

/** Names by which two agents of one binding would be mentioned. */
function sharedNames(team: readonly NamedAgent[]): { readonly message: string; readonly expected: string }[] {
  const owners = new Map<string, string>();
  return team.flatMap(({ id, name, aliases }) =>
    [...new Set([id, name, ...aliases].map(mentionForm))].flatMap((form) => {
      const first = owners.get(form);
      owners.set(form, first ?? id);
      if (first === undefined) return [];
      const message = `"${form}" means two agents here: "${first}" and "${id}"`;
      return { message, expected: "ids, names and aliases that only one of them has" };
    }),
  );
}

/**
 * Reports a platform that has its token but lacks another required option: it would be off without a visible reason.
 * This also applies if the file does not name the platform, since tokens may be in the environment alone.
 */
export function checkPlatforms(
  file: CheckedFile,
  references: References,
  problemAt: ProblemAt,
): ConfigProblem[] {
  return PLATFORM_ROWS.flatMap((row) => {
    const secrets = references.platforms[row.key] ?? {};
    if (secrets[row.token] == null || file.isBroken(["platforms", row.key])) return [];
    const written = file.config.platforms?.[row.key];
    const section = camelCased(platformTables[row.key].parse(written));
    const lacking = row.lacks?.(section, camelCased(secrets)) ?? null;
    if (lacking === null) return [];
    const { option, or } = lacking;
    const wrong = {
      message: `${row.title} has a ${row.token.replaceAll("_", " ")} and no ${option}`,
      expected: `${secretVariable(row.key, option)} in the environment or in .env${or === undefined ? "" : `, or ${or}`}`,
    };
    return [written !== undefined ? problemAt(["platforms", row.key], wrong) : configProblem(wrong)];
  });
}
