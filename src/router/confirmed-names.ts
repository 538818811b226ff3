import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import type { Server } from "../core/message.ts";
import { platformRow } from "../platforms/platforms.ts";
import type { ConfirmedName, NameStore } from "../store/channels/names.ts";
import { type Binding, isId, type NameKind, plainName } from "./bindings.ts";

/**
 * Decides in which servers the names of the configuration are valid. A stranger can bring a Discord bot into their own server
 * and choose the names of that server, its channels and its roles. So a name is valid in the servers that the bot was in when
 * Weir first started with the name; the database records them. In any other server, the server's id must be in `workspaces`.
 * From then on, ids replace the names of servers.
 */
export class ConfirmedNames {
  readonly #store: NameStore;
  readonly #log: Logger;
  #uses: Uses;
  /** By platform: lists the servers that were met. */
  readonly #met = new Map<string, () => Promise<readonly Server[]>>();
  /** By {@link keyOf}: ids of servers. Empty until the servers are met. */
  readonly #record = new Map<string, ReadonlySet<string>>();
  readonly #told = new Set<string>();
  /** Platforms that have not listed the bot's servers. */
  readonly #unconfirmed = new Set<string>();

  constructor(parts: NamingConfig & { readonly store: NameStore; readonly log: Logger }) {
    this.#store = parts.store;
    this.#log = parts.log;
    this.#uses = usesOf(parts);
  }

  /**
   * Confirms the names of a new configuration in the known servers, as a start with it would. Names that cannot be confirmed
   * now are valid nowhere until the next connection.
   * @returns a function that activates them
   */
  async prepare(next: NamingConfig): Promise<() => void> {
    const uses = usesOf(next);
    for (const [platform, list] of this.#met) {
      try {
        await this.#confirm(uses, platform, list);
        this.#unconfirmed.delete(platform);
      } catch (error) {
        this.#unconfirmed.add(platform);
        this.#log.warn({ platform, why: errorMessage(error) }, "names_not_confirmed_yet");
      }
    }
    return () => {
      this.#uses = uses;
      this.#told.clear();
    };
  }

  /** All names were confirmed in the servers that platforms have listed. */
  get areConfirmed(): boolean {
    return this.#unconfirmed.size === 0;
  }

  /** Whether a plain name is valid in a server. Before the servers are known, no name is. */
  holds(platform: string, kind: NameKind, name: string, server: string): boolean {
    if (!isOpen(platform) || this.#uses.ids.has(`${platform} ${server}`)) return true;
    return this.#record.get(keyOf(platform, kind, name))?.has(server) ?? false;
  }

  /**
   * Records names that are used for the first time, and warns of servers that have only the name of a
   * configured server. Call it before the first message of a connection.
   * @param list the servers that the bot is in; called only if a configured name could mean a server
   * @throws what `list` throws; WeirError if the database does not answer
   */
  async meet(platform: string, list: () => Promise<readonly Server[]>): Promise<void> {
    this.#met.set(platform, list);
    await this.#confirm(this.#uses, platform, list);
    this.#unconfirmed.delete(platform);
  }

  async #confirm(uses: Uses, platform: string, list: () => Promise<readonly Server[]>): Promise<void> {
    const used = uses.used.get(platform) ?? [];
    if (used.length === 0 || !isOpen(platform)) return;
    const servers = await list();
    // If the bot is in no server yet, no name can be confirmed.
    if (servers.length === 0) this.#log.warn({ platform, names: used.map(({ name }) => name) }, NOT_SETTLED);
    for (const { kind, name } of servers.length === 0 ? [] : used)
      await this.#store.confirm(platform, kind, name, serversOf(kind, name, servers));
    const wanted = new Set(used.map(({ kind, name }) => keyOf(platform, kind, name)));
    for (const row of await this.#store.read(platform)) {
      const key = keyOf(platform, row.kind, row.name);
      if (!wanted.has(key)) continue;
      const ids = isAmbiguous(row) ? [] : row.servers.map(({ id }) => id);
      this.#record.set(key, new Set(ids));
      if (isAmbiguous(row))
        this.#log.warn(
          { platform, name: row.name, servers: row.servers.map(({ id }) => id) },
          "name_is_ambiguous: several servers have this name, so it means none of them; " +
            "write the id of yours in workspaces instead",
        );
      else if (row.servers.length === 0)
        this.#log.warn(
          { platform, kind: row.kind, name: row.name },
          "name_means_nothing: no server had this name when Weir first started with it; write the server's id instead",
        );
    }
    for (const server of servers) this.#tellNamesake(platform, server);
  }

  /** Warns, once, of a server in which configured names are not valid, if a message there has no binding. */
  tellUnbound(platform: string, server: Server): void {
    this.#tellNamesake(platform, server);
    const { id, name } = server;
    const used = this.#uses.used.get(platform) ?? [];
    const unheld = used.filter(
      (one) => one.kind !== "workspace" && !this.holds(platform, one.kind, one.name, id),
    );
    const unsettled = used.filter((one) => !this.#record.has(keyOf(platform, one.kind, one.name)));
    if (id === "" || unheld.length + unsettled.length === 0 || !this.#isNews(platform, id)) return;
    if (unsettled.length > 0) {
      const names = unsettled.map((one) => one.name);
      this.#log.warn({ platform, server: id, name, names }, NOT_SETTLED);
      return;
    }
    this.#log.warn(
      { platform, server: id, name, names: unheld.map((one) => one.name) },
      "names_do_not_hold: this server was not there when these names were confirmed; " +
        "if it is yours, write its id in workspaces",
    );
  }

  /** Warns, once, of a server that is only named like a configured one. */
  #tellNamesake(platform: string, { id, name }: Server): void {
    const plain = plainName(name);
    const used = this.#uses.used.get(platform) ?? [];
    const isMeant = used.some((one) => one.kind === "workspace" && one.name === plain);
    // An unconfirmed name was not confirmed without this server, either.
    if (!this.#record.has(keyOf(platform, "workspace", plain))) return;
    if (!isMeant || this.holds(platform, "workspace", plain, id) || !this.#isNews(platform, id)) return;
    this.#log.warn(
      { platform, server: id, name },
      "server_not_bound: it has a name that stands in workspaces, and was not there when that was confirmed; " +
        "if it is yours, write its id there instead of the name",
    );
  }

  #isNews(platform: string, server: string): boolean {
    const key = `${platform} ${server}`;
    const isNews = !this.#told.has(key);
    this.#told.add(key);
    return isNews;
  }
}

const NOT_SETTLED =
  "names_not_settled: the bot was in no server when Weir connected, so these names mean nothing yet; " +
  "invite it, and restart Weir, which settles them; or write ids instead";

export type NamingBinding = Pick<Binding, "platform" | "workspaces" | "channels" | "allowRoles">;

/** The part of a configuration that has names. */
export interface NamingConfig {
  readonly bindings: readonly NamingBinding[];
  /** By platform. */
  readonly ownerRoles: Readonly<Record<string, readonly string[]>>;
}

interface Uses {
  /** By platform. */
  readonly used: ReadonlyMap<string, readonly UsedName[]>;
  /** Servers that it names by id, as `platform id`. */
  readonly ids: ReadonlySet<string>;
}

function usesOf({ bindings, ownerRoles }: NamingConfig): Uses {
  return {
    used: Map.groupBy(usedNames(bindings, ownerRoles), ({ platform }) => platform),
    ids: new Set(bindings.flatMap(({ platform, workspaces }) => workspaces.map((id) => `${platform} ${id}`))),
  };
}

export interface UsedName {
  readonly platform: string;
  readonly kind: NameKind;
  /** As {@link plainName} returns it. */
  readonly name: string;
}

/** Names, not ids, that a configuration uses; each once. Pure. */
export function usedNames(
  bindings: readonly NamingBinding[],
  ownerRoles: Readonly<Record<string, readonly string[]>>,
): UsedName[] {
  const names = new Map<string, UsedName>();
  const add = (platform: string, kind: NameKind, wanted: readonly string[]): void => {
    for (const one of wanted) {
      const name = plainName(one);
      if (!isId(one) && name !== "") names.set(keyOf(platform, kind, name), { platform, kind, name });
    }
  };
  for (const { platform, workspaces, channels, allowRoles } of bindings) {
    add(platform, "workspace", workspaces);
    add(platform, "channel", channels);
    add(platform, "role", allowRoles);
  }
  for (const [platform, roles] of Object.entries(ownerRoles)) add(platform, "role", roles);
  return [...names.values()];
}

/** A server name that several servers had identifies none of them; channels and roles may share a name. Pure. */
export function isAmbiguous({ kind, servers }: Pick<ConfirmedName, "kind" | "servers">): boolean {
  return kind === "workspace" && servers.length > 1;
}

/** Whether strangers can bring the bot into their own servers. Pure. */
function isOpen(platform: string): boolean {
  return platformRow(platform)?.servers !== undefined;
}

function serversOf(kind: NameKind, name: string, servers: readonly Server[]): readonly Server[] {
  return kind === "workspace" ? servers.filter((server) => plainName(server.name) === name) : servers;
}

function keyOf(platform: string, kind: NameKind, name: string): string {
  return `${platform} ${kind} ${name}`;
}
