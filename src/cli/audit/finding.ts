/** How an audit reports what is unsafe. Pure. */

export const SEVERITIES = ["warn", "error"] as const;
/** `error`: somebody can read secrets or people's words, or act in the bot's name. `warn`: it makes that easier, or a loss worse. */
export type Severity = (typeof SEVERITIES)[number];

export interface AuditFinding {
  readonly severity: Severity;
  /** The checked thing: `permissions`. */
  readonly what: string;
  /** The file with line, and the key: `config.toml:12 bindings[0].workspaces`; no secrets. Null: it is in no file. */
  readonly where: string | null;
  /** What is unsafe, and why; no secrets. */
  readonly detail: string;
  /** The command to run, or the line to write. */
  readonly fix: string;
  /** The mode that removes it. Left out: another fix is needed. */
  readonly chmod?: { readonly path: string; readonly mode: number };
}

/** Something that the audit could not look at. */
export interface Unseen {
  readonly what: string;
  readonly why: string;
}

export function fails(findings: readonly AuditFinding[], failOn: Severity): boolean {
  return findings.some(({ severity }) => SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(failOn));
}

const SIGNS: Readonly<Record<Severity, string>> = { error: "✗", warn: "!" };

/** For a person: errors first. */
export function formatAudit(findings: readonly AuditFinding[], unseen: readonly Unseen[]): string {
  const sorted = SEVERITIES.toReversed().flatMap((one) =>
    findings.filter(({ severity }) => severity === one),
  );
  const lines = [
    ...sorted.map(
      ({ severity, what, where, detail, fix }) =>
        `${SIGNS[severity]} ${what}: ${where === null ? "" : `${where}: `}${detail}\n    → ${fix}`,
    ),
    ...unseen.map(({ what, why }) => `– ${what}: not looked at: ${why}`),
  ];
  return lines.length === 0 ? "✓ Nothing unsafe was found." : lines.join("\n");
}
