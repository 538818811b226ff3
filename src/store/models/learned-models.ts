import { Rows } from "../database/rows.ts";

export interface LearnedModelRow {
  readonly model: string;
  /** A window, how it was learned and until when it is believed, with what was configured at that time (0: nothing). */
  readonly window: {
    readonly tokens: number;
    readonly source: "told" | "measured" | "guessed";
    readonly configured: number;
    readonly at: Date;
    readonly until: Date;
  } | null;
  /** Real tokens per estimated token. */
  readonly factor: number | null;
}

interface RawLearned {
  model: string;
  windowTokens: number | null;
  configured: number | null;
  windowAt: Date | null;
  windowSource: "told" | "measured" | "guessed";
  windowUntil: Date | null;
  factor: number | null;
}

/** What was learned of models, by a hash of their server's address. All daemons of the database share it. */
export class LearnedModelStore extends Rows {
  async load(server: string): Promise<LearnedModelRow[]> {
    const rows = await this.db.query<RawLearned>(
      "learned_models_load",
      `select model, window_tokens, configured, window_at, factor, window_source, window_until
         from learned_models where server = $1`,
      [server],
    );
    return rows.map(({ model, windowTokens: tokens, configured, windowAt: at, factor, ...known }) => {
      const { windowSource: source, windowUntil: until } = known;
      const isThere = tokens !== null && configured !== null && at !== null && until !== null;
      return { model, window: isThere ? { tokens, source, configured, at, until } : null, factor };
    });
  }

  /** The window of the newest refusal stands, in whatever order daemons write. */
  async keepWindow(
    server: string,
    model: string,
    { tokens, source, configured, at, until }: NonNullable<LearnedModelRow["window"]>,
  ): Promise<void> {
    await this.db.query(
      "learned_window_keep",
      `insert into learned_models as l (server, model, window_tokens, configured, window_at, window_source, window_until)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (server, model) do update
          set window_tokens = excluded.window_tokens, configured = excluded.configured,
              window_at = excluded.window_at, window_source = excluded.window_source,
              window_until = excluded.window_until
        where l.window_at is null or l.window_at <= excluded.window_at`,
      [server, model, tokens, configured, at, source, until],
    );
  }

  async forget(server: string, model: string): Promise<void> {
    await this.db.query(
      "learned_models_forget",
      "delete from learned_models where server = $1 and model = $2",
      [server, model],
    );
  }

  async keepFactor(server: string, model: string, factor: number): Promise<void> {
    await this.db.query(
      "learned_factor_keep",
      `insert into learned_models (server, model, factor) values ($1, $2, $3)
       on conflict (server, model) do update set factor = excluded.factor`,
      [server, model, factor],
    );
  }
}

export interface RefusedFieldRow {
  readonly model: string;
  readonly refused: {
    readonly field: string;
    readonly value: string;
    readonly status: number | null;
    readonly code: string;
  };
}

/** What models have refused, by a hash of their server's address. All daemons of the database share it. */
export class RefusedFieldStore extends Rows {
  async load(server: string): Promise<RefusedFieldRow[]> {
    return this.db.query<RefusedFieldRow>(
      "refused_fields_load",
      `select model, json_build_object('field', field, 'value', value, 'status', status, 'code', code) as refused
         from refused_fields where server = $1 order by at, field`,
      [server],
    );
  }

  async forget(server: string, model: string): Promise<void> {
    await this.db.query(
      "refused_fields_forget",
      "delete from refused_fields where server = $1 and model = $2",
      [server, model],
    );
  }

  /** The first refusal stands. */
  async keep(
    server: string,
    model: string,
    { field, value, status, code }: RefusedFieldRow["refused"],
  ): Promise<void> {
    await this.db.query(
      "refused_field_keep",
      `insert into refused_fields (server, model, field, value, status, code)
       values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
      [server, model, field, value, status, code],
    );
  }
}
