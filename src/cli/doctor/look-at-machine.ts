import { statfs } from "node:fs/promises";
import path from "node:path";
import type { Config, DatabaseConfig } from "../../config/config.ts";
import { errorCode, errorMessage, type Finding } from "../../core/errors.ts";
import { findForeign } from "../../store/database/data-folder.ts";
import { shownProxy } from "../../network/proxies.ts";
import { formatNumber } from "../../text/format.ts";
import { weirCommand } from "../../files/installation.ts";

/** Checks the machine for obstacles to a daemon, for `weir doctor`. It only reads. */

/** Free space below which a database soon stops, and below which it is worth a word, bytes. */
const TOO_LITTLE = 200_000_000;
const LITTLE = 1_000_000_000;

/** Patterns found in a database error or in its server's log, each with its remedy. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /no space left|disk of the database is full/i,
    "make room on the disk of the data folder, then start Weir again: nothing is lost",
  ],
  [
    /not a valid data directory|could not (?:open|read|locate|find) .{0,200}(?:file|directory|checkpoint)|invalid checkpoint|checksum|PANIC|corrupt/i,
    `the files of the database are damaged or missing: put the data folder back from a copy, or set data_dir to a new place and run \`${weirCommand("restore")}\` with your last backup; keep this folder until that works`,
  ],
  [/ulimit/, "raise the limit of open files (ulimit -n), and try again"],
  [
    /certificate|sslmode|sslrootcert/i,
    "set sslmode and sslrootcert in DATABASE_URL as the server's certificate wants it: docs/postgres.md says what they mean",
  ],
  [
    /no connection left|too many (?:clients|connections)|remaining connection slots/i,
    "raise max_connections of the server, or end programs that hold its connections; Weir takes 15 at most, and one more in a cluster",
  ],
  [
    /ECONNREFUSED|could not be reached|ENOTFOUND|EHOSTUNREACH/,
    "see that the server of DATABASE_URL runs, and that this machine reaches its host and port",
  ],
  [
    /timeout|timed out/i,
    "the server of the database answers too slowly: see what keeps it busy, and try again",
  ],
];

export function databaseRemedy(message: string, { url }: Pick<DatabaseConfig, "url">): string {
  const [, remedy] = REMEDIES.find(([sign]) => sign.test(message)) ?? [];
  if (remedy !== undefined) return remedy;
  return url === null
    ? "see that the folder can be written to and has room; postgres.log in it says more"
    : "see that the server of DATABASE_URL runs and lets this user in";
}

/** The data folder: whether there is room, and whether others' things are in it. */
export async function lookAtFolder({
  database: { url, dataDir },
}: Pick<Config, "database">): Promise<readonly Finding[]> {
  if (url !== null) return [];
  const what = "data folder";
  const foreign = await findForeign(dataDir).catch(() => null);
  const others: Finding[] =
    foreign === null
      ? []
      : [
          {
            what,
            state: "unsure",
            detail: `${dataDir} also holds ${JSON.stringify(foreign)}, which is none of Weir's, so Weir does not close it to other accounts`,
            todo: "set data_dir under [database] to a folder of its own",
          },
        ];
  return [...others, ...(await lookAtRoom(dataDir))];
}

async function lookAtRoom(dataDir: string): Promise<Finding[]> {
  const what = "disk";
  const free = await freeBytes(dataDir);
  if (free === null || free >= LITTLE) return [];
  const detail = `${formatNumber(Math.round(free / 1_000_000))} MB are free for ${dataDir}`;
  const todo = "make room: a full disk stops the database";
  return [{ what, state: free < TOO_LITTLE ? "wrong" : "unsure", detail, todo }];
}

/**
 * Free space of the disk on which the folder is, or would be.
 * @returns null: unknown
 */
export async function freeBytes(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    const parent = path.dirname(folder);
    return errorCode(error) === "ENOENT" && parent !== folder ? freeBytes(parent) : null;
  }
}

/** Whether the HTTP service could listen, or a Weir does. */
export async function lookAtHttp({ http }: Pick<Config, "http">): Promise<readonly Finding[]> {
  if (http === null) return [];
  const what = "HTTP";
  const { answersAsWeir, isTaken, tryListen } = await import("../../daemon/http/service.ts");
  try {
    await tryListen(http);
    return [{ what, state: "ok", detail: `nobody listens on ${http.host}:${http.port} yet` }];
  } catch (error) {
    if (await answersAsWeir(http.host, http.port))
      return [{ what, state: "ok", detail: `a Weir answers on ${http.host}:${http.port}` }];
    if (http.mayMove && isTaken(error))
      return [
        {
          what,
          state: "ok",
          detail: `another program listens on ${http.host}:${http.port}: the next free port is used`,
        },
      ];
    const finding = { what, state: "wrong", detail: errorMessage(error) } as const;
    // Other errors name their own remedy.
    if (!isTaken(error)) return [finding];
    return [
      { ...finding, todo: "end what listens there (ss -ltnp shows it), or choose another port under [http]" },
    ];
  }
}

/** The proxies of the environment, and the parts that do not use them. Pure. */
export function lookAtProxies({ proxies }: Pick<Config, "proxies">): readonly Finding[] {
  if (proxies === null) return [];
  const way = (proxy: string | null): string =>
    proxy === null ? "directly" : `through ${shownProxy(proxy)}`;
  const except = proxies.except === "" ? "" : ", NO_PROXY";
  const detail =
    `https is asked ${way(proxies.https)}, http ${way(proxies.http)}; ` +
    `without a proxy go this machine${except}, Postgres and RabbitMQ`;
  return [{ what: "proxy", state: "ok", detail }];
}
