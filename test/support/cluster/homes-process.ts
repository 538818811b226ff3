/**
 * Run by a test: one daemon's side of a cluster, in a process that can be killed or frozen. It writes its listener's
 * calls to its standard output, each as a line of JSON, and with each check its number of partitions. It leaves when
 * its input ends.
 */
import { once } from "node:events";
import { pino } from "pino";
import { steadyNow } from "../../../src/async/clock.ts";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import { RabbitHomes } from "../../../src/ownership/cluster/rabbit-homes.ts";

const [url = "", prefix = "", name = ""] = process.argv.slice(2);
const LOOK_MS = 20;

/** By one clock for all processes of the machine, ms. */
function say(event: string, more: object): void {
  process.stdout.write(`${JSON.stringify({ event, at: steadyNow(), ...more })}\n`);
}

const homes = new RabbitHomes({
  config: { url, prefix, name },
  handOnMs: 60_000,
  log: pino({ level: "warn" }, pino.destination(2)),
});
await homes.start({
  async gained(partitions) {
    say("gained", { partitions });
    return partitions;
  },
  async handingOn(partitions) {
    say("handedOn", { partitions });
  },
  lost: (partitions) => say("lost", { partitions }),
  woken: (channel, seq) => say("woken", { channel, seq }),
});
say("started", {});
let before = "";
setInterval(() => {
  const owned = Array.from({ length: PARTITIONS }, (_, partition) => partition).filter((one) =>
    homes.owns(one),
  );
  const now = owned.join();
  if (now !== before) say("owns", { partitions: owned });
  before = now;
}, LOOK_MS);
process.stdin.resume();
await once(process.stdin, "end");
await homes.leave(AbortSignal.timeout(10_000));
say("left", {});
process.exit(0);
