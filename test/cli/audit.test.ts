// proves: src/cli/audit.ts, src/cli/audit/look-at-files.ts, src/cli/audit/modes.ts
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { auditModes, type FileFacts } from "../../src/cli/audit/modes.ts";
import { headLine } from "../../src/store/backup/backup-file.ts";
import { openHomeWithStore } from "../support/home-with-store.ts";
import { openMainHome } from "../support/e2e-main.ts";

const report = z.object({
  findings: z.array(
    z.looseObject({ severity: z.string(), what: z.string(), where: z.string().nullable(), fix: z.string() }),
  ),
  unseen: z.array(z.object({ what: z.string(), why: z.string() })),
  fixed: z.array(z.string()),
});

const CONFIG = `[log]\nlevel = "debug"\n`;
/** Of the form of a key, and nobody's. */
const KEY = `sk-${"a1B2".repeat(8)}`;

test("an audit names each open file and each secret with its place, closes files when asked, and starts no database", async () => {
  await using home = await openMainHome(CONFIG, {});
  const at = (...names: readonly string[]): string => path.join(home.folder, ...names);
  const put = (name: string, text: string | Buffer, mode: number): void => {
    mkdirSync(path.dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text);
    chmodSync(at(name), mode);
  };
  chmodSync(home.folder, 0o755);
  put(".env", "OPENAI_API_KEY=x\n", 0o644);
  put("config.toml", `${CONFIG}\n[[agents]]\nid = "main"\n`, 0o666);
  put("agents/main/AGENTS.md", `Be kind.\nThe key is ${KEY}\n`, 0o644);
  put("data/signing.key", "0", 0o640);
  chmodSync(at("data"), 0o750);
  const dayMs = 86_400_000;
  const tables = [{ name: "channels", columns: ["id"], numbered: {} }];
  const moment = new Date(Date.now() - 10 * dayMs).toISOString();
  put("a.backup", gzipSync(headLine({ schema: 78, at: moment, signingKey: null, tables })), 0o600);

  const look = async (...more: readonly string[]) => {
    const { code, out } = await home.look("audit", "--json", ...more);
    const { findings, ...rest } = report.parse(JSON.parse(out.join("\n")));
    return { code, findings: findings.map(({ what, where }) => `${what} ${where}`), ...rest };
  };
  const modes = [
    "permissions config.toml",
    "permissions .env",
    "permissions data",
    "permissions data/signing.key",
  ];
  const others = ["secret agents/main/AGENTS.md:2", "log config.toml:2 log.level", "backup a.backup"];
  const first = await look();
  assert.deepEqual(first.findings, [...modes, ...others]);
  assert.deepEqual(
    first.unseen.map(({ what }) => what),
    ["database"],
  );
  assert.equal(first.code, 1);
  const fixed = await look("--fix");
  assert.equal(fixed.fixed.length, modes.length);
  assert.deepEqual(fixed.findings, others);
  const modeOf = (name: string): number => statSync(at(name)).mode & 0o777;
  assert.deepEqual(
    [".env", "config.toml", "data", "data/signing.key", "agents/main/AGENTS.md"].map(modeOf),
    [0o600, 0o644, 0o700, 0o600, 0o644],
  );

  put("agents/main/AGENTS.md", "Be kind.\n", 0o644);
  const { code, out } = await home.look("audit", "--fail-on", "error");
  assert.equal(code, 0);
  assert.match(out.join("\n"), /^! log: config\.toml:2 log\.level: .*\n +→ level = "info"$/m);
});

test("no audit changes what is another's: linked files, and files of other accounts", () => {
  const own: FileFacts = {
    path: "/a b/.env",
    shownAs: ".env",
    kind: "file",
    mode: 0o644,
    uid: 7,
    isLinked: false,
    demand: "private",
  };
  const audited = (change: Partial<FileFacts>) => auditModes([{ ...own, ...change }], 7);
  assert.deepEqual(audited({})[0]?.chmod, { path: "/a b/.env", mode: 0o600 });
  assert.equal(audited({})[0]?.fix, "chmod 600 '/a b/.env'");
  assert.deepEqual(
    [audited({ isLinked: true })[0]?.chmod, audited({ uid: 8 })[0]?.chmod],
    [undefined, undefined],
  );
  assert.match(audited({ uid: 8, mode: 0o600 })[0]?.fix ?? "", /chown 7/);
  assert.deepEqual(audited({ uid: 0, mode: 0o600 }), []);
  // Others may write into /tmp, and replace nothing of ours there.
  assert.deepEqual(audited({ kind: "folder", mode: 0o1777, demand: "unchanged" }), []);
  assert.deepEqual(auditModes([own], null), []);
});

test("an audit names a database of another version's schema as a finding, and still looks at its server", async () => {
  const { home, open } = await openHomeWithStore();
  const [{ known } = { known: 0 }] = await open.sql<{ known: number }>(
    "select max(version)::int as known from schema_migrations",
  );
  const look = async (): Promise<z.output<typeof report>> =>
    report.parse(JSON.parse((await home.run("audit", "--json")).out.join("\n")));
  const database = ({ findings }: z.output<typeof report>) =>
    findings.find(({ what }) => what === "database");
  const whole = await look();
  assert.deepEqual([database(whole), whole.unseen], [undefined, []]);

  await open.sql("insert into schema_migrations (version, name) values ($1, 'newer')", known + 1);
  const newer = await look();
  assert.deepEqual(newer.unseen, [], "it was looked at");
  assert.match(
    String(database(newer)?.["detail"]),
    new RegExp(
      `^The database is at schema version ${known + 1}, this Weir knows ${known}: it was used by a newer Weir`,
    ),
  );
  assert.match(String(database(newer)?.fix), /^use the version that migrated it/);
  const text = (await home.run("audit")).out.join("\n");
  assert.match(text, /^! database: The database is at schema version /m);
  assert.doesNotMatch(text, /not looked at/i);

  await open.sql("delete from schema_migrations where version >= $1", known);
  const older = await look();
  assert.match(String(database(older)?.["detail"]), /holds nothing|is at \d+, this Weir knows/);
  assert.match(String(database(older)?.fix), /migrate/);
});
