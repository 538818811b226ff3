import { Rows } from "../database/rows.ts";

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
