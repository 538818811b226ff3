import { createAgents } from "../../src/agents.ts";
import { sceneOf } from "../../src/channel/turns/turn-channel.ts";
import { assemble } from "../../src/context/assemble.ts";
import { usableTokens, usageOf } from "../../src/context/usage.ts";
import type { Author } from "../../src/core/message.ts";
import { openModels } from "../../src/llm/model-provider.ts";
import { loadPrompts, promptSources } from "../../src/prompts/load.ts";
import { budgetOf } from "../../src/turn/agent.ts";
import { nextSources } from "../../src/turn/context-sources.ts";
import { type ConfigLines, reading, type Scene } from "./compaction.ts";

/** Background is due, even after one message is deleted, and aggressive is not, even after some are added. */
export const BACKGROUND = 0.82;
/** Aggressive is due, emergency is not. */
export const AGGRESSIVE = 0.87;

/** More than a reading's tokens in a request. */
const READING_TOKENS = 110;

/**
 * Puts readings into the log before a daemon takes the channel, until the next request takes this share of the usable
 * window, whatever prompts and tools take: measured as by the compactor.
 * @param share the last reading brings usage at most 0.02 over it, with the smallest window in the tests
 * @param lines the daemon's settings
 * @param words another text than a reading
 * @param author the speaker, if it matters
 * @returns number of readings
 */
export async function fillTo(
  scene: Scene,
  room: string,
  share: number,
  lines: ConfigLines = {},
  words: (number: number) => string = reading,
  author?: (number: number) => Author,
): Promise<number> {
  const { open } = scene;
  const config = await scene.config(lines);
  await using models = await openModels(config.llm);
  const agents = createAgents(config, models, loadPrompts(promptSources(config)));
  const { agent } = agents.first;
  const budget = budgetOf(agent, agent.config.model);
  const { id } = await open.channel(room);
  for (let count = 0; ;) {
    const { channel, history } = await open.store.load(id);
    const sources = nextSources(agent, history, {
      running: null,
      now: new Date(),
      scene: sceneOf(channel),
      usable: usableTokens(budget),
    });
    const missing = (share - usageOf(assemble(sources), history, budget)) * usableTokens(budget);
    if (missing <= 0) return count;
    const upTo = count + Math.max(1, Math.floor(missing / READING_TOKENS));
    while (count < upTo) {
      count++;
      const said = author === undefined ? {} : { author: author(count) };
      await open.say(id, words(count), { addressed: false, id: `${room}-${count}`, ...said });
    }
  }
}
