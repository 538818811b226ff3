import type { ChannelId } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { Rows } from "../database/rows.ts";
import { type ChannelRow, COLUMNS_OF_C, type RawChannel, toChannel } from "./channels.ts";

/** Entries of a channel that are looked through for somebody's name, the newest. */
const LOOKED_THROUGH = 1000;

/** A channel whose chosen model is not configured any more. */
export interface LostModel {
  readonly channel: ChannelRow;
  /** How often it was told of a loss before this one. */
  readonly before: number;
}

export class ChannelModelStore extends Rows {
  /** @param chosen null: the agent's model answers again @returns the channel's row from now on */
  async choose(
    channel: ChannelId,
    chosen: { readonly name: string; readonly by: string } | null,
  ): Promise<ChannelRow> {
    const [row] = await this.db.query<RawChannel>(
      "channel_model_choose",
      `update channels c
          set chosen_model = $2, chosen_by = $3, chosen_at = case when $2::text is null then null else clock_timestamp() end,
              model_loss_told = false
        where c.id = $1 returning ${COLUMNS_OF_C}`,
      [channel, chosen?.name ?? null, chosen === null ? null : storableText(chosen.by)],
    );
    if (row === undefined) throw new Error(`channel ${channel} does not exist`);
    return toChannel(row);
  }

  /** The name under which somebody has last spoken in a channel; undefined: they have not, lately. */
  async nameOf(channel: ChannelId, person: string): Promise<string | undefined> {
    const [row] = await this.db.query<{ name: string }>(
      "channel_model_by",
      `select e.author_name as name from channels c join entries e on e.channel_id = c.id and e.seq > c.last_seq - $3
        where c.id = $1 and e.author_id = $2 and e.kind = 'user' order by e.seq desc limit 1`,
      [channel, person, LOOKED_THROUGH],
    );
    return row?.name;
  }

  /**
   * Channels whose chosen model is not among these, and that have had no notice of it. One whose model is back is told again should it go
   * another time.
   */
  async lost(models: readonly string[]): Promise<LostModel[]> {
    await this.db.query(
      "channel_models_back",
      "update channels set model_loss_told = false where model_loss_told and chosen_model = any($1)",
      [models],
    );
    const rows = await this.db.query<RawChannel & { modelLosses: number }>(
      "channel_models_lost",
      `select ${COLUMNS_OF_C}, c.model_losses from channels c where c.chosen_model <> all($1) and not c.model_loss_told order by c.id`,
      [models],
    );
    return rows.map(({ modelLosses: before, ...row }) => ({ channel: toChannel(row), before }));
  }

  /** A channel was told that it lost its model, unless another was chosen meanwhile. */
  async lossTold(channel: ChannelId, model: string): Promise<void> {
    await this.db.query(
      "channel_model_loss_told",
      "update channels set model_loss_told = true, model_losses = model_losses + 1 where id = $1 and chosen_model = $2",
      [channel, model],
    );
  }
}
