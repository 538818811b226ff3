import type { ChannelId } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";

/** The names of people, by channel. */
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
