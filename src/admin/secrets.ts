import type { Config } from "../config/config.ts";

/** A shorter one is in too many words by chance. */
const MIN_LENGTH = 6;
const MASK = "•••";

/** Keys, tokens and passwords of a configuration. */
export function secretsOf({
  database,
  llm,
  platforms,
}: Pick<Config, "database" | "llm" | "platforms">): string[] {
  const { discord, slack } = platforms;
  const intake = slack?.intake;
  const databaseUrl = database.url === null ? null : URL.parse(database.url);
  const values = [
    llm.apiKey,
    database.url,
    decoded(databaseUrl?.password ?? ""),
    databaseUrl?.searchParams.get("password"),
    discord?.token,
    slack?.botToken,
    intake?.mode === "socket" ? intake.appToken : intake?.signingSecret,
  ];
  return values.flatMap((value) => (value != null && value.length >= MIN_LENGTH ? [value] : []));
}

function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    // It is no escape, so it stands for itself.
    return password;
  }
}

/** A text without the secrets, wherever they got into it. Pure. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  // The longest first: one may be a part of another.
  return secrets
    .toSorted((a, b) => b.length - a.length)
    .reduce((masked, secret) => masked.replaceAll(secret, MASK), text);
}
