import type { Config } from "../config/config.ts";
import { CHAT_PLATFORMS } from "../platforms/platforms.ts";

/** Least length of a secret that is masked, in UTF-16 units: a shorter one is in too many words by chance. */
const MIN_LENGTH = 6;
const MASK = "•••";

/** Keys, tokens and passwords of a configuration. */
export function secretsOf(
  parts: Pick<Config, "database" | "llm" | "platforms" | "http"> &
    Partial<Pick<Config, "agents" | "telemetry" | "cluster" | "proxies">>,
): string[] {
  const { database, llm, platforms, http } = parts;
  const { telemetry = null, cluster = null, proxies = null, agents = [] } = parts;
  const values = [
    llm.apiKey,
    llm.embeddings?.apiKey,
    llm.transcription?.apiKey,
    ...llm.servers.flatMap(({ apiKey, headers }) => [apiKey, ...headerSecrets(headers)]),
    database.url,
    passwordIn(database.url),
    URL.parse(database.url ?? "")?.searchParams.get("password"),
    cluster?.url,
    passwordIn(cluster?.url),
    http?.token,
    ...[proxies?.https, proxies?.http].flatMap((url) => [passwordIn(url), URL.parse(url ?? "")?.password]),
    ...Object.values(telemetry?.headers ?? {}),
    ...agents.flatMap(({ mcp }) => mcp.flatMap((server) => server.secrets)),
    ...CHAT_PLATFORMS.flatMap((key) => platforms[key]?.secrets),
  ];
  return values.flatMap((value) => (value != null && value.length >= MIN_LENGTH ? [value] : []));
}

/** A header's value, and its key alone: `Bearer KEY`. */
function headerSecrets(headers: Readonly<Record<string, string>>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(" ").slice(1)]);
}

/** The password of an address; empty: it has no password. */
function passwordIn(url: string | null | undefined): string {
  const { password = "" } = URL.parse(url ?? "") ?? {};
  try {
    return decodeURIComponent(password);
  } catch {
    // Not an escape: the text is literal.
    return password;
  }
}

export function maskOf(secrets: readonly string[]): (text: string) => string {
  // Longest first: a secret may contain another.
  const sorted = secrets.toSorted((a, b) => b.length - a.length);
  return (text) => sorted.reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
}

/**
 * The beginning of a text that more may follow, without the start of a secret at its end: masked piece by piece, half a secret
 * would be shown before the other half comes. Pure.
 */
function withoutBegun(text: string, secrets: readonly string[]): string {
  let end = text.length;
  for (const secret of secrets)
    for (let length = Math.min(secret.length - 1, text.length); length > text.length - end; length--)
      if (text.endsWith(secret.slice(0, length))) end = text.length - length;
  // A whole secret that reaches over the end is masked as one only if no part of it is cut off.
  const straddling = (): number | undefined =>
    secrets
      .map((secret) => ({ at: text.lastIndexOf(secret, end - 1), length: secret.length }))
      .find(({ at, length }) => at >= 0 && at < end && at + length > end)?.at;
  for (let at = straddling(); at !== undefined; at = straddling()) end = at;
  return text.slice(0, end);
}

/** All secrets that a process has ever read: texts may still contain those of an earlier configuration. */
export class KnownSecrets {
  #all: readonly string[] = [];
  #mask = maskOf([]);

  /** Those of a configuration. */
  static of(config: Parameters<typeof secretsOf>[0]): KnownSecrets {
    const known = new KnownSecrets();
    known.add(secretsOf(config));
    return known;
  }

  /** In a line of JSON and in a page one may stand with escapes: that is hidden as well. */
  add(secrets: readonly string[]): void {
    const escaped = secrets.flatMap((secret) => [JSON.stringify(secret).slice(1, -1), inMarkup(secret)]);
    this.#all = [...new Set([...this.#all, ...secrets, ...escaped])];
    this.#mask = maskOf(this.#all);
  }

  get all(): readonly string[] {
    return this.#all;
  }

  /** Takes them out of a text. */
  readonly masked = (text: string): string => this.#mask(text);

  /** The same for a text that is still being written. It may end earlier. */
  readonly maskedSoFar = (text: string): string => this.#mask(withoutBegun(text, this.#all));
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  '"': "&quot;",
  "'": "&#39;",
  "<": "&lt;",
  ">": "&gt;",
};

/** As `hono/html` writes a text. */
function inMarkup(text: string): string {
  return text.replaceAll(/[&"'<>]/g, (character) => ESCAPES[character] ?? character);
}
