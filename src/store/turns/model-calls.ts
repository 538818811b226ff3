import type { ReportedUsage } from "../../core/calibration.ts";
import { type ModelSpending, totalSpending } from "../../core/cost.ts";
import type { ChannelId, JobId, TurnId } from "../../core/ids.ts";
import type { FeatureCallPurpose } from "../../features/declarations.ts";
import type { WeirEvent } from "../../telemetry/events.ts";
import { Rows } from "../database/rows.ts";
import type { Queryable } from "../database/queryable.ts";

type ModelCall = Extract<WeirEvent, { type: "model_call" }>;

export interface ModelCallRow extends Omit<
  ModelCall,
  "type" | "channel" | "purpose" | "turn" | "job" | "reason" | "firstTokenMs"
> {
  readonly channel: ChannelId;
  readonly turn: TurnId | null;
  /** The compaction's job; null: it was for something else. */
  readonly job: JobId | null;
  /**
   * `embedding`: texts of the channel, or what was looked for there, were sent to the embedding model. `transcription`: a
   * sound of the channel was sent to the model that transcribes.
   */
  readonly purpose: "turn" | "compaction" | "embedding" | "transcription" | FeatureCallPurpose;
  readonly estimatedTokens: number;
  readonly firstTokenMs: number | null;
}

/** The columns that are given; the others have defaults. */
const BILL_COLUMNS = `channel_id, turn_id, job_id, purpose, model, outcome, estimated_tokens, prompt_tokens, cached_tokens,
  written_tokens, completion_tokens, assumed_prompt_tokens, assumed_completion_tokens, first_token_ms, total_ms`;

/** Rows by the names of their columns. */
export function billRecords(calls: readonly ModelCallRow[]): Record<string, unknown>[] {
  return calls.map((call) => ({
    channel_id: call.channel,
    turn_id: call.turn,
    job_id: call.job,
    purpose: call.purpose,
    model: call.model,
    outcome: call.outcome,
    estimated_tokens: call.estimatedTokens,
    prompt_tokens: call.promptTokens,
    cached_tokens: call.cachedTokens,
    written_tokens: call.writtenTokens ?? null,
    completion_tokens: call.completionTokens,
    assumed_prompt_tokens: call.assumedPromptTokens ?? null,
    assumed_completion_tokens: call.assumedCompletionTokens ?? null,
    first_token_ms: call.firstTokenMs === null ? null : Math.round(call.firstTokenMs),
    total_ms: Math.round(call.totalMs),
  }));
}

export interface ModelCallTotals extends Omit<ModelSpending, "model" | "uncounted"> {
  /** The largest request of a turn; 0: none was counted. */
  readonly peakTokens: number;
  /** The same by model and purpose. */
  readonly models: readonly (ModelSpending & Pick<ModelCallRow, "purpose">)[];
}

/** What a call counts with beside what was reported. */
const ASSUMED = "coalesce(assumed_prompt_tokens, 0)";

export const SPENDING = `model, count(*) as calls,
  count(*) filter (where ${ASSUMED} > 0 or assumed_completion_tokens > 0) as uncounted,
  coalesce(sum(coalesce(prompt_tokens, 0) + ${ASSUMED}), 0)::bigint as prompt_tokens, coalesce(sum(cached_tokens), 0)::bigint as cached_tokens,
  coalesce(sum(written_tokens), 0)::bigint as written_tokens,
  coalesce(sum(coalesce(completion_tokens, 0) + coalesce(assumed_completion_tokens, 0)), 0)::bigint as completion_tokens`;

export class ModelCallStore extends Rows {
  async add(calls: readonly ModelCallRow[]): Promise<void> {
    await this.db.query(
      "model_call_add",
      `insert into model_calls (${BILL_COLUMNS})
       select ${BILL_COLUMNS} from jsonb_populate_recordset(null::model_calls, $1)`,
      [JSON.stringify(billRecords(calls))],
    );
  }

  async totals(channel: ChannelId): Promise<ModelCallTotals> {
    const rows = await this.db.query<ModelCallTotals["models"][number] & { peak: number }>(
      "model_call_totals",
      `select purpose, ${SPENDING}, coalesce(max(prompt_tokens), 0) as peak
         from model_calls where channel_id = $1 group by purpose, model order by purpose desc, model`,
      [channel],
    );
    const peaks = rows.flatMap(({ purpose, peak }) => (purpose === "turn" ? [peak] : []));
    const { uncounted: _, ...sum } = totalSpending(rows);
    return { ...sum, peakTokens: Math.max(0, ...peaks), models: rows };
  }

  /** What the calls of a channel's compactions have cost, by job and model. */
  async ofJobs(channel: ChannelId): Promise<ReadonlyMap<JobId, readonly ModelSpending[]>> {
    const rows = await this.db.query<ModelSpending & { job: JobId }>(
      "model_calls_of_jobs",
      `select job_id as job, ${SPENDING} from model_calls
        where channel_id = $1 and job_id is not null group by job_id, model order by model`,
      [channel],
    );
    return Map.groupBy(rows, ({ job }) => job);
  }
}

/** The last request of a channel's own agent that a provider has counted, among its newest calls; null: none of them. */
export async function readLastUsage(client: Queryable, channel: ChannelId): Promise<ReportedUsage | null> {
  const [row] = await client.query<ReportedUsage>(
    // A provider that never reports must not have the whole bill read at every load.
    "usage_last",
    `select model, estimated_tokens as estimated, prompt_tokens as reported
       from (select * from model_calls where channel_id = $1 order by id desc limit 100) newest
      where purpose = 'turn' and outcome = 'answered' and prompt_tokens is not null
        and not exists (select from turns t where t.id = newest.turn_id and t.agent is not null)
      order by id desc limit 1`,
    [channel],
  );
  return row ?? null;
}
