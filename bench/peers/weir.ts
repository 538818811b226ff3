import { startBenchDaemon } from "../support/daemon.ts";
import type { OpenPeer, PeerOptions } from "./peer.ts";

/** The whole daemon, with its defaults; only the window and the cache's markers are set. */
export async function open({ databaseUrl, modelUrl, window, folder, arms }: PeerOptions): Promise<OpenPeer> {
  const weir = await startBenchDaemon({
    modelUrl,
    agents: arms.map(({ id, model, summariser }) => ({ id, model, summariser, window })),
    models: arms
      .flatMap(({ model, summariser, markers = "false" }) =>
        [...new Set([model, summariser])].map((name) => `[models."${name}"]\ncache_markers = ${markers}`),
      )
      .join("\n"),
    home: { folder, databaseUrl },
  });
  return {
    async ask(arm, room, text) {
      const platform = weir.platforms.get(arm);
      if (platform === undefined) throw new Error(`no platform for ${arm}`);
      return platform.ask(room, text);
    },
    async history(arm, room) {
      return weir.database.query(
        "bench_history",
        `select case e.kind when 'user' then 'user' else 'assistant' end as role, e.text
           from entries e join channels c on c.id = e.channel_id
          where c.platform = $1 and c.name = $2 and e.kind in ('user', 'assistant') order by e.seq`,
        [arm, room],
      );
    },
  };
}
