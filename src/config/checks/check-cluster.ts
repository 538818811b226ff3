import type { ProblemAt } from "./check-file.ts";
import type { ConfigProblem } from "../config-error.ts";
import type { Config } from "../config.ts";

/** Daemons of a cluster share their database, so none of them may use its own embedded Postgres. */
export function checkCluster(
  { cluster, database }: Pick<Config, "cluster" | "database">,
  problemAt: ProblemAt,
): ConfigProblem[] {
  if (cluster === null || database.url !== null) return [];
  const fields = {
    message: "a cluster needs a Postgres that its daemons share, and [database] url names none",
    expected: "DATABASE_URL in the environment or in .env, or url under [database]",
  };
  return [problemAt(["cluster", "url"], fields)];
}
