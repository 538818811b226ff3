/** `npm run chaos -- --kills 100 [--seed 7] [--only commit.]`: kills a daemon under traffic, and looks what is left. */
import process from "node:process";
import { parseArgs } from "node:util";
import { runChaos } from "./run.ts";

const { values } = parseArgs({
  options: { kills: { type: "string" }, seed: { type: "string" }, only: { type: "string" } },
});
const kills = Number(values.kills ?? 100);
const seed = Number(values.seed ?? Math.floor(Math.random() * 1_000_000));
if (!Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed)) {
  console.error("npm run chaos -- --kills <number> [--seed <number>] [--only <beginning of a point's name>]");
  process.exit(2);
}
console.log(`seed ${seed}`);
const report = await runChaos({ kills, seed, only: values.only, isQuick: false, onLine: console.log });
for (const line of report.lines()) console.log(line);
if (report.problems.length > 0) {
  console.log(`${report.problems.length} problems. Again: npm run chaos -- --kills ${kills} --seed ${seed}`);
  process.exitCode = 1;
}
