import { chmod } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Config } from "../config/config.ts";
import { loadReadableConfig } from "../config/load.ts";
import { isPublicKeyName } from "../config/schema-walk.ts";
import { readTextFile } from "../config/text-file.ts";
import { parseToml } from "../config/toml-document.ts";
import { errorMessage, OperatorError } from "../core/errors.ts";
import { readServerVersion } from "../store/database/look-at-server.ts";
import { mayHaveDaemon, openDatabase, openUnchecked } from "../store/database/open.ts";
import { NewerSchemaError, NotMigratedError } from "../store/database/migrate.ts";
import type { Queryable } from "../store/database/queryable.ts";
import { counted } from "../text/text.ts";
import { auditBackups, auditUnfinished } from "./audit/backups.ts";
import { type AuditFinding, fails, formatAudit, type Severity, type Unseen } from "./audit/finding.ts";
import { findCopies, listWritten, readFacts, readTexts } from "./audit/look-at-files.ts";
import { auditModes } from "./audit/modes.ts";
import { auditSettings, type Locate } from "./audit/settings.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { openLog } from "./shared/open.ts";
import { placeOf } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";
import { holdsSecret } from "../memory/secrets.ts";

interface AuditOptions extends CommonOptions {
  readonly json?: boolean;
  /** Whether to close files and folders to other accounts. */
  readonly fix?: boolean;
  /** The least severity with which the command fails. */
  readonly failOn: Severity;
  /** The folder with the backups; default: that of the configuration. */
  readonly backups?: string;
}

interface Audit {
  readonly findings: readonly AuditFinding[];
  readonly unseen: readonly Unseen[];
}

/**
 * `weir audit`: reports what is unsafe in configuration, files, versions and backups. It needs no daemon, and starts none.
 * @throws OperatorError if something is found that is as severe as `failOn`, after all reports
 */
export async function audit(io: Io, options: AuditOptions): Promise<void> {
  const found = await auditAll(io, options);
  const fixed = options.fix === true ? await fixModes(found.findings) : [];
  const findings = found.findings.filter((one) => !fixed.includes(one));
  if (options.json === true) {
    const changed = fixed.map(({ fix }) => fix);
    sayJson(io, { findings, unseen: found.unseen, fixed: changed }, 2);
  } else {
    for (const { fix } of fixed) say(io, `✓ ${fix}: done`);
    say(io, formatAudit(findings, found.unseen));
  }
  if (!fails(findings, options.failOn)) return;
  throw new OperatorError(`${counted(findings.length, "finding")}; --fail-on error lets warnings pass.`);
}

async function auditAll(io: Io, options: AuditOptions): Promise<Audit> {
  const { config, error } = loadReadableConfig(placeOf(io, options));
  const shown = (file: string): string => {
    const short = path.relative(io.cwd, file);
    return short.startsWith("..") ? file : short === "" ? "." : short;
  };
  const now = new Date();
  const place = path.resolve(io.cwd, options.backups ?? config.home);
  const { backups, exports, unfinished } = await findCopies(place);
  const kept = [...backups.map(({ file }) => file), ...exports, ...unfinished];
  const written = await listWritten(config);
  const texts = await readTexts(config, written, shown);
  const facts = await readFacts(config, written, kept, shown);
  const database = await lookAtDatabase(io, config, now);
  return {
    findings: [
      ...auditModes(facts, process.getuid?.() ?? null),
      ...texts.flatMap(({ file, text }) => auditText(file, text)),
      ...auditSettings(config, locateIn(config, shown)),
      ...auditVersion("Node", process.version, now),
      ...database.findings,
      ...auditBackups(
        backups.map(({ file, at }) => ({ file: shown(file), at })),
        shown(place),
        now,
      ),
      ...auditUnfinished(unfinished.map(shown)),
    ],
    unseen: [
      ...(error === null
        ? []
        : [
            {
              what: "configuration",
              why: `its broken part; first ${error.first}; \`${weirCommand("config check")}\` shows all`,
            },
          ]),
      ...database.unseen,
    ],
  };
}

/** The line of each key, or of the nearest table around it. */
function locateIn({ file }: Pick<Config, "file">, shown: (file: string) => string): Locate {
  if (file === null) return () => "config.toml";
  const name = shown(file);
  const text = readTextFile(file, name);
  const parsed = text === null || "problem" in text ? null : parseToml(text.value, name, isPublicKeyName);
  if (parsed === null || "problem" in parsed) return () => name;
  return (key) => {
    const line = parsed.value.locate(key)?.line;
    return line === undefined ? name : `${name}:${line}`;
  };
}

/** An embedded database at rest is not started. */
async function lookAtDatabase(io: Io, config: Config, now: Date): Promise<Audit> {
  const what = "database";
  if (!(await mayHaveDaemon(config.database)))
    return { findings: [], unseen: [{ what, why: "it is at rest, and an audit does not start it" }] };
  const log = openLog(io, config, "silent");
  try {
    await using opened = await openDatabase(config.database, log, "reader");
    return { findings: await lookAtServer(config, opened.database, now), unseen: [] };
  } catch (error) {
    const fix = schemaFix(error);
    if (fix === null) return { findings: [], unseen: [{ what, why: errorMessage(error) }] };
    const schema: AuditFinding = { severity: "warn", what, where: null, detail: errorMessage(error), fix };
    // Its schema says nothing of its server.
    await using database = openUnchecked(config.database, log);
    return {
      findings: [...(database === null ? [] : await lookAtServer(config, database, now)), schema],
      unseen: [],
    };
  }
}

/** @returns null: the error is about something else than the schema */
function schemaFix(error: unknown): string | null {
  if (error instanceof NewerSchemaError)
    return "use the version that migrated it: this one reads nothing in it, and its daemon does not start";
  if (error instanceof NotMigratedError)
    return `\`${weirCommand("migrate")}\`, with a backup before it; a start does it as well`;
  return null;
}

/** The embedded one comes with Weir. */
async function lookAtServer(
  { database: { url } }: Config,
  database: Queryable,
  now: Date,
): Promise<AuditFinding[]> {
  return url === null ? [] : auditVersion("Postgres", await readServerVersion(database), now);
}

/** @returns the findings that are mended */
async function fixModes(findings: readonly AuditFinding[]): Promise<AuditFinding[]> {
  const fixed: AuditFinding[] = [];
  for (const finding of findings) {
    if (finding.chmod === undefined) continue;
    try {
      await chmod(finding.chmod.path, finding.chmod.mode);
      fixed.push(finding);
    } catch {
      // It stays a finding.
    }
  }
  return fixed;
}

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

/** Whether the programs below Weir still get security fixes. Pure. */

/** The last day with security fixes, by major version, as their projects announce it. */
const ENDS = {
  Node: { 20: "2026-04-30", 22: "2027-04-30", 24: "2028-04-30" },
  Postgres: {
    13: "2025-11-13",
    14: "2026-11-12",
    15: "2027-11-11",
    16: "2028-11-09",
    17: "2029-11-08",
    18: "2030-11-14",
  },
} as const;

/** @param version as it calls itself: `v24.1.0`, `16.2 (Debian 16.2-1)` */
export function auditVersion(program: keyof typeof ENDS, version: string, now: Date): AuditFinding[] {
  const ends: Readonly<Record<number, string>> = ENDS[program];
  const major = Number.parseInt(version.replace(/^v/, ""), 10);
  // One that is newer than this list has its fixes.
  const isOlder = major < Math.min(...Object.keys(ends).map(Number));
  const end = ends[major];
  if (!isOlder && (end === undefined || now.toISOString().slice(0, 10) <= end)) return [];
  const since = end === undefined ? "" : ` since ${end}`;
  const detail = `version ${version} gets no security fixes${since}`;
  const newest = Math.max(...Object.keys(ends).map(Number));
  const fix =
    program === "Node"
      ? `start Weir with npm start, which brings its own, or install Node ${newest}`
      : `upgrade the server to Postgres ${newest}`;
  return [{ severity: "warn", what: program, where: null, detail, fix }];
}
