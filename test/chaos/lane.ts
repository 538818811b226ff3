/** A process that makes one run of several side by side, tells its parent each line, and at the end what came of it. */
import process from "node:process";
import type { ReportData } from "./report.ts";
import { type ChaosOptions, runChaos } from "./run.ts";

/** What a lane is told. */
export type LaneTask = Omit<ChaosOptions, "onLine">;

/** What a lane tells. */
export type LaneNews = { readonly line: string } | { readonly report: ReportData };

process.once("message", (task: LaneTask) => {
  void run(task);
});

async function run(task: LaneTask): Promise<void> {
  const tell = (news: LaneNews): void => void process.send?.(news);
  const report = await runChaos({ ...task, onLine: (line) => tell({ line }) });
  tell({ report: report.data });
  process.disconnect();
}
