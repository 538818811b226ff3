import type { Database } from "../database/database.ts";

/** A row of `learned_models`. */
export interface LearnedModelRow {
  readonly model: string;
  /** A window that a refusal has told, with what was configured at that time (0: nothing). */
  readonly window: { readonly tokens: number; readonly configured: number; readonly at: Date } | null;
  /** Real tokens per estimated token. */
  readonly factor: number | null;
}

interface RawLearned {
  model: string;
  window_tokens: number | null;
  configured: number | null;
  window_at: Date | null;
  factor: number | null;
}

/** What was learned of models, by a hash of their server's address. All daemons of the database share it. */
export class LearnedModelStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async load(server: string): Promise<LearnedModelRow[]> {
    const rows = await this.#db.query<RawLearned>(
      {
        name: "learned_models_load",
        text: "select model, window_tokens, configured, window_at, factor from learned_models where server = $1",
      },
      [server],
    );
    return rows.map(({ model, window_tokens: tokens, configured, window_at: at, factor }) => ({
      model,
      window: tokens === null || configured === null || at === null ? null : { tokens, configured, at },
      factor,
    }));
  }

  /** The window of the newest refusal stands, in whatever order daemons write. */
  async keepWindow(
    server: string,
    model: string,
    { tokens, configured, at }: NonNullable<LearnedModelRow["window"]>,
  ): Promise<void> {
    await this.#db.query(
      {
        name: "learned_window_keep",
        text: `insert into learned_models as l (server, model, window_tokens, configured, window_at)
               values ($1, $2, $3, $4, $5)
               on conflict (server, model) do update
                  set window_tokens = excluded.window_tokens, configured = excluded.configured,
                      window_at = excluded.window_at
                where l.window_at is null or l.window_at <= excluded.window_at`,
      },
      [server, model, tokens, configured, at],
    );
  }

  async forget(server: string, model: string): Promise<void> {
    await this.#db.query(
      {
        name: "learned_models_forget",
        text: "delete from learned_models where server = $1 and model = $2",
      },
      [server, model],
    );
  }

  async keepFactor(server: string, model: string, factor: number): Promise<void> {
    await this.#db.query(
      {
        name: "learned_factor_keep",
        text: `insert into learned_models (server, model, factor) values ($1, $2, $3)
               on conflict (server, model) do update set factor = excluded.factor`,
      },
      [server, model, factor],
    );
  }
}
