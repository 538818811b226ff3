import { setTimeout as delay } from "node:timers/promises";
import { CHANNELS } from "./people.ts";
import type { Point } from "./points.ts";
import type { Scene } from "./scene.ts";

const MOST_BURSTS = 14;

/** People talk, in bursts, until they are told to stop. */
export async function talk(
  scene: Scene,
  point: Pick<Point, "name" | "traffic"> & { readonly keepsWords?: boolean | undefined },
  stop: AbortSignal,
): Promise<void> {
  const { people, random } = scene;
  const channel = await channelFor(scene, point);
  const pauseMs = random.pick([40, 80, 160]);
  for (let burst = 0; burst < MOST_BURSTS && !stop.aborted; burst++) {
    if (point.traffic === "flood") {
      await people.say(3, "long", { channel, listen: 0.85 });
      await people.say(1, "any");
    } else {
      await people.say(random.int(2, 5), "any", {
        channel,
        listen: point.traffic === "loopback" ? 0.3 : 0.6,
      });
    }
    if (random.chance(0.12) && point.keepsWords !== true) await people.change();
    people.listen();
    await delay(pauseMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Where the point is likely to be met; undefined: anywhere. */
async function channelFor(
  { random, sql }: Scene,
  { name, traffic }: Pick<Point, "name" | "traffic">,
): Promise<string | undefined> {
  if (traffic === "loopback") return `loopback:${random.pick(CHANNELS)}`;
  if (traffic === "chat") return undefined;
  if (name.startsWith("merge.")) {
    // The one that has the most summaries to merge.
    const [row] = await sql.rows<{ address: string }>(
      `select c.platform || ':' || c.name as address from channels c join summaries s on s.channel_id = c.id and s.live and s.level = 1
        group by c.id order by count(*) desc, c.id limit 1`,
    );
    if (row !== undefined) return row.address;
  }
  return `${random.pick(["terminal", "loopback"])}:${random.pick(CHANNELS)}`;
}
