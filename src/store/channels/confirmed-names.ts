import type { Server } from "../../core/message.ts";
import { Rows } from "../database/rows.ts";

/** A name of the configuration, and the servers in which it holds. */
export interface ConfirmedName {
  readonly kind: "workspace" | "channel" | "role";
  readonly name: string;
  /** As they were called then. */
  readonly servers: readonly Server[];
  readonly confirmedAt: Date;
}

/** In which servers the names of the configuration hold: settled when Weir first starts with a name. */
export class NameStore extends Rows {
  async read(platform: string): Promise<ConfirmedName[]> {
    return this.db.query<ConfirmedName>(
      "names_read",
      "select kind, name, servers, confirmed_at from confirmed_names where platform = $1 order by kind, name",
      [platform],
    );
  }

  /** Settles where a name holds; one that is settled stays as it is. */
  async confirm(
    platform: string,
    kind: ConfirmedName["kind"],
    name: string,
    servers: readonly Server[],
  ): Promise<void> {
    await this.db.query(
      "name_confirm",
      "insert into confirmed_names (platform, kind, name, servers) values ($1, $2, $3, $4) on conflict do nothing",
      [platform, kind, name, JSON.stringify(servers.map(({ id, name: called }) => ({ id, name: called })))],
    );
  }
}
