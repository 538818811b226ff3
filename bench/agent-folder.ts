import { startBenchDaemon, untilIndexed } from "./support/daemon.ts";
import { createTalk } from "./support/conversation.ts";
import { type Bench, type Figure, median, quantile, type Row } from "./support/figure.ts";
import { underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

/** Turns of one agent before the next agent's. */
const ROUND = 100;

/**
 * The cost of an agent's folder per turn: three agents of one daemon in alternation, with a model that answers at once:
 * one without a folder, one with files, one that also has notes of the channel.
 */
export const agentFolder: Figure = {
  name: "agent-folder",
  about: "a turn's own time with an agent's folder and notes, over one without",
  run: measureFolders,
};

const line = "what the people who run it know of the place and of each other, said in one line of it\n";
const files = (id: string): Record<string, string> => ({
  [`${id}/SOUL.md`]: line.repeat(5),
  [`${id}/WORKSPACE.md`]: line.repeat(20),
  [`${id}/MEMORY.md`]: line.repeat(20),
  ...Object.fromEntries(
    Array.from({ length: 10 }, (_, skill) => [
      `${id}/skills/skill-${skill}/SKILL.md`,
      `---\nname: skill-${skill}\ndescription: ${line.trim()}\n---\nbody`,
    ]),
  ),
});

const AGENTS = ["plain", "files", "notes"] as const;

async function measureFolders(bench: Bench): Promise<Row[]> {
  const rounds = bench.isQuick ? 2 : 10;
  await using model = await startBenchModel();
  await using weir = await startBenchDaemon({
    modelUrl: model.url,
    agents: AGENTS.map((id) => ({ id, model: `reply-0-8+${id}`, summariser: "summary-0" })),
    agentFiles: {
      ...files("files"),
      ...files("notes"),
      "notes/channels/notes-room/MEMORY.md": `- ${line.trim()} <!-- note 1 -->\n`.repeat(40),
    },
  });
  const talk = createTalk(1);
  const measured = new Map(AGENTS.map((id) => [id, { own: [] as number[], cpu: [] as number[] }]));
  for (let round = 0; round <= rounds; round++) {
    for (const id of AGENTS) {
      const platform = weir.platforms.get(id);
      const kept = measured.get(id);
      if (platform === undefined || kept === undefined) throw new Error(`no agent ${id}`);
      await model.served();
      const own: number[] = [];
      const { load } = await underWatch(weir.dataDir, async () => {
        for (let turn = 0; turn < ROUND; turn++) {
          const { handedInAt, answeredAt } = await platform.ask("room", talk(80));
          own.push(answeredAt - handedInAt);
        }
        await untilIndexed(weir, 100);
      });
      const served = (await model.served()).filter((one) => one.model === `reply-0-8+${id}`);
      // The first round is the warm-up.
      if (round === 0) continue;
      kept.own.push(...own.map((ms, turn) => ms - modelMs(served[turn])));
      kept.cpu.push((load.daemonCpuMs + load.postgresCpuMs) / ROUND);
    }
    bench.progress(`${round} of ${rounds} rounds`);
  }
  const of = (id: (typeof AGENTS)[number]) => measured.get(id) ?? { own: [], cpu: [] };
  const [plain] = AGENTS;
  return AGENTS.flatMap((id): Row[] => [
    { what: `${id}: own time a turn, p50`, value: median(of(id).own), unit: "ms" },
    { what: `${id}: own time a turn, p99`, value: quantile(of(id).own, 0.99), unit: "ms" },
    { what: `${id}: processor time a turn, daemon and Postgres`, value: median(of(id).cpu), unit: "ms" },
    ...(id === plain
      ? []
      : [
          {
            what: `${id} over ${plain}, own time, p50`,
            value: median(of(id).own) / median(of(plain).own),
            unit: "×",
          },
        ]),
  ]);
}

function modelMs(request: { readonly arrivedAt: number; readonly endedAt: number } | undefined): number {
  return request === undefined ? NaN : request.endedAt - request.arrivedAt;
}
