import { isSecure } from "../../network/proxies.ts";

/** The hosts to which a platform's token and people's messages may be sent. */
export interface OwnHosts {
  /** Public names, each with its subdomains, over TLS. */
  readonly hosts: readonly string[];
  /**
   * The configured address; null: not configured. A name over TLS counts as a public one; otherwise only its origin, and its
   * sockets at any port.
   */
  readonly apiUrl: string | null;
}

/** An address that a platform has named, if it is the platform's own: any other address may be an attacker's. Pure. */
export function ownAddress(address: string, { hosts, apiUrl }: OwnHosts): URL | null {
  const url = URL.parse(address);
  if (url === null || url.username !== "" || url.password !== "") return null;
  const configured = apiUrl === null ? null : URL.parse(apiUrl);
  const isOwn = isPublic(url, hosts) || (configured !== null && isConfigured(url, configured));
  return isOwn ? url : null;
}

const isSocket = ({ protocol }: URL): boolean => protocol === "ws:" || protocol === "wss:";

function isPublic(url: URL, hosts: readonly string[]): boolean {
  const isNamed = (host: string): boolean => url.hostname === host || url.hostname.endsWith(`.${host}`);
  return isSecure(url) && url.port === "" && hosts.some(isNamed);
}

function isConfigured(url: URL, configured: URL): boolean {
  if (isSecure(configured) && configured.port === "" && isPublic(url, [configured.hostname])) return true;
  if (!isSocket(url)) return url.origin === configured.origin;
  return url.hostname === configured.hostname && (isSecure(url) || !isSecure(configured));
}
