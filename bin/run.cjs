/* Runs Weir with a Node that is new enough: a clone's TypeScript, or the JavaScript of a package. */
"use strict";

const { spawn, spawnSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const { constants } = require("node:os");
const { join } = require("node:path");
const { pathToFileURL } = require("node:url");

const root = join(__dirname, "..");
const setup = join(root, "scripts", "setup.mjs");
const source = join(root, "src", "main.ts");

/** @returns {boolean} the packages of a clone are there */
function isSetUp() {
  // Standard output belongs to the command.
  const { status } = spawnSync(process.execPath, [setup], { stdio: ["ignore", 2, 2] });
  process.exitCode = status ?? 1;
  return status === 0;
}

/** Goes on in the Node 24 of a clone, which gets the signals of this process. */
function runInOwnNode() {
  const args = [source, ...process.argv.slice(2)];
  const child = spawn(join(root, "node_modules", ".bin", "node"), args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

exports.run = () => {
  if (existsSync(setup) && !isSetUp()) return;
  if (Number.parseInt(process.versions.node, 10) < 24) runInOwnNode();
  else void import(pathToFileURL(existsSync(source) ? source : source.replace(/\.ts$/, ".js")).href);
};
