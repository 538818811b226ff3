import { EventEmitter } from "node:events";
import { type IContextFetchingStrategy, WebSocketShard } from "@discordjs/ws";
import { GatewayDispatchEvents, GatewayOpcodes } from "discord.js";
import { z } from "zod";
import { type Backoff, backoffMs } from "../../../async/backoff.ts";

interface ShardParts {
  readonly shard: number;
  /** Holds the library's options, and its state for a RESUME. */
  readonly strategy: IContextFetchingStrategy;
  /** Called for each skipped unreadable frame. @param t its event's type, or `op 9` */
  readonly passedOver: (t: string, error: unknown) => void;
  /** The library cannot continue this shard. */
  readonly failed: (error: Error) => void;
  /** Waits before another socket, ms. */
  readonly wait: (ms: number) => Promise<void>;
}

/** Delays before another socket. The library itself always waits half a second. */
const BACK_OFF: Backoff = { fromMs: 1000, toMs: 10_000 };

/** A method of the library, whose types are private. */
type Method = (...args: unknown[]) => unknown;

const dispatch = z.object({
  op: z.literal(GatewayOpcodes.Dispatch),
  t: z.string().max(100),
  s: z.int().nonnegative(),
});
const ready = z.object({
  d: z.object({ session_id: z.string().min(1), resume_gateway_url: z.url({ protocol: /^wss?$/ }) }),
});
const invalidSession = z.object({ d: z.boolean() });
const hello = z.object({ d: z.object({ heartbeat_interval: z.number().positive() }) });
const kindOfFrame = z.object({ op: z.unknown().optional(), t: z.unknown().optional() });

/**
 * A shard of `@discordjs/ws`. The library parses frames unchecked, in functions that nobody awaits: an error would end
 * the process, and a second HELLO would send heartbeats forever. So each frame is checked first. An error costs only
 * its frame, or the connection if no frame caused it.
 */
export function createShard({ shard: id, strategy, passedOver, failed, wait }: ShardParts): WebSocketShard {
  const shard = new WebSocketShard(strategy, id);
  let isGreeted = false;
  /** Consecutive sockets that failed. */
  let vain = 0;

  const check = (frame: unknown): void => {
    const { op, t } = kindOfFrame.parse(frame);
    if (op === GatewayOpcodes.Dispatch) {
      dispatch.parse(frame);
      if (t === GatewayDispatchEvents.Ready) ready.parse(frame);
      if (t === GatewayDispatchEvents.Ready || t === GatewayDispatchEvents.Resumed) vain = 0;
    } else if (op === GatewayOpcodes.InvalidSession) invalidSession.parse(frame);
    else if (op === GatewayOpcodes.Hello) {
      hello.parse(frame);
      if (isGreeted) throw new Error("the connection has begun already");
      isGreeted = true;
    }
  };

  wrap(shard, "unpackMessage", async (own, args) => {
    const frame = await own(...args);
    try {
      check(frame);
      return frame;
    } catch (error) {
      passedOver(nameOf(frame), error);
      return null;
    }
  });
  wrap(shard, "onMessage", async (own, args) => {
    try {
      await own(...args);
    } catch (error) {
      passedOver("frame", error);
    }
  });
  const guarded = async (own: Method, args: readonly unknown[]): Promise<void> => {
    try {
      await own(...args);
    } catch (error) {
      failed(error instanceof Error ? error : new Error("the connection failed"));
    }
  };
  for (const name of ["onClose", "heartbeat"]) wrap(shard, name, guarded);
  wrap(shard, "internalConnect", async (own, args) => {
    isGreeted = false;
    // Only from the second failure on: usually just the socket was lost.
    if (vain > 1) await wait(backoffMs(BACK_OFF, vain - 2));
    vain += 1;
    await guarded(own, args);
  });
  wrap(shard, "destroy", async (own, args) => {
    leave(Reflect.get(shard, "connection"));
    await guarded(own, args);
  });
  return shard;
}

function wrap(
  shard: WebSocketShard,
  name: string,
  around: (own: Method, args: readonly unknown[]) => Promise<unknown>,
): void {
  const method: unknown = Reflect.get(shard, name);
  if (typeof method !== "function") throw new Error(`@discordjs/ws has no ${name} any more`);
  const own: Method = (...args) => Reflect.apply(method, shard, args);
  Reflect.set(shard, name, async (...args: unknown[]) => around(own, args));
}

/** The library removes its listeners from an abandoned socket, whose error would then end the process. */
function leave(socket: unknown): void {
  if (!(socket instanceof EventEmitter)) return;
  socket.on("error", () => undefined);
  // The library forgets a socket that is still opening: it is ended after the library's clean-up.
  setImmediate(() => {
    const terminate: unknown = Reflect.get(socket, "terminate");
    const isOpening = Reflect.get(socket, "readyState") === WebSocket.CONNECTING;
    if (isOpening && typeof terminate === "function") Reflect.apply(terminate, socket, []);
  });
}

/** For the log. */
function nameOf(frame: unknown): string {
  const read = kindOfFrame.safeParse(frame);
  if (!read.success) return "frame";
  const { op, t } = read.data;
  if (typeof t === "string") return t;
  return typeof op === "number" ? `op ${op}` : "frame";
}
