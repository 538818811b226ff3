/**
 * `npm run soak -- --minutes 30 [--seed 7] [--pace 3] [--rooms 8] [--faults off]`: one daemon under steady traffic on three platforms, with
 * faults; whether its memory, handles, connections and timers stay flat, and each question has its one answer.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { readUsage, UsageError, wholeNumber } from "../support/usage.ts";

const USAGE =
  "npm run soak -- --minutes <number> [--seed <number>] [--pace <deeds of people a second>] [--rooms <number on each platform>] [--faults on|off]";
/** So many looks at least: half of them make the trend. */
const FEWEST_SAMPLES = 40;
const FAULT_EVERY_S = 15;

const { minutes, seed, pace, rooms, hasFaults } = readUsage(USAGE, readOptions);
const { runSoak } = await import("./run.ts");
const { growthOf, lineOf, tableOf } = await import("./report.ts");
console.log(`seed ${seed}, ${minutes} min, ${pace} deeds a second in ${3 * rooms} rooms`);
const seconds = minutes * 60;
const report = await runSoak({
  seconds,
  seed,
  pace,
  rooms,
  sampleEverySeconds: Math.min(30, seconds / FEWEST_SAMPLES),
  fewest: { samples: FEWEST_SAMPLES, said: 0, faults: 0 },
  faultEverySeconds: hasFaults ? FAULT_EVERY_S : 0,
  settlingFactor: 1,
  onSample: (sample, faults) => console.log(lineOf(sample, faults, seconds)),
});
console.log(`\n${tableOf(report).join("\n")}\n`);
const wrong = [...report.problems, ...growthOf(report.rows)];
for (const line of wrong) console.log(line);
const again = `npm run soak -- --minutes ${minutes} --seed ${seed} --pace ${pace} --rooms ${rooms}${hasFaults ? "" : " --faults off"}`;
console.log(wrong.length === 0 ? "All is well." : `${wrong.length} problems. Again: ${again}`);
if (wrong.length > 0) process.exitCode = 1;

/** @throws TypeError if an option is unknown, UsageError where one makes no sense */
function readOptions() {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "30" },
      seed: { type: "string", default: `${Math.floor(Math.random() * 1_000_000)}` },
      pace: { type: "string", default: "3" },
      rooms: { type: "string", default: "8" },
      faults: { type: "string", default: "on" },
    },
  });
  if (values.faults !== "on" && values.faults !== "off")
    throw new UsageError(`--faults is "on" or "off", not "${values.faults}".`);
  return {
    minutes: wholeNumber("minutes", values.minutes, 1),
    seed: wholeNumber("seed", values.seed, 0),
    pace: wholeNumber("pace", values.pace, 1),
    rooms: wholeNumber("rooms", values.rooms, 1),
    hasFaults: values.faults === "on",
  };
}
