import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "../chaos/sql.ts";
import type { TestProcess } from "../support/process.ts";
import type { Sample } from "./metrics.ts";
import type { ProbeLine } from "./probe.ts";

export interface SamplerParts {
  readonly daemon: TestProcess;
  readonly sql: Sql;
  /** The file to which the probe in the daemon writes. */
  readonly probeFile: string;
  /** The daemon's $TMPDIR. */
  readonly tempFolder: string;
  readonly saidCount: () => number;
}

const MB = 1_000_000;
const PROBE_MS = 30_000;
const TIMERS = new Set(["Timeout", "Immediate"]);
const SOCKETS = new Set(["TCPSocketWrap", "TLSWrap", "TCPServerWrap", "TCPConnectWrap"]);

/** Looks at the daemon from outside, and by its probe from inside. NaN: this system does not tell. */
export class Sampler {
  readonly #parts: SamplerParts;
  readonly #startedAt = performance.now();
  #lines = 0;

  constructor(parts: SamplerParts) {
    this.#parts = parts;
  }

  /** @throws Error if the daemon has ended, or its probe does not answer */
  async sample(): Promise<Sample> {
    const { daemon, sql, tempFolder, saidCount } = this.#parts;
    const probed = await this.#probe();
    const [row] = await sql.rows<{ size: number; connections: number; waiting: number }>(
      `select pg_database_size(current_database()) as size,
              (select count(*) from pg_stat_activity where application_name like 'weir%') as connections,
              (select count(*) from channels c join entries e on e.channel_id = c.id and e.seq > c.settled_to
                where e.addressed) as waiting`,
    );
    const counted = (kinds: (kind: string) => boolean): number =>
      Object.entries(probed.resources).reduce((sum, [kind, count]) => sum + (kinds(kind) ? count : 0), 0);
    const values = {
      "heap used": probed.heapUsed / MB,
      "beside the heap": probed.external / MB,
      RSS: probed.rss / MB,
      "file descriptors": entriesOf(`/proc/${daemon.pid}/fd`),
      timers: counted((kind) => TIMERS.has(kind)),
      sockets: counted((kind) => SOCKETS.has(kind)),
      "other handles": counted((kind) => !TIMERS.has(kind) && !SOCKETS.has(kind)),
      threads: entriesOf(`/proc/${daemon.pid}/task`),
      "connections to Postgres": row?.connections ?? Number.NaN,
      "temporary files": entriesOf(tempFolder),
      "event-loop delay, p99": probed.loopDelay,
      "questions that wait": row?.waiting ?? Number.NaN,
      database: (row?.size ?? Number.NaN) / MB,
      "messages said": saidCount(),
    };
    return { at: (performance.now() - this.#startedAt) / 1000, values };
  }

  async #probe(): Promise<ProbeLine> {
    const { daemon, probeFile } = this.#parts;
    daemon.signal("SIGUSR2");
    const deadline = performance.now() + PROBE_MS;
    for (;;) {
      const lines = existsSync(probeFile) ? readFileSync(probeFile, "utf8").split("\n").slice(0, -1) : [];
      const line = lines[this.#lines];
      if (line !== undefined) {
        this.#lines++;
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own probe has written it
        return JSON.parse(line) as ProbeLine;
      }
      const why = daemon.isOver ? "has ended" : `has not answered its probe for ${PROBE_MS / 1000} s`;
      if (daemon.isOver || performance.now() > deadline)
        throw new Error(`the daemon ${why}\n${daemon.err.slice(-12).join("\n")}`);
      await delay(20);
    }
  }
}

function entriesOf(folder: string): number {
  return existsSync(folder) ? readdirSync(folder).length : Number.NaN;
}
