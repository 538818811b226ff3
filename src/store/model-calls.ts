import type { ChannelId, TurnId } from "../core/ids.ts";
import type { Database } from "./pool.ts";

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

export interface ModelCallTotals {
  readonly calls: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

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
        text: `insert into model_calls (channel_id, turn_id, purpose, model, outcome, estimated_tokens, prompt_tokens,
                 cached_tokens, completion_tokens, first_token_ms, total_ms)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      },
      [
        call.channel,
        call.turn,
        call.purpose,
        call.model,
        call.outcome,
        call.estimatedTokens,
        call.promptTokens,
        call.cachedTokens,
        call.completionTokens,
        call.firstTokenMs === null ? null : Math.round(call.firstTokenMs),
        Math.round(call.totalMs),
      ],
    );
  }

  /** What a channel has cost so far, by what the providers reported. */
  async totals(channel: ChannelId): Promise<ModelCallTotals> {
    const [row] = await this.#db.query<{ calls: number; prompt: number; cached: number; completion: number }>(
      {
        name: "model_call_totals",
        text: `select count(*) as calls, coalesce(sum(prompt_tokens), 0)::bigint as prompt,
                      coalesce(sum(cached_tokens), 0)::bigint as cached,
                      coalesce(sum(completion_tokens), 0)::bigint as completion
                 from model_calls where channel_id = $1`,
      },
      [channel],
    );
    return {
      calls: row?.calls ?? 0,
      promptTokens: row?.prompt ?? 0,
      cachedTokens: row?.cached ?? 0,
      completionTokens: row?.completion ?? 0,
    };
  }
}
