import { startBenchDaemon } from "./support/daemon.ts";
import type { Bench, Figure, Row } from "./support/figure.ts";
import { indexAll, openChannel } from "./support/fill.ts";
import { startBenchModel } from "./support/model.ts";

const CHANNELS = 10;
const LENGTHS = [100, 500] as const;

/** The database's size for people's messages, with the search index; without vectors, pictures and summaries. */
export const disk: Figure = {
  name: "disk",
  about: "database of 100,000 messages of 100 and of 500 characters, with their search rows",
  async run(bench: Bench): Promise<Row[]> {
    const count = bench.isQuick ? 10_000 : 100_000;
    const rows: Row[] = [];
    for (const textLength of LENGTHS) {
      bench.progress(`${count} messages of ${textLength} characters`);
      await using model = await startBenchModel();
      await using weir = await startBenchDaemon({
        modelUrl: model.url,
        agents: [{ id: "main", model: "reply-0-8", summariser: "summary-0" }],
      });
      const size = async (): Promise<number> => {
        const [row] = await weir.database.query<{ size: number }>(
          "bench_size",
          "select pg_database_size(current_database()) as size",
        );
        return row?.size ?? Number.NaN;
      };
      const empty = await size();
      for (let index = 0; index < CHANNELS; index++)
        await openChannel(weir, {
          agent: "main",
          name: `r${index}`,
          count: count / CHANNELS,
          textLength,
          seed: index,
        });
      await indexAll(weir.database);
      const value = ((await size()) - empty) / 1e6;
      rows.push({ what: `${count} messages of ${textLength} characters`, value, unit: "MB" });
    }
    return rows;
  },
};
