import type { ReportedUsage } from "../../core/calibration.ts";
import type { ChannelId, TurnId } from "../../core/ids.ts";
import type { Database, Queryable } from "../database/database.ts";

/** What one call of a model cost. */
export interface ModelCallRow {
  readonly channel: ChannelId;
  readonly turn: TurnId | null;
  readonly purpose: "turn" | "compaction";
  readonly model: string;
  readonly outcome: string;
  /** What we had estimated for the whole request. */
  readonly estimatedTokens: number;
  readonly promptTokens: number | null;
  readonly cachedTokens: number | null;
  readonly completionTokens: number | null;
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
}

/** The columns that are given; the others have defaults. */
const BILL_COLUMNS = `channel_id, turn_id, purpose, model, outcome, estimated_tokens, prompt_tokens, cached_tokens,
  completion_tokens, first_token_ms, total_ms`;

/** Rows by the names of their columns. */
export function billRecords(calls: readonly ModelCallRow[]): Record<string, unknown>[] {
  return calls.map((call) => ({
    channel_id: call.channel,
    turn_id: call.turn,
    purpose: call.purpose,
    model: call.model,
    outcome: call.outcome,
    estimated_tokens: call.estimatedTokens,
    prompt_tokens: call.promptTokens,
    cached_tokens: call.cachedTokens,
    completion_tokens: call.completionTokens,
    first_token_ms: call.firstTokenMs === null ? null : Math.round(call.firstTokenMs),
    total_ms: Math.round(call.totalMs),
  }));
}

export interface ModelCallTotals {
  readonly calls: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** The largest request of a turn; 0: none was counted. */
  readonly peakTokens: number;
}

type RawTotals = Record<"calls" | "prompt" | "cached" | "completion" | "peak", number>;

/** Rows of `model_calls`. */
export class ModelCallStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async add(call: ModelCallRow): Promise<void> {
    await this.#db.query(
      {
        name: "model_call_add",
        text: `insert into model_calls (${BILL_COLUMNS})
               select ${BILL_COLUMNS} from jsonb_populate_recordset(null::model_calls, $1)`,
      },
      [JSON.stringify(billRecords([call]))],
    );
  }

  /** What a channel has cost so far, by what the providers reported. */
  async totals(channel: ChannelId): Promise<ModelCallTotals> {
    const [row] = await this.#db.query<RawTotals>(
      {
        name: "model_call_totals",
        text: `select count(*) as calls, coalesce(sum(prompt_tokens), 0)::bigint as prompt,
                      coalesce(sum(cached_tokens), 0)::bigint as cached,
                      coalesce(sum(completion_tokens), 0)::bigint as completion,
                      coalesce(max(prompt_tokens) filter (where purpose = 'turn'), 0) as peak
                 from model_calls where channel_id = $1`,
      },
      [channel],
    );
    return {
      calls: row?.calls ?? 0,
      promptTokens: row?.prompt ?? 0,
      cachedTokens: row?.cached ?? 0,
      completionTokens: row?.completion ?? 0,
      peakTokens: row?.peak ?? 0,
    };
  }
}

/** The last request of a channel's turns that a provider has counted, among its newest calls; null: none of them. */
export async function readLastUsage(client: Queryable, channel: ChannelId): Promise<ReportedUsage | null> {
  const [row] = await client.query<{ model: string; estimated_tokens: number; prompt_tokens: number }>(
    {
      // A provider that never reports must not have the whole bill read at every load.
      name: "usage_last",
      text: `select model, estimated_tokens, prompt_tokens
               from (select * from model_calls where channel_id = $1 order by id desc limit 100) newest
              where purpose = 'turn' and outcome = 'answered' and prompt_tokens is not null
              order by id desc limit 1`,
    },
    [channel],
  );
  if (row === undefined) return null;
  return { model: row.model, estimated: row.estimated_tokens, reported: row.prompt_tokens };
}
