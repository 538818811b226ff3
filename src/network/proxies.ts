import { BlockList, isIP } from "node:net";

/** The proxies that the environment names, as full addresses: they may contain a password. */
export interface Proxies {
  /** For `https:` and `wss:`; null: none. */
  readonly https: string | null;
  /** For `http:`; null: none. */
  readonly http: string | null;
  /** `NO_PROXY` as it stands. */
  readonly except: string;
}

/** The variable of each scheme. The small name goes first, as in other programs. */
export const PROXY_VARIABLES = {
  https: ["https_proxy", "HTTPS_PROXY"],
  http: ["http_proxy", "HTTP_PROXY"],
} as const;
export const EXCEPT_VARIABLES = ["no_proxy", "NO_PROXY"] as const;

/**
 * @returns the address of a proxy as a URL; null: the text is no such address. `host:port` is taken for
 * `http://host:port`, as by curl.
 */
export function proxyAddress(text: string): string | null {
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  // A proxy has no paths: what looks like one is a typing error.
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") return null;
  try {
    decodeURIComponent(url.username);
    decodeURIComponent(url.password);
  } catch {
    return null;
  }
  return url.href;
}

/** The proxy for an address; null: none, it is asked directly. This machine itself never goes through a proxy. */
export function proxyFor(proxies: Proxies, url: URL): string | null {
  const proxy = isSecure(url) ? proxies.https : proxies.http;
  if (proxy === null) return null;
  const host = url.hostname.toLowerCase().replace(/^\[|\]$|\.$/g, "");
  if (/(?:^|\.)localhost$/.test(host) || isIn(THIS_MACHINE, host)) return null;
  const port = url.port === "" ? (isSecure(url) ? "443" : "80") : url.port;
  const entries = proxies.except.toLowerCase().split(/[\s,]+/);
  return entries.some((entry) => isExcepted(entry, host, port)) ? null : proxy;
}

/** Over TLS. */
export function isSecure({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "wss:";
}

/** As an operator may see it: without name and password. */
export function shownProxy(proxy: string): string {
  return URL.parse(proxy)?.origin ?? "";
}

const THIS_MACHINE = new BlockList();
THIS_MACHINE.addSubnet("127.0.0.0", 8);
THIS_MACHINE.addAddress("0.0.0.0");
THIS_MACHINE.addAddress("::1", "ipv6");
THIS_MACHINE.addAddress("::", "ipv6");

function isIn(list: BlockList, host: string): boolean {
  const version = isIP(host);
  return version !== 0 && list.check(host, version === 6 ? "ipv6" : "ipv4");
}

const ENTRY = /^(?<place>\[[^\]]*\][^:]*|[^:]*)(?::(?<port>\d+))?$/;

/**
 * One entry of `NO_PROXY`: `*`, a name with all names below it, `*.name` for those below it alone, an address, a range (`10.0.0.0/8`);
 * each with `:port` where only that port is meant.
 */
function isExcepted(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  // An IPv6 address without brackets has colons of its own, and no port.
  const { place = entry, port: only } = ENTRY.exec(entry)?.groups ?? {};
  if (only !== undefined && only !== port) return false;
  const name = place.replaceAll(/[[\]]|\.$/g, "");
  if (isIP(host) !== 0) return isIn(rangeOf(name), host);
  const bare = name.replace(/^\*?\./, "");
  if (bare === "*") return true;
  return bare !== "" && (host.endsWith(`.${bare}`) || (host === bare && !name.startsWith("*")));
}

/** An address, or a range of them; empty where the text is neither. */
function rangeOf(text: string): BlockList {
  const range = new BlockList();
  const [address = "", bits = ""] = text.split("/", 2);
  const version = isIP(address);
  if (version === 0) return range;
  const family = version === 6 ? "ipv6" : "ipv4";
  if (!text.includes("/")) range.addAddress(address, family);
  else if (/^\d+$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32))
    range.addSubnet(address, Number(bits), family);
  return range;
}
