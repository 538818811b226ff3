import path from "node:path";
import { html } from "hono/html";
import { READ_BYTES, readTurnLog } from "../../../../admin/reports/turn-log.ts";
import type { TurnId } from "../../../../core/ids.ts";
import { weirCommand } from "../../../../files/installation.ts";
import { displayable } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import type { ReportedDaemon } from "../../channels.ts";
import type { Markup } from "../markup.ts";

/** What the log of this daemon has of a turn. @param name the channel's */
export async function turnLog(
  { status }: ReportedDaemon,
  name: string,
  turn: TurnId,
  mask: (text: string) => string,
): Promise<Markup> {
  const { log } = status();
  // In words it is no file.
  const lines = log !== undefined && path.isAbsolute(log) ? await readTurnLog(log, turn) : null;
  return html`<h2>Log</h2>
    ${lines === null ? html`<p class="dim">This daemon keeps no log in a file: its standard error has it.</p>` : ""}
    ${
      lines?.length === 0
        ? html`<p class="dim">
            The newest ${formatNumber(READ_BYTES / 1_000_000)} MB of this daemon's log have no line of this
            turn: it is older, or another daemon's.
          </p>`
        : ""
    }
    ${
      lines === null || lines.length === 0
        ? ""
        : html`<pre>${displayable(mask(lines.join("\n")))}</pre>
            <p class="dim">
              Without its sentences, which may quote a request:
              <code>${weirCommand("logs")} --channel ${name}</code> has them.
            </p>`
    }`;
}
