/**
 * What people are shown of a server's address, on screens, in logs and in the database: of the rest, any part may hold
 * a secret (a user, a key in the path or in the query).
 * @returns "set" where it is no address
 */
export function originOf(address: string): string {
  return URL.parse(address)?.origin ?? "set";
}
