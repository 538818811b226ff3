import { ConfigError } from "../config/config-error.ts";
import { loadReadableConfig } from "../config/load.ts";
import type { Config } from "../config/config.ts";
import { errorMessage, type Finding, OperatorError } from "../core/errors.ts";
import { weirCommand } from "../files/installation.ts";
import { NotMigratedError } from "../store/database/migrate.ts";
import { pendingMigrations } from "../store/database/open.ts";
import { counted } from "../text/text.ts";
import { readVersion } from "../admin/version.ts";
import { shownFinding } from "./doctor.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { openLog } from "./shared/open.ts";
import { placeOf } from "./shared/readable-config.ts";

type UpgradeOptions = CommonOptions & { readonly check?: boolean };

/** The oldest Node that runs this version. */
const NODE = 24;

/**
 * `weir upgrade --check`, run by a new version before its first start: what would change on this home. Changes nothing.
 * @throws OperatorError if this version would not start as it is
 */
export async function upgrade(io: Io, options: UpgradeOptions): Promise<void> {
  if (options.check !== true)
    throw new OperatorError(
      "Weir is upgraded by git, npm or Docker: docs/upgrade.md has the steps. What the version that is here would change, " +
        `says: ${weirCommand("upgrade --check")}`,
    );
  const { config, error } = loadReadableConfig(placeOf(io, options));
  say(io, `Weir ${readVersion()} on ${config.home}`);
  const findings = [lookAtNode(process.versions.node), ...lookAtOptions(config, error)];
  findings.push(await lookAtSchema(io, config));
  for (const finding of findings) say(io, shownFinding(finding));
  const wrong = findings.filter(({ state }) => state === "wrong").length;
  if (wrong > 0)
    throw new OperatorError(`${counted(wrong, "problem")}: mend this before you start this version.`);
}

/** @param version `24.1.0`. Pure */
export function lookAtNode(version: string): Finding {
  const what = "Node";
  if (Number.parseInt(version, 10) >= NODE) return { what, state: "ok", detail: version };
  return { what, state: "wrong", detail: version, todo: `install Node ${NODE} or newer` };
}

/** Options that this version does not know, or reads otherwise: one finding each. Pure. */
export function lookAtOptions({ file }: Pick<Config, "file">, error: ConfigError | null): readonly Finding[] {
  const what = "configuration";
  if (error === null) return [{ what, state: "ok", detail: file ?? "no file: built-in defaults" }];
  return error.problems.map((problem) => {
    const { suggestion } = problem;
    return {
      what,
      state: "wrong" as const,
      detail: new ConfigError([problem]).first,
      ...(suggestion !== null && { todo: `now called ${suggestion}, perhaps` }),
    };
  });
}

async function lookAtSchema(io: Io, config: Config): Promise<Finding> {
  const what = "database";
  try {
    const pending = await pendingMigrations(config.database, openLog(io, config, "warn"));
    if (pending.length === 0) return { what, state: "ok", detail: "nothing to migrate" };
    return {
      what,
      state: "unsure",
      detail: `the next start applies ${counted(pending.length, "migration")}: ${pending.join(", ")}`,
      todo: `there is no way back but a backup: ${weirCommand("backup FILE --verify")}, by the version before`,
    };
  } catch (error) {
    if (error instanceof NotMigratedError) return { what, state: "ok", detail: errorMessage(error) };
    return { what, state: "wrong", detail: errorMessage(error) };
  }
}
