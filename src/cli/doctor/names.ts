import type { Config } from "../../config/config.ts";
import { errorMessage, type Finding } from "../../core/errors.ts";
import type { Server } from "../../core/message.ts";
import { PLATFORM_ROWS } from "../../platforms/platforms.ts";
import { plainName } from "../../router/bindings.ts";
import { isAmbiguous, type UsedName, usedNames } from "../../router/confirmed-names.ts";
import { FEATURE_ROWS } from "../../features/stored.ts";
import type { ConfirmedName } from "../../store/channels/names.ts";
import { openDatabase } from "../../store/database/open.ts";
import { createStore } from "../../store/store.ts";
import { type Io } from "../shared/io.ts";
import { openLog } from "../shared/open.ts";
import { weirCommand } from "../../files/installation.ts";

/** Where each kind of name stands in config.toml. */
const KEYS = { workspace: "workspaces", channel: "channels", role: "allow_roles or owner_roles" } as const;
const USE_IDS = "anybody may give such a name to what is theirs; an id is safe, and holds at once";
/** Servers that one line names. */
const SHOWN = 5;

/** A platform in use on which strangers can bring the bot into their servers, and its configured names. */
interface OpenNames {
  readonly platform: string;
  readonly names: readonly UsedName[];
  readonly servers: () => Promise<readonly Server[]>;
}

function openNames({ bindings, platforms }: Config): OpenNames[] {
  return PLATFORM_ROWS.flatMap((row) => {
    const config = platforms[row.key];
    if (config === null || row.servers === undefined) return [];
    const names = usedNames(bindings, { [row.key]: config.ownerRoles }).filter(
      ({ platform }) => platform === row.key,
    );
    const servers = async (): Promise<readonly Server[]> => (await row.servers?.(config)) ?? [];
    return names.length === 0 ? [] : [{ platform: row.key, names, servers }];
  });
}

/** The warning of `weir config check` about names, without asking a platform; empty: there are no such names. */
export function warnOfNames(config: Config): string {
  return openNames(config)
    .map(({ platform, names }) => {
      const all = names.map(({ kind, name }) => `"${name}" in ${KEYS[kind]}`).join(", ");
      return `names on ${platform}: ${all}. They hold in the servers that the bot was in when Weir first started with them (\`${weirCommand("doctor")}\` shows which): ${USE_IDS}.`;
    })
    .join("\n");
}

/** The current meaning of each name. Does not throw. */
export async function lookAtNames(io: Io, config: Config): Promise<readonly Finding[]> {
  const open = openNames(config);
  if (open.length === 0) return [];
  try {
    await using opened = await openDatabase(config.database, openLog(io, config, "silent"), "reader");
    const store = createStore(opened.database, FEATURE_ROWS).names;
    const findings: Finding[] = [];
    for (const { platform, names, servers: list } of open) {
      const rows = await store.read(platform);
      const servers = await list();
      const recordOf = ({ kind, name }: UsedName): ConfirmedName | undefined =>
        rows.find((row) => kind === row.kind && name === row.name);
      findings.push(...names.map((used) => findingOf(used, recordOf(used), servers)));
    }
    return findings;
  } catch (error) {
    const todo = "mend what is said above first; names that stand as ids need no look";
    return [{ what: "names", state: "unsure", detail: errorMessage(error), todo }];
  }
}

/**
 * @param row what is on record; undefined: nothing yet
 * @param servers those that the bot is in now
 */
export function findingOf(
  { platform, kind, name }: UsedName,
  row: ConfirmedName | undefined,
  servers: readonly Server[],
): Finding {
  const what = `name "${name}" in ${KEYS[kind]}`;
  const todo = USE_IDS;
  const namesakes = kind === "workspace" ? servers.filter((one) => plainName(one.name) === name) : servers;
  if (row === undefined && servers.length === 0) {
    const invited = `invite the bot (\`${weirCommand(`invite ${platform}`)}\`), and then start Weir again: that settles it`;
    return { what, state: "unsure", detail: "nothing yet; the bot is in no server", todo: invited };
  }
  if (row === undefined)
    return {
      what,
      state: "unsure",
      detail: `nothing yet; it is settled by the next start, by ${listed(namesakes)}`,
      todo,
    };
  if (isAmbiguous(row))
    return { what, state: "wrong", detail: `means none of ${listed(row.servers)}: all are called so`, todo };
  if (row.servers.length === 0)
    return { what, state: "wrong", detail: "means no server: none was called so when it was settled", todo };
  const others = namesakes.filter(({ id }) => row.servers.every((one) => one.id !== id));
  const day = row.confirmedAt.toISOString().slice(0, 10);
  const detail = `${kind === "workspace" ? "means" : "holds in"} ${listed(row.servers)}, since ${day}`;
  if (others.length === 0) return { what, state: "ok", detail };
  return {
    what,
    state: "unsure",
    detail: `${detail}; not in ${listed(others)}`,
    todo: "where such a server is yours, write its id in workspaces",
  };
}

function listed(servers: readonly Server[]): string {
  if (servers.length === 0) return "no server";
  const shown = servers.slice(0, SHOWN).map(({ id, name }) => `${name} (${id})`);
  return shown.join(", ") + (servers.length > SHOWN ? ` and ${servers.length - SHOWN} more` : "");
}
