import { join } from "node:path";
import { maskOf, secretsOf } from "../../admin/secrets.ts";
import type { Config } from "../../config/config.ts";
import { holdsSecret } from "../../memory/secrets.ts";
import { openHistoryFile } from "../../platforms/terminal/typed/input-history.ts";
import type { InputHistory } from "../../platforms/terminal/presenters/presenter.ts";
import { TYPED_HISTORY } from "../../store/database/data-folder.ts";

/** The input history of this machine's terminals; undefined: it is turned off. */
export function openTypedHistory(config: Config): InputHistory | undefined {
  if (!config.terminal.history) return undefined;
  const masked = maskOf(secretsOf(config));
  return openHistoryFile(
    join(config.database.dataDir, TYPED_HISTORY),
    (text) => holdsSecret(text) || masked(text) !== text,
  );
}
