import type { AuditFinding } from "./finding.ts";
import { holdsSecret } from "../../memory/secrets.ts";

/** Finds secrets in files that an operator writes. Pure. */

/** What stands in place of a password: in examples, and where the configuration names a variable. */
const EXAMPLE = /\b(?:user|name):(?:password|pass|secret)@|"env:\w+"|…|\.{3}/g;
/** Lines of one file that are reported. */
const MOST = 20;

/**
 * @param file as it is shown
 * @param text of the file
 */
export function auditText(file: string, text: string): AuditFinding[] {
  const lines = text
    .split("\n")
    .flatMap((line, index) => (holdsSecret(line.replaceAll(EXAMPLE, " ")) ? [index + 1] : []));
  return lines.slice(0, MOST).map((line) => ({
    severity: "error",
    what: "secret",
    where: `${file}:${line}`,
    detail:
      "this line looks as if it held a key, a token or a password, which the agent or a copy of the file can pass on",
    fix: 'move it to .env, write "env:NAME" in config.toml, and replace the secret where it was issued',
  }));
}
