/** The Dockerfile, by reading: no engine runs here. What it copies is put in place and started. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { suite, test } from "node:test";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig } from "../src/config/load.ts";
import { environment } from "./support/e2e.ts";

const ROOT = path.join(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");

interface Instruction {
  readonly name: string;
  readonly rest: string;
  /** Counts the FROMs. */
  readonly stage: number;
}

function instructions(): Instruction[] {
  const lines = read("Dockerfile")
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line.trim() !== "");
  let stage = 0;
  return lines.map((line) => {
    const [name = "", ...rest] = line.split(/\s+/);
    if (name === "FROM") stage++;
    return { name, rest: rest.join(" "), stage };
  });
}

const all = instructions();
const last = all.at(-1)?.stage;
const restsOf = (name: string): string[] => all.filter((one) => one.name === name).map(({ rest }) => rest);
const only = (name: string): string => {
  const final = all.filter((one) => one.name === name && one.stage === last);
  assert.equal(final.length, 1, `${name} stands ${final.length} times in the last stage`);
  return final[0]?.rest ?? "";
};
/** What is copied out of the repository. */
const copies = all
  .filter(({ name, rest }) => name === "COPY" && !rest.startsWith("--from"))
  .map(({ rest, stage }) => ({ sources: rest.split(" ").slice(0, -1), stage }));

test("the image has the Node that the tests run on", () => {
  const { devDependencies } = z
    .object({ devDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(read("package.json")));
  const versions = restsOf("FROM").map((from) => /^node:([\d.]+)-/.exec(from)?.[1]);
  assert.ok(versions.length > 1);
  assert.deepEqual(new Set(versions), new Set([devDependencies["node"]]));
});

test("what is copied is there, and let in by .dockerignore, which lets in nothing else", () => {
  const sources = new Set(copies.flatMap((copy) => copy.sources));
  for (const source of sources) assert.ok(existsSync(path.join(ROOT, source)), source);
  const rules = read(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  assert.equal(rules[0], "*");
  const letIn = new Set(rules.filter((rule) => rule.startsWith("!")).map((rule) => rule.slice(1)));
  // Of a folder that is let in for one file, all else is shut out again.
  letIn.delete("scripts");
  assert.ok(rules.includes("scripts/*"));
  assert.deepEqual(letIn, sources);
});

test("it runs as no root, with its data in a volume, and is stopped as the daemon wants to be", () => {
  assert.equal(only("USER"), "node");
  assert.equal(only("STOPSIGNAL"), "SIGTERM");
  assert.equal(only("VOLUME"), "/srv/weir/data");
  const folder = all.findLast(({ name }) => name === "WORKDIR")?.rest;
  const { dataDir } = loadConfig({ cwd: ROOT, env: {} }).database;
  assert.equal(`${folder}/${path.basename(dataDir)}`, only("VOLUME"));
  assert.match(only("ENTRYPOINT"), /"tini"/);
});

test("each grace that is written down is longer than the drain and the end of a Postgres", () => {
  const { drainDeadlineMs } = loadConfig({ cwd: ROOT, env: {} }).daemon;
  const page = `${read("docs/install.md")}\n${read("compose.yaml")}`;
  const graces = [
    ...page.matchAll(/--stop-timeout[ =](\d+)|stop_grace_period: (\d+)s|TimeoutStopSec=(\d+)/g),
  ].map((match) => Number(match.slice(1).find((group) => group !== undefined)));
  assert.equal(graces.length, 3);
  for (const seconds of graces) assert.ok(seconds * 1000 >= drainDeadlineMs + 15_000, `${seconds} s`);
});

const composed = z
  .object({
    services: z.record(
      z.string(),
      z.looseObject({
        read_only: z.boolean(),
        user: z.string(),
        cap_drop: z.array(z.string()),
        security_opt: z.array(z.string()),
        volumes: z.array(z.string()),
        tmpfs: z.array(z.string()),
      }),
    ),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(parse(read("compose.yaml")));

test("compose.yaml runs it as no root on a read-only root, with volumes wherever it writes", () => {
  const { weir, postgres } = composed.services;
  assert.ok(weir !== undefined && postgres !== undefined);
  assert.deepEqual([weir.user, postgres.user], [only("USER"), "postgres"]);
  for (const { read_only: isReadOnly, security_opt: options, cap_drop: dropped } of [weir, postgres]) {
    assert.ok(isReadOnly);
    assert.deepEqual(dropped, ["ALL"]);
    assert.deepEqual(options, ["no-new-privileges:true"]);
  }
  const mounted = [weir, postgres].flatMap(({ volumes }) => volumes.map((volume) => volume.split(":")));
  const named = mounted.filter(([from = ""]) => !from.startsWith("."));
  assert.deepEqual(
    named.map(([from]) => from),
    Object.keys(composed.volumes),
  );
  assert.equal(named[0]?.[1], only("VOLUME"));
  // What git has beside it, or an operator makes.
  const home = /WEIR_HOME=(\S+)/.exec(restsOf("ENV").join(" "))?.[1] ?? "";
  assert.deepEqual(
    mounted.filter(([from = ""]) => from.startsWith(".")).map(([from = "", to]) => [path.basename(from), to]),
    ["config.toml", "agents"].map((name) => [name, `${home}/${name}`]),
  );
});

test("what the last stage copies is a whole Weir", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "weir-image-"));
  try {
    const opt = path.join(folder, "opt", "weir");
    for (const { sources, stage } of copies)
      if (stage === last)
        for (const source of sources)
          cpSync(path.join(ROOT, source), path.join(opt, source), { recursive: true });
    symlinkSync(path.join(ROOT, "node_modules"), path.join(opt, "node_modules"));
    const weir = path.join(folder, "weir");
    const [, linked = ""] = /ln -s (\S+) \/usr\/local\/bin\/weir/.exec(restsOf("RUN").join(" ")) ?? [];
    symlinkSync(path.join(folder, linked), weir);
    const cwd = path.join(folder, "srv");
    mkdirSync(cwd);
    for (const words of [["--version"], ["config", "check"], ["migrate"]]) {
      const { code, err } = await run([weir, ...words], folder, { WEIR_HOME: cwd });
      assert.equal(code, 0, err);
    }
    // Which says what to type there, and takes the home that the image names.
    const { err } = await run([weir, "logs"], folder, { WEIR_HOME: cwd });
    assert.match(err, /There is no log in \S+srv\/data\/weir\.log yet: `weir start`/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

suite("the health check", () => {
  const command = z
    .array(z.string())
    .parse(JSON.parse(/CMD (\[.*\])$/.exec(only("HEALTHCHECK"))?.[1] ?? "[]"));

  /** What it ends with against that server; null: nobody listens. */
  async function checked(serve: RequestListener | null): Promise<number | null> {
    const server = createServer(serve ?? (() => undefined));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert(typeof address === "object" && address !== null);
    const shut = async (): Promise<void> => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    };
    if (serve === null) await shut();
    const code = (command[2] ?? "").replace(":8420", `:${address.port}`).replace("8000", "3000");
    const ended = await run(["-e", code], ROOT);
    if (serve !== null) await shut();
    return ended.code;
  }

  test("asks where the page on watching has [http] listen", () => {
    assert.match(read("docs/watch.md"), /listen = "127\.0\.0\.1:8420"/);
    assert.match(command.join(" "), /http:\/\/127\.0\.0\.1:8420\/healthz/);
  });
  test("is content with an answer, and where [http] is off", async () => {
    assert.equal(await checked((_, response) => response.end("{}")), 0);
    assert.equal(await checked(null), 0);
  });
  test("finds a daemon that answers with an error, or not at all", async () => {
    assert.equal(await checked((_, response) => response.writeHead(500).end()), 1);
    assert.equal(await checked(() => undefined), 1);
  });
});

async function run(
  words: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; err: string }> {
  return await new Promise((resolve) => {
    const options = { cwd, env: environment({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1", ...env }) };
    const child = execFile(process.execPath, [...words], options, (_error, _out, err) =>
      resolve({ code: child.exitCode, err }),
    );
  });
}
