import type { ReportedUsage } from "../../core/calibration.ts";
import { type History, rawFrom } from "../../core/history.ts";
import type { ChannelId } from "../../core/ids.ts";
import { PACED_TURNS, type TurnTime } from "../../core/pace.ts";
import { type ChannelRow, readChannel } from "./channels.ts";
import { readEntries } from "../log/entry-rows.ts";
import { readCoverage } from "../compaction/summaries.ts";
import type { LearnedRows } from "../compaction/learned-rows.ts";
import { readUnderWay, type UnderWay } from "../compaction/jobs.ts";
import type { Database } from "../database/database.ts";
import { readLastUsage } from "../turns/model-calls.ts";
import type { RunningTurn } from "../turns/turn-rows.ts";
import { readRunningTurn, readTurnTimes } from "../turns/turns.ts";

/** All that an actor needs of a channel, as of one moment. */
export interface ChannelSnapshot extends UnderWay {
  readonly channel: ChannelRow;
  readonly history: History;
  /** The turn that was running, if any: its owner died, or is us. */
  readonly running: RunningTurn | null;
  /** The last of its turns' requests that a provider has counted; null: none of late. */
  readonly lastUsage: ReportedUsage | null;
  /** When the newest turns of its own agent began, oldest first. */
  readonly turnTimes: readonly TurnTime[];
}

/** Loads a channel in one snapshot: the fold of its rows is the history that was in memory before any crash. */
export async function loadSnapshot(
  db: Database,
  id: ChannelId,
  learned: LearnedRows,
): Promise<ChannelSnapshot> {
  return db.snapshot(async (client) => {
    const channel = await readChannel(client, id);
    const { omittedTo, settledTo, lastSeq } = channel;
    const entries = await readEntries(client, id, rawFrom(channel), lastSeq);
    const coverage = await readCoverage(client, id, channel, learned);
    const history = { ...coverage, omittedTo, settledTo, lastSeq, entries };
    const underWay = await readUnderWay(client, id);
    const running = await readRunningTurn(client, id);
    return {
      channel,
      history,
      running,
      ...underWay,
      lastUsage: await readLastUsage(client, id),
      turnTimes: await readTurnTimes(client, id, PACED_TURNS),
    };
  });
}
