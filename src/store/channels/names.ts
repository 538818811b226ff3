import type { ChannelId } from "../../core/ids.ts";
import type { ChannelRename, Server } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
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

/** Ids that platforms have given to channels of the log since. */
export class ChannelRenameStore extends Rows {
  /** The oldest first. */
  async all(platform: string): Promise<ChannelRename[]> {
    return this.db.query<ChannelRename>(
      "channel_renames",
      "select id, first_id from channel_renames where platform = $1 order by noted_at, id",
      [platform],
    );
  }

  /** Twice is once; leaves a channel alone whose new id has messages of its own. */
  async note(platform: string, from: string, to: string): Promise<void> {
    await this.db.query("channel_rename", "select rename_channel($1, $2, $3)", [
      platform,
      storableText(from),
      storableText(to),
    ]);
  }
}

export class SpeakerStore extends Rows {
  /**
   * The number of a person among those who have spoken there under a name, from 1; always the same.
   * @param name in the form in which names are compared
   */
  async number(channel: ChannelId, name: string, authorId: string): Promise<number> {
    const [row] = await this.db.query<{ number: number }>(
      "speaker_number",
      "select speaker_number($1, $2, $3) as number",
      [channel, name, authorId],
    );
    return row?.number ?? 1;
  }
}
