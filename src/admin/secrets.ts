import type { Config } from "../config/config.ts";

/** Shorter secrets are in too many words by chance. */
const MIN_LENGTH = 6;
const MASK = "•••";

/** Keys, tokens and passwords of a configuration. */
export function secretsOf({
  database,
  llm,
  platforms,
  http,
  cluster = null,
  agents = [],
}: Pick<Config, "database" | "llm" | "platforms" | "http"> &
  Partial<Pick<Config, "agents" | "cluster">>): string[] {
  const { discord, slack } = platforms;
  const intake = slack?.intake;
  const databaseUrl = database.url === null ? null : URL.parse(database.url);
  const values = [
    llm.apiKey,
    llm.embeddings?.apiKey,
    database.url,
    decoded(databaseUrl?.password ?? ""),
    databaseUrl?.searchParams.get("password"),
    cluster?.url,
    decoded(URL.parse(cluster?.url ?? "")?.password ?? ""),
    discord?.token,
    slack?.botToken,
    http?.token,
    ...agents.flatMap(({ mcp }) => mcp.flatMap((server) => server.secrets)),
    intake?.mode === "socket" ? intake.appToken : intake?.signingSecret,
  ];
  return values.flatMap((value) => (value != null && value.length >= MIN_LENGTH ? [value] : []));
}

function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    // Not an escape: the text is literal.
    return password;
  }
}

/** What masks these secrets in texts. Pure. */
export function maskOf(secrets: readonly string[]): (text: string) => string {
  // Longest first: a secret may contain another.
  const sorted = secrets.toSorted((a, b) => b.length - a.length);
  return (text) => sorted.reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
}

/** All secrets that a process was ever told of: what an earlier configuration had may still stand in texts. */
export class KnownSecrets {
  #all: readonly string[] = [];
  #mask = maskOf([]);

  add(secrets: readonly string[]): void {
    this.#all = [...new Set([...this.#all, ...secrets])];
    this.#mask = maskOf(this.#all);
  }

  get all(): readonly string[] {
    return this.#all;
  }

  /** Takes them out of a text. */
  readonly masked = (text: string): string => this.#mask(text);
}

/** Masks the secrets in a text. Pure. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return maskOf(secrets)(text);
}
