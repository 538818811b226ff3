import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates, TLSSocket } from "node:tls";
import type { Duplex } from "node:stream";
import { startListening } from "../listening.ts";

/** For made-up names, and Discord's and Slack's: only the tests use and trust it. */
const CERT = `-----BEGIN CERTIFICATE-----
MIIB2jCCAYCgAwIBAgIUKe3vAeQ+8u3Szu4vTqyjgPiZykIwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMcHJveGllZC50ZXN0MCAXDTI2MTEyNzIwNDUyMFoYDzIxMjYx
MTAzMjA0NTIwWjAXMRUwEwYDVQQDDAxwcm94aWVkLnRlc3QwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAAQaFB0szbT2LZL++XPmmV6BE004hkumKsKtxUokl0XY/7ve
UyXdMUsKWZ+h/SglHVbwexYsKW/jZ1GR39b2AJ+so4GnMIGkMB0GA1UdDgQWBBQ3
LBpVelqyIExQk70VZcMzmaWIkzAfBgNVHSMEGDAWgBQ3LBpVelqyIExQk70VZcMz
maWIkzAPBgNVHRMBAf8EBTADAQH/MFEGA1UdEQRKMEiCC21vZGVscy50ZXN0ggYq
LnRlc3SCC2Rpc2NvcmQuY29tggwqLmRpc2NvcmQuZ2eCCXNsYWNrLmNvbYILKi5z
bGFjay5jb20wCgYIKoZIzj0EAwIDSAAwRQIhALMluQhpV6xpO53VZMUTo4PuMEar
1g1esirE5SoFtsBtAiBi7nuHM7gq6RSV6hH0hEgKPle+POGDpoIbmpuLyO3qug==
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgz71npzwFTCRgewzP
EQavsDrb1uz1bFa8hfvavxo/yYOhRANCAAQaFB0szbT2LZL++XPmmV6BE004hkum
KsKtxUokl0XY/7veUyXdMUsKWZ+h/SglHVbwexYsKW/jZ1GR39b2AJ+s
-----END PRIVATE KEY-----`;

export interface HttpProxy extends AsyncDisposable {
  readonly port: number;
  /** With a name and a password. */
  readonly url: string;
  /** Each request: `CONNECT host:port` or `GET http://host/path`. */
  readonly asked: string[];
  /** The `Proxy-Authorization` of each. */
  readonly logins: (string | undefined)[];
}

export const PASSWORD = "pa55-word-of-the-proxy";

/**
 * A proxy on loopback. All names behind it are one server on loopback, over TLS for a CONNECT.
 * @param refuse handles a request that is not passed on
 * @param refused which CONNECTs are not passed on; default: all, if there is a `refuse`
 */
export async function startHttpProxy(
  target: number,
  refuse?: (socket: Duplex) => void,
  refused = /./,
): Promise<HttpProxy> {
  const open = new Set<Duplex>();
  const keep = (socket: Duplex): void => {
    open.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => open.delete(socket));
  };
  const asked: string[] = [];
  const logins: (string | undefined)[] = [];
  const note = (method: string, url: string, login: string | undefined): void => {
    asked.push(`${method} ${url}`);
    logins.push(login);
  };
  const server = createServer((request, response) => {
    note(request.method ?? "", request.url ?? "", request.headers["proxy-authorization"]);
    if (refuse !== undefined) return refuse(request.socket);
    response.setHeader("content-type", "application/json").end('{"is":"plain"}');
  });
  server.on("connection", keep);
  server.on("connect", (request, socket: Socket) => {
    note("CONNECT", request.url ?? "", request.headers["proxy-authorization"]);
    if (refuse !== undefined && refused.test(request.url ?? "")) return refuse(socket);
    socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    const secure = new TLSSocket(socket, { isServer: true, cert: CERT, key: KEY });
    const onward = connect(target, "127.0.0.1");
    keep(secure);
    keep(onward);
    secure.pipe(onward).pipe(secure);
  });
  const listening = await startListening(server);
  const { port } = listening;
  return {
    port,
    url: `http://weir:${PASSWORD}@127.0.0.1:${port}`,
    asked,
    logins,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await listening[Symbol.asyncDispose]();
    },
  };
}

export function trustProxy(): void {
  setDefaultCACertificates([...getCACertificates(), CERT]);
}

/** A proxy's answer, after which it closes the connection. */
export const answering =
  (text: string) =>
  (socket: Duplex): void =>
    void socket.end(text);

/** The proxy closes the connection without an answer. */
export const closing = (socket: Duplex): void => void socket.destroy();

/** Lets pending work progress, by real turns of the event loop without a clock. */
export async function someTurns(count = 200): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
