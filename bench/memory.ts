import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { ChannelId } from "../src/core/ids.ts";
import { createTalk } from "./support/conversation.ts";
import { makeFolder, startBenchDaemon } from "./support/daemon.ts";
import type { Bench, Figure, Row } from "./support/figure.ts";
import { openChannel } from "./support/fill.ts";
import { underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";
import { remembered } from "./remembered.ts";
import { startDaemonProcess } from "./start.ts";

/**
 * Which statements the checks of memories let through; then the memory of a daemon, and of each further channel: by its heap, since freed memory seldom leaves the process.
 */
export const memory: Figure = {
  name: "memory",
  about:
    "what the checks of memories let through; memory of an idle daemon, and of a channel with 50 messages of 1,000 characters",
  async run(bench: Bench): Promise<Row[]> {
    const checked = remembered(bench);
    const idle = await idleMegabytes();
    const channels = bench.isQuick ? 100 : 400;
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: "reply-0-8", summariser: "summary-0" }],
      daemon: "idle_evict_ms = 1000\nmax_loaded_channels = 100000",
    });
    const { registry, eviction } = weir.daemon;
    const ids: ChannelId[] = [];
    for (let index = 0; index < channels + 20; index++) {
      ids.push(
        await openChannel(weir, {
          agent: "main",
          name: `r${index}`,
          count: 49,
          textLength: 1000,
          seed: index,
        }),
      );
    }
    const talk = createTalk(3);
    const ask = async (index: number): Promise<unknown> => weir.platform.ask(`r${index}`, talk(1000));
    for (let index = 0; index < 20; index++) await ask(index);
    const { result, load } = await underWatch(weir.dataDir, async () => {
      const before = await heapUsed();
      for (const id of ids.slice(20)) await registry.get(id);
      const loaded = await heapUsed();
      for (let index = 20; index < channels + 20; index++) await ask(index);
      const talked = await heapUsed();
      await weir.daemon.registry.compactionsIdle();
      eviction.evictIdle();
      const left = registry.size;
      return { before, loaded, talked, evicted: await heapUsed(), left };
    });
    const { before, loaded, talked, evicted, left } = result;
    if (left > 0) throw new Error(`${left} channels were not evicted`);
    const kilobytes = (bytes: number): number => bytes / channels / 1024;
    return [
      ...checked,
      { what: "resident, idle", value: idle, unit: "MB", bar: { atMost: 120 } },
      { what: "heap a channel, loaded", value: kilobytes(loaded - before), unit: "KB", bar: { atMost: 70 } },
      { what: "heap a channel, after a turn", value: kilobytes(talked - before), unit: "KB" },
      { what: "heap a channel, evicted", value: kilobytes(evicted - before), unit: "KB", bar: { atMost: 1 } },
      { what: "event-loop delay, p99, forced collections included", value: load.loopDelayMs, unit: "ms" },
    ];
  },
};

/** Waits until no work is pending, which would hold memory for a moment. */
async function heapUsed(): Promise<number> {
  const { gc } = globalThis;
  if (gc === undefined) throw new Error("needs --expose-gc");
  for (let round = 0; round < 4; round++) {
    await delay(700);
    gc();
  }
  return process.memoryUsage().heapUsed;
}

/** Resident memory of an idle `weir start`, MB. */
async function idleMegabytes(): Promise<number> {
  await using folder = await makeFolder();
  {
    // The first start after a change of the source also fills Node's code cache.
    await using first = await startDaemonProcess(folder.path);
    void first;
  }
  await using daemon = await startDaemonProcess(folder.path);
  await delay(3000);
  const status = readFileSync(`/proc/${daemon.pid}/status`, "utf8");
  return Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? NaN) / 1024;
}
