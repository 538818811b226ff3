import { startLoopbackServer } from "../platforms/local/loopback/server.ts";
import { aborted, type Io, say } from "./shared/io.ts";

/** `weir loopback`: a small HTTP chat platform on this machine, until a signal. */
export async function loopback(io: Io, { port }: { readonly port: number }): Promise<void> {
  await using server = await startLoopbackServer({ port });
  say(io, `The loopback platform listens on ${server.url}. Set [platforms.loopback] url to it.`);
  await aborted(io.shutdown);
}
