/**
 * `npm run chaos -- --kills 100 [--seed 7] [--only commit.] [--lanes 2]`: kills daemons under traffic, several side by side,
 * each with its own data folder, and looks what is left. `npm run chaos -- --cluster`: see cluster/cluster.ts.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { readUsage, UsageError, wholeNumber } from "../support/usage.ts";
import type { LaneNews, LaneTask } from "./lane.ts";
import { cardsFor } from "./cards.ts";
import { unreached } from "./reach.ts";
import { Report } from "./report.ts";

/** A daemon waits more than it works: for its start, for a point, for a rest. */
const LANES_A_CORE = 1.5;
/** Fewer bring no channel to its merges. */
const LEAST_KILLS = 40;

const USAGE = `npm run chaos -- --kills <number> [--seed <number>] [--only <beginning of a point's name>] [--lanes <number>]
npm run chaos -- --cluster --help`;

if (process.argv.includes("--cluster")) {
  await import("./cluster/cluster.ts");
  process.exit();
}
const { kills, seed, only, lanes } = readUsage(USAGE, readOptions);
console.log(`seed ${seed}, ${lanes} daemons side by side`);
const startedAt = performance.now();
const report = new Report();
let killed = 0;
await Promise.all(Array.from({ length: lanes }, async (_, index) => runLane(index)));
const seconds = (performance.now() - startedAt) / 1000;
for (const line of report.lines()) console.log(line);
console.log(`${(seconds / report.kills).toFixed(2)} s a kill, ${(seconds / 60).toFixed(1)} min in all`);
const missed = unreached(cardsFor({ only, isQuick: false }), report.rows, { kills: report.kills, lanes });
for (const line of missed) console.log(`${line}: what these kills were to prove is not proven`);
if (report.problems.length + missed.length > 0) {
  const which = only === undefined ? "" : ` --only ${only}`;
  const again = `npm run chaos -- --kills ${kills} --seed ${seed} --lanes ${lanes}${which}`;
  console.log(`${report.problems.length} problems, ${missed.length} points not reached. Again: ${again}`);
  process.exitCode = 1;
}

/** @throws TypeError if an option is unknown, UsageError where one makes no sense */
function readOptions(): { kills: number; seed: number; only: string | undefined; lanes: number } {
  const { values } = parseArgs({
    options: {
      kills: { type: "string", default: "100" },
      seed: { type: "string", default: `${Math.floor(Math.random() * 1_000_000)}` },
      only: { type: "string" },
      lanes: { type: "string" },
    },
  });
  const prefix = values.only ?? "";
  if (cardsFor({ only: prefix, isQuick: false }).length === 0) {
    const names = cardsFor({ only: "", isQuick: false }).map(({ name }) => name);
    throw new UsageError(`No point's name begins with "${prefix}". There are:\n  ${names.join(", ")}`);
  }
  const all = wholeNumber("kills", values.kills, 1);
  const usual = Math.min(availableParallelism() * LANES_A_CORE, Math.max(1, Math.floor(all / LEAST_KILLS)));
  return {
    kills: all,
    seed: wholeNumber("seed", values.seed, 0),
    only: values.only,
    lanes: wholeNumber("lanes", values.lanes ?? `${Math.ceil(usual)}`, 1),
  };
}

async function runLane(index: number): Promise<void> {
  const child = fork(new URL("lane.ts", import.meta.url), { serialization: "advanced" });
  const share = Math.floor(kills / lanes) + Number(index < kills % lanes);
  const task: LaneTask = {
    kills: share,
    seed,
    only,
    lane: { index, count: lanes },
    isQuick: false,
  };
  child.on("message", (news: LaneNews) => {
    if ("report" in news) report.merge(news.report);
    else tell(index, news.line);
  });
  child.send(task);
  const [code, signal] = await once(child, "exit");
  if (code !== 0)
    report.add("lane", { kind: "wrong", what: `daemon ${index}'s run ended with ${String(signal ?? code)}` });
}

/** One line of one of them; of each kill, how far all are. */
function tell(index: number, line: string): void {
  if (!line.startsWith("kill ")) return console.log(`${index}: ${line}`);
  killed++;
  const each = (performance.now() - startedAt) / 1000 / killed;
  const leftMinutes = Math.ceil(((kills - killed) * each) / 60);
  console.log(
    `${killed} of ${kills}, ${each.toFixed(2)} s each, about ${leftMinutes} min left; ${index}: ${line}`,
  );
}
