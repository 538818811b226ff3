/** One peer in a process of its own: `process.ts ADAPTER`, with requests over the channel to the process that forked it. */
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { createTalk } from "../support/conversation.ts";
import { machineNow } from "../support/figure.ts";
import type { OpenPeer, PeerOptions, Talk, Talked, Turn } from "./peer.ts";

export type Request =
  | { readonly call: "open"; readonly options: PeerOptions }
  | { readonly call: "talk"; readonly talk: Talk }
  | { readonly call: "history" | "resume"; readonly arm: string; readonly room: string }
  | { readonly call: "setBytes"; readonly bytes: number };

let peer: OpenPeer | null = null;

async function serve(request: Request): Promise<unknown> {
  if (request.call === "open") {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is our own adapter
    const adapter = (await import(pathToFileURL(process.argv[2] ?? "").href)) as {
      open(options: PeerOptions): Promise<OpenPeer>;
    };
    peer = await adapter.open(request.options);
    return null;
  }
  if (peer === null) throw new Error("the peer is not open");
  if (request.call === "talk") return talkIn(peer, request.talk);
  if (request.call === "setBytes") return peer.setBytes?.(request.bytes);
  return peer[request.call]?.(request.arm, request.room);
}

/** Each message has its number in it: `mark-N`. */
async function talkIn(
  open: OpenPeer,
  { arm, rooms, count, forMs, paceMs, characters }: Talk,
): Promise<Talked> {
  const before = process.cpuUsage();
  const end = machineNow() + forMs;
  const turns: Turn[] = [];
  const one = async (room: string, seed: number): Promise<void> => {
    const talk = createTalk(seed);
    let next = machineNow();
    for (let index = 0; index < count && machineNow() < end; index++) {
      const text = `mark-${index} ${talk(characters)}`.slice(0, characters);
      const handedInAt = machineNow();
      const asked = await open.ask(arm, room, text);
      const own = { handedInAt, answeredAt: machineNow(), isAnswer: asked === true };
      turns.push(typeof asked === "boolean" ? own : asked);
      next = Math.max(next + paceMs, machineNow());
      if (paceMs > 0) await delay(Math.max(0, next - machineNow()));
    }
  };
  await Promise.all(rooms.map(one));
  const { user, system } = process.cpuUsage(before);
  return { turns, cpuMs: (user + system) / 1000 };
}

process.on("message", ({ id, request }: { id: number; request: Request }) => {
  serve(request).then(
    (result) => process.send?.({ id, result }),
    (error: unknown) => process.send?.({ id, error: error instanceof Error ? error.stack : String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
